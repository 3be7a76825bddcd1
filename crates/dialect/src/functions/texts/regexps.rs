//! Functions of regular expressions that PostgreSQL has and DataFusion lacks: `regexp_split_to_array`, and the lists
//! behind `regexp_matches` and `regexp_split_to_table`, which return rows; and `regexp_substr`, `regexp_instr`, which
//! has other arguments in DataFusion, and `regexp_count`, whose patterns have no look-around there. `regexp_pattern` is
//! a computed pattern, or one with computed flags, with the escapes of Rust's regular expressions.

use super::expressions::{Expression, ExpressionsOfRows};
use crate::functions::base::plain::Plain;
use crate::text::datafusion_errors::external;
use crate::text::pattern_escapes::with_rust_escapes;
use crate::text::pattern_flags::options_of;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::ops::Range;
use std::sync::Arc;

const TEXT: DataType = DataType::Utf8;
const BIGINT: DataType = DataType::Int64;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let takes: [&[DataType]; 2] = [&[TEXT, TEXT], &[TEXT, TEXT, TEXT]];
    let texts = DataType::new_list(TEXT, true);
    // Text, pattern, start, number of the match, whether its end, flags, group.
    let all = [TEXT, TEXT, BIGINT, BIGINT, BIGINT, TEXT, BIGINT];
    let of_position: Vec<&[DataType]> = (2..=all.len()).map(|count| &all[..count]).collect();
    let all = [TEXT, TEXT, BIGINT, BIGINT, TEXT, BIGINT];
    let of_part: Vec<&[DataType]> = (2..=all.len()).map(|count| &all[..count]).collect();
    let of_count: [&[DataType]; 3] = [&[TEXT, TEXT], &[TEXT, TEXT, BIGINT], &[TEXT, TEXT, BIGINT, TEXT]];
    vec![
        Plain::new("regexp_pattern", &[&[TEXT], &[TEXT, TEXT]], TEXT, rust_patterns).udf(),
        Plain::new("regexp_substr", &of_part, TEXT, parts).udf(),
        Plain::new("regexp_instr", &of_position, BIGINT, positions).udf(),
        Plain::new("regexp_count", &of_count, BIGINT, counts).udf(),
        Plain::new("regexp_split_to_array", &takes, texts.clone(), split).udf(),
        Plain::new("regexp_all_matches", &takes, DataType::new_list(texts, true), all_matches).udf(),
    ]
}

fn rust_patterns(args: &[ArrayRef]) -> Result<ArrayRef> {
    let patterns = args[0].as_string::<i32>();
    let Some(flags) = args.get(1).map(|flags| flags.as_string::<i32>()) else {
        let patterns = patterns.iter().map(|pattern| pattern.map(with_rust_escapes).transpose());
        return Ok(Arc::new(patterns.collect::<atsdb_core::Result<StringArray>>().map_err(external)?));
    };
    let written = |(pattern, flags): (&str, &str)| with_rust_escapes(&(options_of(flags)? + pattern));
    let patterns = patterns.iter().zip(flags).map(|(pattern, flags)| pattern.zip(flags).map(written).transpose());
    Ok(Arc::new(patterns.collect::<atsdb_core::Result<StringArray>>().map_err(external)?))
}

/// A row's text, its expression, and whether all matches are wanted.
pub struct Search<'a> {
    /// The text that is searched.
    pub text: &'a str,
    /// The expression that is searched for.
    pub expression: &'a Expression,
    /// Whether the flags contain `g`: all matches are wanted.
    pub is_global: bool,
}

/// Calls `found` for each row of texts, patterns and, if there is a third argument, flags; with `None` if one is NULL.
pub fn for_each_row(args: &[ArrayRef], mut found: impl FnMut(Option<Search<'_>>) -> Result<()>) -> Result<()> {
    let columns: Vec<&StringArray> = args.iter().map(|column| column.as_string::<i32>()).collect();
    let mut expressions = ExpressionsOfRows::default();
    for row in 0..columns[0].len() {
        let value = |at: usize| columns[at].is_valid(row).then(|| columns[at].value(row));
        let flags = if columns.len() > 2 { value(2) } else { Some("") };
        let (Some(text), Some(pattern), Some(flags)) = (value(0), value(1), flags) else {
            found(None)?;
            continue;
        };
        let expression = expressions.of(pattern, flags)?;
        found(Some(Search { text, expression, is_global: flags.contains('g') }))?;
    }
    Ok(())
}

/// The places of the arguments behind the text, the pattern, the start and the number of the match.
struct ArgumentPositions {
    function: &'static str,
    end: Option<usize>,
    flags: usize,
    group: usize,
}

/// A part of a text that was looked for.
struct SoughtPart<'a> {
    text: &'a str,
    /// The match, or the requested group of it; `None` if there is none.
    part: Option<Range<usize>>,
    /// Whether its end is requested.
    is_end: bool,
}

/// Returns the position at which a match, or one of its groups, begins or ends: in characters from 1; 0 if there is
/// none.
fn positions(args: &[ArrayRef]) -> Result<ArrayRef> {
    let places = ArgumentPositions { function: "regexp_instr", end: Some(4), flags: 5, group: 6 };
    let mut positions: Vec<Option<i64>> = Vec::new();
    for_each_part(args, &places, |found| {
        positions.push(found.map(|SoughtPart { text, part, is_end }| {
            let byte = part.map(|part| if is_end { part.end } else { part.start });
            let position = byte.map_or(0, |byte| text[..byte].chars().count() + 1);
            i64::try_from(position).unwrap_or(i64::MAX)
        }));
    })?;
    Ok(Arc::new(Int64Array::from(positions)))
}

/// A match, or one of its groups; NULL if there is none.
fn parts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let places = ArgumentPositions { function: "regexp_substr", end: None, flags: 4, group: 5 };
    let mut parts = StringBuilder::new();
    for_each_part(args, &places, |found| {
        parts.append_option(found.and_then(|found| Some(&found.text[found.part?])));
    })?;
    Ok(Arc::new(parts.finish()))
}

/// Calls `found` for each row; with `None` if an argument is NULL.
fn for_each_part(
    args: &[ArrayRef],
    places: &ArgumentPositions,
    mut found: impl FnMut(Option<SoughtPart<'_>>),
) -> Result<()> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let mut expressions = ExpressionsOfRows::default();
    for row in 0..texts.len() {
        if args.iter().any(|column| column.is_null(row)) {
            found(None);
            continue;
        }
        let (start, count) = (number(args.get(2), row, "start", 1, 1)?, number(args.get(3), row, "n", 1, 1)?);
        let end = number(places.end.and_then(|at| args.get(at)), row, "endoption", 0, 0)?;
        let group = number(args.get(places.group), row, "subexpr", 0, 0)?;
        let flags = args.get(places.flags).map_or("", |column| column.as_string::<i32>().value(row));
        if end > 1 {
            return exec_err!("invalid value for parameter \"endoption\": {end}");
        }
        if flags.contains('g') {
            return exec_err!("{}() does not support the \"global\" option", places.function);
        }
        let (text, pattern) = (texts.value(row), patterns.value(row));
        let expression = expressions.of(pattern, flags)?;
        let mut part = None;
        if let Some(from) = byte_of(text, start) {
            for (number, groups) in (1..=count).zip(expression.matches(text, from)) {
                let groups = groups?;
                if number == count {
                    part = groups.get(group);
                }
            }
        }
        found(Some(SoughtPart { text, part, is_end: end == 1 }));
    }
    Ok(())
}

/// The number of matches; NULL if an argument is.
fn counts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let mut expressions = ExpressionsOfRows::default();
    let mut counts: Vec<Option<i64>> = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if args.iter().any(|column| column.is_null(row)) {
            counts.push(None);
            continue;
        }
        let start = number(args.get(2), row, "start", 1, 1)?;
        let flags = args.get(3).map_or("", |column| column.as_string::<i32>().value(row));
        if flags.contains('g') {
            return exec_err!("regexp_count() does not support the \"global\" option");
        }
        let (text, expression) = (texts.value(row), expressions.of(patterns.value(row), flags)?);
        let mut count: i64 = 0;
        if let Some(from) = byte_of(text, start) {
            for range in expression.ranges(text, from) {
                count += range.map(|_| 1)?;
            }
        }
        counts.push(Some(count));
    }
    Ok(Arc::new(Int64Array::from(counts)))
}

/// The number that an argument has in a row, or `missing` if there is no such argument. Fails if it is less than
/// `least`.
pub fn number(column: Option<&ArrayRef>, row: usize, name: &str, missing: i64, least: i64) -> Result<usize> {
    let value = column.map_or(missing, |column| column.as_primitive::<Int64Type>().value(row));
    match usize::try_from(value) {
        Ok(number) if value >= least => Ok(number),
        _ => exec_err!("invalid value for parameter \"{name}\": {value}"),
    }
}

/// The byte at which a character begins, from 1; or that of the end, after the last one.
pub fn byte_of(text: &str, character: usize) -> Option<usize> {
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(character.checked_sub(1)?)
}

/// The parts of a text between matches. An empty match at the start, at the end or directly after another one does not
/// separate.
fn split(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for_each_row(args, |search| {
        let Some(Search { text, expression, is_global }) = search else {
            lists.append_null();
            return Ok(());
        };
        if is_global {
            return exec_err!("regexp_split_to_array and regexp_split_to_table have no flag g");
        }
        let (mut start, mut previous_end) = (0, 0);
        for range in expression.ranges(text, 0) {
            let whole = range?;
            if whole.start < text.len() && whole.end > previous_end {
                lists.values().append_value(&text[start..whole.start]);
                start = whole.end;
            }
            previous_end = whole.end;
        }
        lists.values().append_value(&text[start..]);
        lists.append(true);
        Ok(())
    })?;
    Ok(Arc::new(lists.finish()))
}

/// The groups of each match, or the match if there are no groups; of the first match only, without the flag `g`.
fn all_matches(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for_each_row(args, |search| {
        let Some(Search { text, expression, is_global }) = search else {
            lists.append_null();
            return Ok(());
        };
        for groups in expression.matches(text, 0).take(if is_global { usize::MAX } else { 1 }) {
            let list = lists.values();
            for part in groups?.parts() {
                list.values().append_option(part.map(|part| &text[part]));
            }
            list.append(true);
        }
        lists.append(true);
        Ok(())
    })?;
    Ok(cast(&lists.finish(), &DataType::new_list(DataType::new_list(TEXT, true), true))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(row: &[&str]) -> Vec<ArrayRef> {
        row.iter().map(|text| Arc::new(StringArray::from(vec![*text])) as ArrayRef).collect()
    }

    #[test]
    fn texts_are_split_as_postgresql_splits_them() {
        for (row, wanted) in [
            (vec!["hello world", r"\s+"], vec!["hello", "world"]),
            (vec!["the quick", r"\s*"], vec!["t", "h", "e", "q", "u", "i", "c", "k"]),
            (vec!["abc", "x"], vec!["abc"]),
            (vec![",a,", ","], vec!["", "a", ""]),
            (vec!["", ","], vec![""]),
            (vec!["aXbxc", "x", "i"], vec!["a", "b", "c"]),
        ] {
            let found = split(&columns(&row)).unwrap();
            let expected: ArrayRef = Arc::new(StringArray::from(wanted));
            assert_eq!(&found.as_list::<i32>().value(0), &expected, "{row:?}");
        }
        assert!(split(&columns(&["a", "a", "g"])).is_err() && split(&columns(&["a", "a", "z"])).is_err());
    }

    #[test]
    fn positions_are_those_of_the_part_that_is_asked_for() {
        let position = |row: &[&str], numbers: &[i64]| {
            let mut columns = columns(row);
            columns.extend(numbers.iter().map(|number| Arc::new(Int64Array::from(vec![*number])) as ArrayRef));
            positions(&columns).map(|found| found.as_primitive::<Int64Type>().value(0))
        };
        assert_eq!(position(&["äbcabc", "b"], &[]).unwrap(), 2);
        assert_eq!(position(&["äbcabc", "b"], &[3]).unwrap(), 5);
        assert_eq!(position(&["äbcabc", "b"], &[1, 2, 1]).unwrap(), 6);
        assert_eq!(position(&["abc", "c"], &[9]).unwrap(), 0);
        assert_eq!(position(&["abc", "x*"], &[4]).unwrap(), 4);
        for wrong in [&[0][..], &[1, 0], &[1, 1, 2]] {
            assert!(position(&["abc", "c"], wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn parts_are_matches_or_their_groups() {
        let of = |text: &str, pattern: &str, numbers: [i64; 2], flags: &str, group: i64| {
            let mut columns = columns(&[text, pattern]);
            columns.extend(numbers.map(|number| Arc::new(Int64Array::from(vec![number])) as ArrayRef));
            columns.push(Arc::new(StringArray::from(vec![flags])));
            columns.push(Arc::new(Int64Array::from(vec![group])));
            let found = parts(&columns).unwrap();
            found.is_valid(0).then(|| found.as_string::<i32>().value(0).to_owned())
        };
        assert_eq!(of("ABCDEF", "c(.)(..)", [1, 1], "i", 0).unwrap(), "CDEF");
        assert_eq!(of("ABCDEF", "c(.)(..)", [1, 1], "i", 2).unwrap(), "EF");
        assert_eq!(of("street, town, FR", "[^,]+", [1, 2], "", 0).unwrap(), " town");
        assert_eq!(of("abc", "b", [3, 1], "", 0), None);
        assert_eq!(of("abc", "b", [1, 1], "", 3), None);
    }

    #[test]
    fn matches_are_counted_from_a_character_on() {
        let count = |row: &[&str], start: i64| {
            let mut columns = columns(row);
            columns.push(Arc::new(Int64Array::from(vec![start])));
            counts(&columns).map(|found| found.as_primitive::<Int64Type>().value(0))
        };
        assert_eq!(count(&["abcabc", "b"], 1).unwrap(), 2);
        assert_eq!(count(&["\u{e4}bcabc", "b"], 3).unwrap(), 1);
        assert_eq!(count(&["abc", "b*"], 1).unwrap(), 4);
        assert_eq!(count(&["foobar", "[a-z](?=[ao])"], 1).unwrap(), 3);
        assert_eq!(count(&["abc", "b"], 9).unwrap(), 0);
        assert!(count(&["abc", "b"], 0).is_err());
    }

    #[test]
    fn all_matches_need_a_flag() {
        let count = |row: &[&str]| all_matches(&columns(row)).unwrap().as_list::<i32>().value(0).len();
        assert_eq!(count(&["foobarbequebaz", "ba."]), 1);
        assert_eq!(count(&["foobarbequebaz", "ba.", "g"]), 2);
        assert_eq!(count(&["abc", "b*", "g"]), 4);
        assert_eq!(count(&["abc", "x", "g"]), 0);
    }
}
