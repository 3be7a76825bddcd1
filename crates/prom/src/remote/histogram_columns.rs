//! Native histograms as the columns of the table `prom_histograms`, with one row each, and read back.

use super::columns::{Samples, mapped, time_array, time_type};
use crate::histogram::{Buckets, Histogram, ResetHint, Span};
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int16Array, ListArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Float64Type, Int16Type, Int32Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use std::sync::Arc;

/// The names of the columns that hold the histogram, after its time, metric and series.
pub const HISTOGRAM_COLUMNS: [&str; 13] = [
    "schema",
    "count",
    "sum",
    "zero_threshold",
    "zero_count",
    "reset_hint",
    "positive_offsets",
    "positive_lengths",
    "positive_counts",
    "negative_offsets",
    "negative_lengths",
    "negative_counts",
    "custom_bounds",
];

fn element(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, true))
}

/// The columns of `prom_histograms`.
pub fn histograms_schema() -> SchemaRef {
    let mut fields = vec![
        Field::new("time", time_type(), false),
        Field::new("metric", mapped(), false),
        Field::new("series", mapped(), false),
    ];
    fields.extend(HISTOGRAM_COLUMNS.map(|name| {
        let data_type = match name {
            "schema" => DataType::Int16,
            "reset_hint" => DataType::Utf8,
            "positive_offsets" | "positive_lengths" | "negative_offsets" | "negative_lengths" => {
                DataType::List(element(DataType::Int32))
            }
            "positive_counts" | "negative_counts" | "custom_bounds" => DataType::List(element(DataType::Float64)),
            _ => DataType::Float64,
        };
        Field::new(name, data_type, false)
    }));
    Arc::new(Schema::new(fields))
}

const RESET_HINTS: [(ResetHint, &str); 4] = [
    (ResetHint::Unknown, "unknown"),
    (ResetHint::Reset, "reset"),
    (ResetHint::NoReset, "no_reset"),
    (ResetHint::Gauge, "gauge"),
];

fn shown_hint(hint: ResetHint) -> &'static str {
    RESET_HINTS.iter().find(|(own, _)| *own == hint).map_or("unknown", |(_, text)| text)
}

/// Histograms of series that [`Samples`] have numbered.
#[derive(Debug, Default)]
pub struct Histograms {
    times: Vec<i64>,
    of_series: Vec<u32>,
    histograms: Vec<Histogram>,
}

impl Histograms {
    /// The number of histograms.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether there are no histograms.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Time in milliseconds, number of the series and the histogram.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u32, &Histogram)> {
        let all = self.times.iter().zip(&self.of_series).zip(&self.histograms);
        all.map(|((time, series), histogram)| (*time, *series, histogram))
    }

    /// Adds a valid histogram of a series that has a number.
    pub(super) fn push(&mut self, series: u32, time: i64, histogram: Histogram) {
        self.times.push(time);
        self.of_series.push(series);
        self.histograms.push(histogram);
    }

    /// The rows of `prom_histograms`. `samples` has the series.
    pub fn to_batch(&self, samples: &Samples) -> atsdb_core::Result<RecordBatch> {
        let [metrics, series] = samples.texts_of(&self.of_series)?;
        let numbers = |number: fn(&Histogram) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(self.histograms.iter().map(number)))
        };
        let hints = self.histograms.iter().map(|histogram| shown_hint(histogram.reset_hint));
        let mut columns: Vec<ArrayRef> = vec![
            time_array(&self.times),
            metrics,
            series,
            Arc::new(Int16Array::from_iter_values(self.histograms.iter().map(|own| i16::from(own.schema)))),
            numbers(|histogram| histogram.count),
            numbers(|histogram| histogram.sum),
            numbers(|histogram| histogram.zero_threshold),
            numbers(|histogram| histogram.zero_count),
            Arc::new(StringArray::from_iter_values(hints)),
        ];
        columns.extend(self.side(|histogram| &histogram.positive)?);
        columns.extend(self.side(|histogram| &histogram.negative)?);
        columns.push(lists::<Float64Type>(&self.histograms, |histogram| Ok(histogram.custom_bounds.clone()))?);
        Ok(RecordBatch::try_new(histograms_schema(), columns)?)
    }

    /// Offsets, lengths and counts of one side.
    fn side(&self, side: fn(&Histogram) -> &Buckets) -> Result<[ArrayRef; 3], ArrowError> {
        let all = &self.histograms;
        let too_long = |_| ArrowError::ComputeError("a span of a histogram is too long".to_owned());
        let length = |span: &Span| i32::try_from(span.length).map_err(too_long);
        Ok([
            lists::<Int32Type>(all, |own| Ok(side(own).spans.iter().map(|span| span.offset).collect()))?,
            lists::<Int32Type>(all, |own| side(own).spans.iter().map(length).collect())?,
            lists::<Float64Type>(all, |own| Ok(side(own).counts.clone()))?,
        ])
    }
}

/// An array for each histogram.
fn lists<T: ArrowPrimitiveType>(
    histograms: &[Histogram],
    elements: impl Fn(&Histogram) -> Result<Vec<T::Native>, ArrowError>,
) -> Result<ArrayRef, ArrowError> {
    let (mut lengths, mut all) = (Vec::with_capacity(histograms.len()), Vec::new());
    for histogram in histograms {
        let own = elements(histogram)?;
        lengths.push(own.len());
        all.extend(own);
    }
    let values = PrimitiveArray::<T>::from_iter_values(all);
    let field = element(T::DATA_TYPE);
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), Arc::new(values), None)?))
}

/// The histograms of rows that were stored.
#[derive(Debug)]
pub struct StoredHistograms {
    schemas: Int16Array,
    numbers: [Float64Array; 4],
    reset_hints: StringArray,
    positive: StoredSide,
    negative: StoredSide,
    custom_bounds: ListArray,
}

#[derive(Debug)]
struct StoredSide {
    offsets: ListArray,
    lengths: ListArray,
    counts: ListArray,
}

impl StoredHistograms {
    /// Reads columns that are the [`HISTOGRAM_COLUMNS`], in this order.
    pub fn new(columns: &[ArrayRef]) -> Result<Self, ArrowError> {
        let schema = histograms_schema();
        let fields = schema.fields()[schema.fields().len() - HISTOGRAM_COLUMNS.len()..].iter();
        let plain = columns.iter().zip(fields).map(|(column, field)| match column.data_type() {
            own if own.equals_datatype(field.data_type()) => Ok(ArrayRef::clone(column)),
            _ => cast(column, field.data_type()),
        });
        let plain = plain.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let Ok([schemas, count, sum, zero_threshold, zero_count, reset_hints, lists @ ..]) =
            <[ArrayRef; HISTOGRAM_COLUMNS.len()]>::try_from(plain)
        else {
            return Err(ArrowError::SchemaError("the columns are not those of histograms".to_owned()));
        };
        let list = |position: usize| lists[position].as_list().clone();
        let side = |at| StoredSide { offsets: list(at), lengths: list(at + 1), counts: list(at + 2) };
        Ok(Self {
            schemas: schemas.as_primitive::<Int16Type>().clone(),
            numbers: [count, sum, zero_threshold, zero_count]
                .map(|column| column.as_primitive::<Float64Type>().clone()),
            reset_hints: reset_hints.as_string().clone(),
            positive: side(0),
            negative: side(3),
            custom_bounds: list(6),
        })
    }

    /// The histogram of a row. The error is the reason why it is not valid: SQL can store any values.
    pub fn get(&self, row: usize) -> Result<Histogram, String> {
        let [count, sum, zero_threshold, zero_count] =
            [0, 1, 2, 3].map(|column: usize| self.numbers[column].value(row));
        let (schema, reset_hint) = (self.schemas.value(row), self.reset_hints.value(row));
        let reset_hint = RESET_HINTS.iter().find(|(_, text)| *text == reset_hint).map(|(hint, _)| *hint);
        let histogram = Histogram {
            schema: i8::try_from(schema).map_err(|_| format!("there is no schema {schema}"))?,
            zero_threshold,
            zero_count,
            count,
            sum,
            positive: self.positive.get(row)?,
            negative: self.negative.get(row)?,
            custom_bounds: elements::<Float64Type>(&self.custom_bounds, row).to_vec(),
            reset_hint: reset_hint.unwrap_or_default(),
        };
        histogram.check().map(|()| histogram)
    }
}

impl StoredSide {
    fn get(&self, row: usize) -> Result<Buckets, String> {
        let (offsets, lengths) = (elements::<Int32Type>(&self.offsets, row), elements::<Int32Type>(&self.lengths, row));
        if offsets.len() != lengths.len() {
            return Err(format!("{} offsets of spans, and {} lengths", offsets.len(), lengths.len()));
        }
        let span = |(offset, length): (&i32, &i32)| {
            let length = u32::try_from(*length).map_err(|_| format!("a span of {length} buckets"))?;
            Ok(Span { offset: *offset, length })
        };
        let spans = offsets.iter().zip(lengths).map(span).collect::<Result<Vec<Span>, String>>()?;
        Ok(Buckets { spans, counts: elements::<Float64Type>(&self.counts, row).to_vec() })
    }
}

/// The elements of an array. A NULL among them is some number.
fn elements<T: ArrowPrimitiveType>(lists: &ListArray, row: usize) -> &[T::Native] {
    let offsets = lists.value_offsets();
    &lists.values().as_primitive::<T>().values()[offsets[row] as usize..offsets[row + 1] as usize]
}
