//! Charts in a terminal: lines of braille dots over times and numbers, [bars] over names.

use super::bars::bars;
use super::destination::Destination;
use super::plot::{Plot, XKind, scale_text};
use crate::console::pager::terminal_size;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use unicode_width::UnicodeWidthStr;

/// Lines of dots.
const LINES: usize = 16;

/// The width in columns if the terminal does not report it.
const WIDTH_DEFAULT: usize = 80;

pub(super) struct ChartWriter<'a> {
    out: &'a mut Destination,
    plot: Plot,
}

impl<'a> ChartWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, out: &'a mut Destination) -> Result<Self> {
        Ok(Self { out, plot: Plot::new(schema)? })
    }
}

impl ResultWriter for ChartWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.plot.add(batch)
    }

    fn finish(&mut self) -> Result<()> {
        let width = terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| width);
        self.out.put(draw(&self.plot, width).as_bytes())
    }
}

/// The chart, at most `width` columns wide.
fn draw(plot: &Plot, width: usize) -> String {
    if plot.x.is_empty() {
        return "no rows to draw\n".to_owned();
    }
    let charts = plot.series.iter().enumerate().map(|(number, series)| match plot.x_kind {
        XKind::Name => bars(plot, number, width),
        _ => format!("{}\n{}", series.name, lines(plot, number, width)),
    });
    charts.collect::<Vec<_>>().join("\n")
}

/// A line over the positions of the rows. Each column of dots shows the range of its values.
fn lines(plot: &Plot, number: usize, width: usize) -> String {
    let values = &plot.series[number].values;
    let one = Plot { series: vec![plot.series[number].clone()], ..plot.clone() };
    let ((x_low, x_high), (y_low, y_high)) = (plot.x_range(), one.y_range());
    let y_step = (y_high - y_low) / LINES as f64;
    let scale = [y_high, f64::midpoint(y_low, y_high), y_low].map(|value| scale_text(value, y_step));
    let margin = scale.iter().map(String::len).max().unwrap_or(0);
    let columns = width.saturating_sub(margin + 3).max(10);
    let (dots_wide, dots_high) = (columns * 2, LINES * 4);
    let mut cells = vec![0_u8; columns * LINES];
    let at = |value: f64, low: f64, high: f64, count: usize| {
        (((value - low) / (high - low) * (count - 1) as f64).round().max(0.0) as usize).min(count - 1)
    };
    let mut set = |x: usize, y: usize| {
        // The dots of a cell, from the top left down, as Unicode numbers them.
        const BITS: [[u8; 4]; 2] = [[0, 1, 2, 6], [3, 4, 5, 7]];
        let y = dots_high - 1 - y;
        cells[y / 4 * columns + x / 2] |= 1 << BITS[x % 2][y % 4];
    };
    let mut last: Option<(usize, usize)> = None;
    for (x, value) in plot.x.iter().zip(values) {
        if !value.is_finite() {
            last = None;
            continue;
        }
        let point = (at(*x, x_low, x_high, dots_wide), at(*value, y_low, y_high, dots_high));
        let (from_x, from_y) = last.unwrap_or(point);
        let steps = from_x.abs_diff(point.0).max(from_y.abs_diff(point.1)).max(1);
        for step in 0..=steps {
            let part = |from: usize, to: usize| {
                (from as f64 + (to as f64 - from as f64) * step as f64 / steps as f64).round() as usize
            };
            set(part(from_x, point.0), part(from_y, point.1));
        }
        last = Some(point);
    }
    let mut out = String::new();
    for line in 0..LINES {
        let label = match line {
            0 => scale[0].as_str(),
            line if line == LINES / 2 => scale[1].as_str(),
            line if line == LINES - 1 => scale[2].as_str(),
            _ => "",
        };
        let dots = cells[line * columns..(line + 1) * columns].iter();
        let dots: String = dots.map(|bits| char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ')).collect();
        out.push_str(&format!("{label:>margin$} │{}\n", dots.trim_end_matches('\u{2800}')));
    }
    let x_step = (x_high - x_low) / columns as f64;
    let (first, last) = (plot.x_text(x_low, x_step), plot.x_text(x_high, x_step));
    let gap = columns.saturating_sub(first.width() + last.width());
    out.push_str(&format!("{:>margin$} └{}\n", "", "─".repeat(columns)));
    out.push_str(&format!("{:>margin$}  {first}{}{last}\n", "", " ".repeat(gap)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Float64Array, Int64Array};
    use std::sync::Arc;

    fn drawn(first: ArrayRef, values: Vec<Option<f64>>) -> String {
        let columns: [(&str, ArrayRef); 2] = [("x", first), ("value", Arc::new(Float64Array::from(values)))];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
        let mut plot = Plot::new(&batch.schema()).unwrap();
        plot.add(&batch).unwrap();
        draw(&plot, 40)
    }

    #[test]
    fn numbers_have_a_line_between_the_least_and_the_greatest() {
        let numbers = Arc::new(Int64Array::from(vec![0, 50, 100]));
        let chart = drawn(numbers, vec![Some(-5.0), Some(0.0), Some(5.0)]);
        let lines: Vec<&str> = chart.lines().collect();
        assert_eq!((lines[0], lines.len()), ("value", LINES + 3));
        assert!(lines[1].starts_with(" 5 │") && lines[LINES].starts_with("-5 │"), "{chart}");
        // The line rises: its first dots are at the bottom, its last at the top.
        assert!(lines[LINES].chars().nth(4).is_some_and(|dots| dots > '\u{2800}'), "{chart}");
        assert!(lines[1].chars().count() == 40 - 1 && lines[LINES + 2].ends_with("100"), "{chart}");
    }
}
