//! Chooses the time column: the one that the caller names, or else one with a suitable name, or else the only
//! candidate.

use crate::facts::{Facts, kind};
use crate::infer::column_type::why_no_dates;
use crate::infer::number_forms::NumberForms;
use crate::options::Options;
use crate::options::selection::flag_value;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Error, Result, TimeUnit};

/// The columns of all files under one name.
#[derive(Debug, Clone)]
pub(crate) struct Merged {
    /// The name as it is first written.
    pub(crate) name: String,
    /// The facts of all files together.
    pub(crate) facts: Facts,
    /// The column's position in each file.
    pub(crate) positions: Vec<Option<usize>>,
    /// The form of its numbers.
    pub(crate) numbers: NumberForms,
}

/// The source of the time. Positions are those of the merged columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeChoice {
    /// No time column: a plain table, and the reason.
    None(Option<String>),
    /// One column.
    Column(usize),
    /// A date and a time of day.
    DateClock(usize, usize),
    /// Year, and if present month, day, hour, minute, second.
    Parts(Vec<usize>),
}

/// Names that suggest a time, best first, as [`plain_name`] returns them.
const NAMES: [&str; 12] = [
    "time",
    "timestamp",
    "ts",
    "datetime",
    "date",
    "epoch",
    "unixtime",
    "unixtimestamp",
    "epochtime",
    "dateandtime",
    "utc",
    "t",
];

/// Letters and digits, in lower case, without a unit or zone at the end.
fn plain_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut plain = lower.as_str();
    for ending in ["_s", "_ms", "_us", "_ns", "_sec", "_seconds", "_utc", "utc", "_gmt", "(utc)", "[utc]"] {
        if let Some(start) = plain.strip_suffix(ending)
            && start.len() > 1
        {
            plain = start;
            break;
        }
    }
    plain.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

/// Returns whether a column of this name may be the time, or a part of it, whatever its type.
pub(crate) fn suggests_time(name: &str) -> bool {
    const PARTS: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];
    NAMES.contains(&plain_name(name).as_str()) || PARTS.iter().any(|part| name.eq_ignore_ascii_case(part))
}

/// Chooses the time of a new table.
pub(crate) fn choose(
    columns: &[Merged],
    row_count: u64,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<TimeChoice> {
    if !options.time.is_empty() {
        return requested(columns, options);
    }
    if let Some(position) = named(columns, row_count, options)? {
        return Ok(TimeChoice::Column(position));
    }
    let is_time = |merged: &&(usize, &Merged)| {
        let facts = &merged.1.facts;
        facts.kinds & !kind::TIMES == 0 && facts.time_count > 0 && why_no_dates(facts, options).is_none()
    };
    let all: Vec<(usize, &Merged)> = columns.iter().enumerate().collect();
    let times: Vec<(usize, &Merged)> = all.iter().filter(is_time).copied().collect();
    let whole: Vec<(usize, &Merged)> =
        times.iter().copied().filter(|(_, c)| c.facts.value_count == row_count).collect();
    let stamps: Vec<(usize, &Merged)> =
        whole.iter().copied().filter(|(_, c)| c.facts.kinds & kind::STAMP != 0).collect();
    // The month of a date is not the time beside the date itself.
    let days: Vec<(usize, &Merged)> = whole.iter().copied().filter(|(_, c)| !c.facts.has_periods).collect();
    let candidates = [stamps, days, whole].into_iter().find(|list| !list.is_empty()).unwrap_or_default();
    match candidates.as_slice() {
        [(position, _)] => return Ok(TimeChoice::Column(*position)),
        [] => {}
        several => return one_in_utc(several),
    }
    if let Some(position) = mentioned(columns, row_count) {
        notes.push(numbers_note(&columns[position].name));
        return Ok(TimeChoice::Column(position));
    }
    if let Some(parts) = parts_by_name(columns, row_count) {
        let names: Vec<&str> = parts.iter().map(|position| columns[*position].name.as_str()).collect();
        let names = names.join(",");
        notes.push(format!("the time is made of the columns {names}; --time none makes a plain table of them"));
        return Ok(TimeChoice::Parts(parts));
    }
    Ok(TimeChoice::None(Some(match times.as_slice() {
        [(_, column), ..] => format!(
            "a plain table: {} holds times but is empty in some rows; to make it the time: --time {} --skip-bad",
            column.name,
            flag_value(&column.name)
        ),
        [] => {
            let named = columns.iter().find(|column| mentions_time(&column.name));
            let likely = named.or_else(|| columns.iter().find(|column| may_count_time(&column.facts)));
            let likely = likely.map_or_else(|| "COLUMN".to_owned(), |column| flag_value(&column.name));
            format!("a plain table: no column holds times; if one does, name it: --time {likely}")
        }
    })))
}

/// Returns whether the values of a column are numbers that would be times if a name said so.
fn may_count_time(facts: &Facts) -> bool {
    let are_numbers = facts.number_count > 0 && facts.number_count == facts.value_count;
    are_numbers && (facts.epoch_unit().is_some() || facts.digit_bounds().is_some())
}

/// The only column of numbers that may be times, in every row, with a word for times in its name.
fn mentioned(columns: &[Merged], row_count: u64) -> Option<usize> {
    let is_time = |position: &usize| {
        let Merged { name, facts, .. } = &columns[*position];
        let is_complete = facts.value_count == row_count && facts.is_epoch_like();
        is_complete && may_count_time(facts) && mentions_time(name)
    };
    let mut positions = (0..columns.len()).filter(is_time);
    positions.next().filter(|_| positions.next().is_none())
}

/// The note about numbers that are read as the time, though the caller did not name their column.
pub(crate) fn numbers_note(name: &str) -> String {
    format!("the numbers of {name} are read as the time; --time none makes a plain table of them")
}

/// The first column of files that do not name their columns, if its numbers are hardly anything but times: dates in
/// digits, or counts of milliseconds or microseconds, beside times of day or numbers with decimals.
pub(crate) fn first_unnamed(columns: &[Merged], row_count: u64, options: &Options) -> Option<usize> {
    let facts = &columns.first()?.facts;
    let is_fine = |unit: TimeUnit| matches!(unit, TimeUnit::Millisecond | TimeUnit::Microsecond);
    let are_times = facts.digit_bounds().is_some() || facts.epoch_unit().is_some_and(is_fine);
    let has_decimals = |column: &Merged| column.facts.kinds & (kind::FLOAT | kind::COMMAS) != 0;
    let is_beside = || columns.iter().any(has_decimals) || clock_of(columns, 0, row_count, options).is_some();
    (facts.kinds == kind::INT && facts.value_count == row_count && are_times && is_beside()).then_some(0)
}

/// Words for times, as names of columns have them beside other words.
const TIME_WORDS: [&str; 9] =
    ["time", "date", "datetime", "timestamp", "datum", "zeit", "uhrzeit", "zeitpunkt", "zeitstempel"];

/// Returns whether one of the words of a name is a word for times: `MESS_DATUM`, `__REALTIME_TIMESTAMP`, `eventTime`.
fn mentions_time(name: &str) -> bool {
    let (mut words, mut is_behind_small) = (String::with_capacity(name.len()), false);
    for letter in name.chars() {
        if letter.is_uppercase() && is_behind_small {
            words.push(' ');
        }
        is_behind_small = letter.is_lowercase();
        words.extend(letter.to_lowercase());
    }
    words.split(|letter: char| !letter.is_alphabetic()).any(|word| TIME_WORDS.contains(&word))
}

/// Finds the columns that `--time` names.
pub(crate) fn requested(columns: &[Merged], options: &Options) -> Result<TimeChoice> {
    let names = options.time.as_slice();
    let find = |name: &String| {
        columns.iter().position(|column| same_name(&column.name, name)).ok_or_else(|| {
            unknown_name("column", name, columns.iter().map(|column| column.name.as_str())).context("--time")
        })
    };
    if let [name] = names {
        return match find(name) {
            Ok(position)
                if name.eq_ignore_ascii_case("year")
                    && options.time_unit.is_none()
                    && holds_years(&columns[position]) =>
            {
                Ok(TimeChoice::Parts(vec![position]))
            }
            Ok(position) => Ok(TimeChoice::Column(position)),
            Err(_) if name.eq_ignore_ascii_case("none") => Ok(TimeChoice::None(None)),
            Err(error) => Err(error),
        };
    }
    let positions = names.iter().map(find).collect::<Result<Vec<_>>>()?;
    match positions.as_slice() {
        [date, clock] if has_days(&columns[*date].facts, options) => Ok(TimeChoice::DateClock(*date, *clock)),
        // Beside a year, numbers may as well be quarters or weeks.
        [year, month] if holds_years(&columns[*year]) && columns[*month].name.eq_ignore_ascii_case("month") => {
            Ok(TimeChoice::Parts(positions))
        }
        [_, _, _] | [_, _, _, _] | [_, _, _, _, _] | [_, _, _, _, _, _] => Ok(TimeChoice::Parts(positions)),
        _ => Err(Error::usage(format!("--time {} names no time", names.join(",")))
            .with_hint("name one column, a date and a time of day, or year,month[,day[,hour[,minute[,second]]]]")),
    }
}

/// Returns whether there are days among the values of a column, as dates or in eight digits.
fn has_days(facts: &Facts, options: &Options) -> bool {
    facts.kinds & kind::DATE != 0 || (facts.are_digit_days() && options.time_unit.is_none())
}

/// Returns whether the values of a column may be years.
fn holds_years(column: &Merged) -> bool {
    let are_years = |(min, max): (i64, i64)| 1_000 <= min && max <= 3_000;
    column.facts.kinds == kind::INT && column.facts.int_bounds.is_some_and(are_years)
}

fn named(columns: &[Merged], row_count: u64, options: &Options) -> Result<Option<usize>> {
    for (rank, key) in NAMES.iter().enumerate() {
        let exact = columns.iter().position(|column| column.name.eq_ignore_ascii_case(key));
        let near = || columns.iter().position(|column| plain_name(&column.name) == *key);
        let Some(position) = exact.or_else(near) else { continue };
        let facts = &columns[position].facts;
        // A file of typed values declares its times, also without rows.
        let is_declared = row_count == 0 && facts.kinds & kind::TIMES != 0;
        if is_declared || facts.time_count > 0 && facts.time_count * 2 >= facts.value_count {
            return Ok(Some(position));
        }
        if !facts.is_epoch_like() {
            continue;
        }
        if options.time_unit.is_some() || facts.digit_bounds().is_some() || facts.epoch_unit().is_some() {
            return Ok(Some(position));
        }
        // A column named time with integers is probably a time, so it is better to ask than to guess.
        if rank < 3 {
            return Err(unknown_epoch(&columns[position]));
        }
    }
    Ok(None)
}

/// The column with the time of day for a column of dates: the only one with times of day, or the one of several with a
/// suitable name.
pub(crate) fn clock_of(columns: &[Merged], date: usize, row_count: u64, options: &Options) -> Option<usize> {
    let dates = &columns[date].facts;
    let are_days = has_days(dates, options) && matches!(dates.kinds, kind::DATE | kind::INT);
    // A time of day beside a month is not that of its first day.
    if !are_days || dates.has_periods || dates.value_count != row_count {
        return None;
    }
    let is_called_so = |position: &usize| {
        matches!(
            plain_name(&columns[*position].name).as_str(),
            "time" | "clock" | "hour" | "timeofday" | "zeit" | "uhrzeit"
        )
    };
    let is_complete = |position: &usize| columns[*position].facts.value_count == row_count;
    let clocks: Vec<usize> = clocks(columns).filter(is_complete).collect();
    match clocks.as_slice() {
        [clock] => Some(*clock),
        several => several.iter().copied().find(is_called_so),
    }
}

/// The columns that hold nothing but times of day.
fn clocks(columns: &[Merged]) -> impl Iterator<Item = usize> {
    let is_clock = move |position: &usize| {
        let facts = &columns[*position].facts;
        facts.clock_count > 0 && facts.clock_count == facts.value_count
    };
    (0..columns.len()).filter(is_clock)
}

/// The note about columns with times of day beside a column of dates that is the time without them.
pub(crate) fn clocks_note(columns: &[Merged], date: usize) -> Option<String> {
    let name = |position: usize| columns[position].name.as_str();
    let clocks: Vec<&str> = clocks(columns).map(name).collect();
    let dates = &columns[date].facts;
    let first = clocks.first().filter(|_| dates.kinds == kind::DATE && !dates.has_periods)?;
    let date = name(date);
    Some(format!(
        "the time is {date} alone, and times of day are text: {}; --time {} makes the time of both",
        clocks.join(", "),
        flag_value(&format!("{date},{first}"))
    ))
}

/// The error for numbers that are not times in any unit.
pub(crate) fn unknown_epoch(column: &Merged) -> Error {
    let (min, max) = column.facts.int_bounds.unwrap_or((0, 0));
    // The bounds are those of the whole parts.
    let most = max.saturating_add(i64::from(column.facts.kinds & kind::FLOAT != 0));
    let message = format!(
        "column {}: its numbers, {min} to {most}, are not times between 1980 and 2100 in s, ms, us or ns",
        column.name
    );
    if [min, max].iter().all(|days| SPREADSHEET_DAYS.contains(days)) {
        return Error::usage(message).with_hint(
            "if they are the days of a spreadsheet: --time none, and then in SQL TIMESTAMP '1899-12-30' + x * \
             INTERVAL '1 day'",
        );
    }
    Error::usage(message).with_hint("pass --time-unit s, ms, us or ns, or --time with another column, or --time none")
}

/// The days of 1980 to 2100 as spreadsheets count them, since 1899-12-30.
const SPREADSHEET_DAYS: std::ops::RangeInclusive<i64> = 29_221..=73_051;

fn one_in_utc(candidates: &[(usize, &Merged)]) -> Result<TimeChoice> {
    let says_utc = |candidate: &&(usize, &Merged)| candidate.1.name.to_lowercase().contains("utc");
    let is_zoned = |candidate: &&(usize, &Merged)| candidate.1.facts.zoned_count == candidate.1.facts.time_count;
    for rule in [&says_utc as &dyn Fn(&&(usize, &Merged)) -> bool, &is_zoned] {
        if let [(position, _)] = candidates.iter().filter(rule).collect::<Vec<_>>().as_slice() {
            return Ok(TimeChoice::Column(*position));
        }
    }
    let names: Vec<&str> = candidates.iter().map(|(_, column)| column.name.as_str()).collect();
    Err(Error::usage(format!("several columns may be the time: {}", names.join(", ")))
        .with_hint(format!("choose one: --time {}; or --time none", flag_value(names[0]))))
}

/// The columns year, month and day, and those that follow them, by their names.
pub(crate) fn parts_by_name(columns: &[Merged], row_count: u64) -> Option<Vec<usize>> {
    let limits = [
        ("year", 1_000, 3_000),
        ("month", 1, 12),
        ("day", 1, 31),
        ("hour", 0, 24),
        ("minute", 0, 59),
        ("second", 0, 60),
    ];
    let parts: Vec<usize> = limits
        .iter()
        .map_while(|(name, least, most)| {
            let position = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
            let facts = &columns[position].facts;
            let are_whole = facts.kinds & !(kind::INT | kind::TEXT) == 0
                && facts.number_count + facts.padded_count == facts.value_count;
            let is_complete = facts.value_count > 0 && facts.value_count == row_count;
            // Months and hours may be written as `03`, years may not.
            let may_be_padded = facts.padded_count == 0 || *least < 10;
            let fits = facts.int_bounds.is_none_or(|(min, max)| *least <= min && max <= *most);
            (are_whole && is_complete && may_be_padded && fits).then_some(position)
        })
        .collect();
    (parts.len() >= 3).then_some(parts)
}
