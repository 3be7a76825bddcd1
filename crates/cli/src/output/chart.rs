//! Charts in a terminal: lines of braille dots over times and numbers, bars over names.

use super::destination::Destination;
use super::plot::{Plot, XKind, number_text};
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

/// The maximum number of bars.
const BARS_MAX: usize = 200;

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
    let scale = [number_text(y_high), number_text(f64::midpoint(y_low, y_high)), number_text(y_low)];
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
    let (first, last) = (plot.x_text(x_low), plot.x_text(x_high));
    let gap = columns.saturating_sub(first.width() + last.width());
    out.push_str(&format!("{:>margin$} └{}\n", "", "─".repeat(columns)));
    out.push_str(&format!("{:>margin$}  {first}{}{last}\n", "", " ".repeat(gap)));
    out
}

/// A bar for each row.
fn bars(plot: &Plot, number: usize, width: usize) -> String {
    let series = &plot.series[number];
    let shown = series.values.len().min(BARS_MAX);
    let label_width = plot.labels[..shown].iter().map(|label| label.width()).max().unwrap_or(0).min(width / 3);
    let texts: Vec<String> = series.values[..shown].iter().map(|value| number_text(*value)).collect();
    let text_width = texts.iter().map(String::len).max().unwrap_or(0);
    let columns = width.saturating_sub(label_width + text_width + 4).max(10);
    let most =
        series.values.iter().filter(|value| value.is_finite()).fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut out = format!("{}\n", series.name);
    for ((label, value), text) in plot.labels.iter().zip(&series.values).zip(&texts) {
        let label = beginning(label, label_width);
        let padding = " ".repeat(label_width.saturating_sub(label.width()));
        let eighths = if value.is_finite() && most > 0.0 {
            (value.abs() / most * columns as f64 * 8.0).round() as usize
        } else {
            0
        };
        let part = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8];
        let bar = format!("{}{part}", "█".repeat(eighths / 8));
        let text = if value.is_nan() { "NULL" } else { text.as_str() };
        out.push_str(format!("{label}{padding} │{text:>text_width$} {}", bar.trim_end()).trim_end());
        out.push('\n');
    }
    if series.values.len() > shown {
        out.push_str(&format!("and {} more\n", series.values.len() - shown));
    }
    out
}

/// The beginning of a text, at most `width` columns wide.
fn beginning(text: &str, width: usize) -> &str {
    let ends = text.char_indices().map(|(start, letter)| start + letter.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() <= width).last().unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn drawn(first: ArrayRef, values: Vec<Option<f64>>) -> String {
        let columns: [(&str, ArrayRef); 2] = [("x", first), ("value", Arc::new(Float64Array::from(values)))];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
        let mut plot = Plot::new(&batch.schema()).unwrap();
        plot.add(&batch).unwrap();
        draw(&plot, 40)
    }

    #[test]
    fn names_have_bars_as_long_as_their_values() {
        let names = Arc::new(StringArray::from(vec!["a", "long", "c"]));
        let chart = drawn(names, vec![Some(1.0), Some(2.0), None]);
        let full = "█".repeat(40 - 4 - 3 - 4);
        assert!(chart.contains(&format!("long │  2 {full}\n")), "{chart}");
        assert!(chart.contains("a    │  1 █") && chart.contains("c    │NULL\n") || chart.contains("c    │"), "{chart}");
    }

    #[test]
    fn bars_of_wide_and_of_narrow_names_begin_in_one_column() {
        let names = Arc::new(StringArray::from(vec!["東京都千代田区", "a"]));
        let chart = drawn(names, vec![Some(1.0), Some(2.0)]);
        let starts: Vec<usize> = chart.lines().filter_map(|line| Some(line.split_once('│')?.0.width())).collect();
        assert_eq!(starts, [14, 14], "{chart}");
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
