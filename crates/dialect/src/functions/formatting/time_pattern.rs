//! PostgreSQL's patterns for times: `YYYY-MM-DD HH24:MI:SS`, which `to_char` writes, and `to_date` and `to_timestamp`
//! read.
//!
//! Owned here: what a pattern consists of. Not owned: the values of its fields.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Field(PatternField),
    /// Text in quotes.
    Quoted(String),
    /// Any other character, which stands for itself.
    Other(char),
}

/// A field, with what is written before, behind and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PatternField {
    pub(super) field: Field,
    pub(super) letters: Letters,
    /// Without padding: `FM` stands before it, or `TM` before a name.
    pub(super) is_bare: bool,
    /// `TH` or `th` stands after it.
    pub(super) ordinal: Option<Letters>,
}

/// The case of the letters of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Capital,
    Lower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Hour12,
    Hour24,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    /// This many digits of the fraction of a second.
    Fraction(u32),
    SecondOfDay,
    /// `AM` or `A.M.`.
    HalfOfDay {
        has_points: bool,
    },
    YearWithComma,
    /// The last digits of the year; 4 are all of them.
    Year(u32),
    IsoYear(u32),
    /// `BC` or `B.C.`.
    Era {
        has_points: bool,
    },
    MonthName,
    MonthShort,
    Month,
    MonthRoman,
    DayName,
    DayShort,
    DayOfYear,
    IsoDayOfYear,
    Day,
    /// From 1, a Sunday, to 7.
    DayOfWeek,
    IsoDayOfWeek,
    WeekOfYear,
    WeekOfMonth,
    IsoWeek,
    Century,
    JulianDay,
    Quarter,
    Zone,
    ZoneHour,
    ZoneMinute,
    ZoneOffset,
}

/// All fields. A longer word stands before each word that it begins with.
const WORDS: [(&str, Field); 52] = [
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("MI", Field::Minute),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("MS", Field::Millisecond),
    ("US", Field::Microsecond),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("AM", Field::HalfOfDay { has_points: false }),
    ("PM", Field::HalfOfDay { has_points: false }),
    ("A.M.", Field::HalfOfDay { has_points: true }),
    ("P.M.", Field::HalfOfDay { has_points: true }),
    ("Y,YYY", Field::YearWithComma),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("BC", Field::Era { has_points: false }),
    ("AD", Field::Era { has_points: false }),
    ("B.C.", Field::Era { has_points: true }),
    ("A.D.", Field::Era { has_points: true }),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MM", Field::Month),
    ("RM", Field::MonthRoman),
    ("DAY", Field::DayName),
    ("DY", Field::DayShort),
    ("DDD", Field::DayOfYear),
    ("IDDD", Field::IsoDayOfYear),
    ("DD", Field::Day),
    ("D", Field::DayOfWeek),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("I", Field::IsoYear(1)),
    ("WW", Field::WeekOfYear),
    ("W", Field::WeekOfMonth),
    ("CC", Field::Century),
    ("J", Field::JulianDay),
    ("Q", Field::Quarter),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("OF", Field::ZoneOffset),
];

const ZONE: (&str, Field) = ("TZ", Field::Zone);

/// Takes a pattern apart.
pub(super) fn pieces_of(pattern: &str) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), pattern);
    let (mut is_bare, mut is_translated) = (false, false);
    while let Some(first) = rest.chars().next() {
        if let Some(after) = without(rest, "FM") {
            (rest, is_bare) = (after, true);
            continue;
        }
        if let Some(after) = without(rest, "FX") {
            rest = after;
            continue;
        }
        if let Some(after) = without(rest, "TM") {
            (rest, is_translated) = (after, true);
            continue;
        }
        if let Some((word, field)) = WORDS.iter().chain([&ZONE]).find(|(word, _)| without(rest, word).is_some()) {
            let (written, after) = rest.split_at(word.len());
            let (ordinal, after) = match (after.strip_prefix("TH"), after.strip_prefix("th")) {
                (Some(after), _) => (Some(Letters::Upper), after),
                (_, Some(after)) => (Some(Letters::Lower), after),
                _ => (None, after),
            };
            let is_name = matches!(field, Field::MonthName | Field::MonthShort | Field::DayName | Field::DayShort);
            let is_bare_here = is_bare || is_translated && is_name;
            let letters = letters_of(written);
            pieces.push(Piece::Field(PatternField { field: *field, letters, is_bare: is_bare_here, ordinal }));
            (rest, is_bare, is_translated) = (after, false, false);
            continue;
        }
        (is_bare, is_translated) = (false, false);
        if first == '"' {
            let (text, after) = quoted_text(&rest[1..]);
            pieces.push(Piece::Quoted(text));
            rest = after;
            continue;
        }
        // Outside of quotes, a backslash only makes a quote a plain character.
        let quote = rest.strip_prefix("\\\"");
        pieces.push(Piece::Other(if quote.is_some() { '"' } else { first }));
        rest = quote.unwrap_or(&rest[first.len_utf8()..]);
    }
    pieces
}

/// The text up to the next double quote, and what follows that. A backslash stands before a character of the text.
pub(super) fn quoted_text(text: &str) -> (String, &str) {
    let (mut quoted, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => quoted.push(letters.next().unwrap_or('\\')),
            other => quoted.push(other),
        }
    }
    (quoted, letters.as_str())
}

/// The text after a word, in any case.
fn without<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

fn letters_of(written: &str) -> Letters {
    let mut letters = written.chars().filter(char::is_ascii_alphabetic);
    match (letters.next(), letters.next()) {
        (Some(first), _) if first.is_ascii_lowercase() => Letters::Lower,
        (_, Some(second)) if second.is_ascii_lowercase() => Letters::Capital,
        _ => Letters::Upper,
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Sunday.
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_fields_and_text() {
        let field = |field, letters, is_bare, ordinal| Piece::Field(PatternField { field, letters, is_bare, ordinal });
        assert_eq!(
            pieces_of("FMDDth \"of\" Month,YYYY"),
            [
                field(Field::Day, Letters::Upper, true, Some(Letters::Lower)),
                Piece::Other(' '),
                Piece::Quoted("of".to_owned()),
                Piece::Other(' '),
                field(Field::MonthName, Letters::Capital, false, None),
                Piece::Other(','),
                field(Field::Year(4), Letters::Upper, false, None),
            ]
        );
        assert_eq!(pieces_of("tz"), [field(Field::Zone, Letters::Lower, false, None)]);
        assert_eq!(pieces_of("\"a\\\"b\\\\\""), [Piece::Quoted("a\"b\\".to_owned())]);
        assert_eq!(pieces_of("\\\"x\\"), ['"', 'x', '\\'].map(Piece::Other));
    }
}
