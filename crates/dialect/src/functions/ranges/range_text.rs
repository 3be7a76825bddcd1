//! Texts of ranges, as PostgreSQL reads and writes them: `[1,10)`, `(,"2024-03-01 12:00:00"]`, `empty`.

use super::element::Element;
use super::range::{RangeBound, ValueRange};
use crate::functions::base::text_types::RangeType;
use crate::text::decimals;
use atsdb_core::{Error, Result};

/// Reads a range of a type; the error says how the text is wrong.
pub(crate) fn read(text: &str, of: RangeType) -> Result<ValueRange> {
    let malformed = |what: &str| {
        Error::invalid(format!("malformed range literal: \"{text:.60}\""))
            .with_hint(format!("{what}: write '[1,10)', '(1,10]', '[1,)' or 'empty'"))
    };
    let trimmed = text.trim();
    if let Some((word, rest)) = trimmed.split_at_checked("empty".len())
        && word.eq_ignore_ascii_case("empty")
    {
        return if rest.is_empty() {
            Ok(ValueRange::Empty)
        } else {
            Err(malformed("something follows the word empty"))
        };
    }
    let (is_lower_inclusive, rest) = match (trimmed.strip_prefix('['), trimmed.strip_prefix('(')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(malformed("a range begins with a parenthesis or bracket")),
    };
    let (lower, rest) = bound_text(rest).ok_or_else(|| malformed("the text ends too early"))?;
    let rest = rest.strip_prefix(',').ok_or_else(|| malformed("a comma follows the lower bound"))?;
    let (upper, rest) = bound_text(rest).ok_or_else(|| malformed("the text ends too early"))?;
    let (is_upper_inclusive, rest) = match (rest.strip_prefix(']'), rest.strip_prefix(')')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(malformed("a range has one comma")),
    };
    if !rest.is_empty() {
        return Err(malformed("something follows the range"));
    }
    let bound = |text: Option<String>, is_inclusive: bool| -> Result<RangeBound> {
        let value = text.map(|text| Element::read(&text, of)).transpose()?;
        Ok(RangeBound { value, is_inclusive })
    };
    ValueRange::new(bound(lower, is_lower_inclusive)?, bound(upper, is_upper_inclusive)?, of)
}

/// The text of a bound, without its quotes and backslashes, and what follows it. The inner `None` is for a bound that
/// is left out, the outer one for a text without an end.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ',' | ')' | ']' if !is_quoted => return Some((Some(value), &text[at..])),
            '\\' => value.push(letters.next()?.1),
            // Two quotes within quotes are one.
            '"' if is_quoted && letters.next_if(|(_, next)| *next == '"').is_some() => value.push('"'),
            '"' => is_quoted = !is_quoted,
            letter => value.push(letter),
        }
    }
    None
}

/// The text of a range.
pub(crate) fn written(range: ValueRange, of: RangeType) -> String {
    let Some((lower, upper)) = range.bounds() else { return "empty".to_owned() };
    let text = |bound: RangeBound| match bound.value.map(|value| value.written(of)) {
        Some(text) if text.contains(' ') => format!("\"{text}\""),
        text => text.unwrap_or_default(),
    };
    let opening = if lower.is_inclusive { '[' } else { '(' };
    let closing = if upper.is_inclusive { ']' } else { ')' };
    format!("{opening}{},{}{closing}", text(lower), text(upper))
}

/// The digits after the point that the decimals of a range have at most.
pub(super) fn places_of(text: &str) -> i8 {
    let numbers = text.split(['[', '(', ',', ')', ']']);
    numbers.filter_map(|number| decimals::read(number.trim())).map(|(_, places)| places).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_has_one_text() {
        for (text, of, expected) in [
            ("[1,5]", RangeType::Int4, "[1,6)"),
            ("(1,5)", RangeType::Int4, "[2,5)"),
            (" [ 1 , 5 ) ", RangeType::Int4, "[1,5)"),
            ("(1,2)", RangeType::Int4, "empty"),
            ("[3,3)", RangeType::Int8, "empty"),
            ("[,]", RangeType::Int4, "(,)"),
            ("(,5]", RangeType::Int8, "(,6)"),
            ("EMPTY", RangeType::Num, "empty"),
            ("[1.10,\"2\"]", RangeType::Num, "[1.10,2]"),
            ("(-1.5,-.5)", RangeType::Num, "(-1.5,-0.5)"),
            ("(1,1]", RangeType::Num, "empty"),
            ("[2024-02-28,2024-02-29]", RangeType::Date, "[2024-02-28,2024-03-01)"),
            ("(0044-03-15 BC,)", RangeType::Date, "[\"0044-03-16 BC\",)"),
            (
                "[2024-01-01,2024-01-01 12:00:00.250]",
                RangeType::Ts,
                r#"["2024-01-01 00:00:00","2024-01-01 12:00:00.25"]"#,
            ),
            ("[\"2024-01-01 02:00+02\",)", RangeType::Tstz, "[\"2024-01-01 00:00:00+00\",)"),
        ] {
            let found = written(read(text, of).unwrap(), of);
            assert_eq!(found, expected, "{text}");
            assert_eq!(written(read(&found, of).unwrap(), of), expected, "{text}");
        }
    }

    #[test]
    fn malformed_ranges_are_refused() {
        let unfinished = ["", "1,5", "[1,5", "[1", "[1)", "[1,5\\"];
        let wrong = ["[1,2,3)", "[1,5) x", "empty!", "[a,b)", "[\"\",5)", "[5,1]"];
        for text in unfinished.into_iter().chain(wrong) {
            assert!(read(text, RangeType::Int4).is_err(), "{text}");
        }
        assert!(read("[1,2147483647]", RangeType::Int4).unwrap_err().message().contains("integer out of range"));
        assert!(read("[1,infinity)", RangeType::Date).is_err());
    }

    #[test]
    fn keys_have_the_order_of_ranges() {
        let texts = ["empty", "(,1)", "(,)", "[-1.5,3)", "[1.0,2)", "[1,2]", "[1,)", "(1,2)", "[2,3)"];
        let keys: Vec<Vec<u8>> = texts.iter().map(|text| read(text, RangeType::Num).unwrap().key()).collect();
        assert!(keys.is_sorted_by(|left, right| left < right));
        assert_eq!(read("[1,2.00)", RangeType::Num).unwrap().key(), keys[4]);
    }
}
