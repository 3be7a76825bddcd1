//! The table of all forms: which callers accept a form, and its meaning.

use crate::time::{TimeUnit, format_time};
use crate::time_text::{DateOrder, DateReading, RoundedFraction, TimeForms, parse_time};

/// The callers, by the letters that stand for them in the table: `SQL` for SQL, the ends of a copy and values from
/// Python, `files` for import, `collation` for the SQLite extension, and `requests` for the protocols of Prometheus.
fn callers() -> [(char, TimeForms); 4] {
    [
        ('s', TimeForms::SQL),
        ('f', TimeForms::files(DateReading::default())),
        ('c', TimeForms::COLLATION),
        ('r', TimeForms::RFC_3339),
    ]
}

/// A text, the time that it means in UTC, and the callers that accept it.
const FORMS: [(&str, &str, &str); 75] = [
    ("2024-03-01", "2024-03-01T00:00:00Z", "sfc"),
    ("2024-3-1", "2024-03-01T00:00:00Z", "sfc"),
    ("2024/03/01", "2024-03-01T00:00:00Z", "sfc"),
    ("2024.03.01", "2024-03-01T00:00:00Z", "sfc"),
    ("31.12.23", "2023-12-31T00:00:00Z", "f"),
    ("2024-03-01Z", "2024-03-01T00:00:00Z", "sfc"),
    ("20240301", "2024-03-01T00:00:00Z", "s"),
    ("+2024-03-01", "2024-03-01T00:00:00Z", "sfc"),
    ("2024-03-01 12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01T12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01t12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01:12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01  12:00", "2024-03-01T12:00:00Z", "sc"),
    ("2024-03-01 12", "2024-03-01T12:00:00Z", "c"),
    ("2024/03/01 12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024.03.01 12:00", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-3-1 1:02", "2024-03-01T01:02:00Z", "sfc"),
    ("2024-3-1 1:02:03", "2024-03-01T01:02:03Z", "sfc"),
    ("2024-3-1 1:2:3", "2024-03-01T01:02:03Z", "s"),
    ("2024-03-01T12:00:00.5", "2024-03-01T12:00:00.500000000Z", "sfc"),
    ("2024-03-01T12:00:00,5", "2024-03-01T12:00:00.500000000Z", "sfc"),
    ("2024-03-01 12:30.5", "2024-03-01T00:12:30.500000000Z", "s"),
    ("2024-03-01 12:00 PM", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01 12:00 am", "2024-03-01T00:00:00Z", "sfc"),
    ("2024-03-01 1:00:30pm", "2024-03-01T13:00:30Z", "sfc"),
    ("2024-03-01 1:00 PM +02", "2024-03-01T11:00:00Z", "sfc"),
    ("2024-03-01 1:00PM+02", "2024-03-01T11:00:00Z", "sfc"),
    ("2024-03-01 1:00  PM", "2024-03-01T13:00:00Z", "sc"),
    ("2024-03-01T24:00:00", "2024-03-02T00:00:00Z", "sfc"),
    ("2024-03-01 24:00", "2024-03-02T00:00:00Z", "sfc"),
    ("2024-03-01 23:59:60", "2024-03-02T00:00:00Z", "sfc"),
    ("2024-03-01T12:00:00Z", "2024-03-01T12:00:00Z", "sfcr"),
    ("2024-03-01 12:00:00z", "2024-03-01T12:00:00Z", "sfcr"),
    ("2024-03-01T12:00:00.25+01:00", "2024-03-01T11:00:00.250000000Z", "sfcr"),
    ("2024-03-01T12:00:00-15:59", "2024-03-02T03:59:00Z", "sfcr"),
    ("2024-03-01T12:00:00,25Z", "2024-03-01T12:00:00.250000000Z", "sfc"),
    ("2024-03-01T23:59:60Z", "2024-03-02T00:00:00Z", "sfc"),
    ("2024-03-01T24:00:00Z", "2024-03-02T00:00:00Z", "sfc"),
    ("2024-3-01T12:00:00Z", "2024-03-01T12:00:00Z", "sfc"),
    ("2024/03/01T12:00:00Z", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01T1:00:00Z", "2024-03-01T01:00:00Z", "sfc"),
    ("2024-03-01T12:00Z", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01T12:00:00+01", "2024-03-01T11:00:00Z", "sfc"),
    ("2024-03-01T12:00:00+0100", "2024-03-01T11:00:00Z", "sfc"),
    ("2024-03-01 12:00:00 +01:00", "2024-03-01T11:00:00Z", "sfc"),
    ("2024-03-01 12:00:00  +01:00", "2024-03-01T11:00:00Z", "sc"),
    ("2024-03-01 12:00:00 UTC", "2024-03-01T12:00:00Z", "sfc"),
    ("2024-03-01 12:00:00GMT", "2024-03-01T12:00:00Z", "sfc"),
    ("20240301T120000Z", "2024-03-01T12:00:00Z", "sfc"),
    ("20240301T1200", "2024-03-01T12:00:00Z", "sfc"),
    ("20240301T120000.5+0100", "2024-03-01T11:00:00.500000000Z", "sfc"),
    ("20240301t120000", "2024-03-01T12:00:00Z", "s"),
    ("20240301 120000", "2024-03-01T12:00:00Z", "s"),
    ("20240301 12:00", "2024-03-01T12:00:00Z", "s"),
    ("2024-03-01 120000Z", "2024-03-01T12:00:00Z", "s"),
    ("01/03/2024", "2024-03-01T00:00:00Z", "f"),
    ("3/13/24 12:00", "2024-03-13T12:00:00Z", "f"),
    ("01.03.2024 12:00", "2024-03-01T12:00:00Z", "f"),
    ("1-Mar-2024", "2024-03-01T00:00:00Z", "f"),
    ("March 1, 2024 12:00", "2024-03-01T12:00:00Z", "f"),
    ("Mar 1, 2024, 7:12 PM", "2024-03-01T19:12:00Z", "f"),
    ("1/3/2024, 7:12:33 AM", "2024-03-01T07:12:33Z", "f"),
    ("2024-03-01, 12:00", "2024-03-01T12:00:00Z", "f"),
    ("Fri, 01 Mar 2024 12:00:00 GMT", "2024-03-01T12:00:00Z", "f"),
    ("Fri Mar  1 12:00:00 2024", "2024-03-01T12:00:00Z", "f"),
    ("Fri Mar  1 12:00:00 UTC 2024", "2024-03-01T12:00:00Z", "f"),
    ("[01/Mar/2024:12:00:00 -0700]", "2024-03-01T19:00:00Z", "f"),
    ("2024-03", "2024-03-01T00:00:00Z", "f"),
    ("2024-Q1", "2024-01-01T00:00:00Z", "f"),
    ("2024Q4", "2024-10-01T00:00:00Z", "f"),
    ("2024-W01", "2024-01-01T00:00:00Z", "f"),
    ("2024W10", "2024-03-04T00:00:00Z", "f"),
    ("2021-W01", "2021-01-04T00:00:00Z", "f"),
    ("2020-W53", "2020-12-28T00:00:00Z", "f"),
    ("2025-W01", "2024-12-30T00:00:00Z", "f"),
];

/// Texts that every caller refuses, as PostgreSQL does.
const REFUSED: [&str; 42] = [
    "",
    "2024",
    "2024-13",
    "2024-Q5",
    "2024-W00",
    "2024-W53",
    "2024-1",
    "1000-03",
    "2024-03T12:00",
    "202403",
    "2024-03/01",
    "2024-03-00",
    "2024-13-01",
    "2023-02-29",
    "20241301",
    "24-03-01",
    "2024-03-01x",
    "2024-03-01 x",
    "2024-03-01,12:00",
    "2024-03-01T",
    "2024-03-01-02",
    "2024-03-01-12:00",
    "2024-03-01 12-00-00",
    "2024-03-01 12:60",
    "2024-03-01 25:00",
    "2024-03-01 24:00:01",
    "2024-03-01 23:59:61",
    "2024-03-01 13:00 PM",
    "2024-03-01 24:00 PM",
    "2024-03-01 1 PM",
    "2024-03-01 12:00 PMZ",
    "2024-03-01 12:00 p.m.",
    "2024-03-01 12:00:00+19",
    "2024-03-01 12:00:00:00",
    "12:00 2024-03-01",
    "20240301 12",
    "20240301:12:00",
    "20240301120000",
    "1709294400",
    "2024-W09-5",
    "13/13/2024",
    "1.4.23",
];

#[test]
fn each_form_has_one_meaning_for_all_who_accept_it() {
    for (text, meaning, accepting) in FORMS {
        for (caller, forms) in callers() {
            let read = parse_time(text.as_bytes(), &forms).map(|time| {
                let (nanoseconds, rest) = time.count(TimeUnit::Nanosecond);
                assert_eq!(rest, RoundedFraction::Nothing, "{text}");
                format_time(i64::try_from(nanoseconds).unwrap(), TimeUnit::Nanosecond).replace(".000000000", "")
            });
            let expected = accepting.contains(caller).then_some(meaning);
            assert_eq!(read.as_deref(), expected, "{text:?} for {caller}");
        }
    }
}

#[test]
fn what_is_no_time_is_refused() {
    for text in REFUSED {
        for (caller, forms) in callers() {
            assert_eq!(parse_time(text.as_bytes(), &forms), None, "{text:?} for {caller}");
        }
    }
}

#[test]
fn files_say_the_order_of_days_and_months_and_the_year_of_logs() {
    let of = |text: &str, reading: DateReading| Some(parse_time(text.as_bytes(), &TimeForms::files(reading))?.days);
    let ordered = |order: DateOrder| DateReading { order: Some(order), until: None };
    let first_of_march = Some(19_783);
    assert_eq!(of("01/03/2024", ordered(DateOrder::DayFirst)), first_of_march);
    assert_eq!(of("03/01/2024", ordered(DateOrder::MonthFirst)), first_of_march);
    assert_eq!(of("13/01/2024", ordered(DateOrder::MonthFirst)), None);
    let until = |days: i64| DateReading { order: None, until: Some(days * 86_400) };
    assert_eq!(of("Mar  1 12:00:00", until(19_800)), first_of_march);
    assert_eq!(of("Mar  1 12:00:00", until(20_100)), first_of_march);
    assert_eq!(of("Mar  1 12:00:00", DateReading::default()), None);
}

#[test]
fn counts_are_rounded_down_and_say_what_is_left() {
    let of = |text: &str, unit| parse_time(text.as_bytes(), &TimeForms::SQL).unwrap().count(unit);
    assert_eq!(of("1970-01-01 00:00:01.25", TimeUnit::Second), (1, RoundedFraction::LessThanHalf));
    assert_eq!(of("1970-01-01 00:00:01.50", TimeUnit::Second), (1, RoundedFraction::HalfOrMore));
    assert_eq!(of("1969-12-31 23:59:59.999", TimeUnit::Millisecond), (-1, RoundedFraction::Nothing));
    assert_eq!(of("1970-01-01 00:00:00.0000000009", TimeUnit::Nanosecond), (0, RoundedFraction::HalfOrMore));
    assert_eq!(of("+12024-03-01", TimeUnit::Nanosecond).0 % 86_400_000_000_000, 0);
}
