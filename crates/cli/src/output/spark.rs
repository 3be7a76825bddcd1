//! Sparklines: the numeric columns of a result, a line of text each.

use super::destination::Destination;
use super::plot::{Plot, PlotSeries, number_text};
use crate::console::pager::terminal_size;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use unicode_width::UnicodeWidthStr;

/// The characters for values from the least to the greatest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The greatest width of a line, and its width if there is no terminal.
const WIDTH_MAX: usize = 60;

pub(super) struct SparkWriter<'a> {
    out: &'a mut Destination,
    plot: Plot,
}

impl<'a> SparkWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, out: &'a mut Destination) -> Result<Self> {
        Ok(Self { out, plot: Plot::new(schema)? })
    }
}

impl ResultWriter for SparkWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.plot.add(batch)
    }

    fn finish(&mut self) -> Result<()> {
        let width = terminal_size().map_or(WIDTH_MAX, |(width, _)| (width / 2).clamp(10, WIDTH_MAX));
        self.out.put(draw(&self.plot.series, width).as_bytes())
    }
}

/// A line for each column: its name, its course, its least and greatest value.
fn draw(series: &[PlotSeries], width: usize) -> String {
    let name_width = series.iter().map(|series| series.name.width()).max().unwrap_or(0);
    let lines = series.iter().map(|series| {
        let padding = " ".repeat(name_width - series.name.width());
        match bounds(&series.values) {
            Some((low, high)) => {
                let line = spark(&series.values, (low, high), width);
                format!("{}{padding} {line} {} to {}\n", series.name, number_text(low), number_text(high))
            }
            None => format!("{}{padding} no values\n", series.name),
        }
    });
    lines.collect()
}

fn bounds(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// The course of the values, at most `width` blocks: the mean of the values of each; a blank where there are none.
fn spark(values: &[f64], (low, high): (f64, f64), width: usize) -> String {
    let block_count = values.len().min(width);
    let block = |number: usize| {
        let part = &values[number * values.len() / block_count..(number + 1) * values.len() / block_count];
        let finite: Vec<f64> = part.iter().copied().filter(|value| value.is_finite()).collect();
        if finite.is_empty() {
            return ' ';
        }
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        let share = if high > low { (mean - low) / (high - low) } else { 0.0 };
        BLOCKS[((share * BLOCKS.len() as f64) as usize).min(BLOCKS.len() - 1)]
    };
    (0..block_count).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_with_its_values() {
        let series = |name: &str, values: &[f64]| PlotSeries { name: name.to_owned(), values: values.to_vec() };
        let rising: Vec<f64> = (0..8).map(f64::from).collect();
        let drawn = draw(&[series("up", &rising), series("gap", &[1.0, f64::NAN, 2.0]), series("none", &[])], 60);
        assert_eq!(drawn, "up   ▁▂▃▄▅▆▇█ 0 to 7\ngap  ▁ █ 1 to 2\nnone no values\n");
        let many: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert_eq!(spark(&many, (0.0, 999.0), 4), "▁▃▆█");
        assert_eq!(spark(&[5.0, 5.0], (5.0, 5.0), 10), "▁▁");
    }
}
