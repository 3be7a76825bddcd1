//! The type of a column from its facts.

use crate::facts::{Facts, kind, orders};
use crate::infer::number_notes::{range_note, sign_note, thousands_note, zone_note};
use crate::options::Options;
use crate::options::selection::flag_value;
use crate::records::error::shown;
use atsdb_core::time_text::DateOrder;
use atsdb_core::{ColumnType, TimeUnit};

/// The type that can hold every value, and a note for the user if that is text because of a few values. `kinds` are
/// those as which the values are read.
pub(crate) fn column_type(facts: &Facts, kinds: u16, options: &Options) -> (ColumnType, Option<String>) {
    let within = |allowed: u16| kinds != 0 && kinds & !allowed == 0;
    if within(kind::BOOL) {
        return (ColumnType::Bool, None);
    }
    if within(kind::INT | kind::LONG_INT) {
        return (ColumnType::Int64, None);
    }
    if within(kind::INT | kind::LONG_INT | kind::UINT) && facts.int_bounds.is_none_or(|(min, _)| min >= 0) {
        return (ColumnType::UInt64, None);
    }
    if within(kind::INT | kind::FLOAT) {
        return (ColumnType::Float64, None);
    }
    if within(kind::INT | kind::LONG_INT | kind::COMMA_EITHER) {
        let why = "the comma in its numbers may be a decimal one or stand between thousands; --decimal-comma reads it as \
                   the decimal one";
        return (ColumnType::Text, Some(why.to_owned()));
    }
    if within(kind::INT | kind::LONG_INT | kind::COMMA_EITHER | kind::COMMA_LIST) {
        let why = "the commas in its numbers may stand between thousands or between the items of a list; in SQL, \
                   replace(COLUMN, ',', '') takes them out";
        return (ColumnType::Text, Some(why.to_owned()));
    }
    if let Some(why) = why_no_dates(facts, options).filter(|_| within(kind::TIMES)) {
        return (ColumnType::Text, Some(why.to_owned()));
    }
    if within(kind::DATE) && !is_mixed(facts.orders) {
        return (ColumnType::Date, None);
    }
    if within(kind::TIMES) && !is_mixed(facts.orders) {
        return (ColumnType::Timestamp(text_unit(facts)), None);
    }
    (ColumnType::Text, why_text(facts))
}

/// Returns the note that says why values that may be dates are not read as such: the order of day, month and year is
/// unknown, as in `3/4/05` and `31.12.23`, or all of them may be two years each, as in `2010-11`. `None` for other
/// values.
pub(crate) fn why_no_dates(facts: &Facts, options: &Options) -> Option<&'static str> {
    if facts.has_short_years && facts.orders == orders::EITHER && options.date_order.is_none() {
        Some("its values may be dates, of which none shows which number is the day; --date-order reads them as dates")
    } else if facts.kinds == kind::DATE && facts.has_periods && !facts.has_sure_dates {
        Some(
            "its values may be months, or two years each, as fiscal years are; in SQL, CAST(COLUMN || '-01' AS DATE) \
             makes dates of months",
        )
    } else {
        None
    }
}

/// The unit for times that were text.
pub(crate) fn text_unit(facts: &Facts) -> TimeUnit {
    if facts.second_digits > 6 { TimeUnit::Nanosecond } else { TimeUnit::Microsecond }
}

/// Returns whether both orders of day and month were seen.
pub(crate) fn is_mixed(seen: u8) -> bool {
    seen & orders::DAY_FIRST != 0 && seen & orders::MONTH_FIRST != 0
}

fn why_text(facts: &Facts) -> Option<String> {
    if facts.kinds == 0 {
        return None;
    }
    if facts.kinds & kind::TEXT == 0 {
        return Some(match facts.kinds & kind::NUMBERS {
            kinds if kinds & kind::HUGE != 0 => "it has whole numbers beyond 64 bits".to_owned(),
            kinds if kinds & kind::FLOAT != 0 && facts.kinds & !(kinds | kind::COMMAS) == 0 && kinds != facts.kinds => {
                "some of its numbers have commas, others decimal points; write them alike".to_owned()
            }
            _ if facts.kinds & kind::COMMA != 0 && facts.kinds & !(kind::NUMBERS | kind::COMMAS) == 0 => {
                "the commas in its numbers are decimal ones in some, and stand between thousands in others; write them \
                 alike"
                    .to_owned()
            }
            kinds if kinds != 0 && kinds == facts.kinds => {
                "it has whole numbers that no type holds together with its other numbers".to_owned()
            }
            _ => "it mixes numbers, times and booleans".to_owned(),
        });
    }
    let typed = facts.number_count.max(facts.time_count);
    let seen = facts.first_text.as_ref()?;
    if is_lost_number(&seen.value) {
        let value = shown(&seen.value);
        return Some(format!("line {} has {value}, which DOUBLE would make infinite or zero", seen.line));
    }
    if let Some(note) = thousands_note(facts.kinds, seen).or_else(|| zone_note(seen)).or_else(|| range_note(seen)) {
        return Some(note);
    }
    if facts.signed_count > 0 && facts.signed_count + facts.number_count == facts.value_count {
        return sign_note(seen);
    }
    // A list of words among lists of numbers is none.
    let is_only_text = typed > 1 && typed + 1 == facts.value_count && !seen.value.contains(',');
    (is_only_text || typed * 10 > facts.value_count * 9).then(|| {
        let (what, value) = (if facts.number_count >= facts.time_count { "numbers" } else { "times" }, &seen.value);
        let shown = shown(value);
        let is_whole = shown.ends_with('"');
        let null = if is_whole { format!("; --null {} makes it NULL", flag_value(value)) } else { String::new() };
        format!("not all of its values are {what}: line {} has {shown}{null}", seen.line)
    })
}

/// Returns whether a text is a number beyond the range of DOUBLE.
fn is_lost_number(text: &str) -> bool {
    let is_lost = text.parse::<f64>().is_ok_and(|value| value.is_infinite() || value == 0.0);
    is_lost && text.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// The order of day and month in one file's dates, as far as its values show it; `Err` if it is undecided.
pub(crate) fn date_order(seen: u8) -> Result<Option<DateOrder>, ()> {
    match (seen & orders::DAY_FIRST != 0, seen & orders::MONTH_FIRST != 0) {
        (true, false) => Ok(Some(DateOrder::DayFirst)),
        (false, true) => Ok(Some(DateOrder::MonthFirst)),
        (false, false) if seen & orders::EITHER == 0 => Ok(None),
        _ => Err(()),
    }
}
