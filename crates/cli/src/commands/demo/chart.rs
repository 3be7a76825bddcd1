//! A bar chart of a query's two columns, label and number, in text.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::util::display::array_value_to_string;
use atsdb::sql::{Answer, Session};
use atsdb::{Error, Result};

/// The length of the longest bar, in characters.
const WIDTH: f64 = 48.0;
/// The ends of bars, in eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Runs the query and draws a line for each row.
pub(super) fn draw(session: &Session, sql: &str) -> Result<String> {
    let mut bars: Vec<(String, f64)> = Vec::new();
    for statement in session.statements(sql) {
        let Answer::Rows(rows) = session.execute(&statement?, &[])? else { continue };
        for batch in rows {
            let batch = batch?;
            let unreadable =
                |error| Error::internal("the chart's columns are not a label and a number").with_source(error);
            let numbers = cast(batch.column(1), &DataType::Float64).map_err(unreadable)?;
            for row in 0..batch.num_rows() {
                let label = array_value_to_string(batch.column(0), row).map_err(unreadable)?;
                // Shortens a time to its month.
                bars.push((label.chars().take(7).collect(), numbers.as_primitive::<Float64Type>().value(row)));
            }
        }
    }
    Ok(lines(&bars))
}

fn lines(bars: &[(String, f64)]) -> String {
    let longest = bars.iter().map(|(_, number)| *number).fold(f64::MIN_POSITIVE, f64::max);
    let line = |(label, number): &(String, f64)| format!("{label}  {} {number:.1}\n", bar(number / longest));
    bars.iter().map(line).collect()
}

fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * WIDTH * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_width_and_none_is_negative() {
        let drawn = lines(&[("a".into(), 50.0), ("b".into(), 100.0), ("c".into(), -3.0)]);
        let full = |line: &str| line.matches('█').count();
        assert_eq!(drawn.lines().map(full).collect::<Vec<_>>(), [24, 48, 0]);
        assert!(drawn.contains("c   -3.0"));
    }
}
