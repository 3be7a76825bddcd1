//! Bars over names in a terminal. If there are negative values, bars begin at a line for zero.

use super::plot::{Plot, number_text};
use unicode_width::UnicodeWidthStr;

/// The maximum number of bars.
const BARS_MAX: usize = 200;

/// The columns of bars below and above zero, and how much one of them stands for.
struct BarScale {
    /// Columns below zero; without them there is no line for zero.
    below: usize,
    unit: f64,
}

impl BarScale {
    fn new(values: &[f64], columns: usize) -> Self {
        let finite = values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low == 0.0 {
            return Self { below: 0, unit: high / columns as f64 };
        }
        // One column is for the line, and one for a bar that begins inside a column.
        let unit = (high - low) / columns.saturating_sub(2).max(1) as f64;
        Self { below: (-low / unit).ceil() as usize, unit }
    }

    /// The bar of a value, after the columns below zero.
    fn bar(&self, value: f64) -> String {
        let parts = if value.is_finite() && self.unit > 0.0 { value.abs() / self.unit } else { 0.0 };
        let eighths = (parts * 8.0).round() as usize;
        let (full, rest) = ("█".repeat(eighths / 8), eighths % 8);
        if value < 0.0 {
            // Blocks that fill the right part of a column exist only for an eighth and a half.
            let rest = [' ', '▕', '▕', '▐', '▐', '▐', '▐', '█'][rest];
            let bar = format!("{rest}{full}");
            let bar = bar.trim_start();
            return format!("{}{bar}│", " ".repeat(self.below.saturating_sub(bar.width())));
        }
        let rest = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][rest];
        let zero = if self.below > 0 { format!("{}│", " ".repeat(self.below)) } else { String::new() };
        format!("{zero}{full}{rest}")
    }
}

/// A bar for each row.
pub(super) fn bars(plot: &Plot, number: usize, width: usize) -> String {
    let series = &plot.series[number];
    let shown = series.values.len().min(BARS_MAX);
    let (values, labels) = (&series.values[..shown], &plot.labels[..shown]);
    let label_width = labels.iter().map(|label| label.width()).max().unwrap_or(0).min(width / 3);
    let text_of = |value: &f64| if value.is_nan() { "NULL".to_owned() } else { number_text(*value) };
    let texts: Vec<String> = values.iter().map(text_of).collect();
    let text_width = texts.iter().map(String::len).max().unwrap_or(0);
    let columns = width.saturating_sub(label_width + text_width + 4).max(10);
    let scale = BarScale::new(&series.values, columns);
    let mut out = format!("{}\n", series.name);
    for ((label, value), text) in labels.iter().zip(values).zip(&texts) {
        let label = beginning(label, label_width);
        let padding = " ".repeat(label_width.saturating_sub(label.width()));
        out.push_str(format!("{label}{padding} │{text:>text_width$} {}", scale.bar(*value)).trim_end());
        out.push('\n');
    }
    if series.values.len() > shown {
        out.push_str(&format!("and {} more\n", series.values.len() - shown));
    }
    out
}

/// A text, or its beginning and an ellipsis, at most `width` columns wide.
fn beginning(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(start, letter)| start + letter.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() < width).last().unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::plot::{PlotSeries, XKind};

    fn drawn(labels: &[&str], values: &[f64]) -> String {
        let plot = Plot {
            x_name: "x".to_owned(),
            x_kind: XKind::Name,
            x: (0..values.len()).map(|row| row as f64).collect(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            series: vec![PlotSeries { name: "value".to_owned(), values: values.to_vec() }],
        };
        bars(&plot, 0, 40)
    }

    #[test]
    fn names_have_bars_as_long_as_their_values() {
        let chart = drawn(&["a", "long", "c"], &[1.0, 2.0, f64::NAN]);
        let full = "█".repeat(40 - 4 - 4 - 4);
        assert!(chart.contains(&format!("long │   2 {full}\n")), "{chart}");
        assert!(chart.contains("a    │   1 █") && chart.contains("c    │NULL\n"), "{chart}");
    }

    #[test]
    fn bars_of_wide_and_of_narrow_names_begin_in_one_column() {
        let chart = drawn(&["東京都千代田区", "a"], &[1.0, 2.0]);
        let starts: Vec<usize> = chart.lines().filter_map(|line| Some(line.split_once('│')?.0.width())).collect();
        assert_eq!(starts, [14, 14], "{chart}");
        assert!(chart.contains("東京都千代田… │"), "{chart}");
        assert!(drawn(&["a name of more than a third of the line"], &[1.0]).starts_with("value\na name of mo… │1 █"));
    }

    #[test]
    fn bars_of_negative_values_lie_on_the_other_side_of_zero() {
        let chart = drawn(&["low", "zero", "high"], &[-10.0, 0.0, 20.0]);
        let lines: Vec<&str> = chart.lines().skip(1).map(|line| line.split_once('│').unwrap().1).collect();
        let sides: Vec<(&str, &str)> = lines.iter().map(|line| line.split_once('│').unwrap()).collect();
        let count = |text: &str| text.chars().filter(|letter| *letter == '█').count();
        let counts: Vec<(usize, usize)> = sides.iter().map(|(below, above)| (count(below), count(above))).collect();
        assert_eq!(counts[1], (0, 0), "{chart}");
        assert!(counts[0].0 > 5 && counts[0].1 == 0 && counts[2].0 == 0, "{chart}");
        assert!(counts[2].1.abs_diff(2 * counts[0].0) <= 1, "{chart}");
        assert!(sides.iter().all(|(below, _)| below.width() == sides[0].0.width()), "{chart}");
        assert!(chart.lines().all(|line| line.width() <= 40), "{chart}");
        assert!(drawn(&["a", "b"], &[-1.0, -2.0]).lines().all(|line| line.width() <= 40));
    }
}
