//! Times of day as SQLite has them: texts, of which that of a later time is greater.

use crate::time_format::{BoundSide, StoredBounds, between};
use atsdb_core::time::DAY_MICROSECONDS;
use rusqlite::types::ValueRef;

/// The text of a time of day in microseconds: `12:30:00`, and a fraction of a second with three or six digits.
pub(crate) fn clock_text(time: i64) -> String {
    let (seconds, fraction) = (time.div_euclid(1_000_000), time.rem_euclid(1_000_000));
    let whole = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match fraction {
        0 => whole,
        _ if fraction % 1_000 == 0 => format!("{whole}.{:03}", fraction / 1_000),
        _ => format!("{whole}.{fraction:06}"),
    }
}

/// The times of day that satisfy `time side operand`, a comparison of texts byte by byte. `None` if there are none, and
/// the outer `None` if the operand sets no bounds.
pub(crate) fn clock_bounds(side: BoundSide, operand: ValueRef<'_>) -> Option<Option<StoredBounds>> {
    let ValueRef::Text(text) = operand else { return None };
    let not_less = first_time(|own| own >= text);
    let greater = first_time(|own| own > text);
    Some(between(side, i128::from(greater) - 1, i128::from(not_less)))
}

/// The first time of day whose text passes a test that those of all later times pass; the end of the day if none does.
fn first_time(passes: impl Fn(&[u8]) -> bool) -> i64 {
    let (mut first, mut end) = (0, DAY_MICROSECONDS);
    while first < end {
        let middle = first + (end - first) / 2;
        if passes(clock_text(middle).as_bytes()) {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Time64MicrosecondArray};
    use arrow::compute::cast;
    use arrow::datatypes::DataType;

    const TIMES: [i64; 8] = [0, 1, 500_000, 500_001, 999_999, 1_000_000, 45_000_250_000, DAY_MICROSECONDS - 1];

    #[test]
    fn times_are_written_as_in_arrays() {
        let texts = cast(&Time64MicrosecondArray::from(TIMES.to_vec()), &DataType::Utf8).unwrap();
        let texts: Vec<&str> = texts.as_string::<i32>().iter().flatten().collect();
        assert_eq!(texts, TIMES.map(clock_text));
        assert!(texts.is_sorted_by(|a, b| a < b), "{texts:?}");
    }

    #[test]
    fn bounds_are_those_of_the_texts() {
        let others =
            ["", "0", "00:00:00.", "00:00:00.5", "00:00:00.5000", "12:30", "12:30:00.2500", "23:59:60", "noon"];
        let texts = TIMES.map(clock_text);
        for operand in texts.iter().map(String::as_str).chain(others) {
            for side in [
                BoundSide::Equal,
                BoundSide::Greater,
                BoundSide::GreaterOrEqual,
                BoundSide::Less,
                BoundSide::LessOrEqual,
            ] {
                let bounds = clock_bounds(side, ValueRef::Text(operand.as_bytes())).unwrap();
                for (time, text) in TIMES.iter().zip(&texts) {
                    let expected = match side {
                        BoundSide::Equal => text.as_str() == operand,
                        BoundSide::Greater => text.as_str() > operand,
                        BoundSide::GreaterOrEqual => text.as_str() >= operand,
                        BoundSide::Less => text.as_str() < operand,
                        BoundSide::LessOrEqual => text.as_str() <= operand,
                    };
                    let is_within = bounds.is_some_and(|bounds| bounds.first <= *time && *time <= bounds.last);
                    assert_eq!(is_within, expected, "{text} {side:?} {operand}");
                }
            }
        }
        assert_eq!(clock_bounds(BoundSide::Greater, ValueRef::Integer(12)), None);
    }
}
