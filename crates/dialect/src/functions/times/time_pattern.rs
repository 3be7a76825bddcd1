//! PostgreSQL's patterns for times: `YYYY-MM-DD HH24:MI:SS`. `to_char` writes by them; `to_date`, `to_timestamp` and
//! `.datetime()` of SQL/JSON paths read by them.
//!
//! Owned here: what a pattern consists of. Not owned: the values of its fields ([`time_fields`](super::time_fields)).

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternPiece {
    Field(PatternField),
    /// Text in quotes.
    Quoted(String),
    /// Any other character, which stands for itself.
    Other(char),
}

/// A field, with what is written before, behind and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternField {
    pub(crate) field: TimeField,
    pub(crate) letters: Letters,
    /// Whether the field has no padding: `FM` stands before it, or `TM` before a name.
    pub(crate) is_bare: bool,
    /// `TH` or `th` stands after it.
    pub(crate) ordinal: Option<Letters>,
}

/// The case of the letters of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    Upper,
    Capital,
    Lower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeField {
    Hour12,
    Hour24,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    /// The fraction of a second, with this number of digits.
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
    /// The day of the week from 1, a Sunday, to 7.
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
const WORDS: [(&str, TimeField); 52] = [
    ("HH24", TimeField::Hour24),
    ("HH12", TimeField::Hour12),
    ("HH", TimeField::Hour12),
    ("MI", TimeField::Minute),
    ("SSSSS", TimeField::SecondOfDay),
    ("SSSS", TimeField::SecondOfDay),
    ("SS", TimeField::Second),
    ("MS", TimeField::Millisecond),
    ("US", TimeField::Microsecond),
    ("FF1", TimeField::Fraction(1)),
    ("FF2", TimeField::Fraction(2)),
    ("FF3", TimeField::Fraction(3)),
    ("FF4", TimeField::Fraction(4)),
    ("FF5", TimeField::Fraction(5)),
    ("FF6", TimeField::Fraction(6)),
    ("AM", TimeField::HalfOfDay { has_points: false }),
    ("PM", TimeField::HalfOfDay { has_points: false }),
    ("A.M.", TimeField::HalfOfDay { has_points: true }),
    ("P.M.", TimeField::HalfOfDay { has_points: true }),
    ("Y,YYY", TimeField::YearWithComma),
    ("YYYY", TimeField::Year(4)),
    ("YYY", TimeField::Year(3)),
    ("YY", TimeField::Year(2)),
    ("Y", TimeField::Year(1)),
    ("IYYY", TimeField::IsoYear(4)),
    ("IYY", TimeField::IsoYear(3)),
    ("IY", TimeField::IsoYear(2)),
    ("BC", TimeField::Era { has_points: false }),
    ("AD", TimeField::Era { has_points: false }),
    ("B.C.", TimeField::Era { has_points: true }),
    ("A.D.", TimeField::Era { has_points: true }),
    ("MONTH", TimeField::MonthName),
    ("MON", TimeField::MonthShort),
    ("MM", TimeField::Month),
    ("RM", TimeField::MonthRoman),
    ("DAY", TimeField::DayName),
    ("DY", TimeField::DayShort),
    ("DDD", TimeField::DayOfYear),
    ("IDDD", TimeField::IsoDayOfYear),
    ("DD", TimeField::Day),
    ("D", TimeField::DayOfWeek),
    ("ID", TimeField::IsoDayOfWeek),
    ("IW", TimeField::IsoWeek),
    ("I", TimeField::IsoYear(1)),
    ("WW", TimeField::WeekOfYear),
    ("W", TimeField::WeekOfMonth),
    ("CC", TimeField::Century),
    ("J", TimeField::JulianDay),
    ("Q", TimeField::Quarter),
    ("TZH", TimeField::ZoneHour),
    ("TZM", TimeField::ZoneMinute),
    ("OF", TimeField::ZoneOffset),
];

const ZONE: (&str, TimeField) = ("TZ", TimeField::Zone);

impl TimeField {
    /// The first of its words.
    pub(crate) fn word(self) -> &'static str {
        WORDS.iter().chain([&ZONE]).find(|(_, field)| *field == self).map_or("", |(word, _)| word)
    }

    /// The maximum number of digits that are read if another field follows.
    pub(crate) fn digits_max(self) -> usize {
        match self {
            Self::DayOfWeek | Self::IsoDayOfWeek | Self::WeekOfMonth | Self::Quarter => 1,
            Self::Millisecond | Self::DayOfYear | Self::IsoDayOfYear => 3,
            Self::SecondOfDay => 5,
            Self::Microsecond => 6,
            Self::JulianDay => 7,
            Self::Fraction(digits) | Self::Year(digits) | Self::IsoYear(digits) => digits as usize,
            _ => 2,
        }
    }

    /// Returns true for a part of the time of day.
    pub(crate) fn is_of_time(self) -> bool {
        matches!(
            self,
            Self::Hour12
                | Self::Hour24
                | Self::Minute
                | Self::Second
                | Self::Millisecond
                | Self::Microsecond
                | Self::Fraction(_)
                | Self::SecondOfDay
                | Self::HalfOfDay { .. }
        )
    }

    pub(crate) fn is_of_zone(self) -> bool {
        matches!(self, Self::Zone | Self::ZoneHour | Self::ZoneMinute | Self::ZoneOffset)
    }
}

/// Takes a pattern apart.
pub(crate) fn pieces_of(pattern: &str) -> Vec<PatternPiece> {
    let (mut pieces, mut rest) = (Vec::new(), pattern);
    let (mut is_bare, mut is_translated) = (false, false);
    while let Some(first) = rest.chars().next() {
        if let Some((prefix, after)) =
            ["FM", "FX", "TM"].into_iter().find_map(|prefix| Some((prefix, without(rest, prefix)?)))
        {
            is_bare |= prefix == "FM";
            is_translated |= prefix == "TM";
            rest = after;
            continue;
        }
        if let Some((word, field)) = WORDS.iter().chain([&ZONE]).find(|(word, _)| without(rest, word).is_some()) {
            let (written, after) = rest.split_at(word.len());
            let (ordinal, after) = match (after.strip_prefix("TH"), after.strip_prefix("th")) {
                (Some(after), _) => (Some(Letters::Upper), after),
                (_, Some(after)) => (Some(Letters::Lower), after),
                _ => (None, after),
            };
            let is_name = matches!(
                field,
                TimeField::MonthName | TimeField::MonthShort | TimeField::DayName | TimeField::DayShort
            );
            let is_bare_here = is_bare || is_translated && is_name;
            let letters = letters_of(written);
            pieces.push(PatternPiece::Field(PatternField { field: *field, letters, is_bare: is_bare_here, ordinal }));
            (rest, is_bare, is_translated) = (after, false, false);
            continue;
        }
        (is_bare, is_translated) = (false, false);
        if first == '"' {
            let (text, after) = quoted_text(&rest[1..]);
            pieces.push(PatternPiece::Quoted(text));
            rest = after;
            continue;
        }
        // Outside of quotes, a backslash only makes a quote a plain character.
        let quote = rest.strip_prefix("\\\"");
        pieces.push(PatternPiece::Other(if quote.is_some() { '"' } else { first }));
        rest = quote.unwrap_or(&rest[first.len_utf8()..]);
    }
    pieces
}

/// The text up to the next double quote, and what follows that. A backslash stands before a character of the text.
pub(crate) fn quoted_text(text: &str) -> (String, &str) {
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

/// The text after a word with which it begins, in any case.
pub(super) fn without<'a>(text: &'a str, word: &str) -> Option<&'a str> {
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

pub(crate) const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_fields_and_text() {
        let field =
            |field, letters, is_bare, ordinal| PatternPiece::Field(PatternField { field, letters, is_bare, ordinal });
        assert_eq!(
            pieces_of("FMDDth \"of\" Month,YYYY"),
            [
                field(TimeField::Day, Letters::Upper, true, Some(Letters::Lower)),
                PatternPiece::Other(' '),
                PatternPiece::Quoted("of".to_owned()),
                PatternPiece::Other(' '),
                field(TimeField::MonthName, Letters::Capital, false, None),
                PatternPiece::Other(','),
                field(TimeField::Year(4), Letters::Upper, false, None),
            ]
        );
        assert_eq!(pieces_of("tz"), [field(TimeField::Zone, Letters::Lower, false, None)]);
        assert_eq!(pieces_of("\"a\\\"b\\\\\""), [PatternPiece::Quoted("a\"b\\".to_owned())]);
        assert_eq!(pieces_of("\\\"x\\"), ['"', 'x', '\\'].map(PatternPiece::Other));
    }
}
