//! The data of a chart: the numeric columns of a result over its first column.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use atsdb::time::DAY_SECONDS;
use atsdb::{Error, Result};
use atsdb_export::value::Cells;

/// The maximum number of rows in a chart.
const ROWS_MAX: usize = 1_000_000;

/// The kind of the first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XKind {
    /// Times, in seconds since the epoch.
    Time,
    /// Numbers.
    Number,
    /// Names, or any other values: each row has its own position.
    Name,
}

/// Numbers of one column.
#[derive(Debug, Clone)]
pub(crate) struct PlotSeries {
    pub(crate) name: String,
    /// One value for each row; NaN if it has none.
    pub(crate) values: Vec<f64>,
}

/// The rows of a chart.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    pub(crate) x_name: String,
    pub(crate) x_kind: XKind,
    /// The position of each row; for names its number.
    pub(crate) x: Vec<f64>,
    /// The name of each row.
    pub(crate) labels: Vec<String>,
    pub(crate) series: Vec<PlotSeries>,
}

impl Plot {
    /// A chart of a result with these columns, without rows yet.
    pub(crate) fn new(schema: &SchemaRef) -> Result<Self> {
        let fields = schema.fields();
        let is_number = |data_type: &DataType| data_type.is_numeric();
        let mut series = Vec::new();
        for field in fields.iter().skip(1).filter(|field| is_number(field.data_type())) {
            series.push(PlotSeries { name: field.name().clone(), values: Vec::new() });
        }
        let Some(first) = fields.first().filter(|_| !series.is_empty()) else {
            return Err(Error::usage("a chart shows columns of numbers over the first column")
                .with_hint("for example SELECT time, temp FROM weather"));
        };
        let x_kind = match first.data_type() {
            DataType::Timestamp(..) | DataType::Date32 => XKind::Time,
            data_type if is_number(data_type) => XKind::Number,
            _ => XKind::Name,
        };
        Ok(Self { x_name: first.name().clone(), x_kind, x: Vec::new(), labels: Vec::new(), series })
    }

    /// Adds rows. Rows without a first value are left out.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.x.len() + batch.num_rows() > ROWS_MAX {
            return Err(Error::usage(format!("a chart has at most {ROWS_MAX} rows"))
                .with_hint("group them, for example by time_bucket('1 hour', time), or thin them with lttb"));
        }
        let first = batch.column(0);
        let places = match self.x_kind {
            XKind::Time => seconds(first)?,
            XKind::Number => numbers(first)?,
            XKind::Name => (self.x.len()..self.x.len() + batch.num_rows()).map(|row| row as f64).collect(),
        };
        let cells = Cells::new(first)?;
        let is_kept = |row: usize| self.x_kind == XKind::Name || !places[row].is_nan();
        let kept: Vec<usize> = (0..batch.num_rows()).filter(|row| is_kept(*row)).collect();
        for row in &kept {
            let mut label = Vec::new();
            if cells.is_null(*row) {
                label.extend_from_slice(b"NULL");
            } else {
                cells.write(*row, &mut label);
            }
            self.labels.push(super::grid::printable(&String::from_utf8_lossy(&label)));
            self.x.push(places[*row]);
        }
        let columns = batch.columns().iter().skip(1).filter(|column| column.data_type().is_numeric());
        for (series, column) in self.series.iter_mut().zip(columns) {
            let values = numbers(column)?;
            series.values.extend(kept.iter().map(|row| values[*row]));
        }
        Ok(())
    }

    /// The minimum and maximum of all columns, slightly apart if they are equal.
    pub(crate) fn y_range(&self) -> (f64, f64) {
        range(self.series.iter().flat_map(|series| &series.values).copied())
    }

    /// The minimum and maximum position.
    pub(crate) fn x_range(&self) -> (f64, f64) {
        range(self.x.iter().copied())
    }

    /// The text of a position on a scale whose positions are at least `step` apart.
    pub(crate) fn x_text(&self, x: f64, step: f64) -> String {
        match self.x_kind {
            XKind::Time => {
                let unit = match step {
                    1.0.. => atsdb::TimeUnit::Second,
                    1e-3.. => atsdb::TimeUnit::Millisecond,
                    _ => atsdb::TimeUnit::Microsecond,
                };
                let text = atsdb::time::format_time((x * unit.per_second() as f64).round() as i64, unit);
                let text = text.trim_end_matches('Z').replace('T', " ");
                let short = text.strip_suffix(" 00:00:00").or_else(|| text.strip_suffix(":00"));
                short.unwrap_or(&text).to_owned()
            }
            _ => scale_text(x, step),
        }
    }
}

/// Formats a number of a scale, with the digits that distinguish numbers that are `step` apart.
pub(crate) fn scale_text(value: f64, step: f64) -> String {
    if !step.is_normal() {
        return number_text(value);
    }
    let power = |number: f64| (number.abs().log10() + 1e-9).floor();
    let size = value.abs();
    // A sum of steps that should be zero may be slightly off.
    if size < step * 1e-6 || value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&size) {
        let digits = (power(size) - power(step)).clamp(0.0, 15.0) as usize;
        return format!("{value:.digits$e}");
    }
    let digits = (-power(step)).clamp(0.0, 15.0) as usize;
    without_last_zeros(format!("{value:.digits$}"))
}

/// Formats a number with few digits.
pub(crate) fn number_text(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e7).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = if size >= 1_000.0 {
            0
        } else if size >= 10.0 {
            1
        } else {
            3
        };
        without_last_zeros(format!("{value:.digits$}"))
    }
}

fn without_last_zeros(number: String) -> String {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.').to_owned() } else { number }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    match (low.is_finite(), low < high) {
        (false, _) => (0.0, 1.0),
        (true, true) => (low, high),
        (true, false) => (low - 0.5, high + 0.5),
    }
}

fn numbers(column: &ArrayRef) -> Result<Vec<f64>> {
    let column = cast(column, &DataType::Float64)?;
    let values = column.as_primitive::<Float64Type>();
    Ok((0..values.len()).map(|row| if values.is_null(row) { f64::NAN } else { values.value(row) }).collect())
}

fn seconds(column: &ArrayRef) -> Result<Vec<f64>> {
    let per_second = match column.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1e3,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1e6,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1e9,
        DataType::Date32 => 1.0 / DAY_SECONDS as f64,
        _ => 1.0,
    };
    let days = if *column.data_type() == DataType::Date32 { cast(column, &DataType::Int32)? } else { column.clone() };
    let counts = cast(&days, &DataType::Int64)?;
    let counts = counts.as_primitive::<Int64Type>();
    let second = |row: usize| if counts.is_null(row) { f64::NAN } else { counts.value(row) as f64 / per_second };
    Ok((0..counts.len()).map(second).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_scale_differ_if_they_are_a_step_apart() {
        let texts = |values: [f64; 3]| values.map(|value| scale_text(value, values[1] - values[0]));
        assert_eq!(texts([1013.2, 1013.4, 1013.6]), ["1013.2", "1013.4", "1013.6"]);
        assert_eq!(texts([100.0, 100.05, 100.1]), ["100", "100.05", "100.1"]);
        assert_eq!(texts([0.0, 2.0, 4.0]), ["0", "2", "4"]);
        assert_eq!(texts([-0.2, 5e-17, 0.2]), ["-0.2", "0", "0.2"]);
        assert_eq!(texts([1.700_000_1e9, 1.700_000_2e9, 1.700_000_3e9]), ["1.7000001e9", "1.7000002e9", "1.7000003e9"]);
        assert_eq!(texts([2e-5, 4e-5, 6e-5]), ["2e-5", "4e-5", "6e-5"]);
        assert_eq!(texts([f64::MIN, f64::MAX, 1.0])[0], "-1.80e308");
    }

    #[test]
    fn times_of_a_scale_have_the_digits_of_its_steps() {
        let plot = Plot {
            x_name: "time".to_owned(),
            x_kind: XKind::Time,
            x: Vec::new(),
            labels: Vec::new(),
            series: Vec::new(),
        };
        assert_eq!(plot.x_text(1_704_067_260.0, 60.0), "2024-01-01 00:01");
        assert_eq!(plot.x_text(1_704_067_200.25, 0.05), "2024-01-01 00:00:00.250");
        assert_ne!(plot.x_text(1_704_067_200.25, 0.05), plot.x_text(1_704_067_200.3, 0.05));
    }
}
