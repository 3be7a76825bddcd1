//! The forms of times that callers accept.

/// The order of day and month in dates such as `03/04/2024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day first: the 3rd of April.
    DayFirst,
    /// The month first: the 4th of March.
    MonthFirst,
}

/// How dates are read whose text is ambiguous.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DateReading {
    /// How `a/b/yyyy` is read. Without it, a number above 12 decides, and if neither is above 12, the day comes first.
    pub order: Option<DateOrder>,
    /// A time without a year is the last one before this time, which is in seconds since the epoch. If `None`, times
    /// without a year are refused.
    pub until: Option<i64>,
}

/// The times that may be written without separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactTimes {
    /// None.
    Refused,
    /// A date and a time of day, `20240301T123000`: a date alone is a number.
    WholeTimes,
    /// A date, a time of day, or both: `20240301`, `20240301 12:30`, `2024-03-01 123000`.
    DatesAndClocks,
}

/// The forms that a caller accepts beside `2024-03-01`, `2024-03-01 12:30` and `2024-03-01T12:30:00.5+02:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeForms {
    /// Dates whose year comes last or is left out, names of months and weekdays, and months, quarters and weeks:
    /// `01/03/2024`, `1 Mar 2024`, `3/1/2024, 7:12 AM`, `Fri Mar  1 12:30:00 UTC 2024`,
    /// `[10/Oct/2000:13:55:36 -0700]`, `2024-03`, `2024Q1`.
    /// `None` refuses them.
    pub other_dates: Option<DateReading>,
    /// Times without separators.
    pub compact: CompactTimes,
    /// Accepts several blanks between date, time of day and offset.
    pub has_wide_blanks: bool,
    /// Accepts times of day as PostgreSQL does: minutes and seconds may have one digit (`1:2:3`), and two numbers
    /// before a fraction are minutes and seconds (`12:30.5` is `00:12:30.5`).
    pub has_postgres_clocks: bool,
    /// Accepts an hour without minutes: `2024-03-01 12`.
    pub has_hours: bool,
    /// Whether only RFC 3339 is accepted: all digits, the second and the offset.
    pub is_rfc_3339: bool,
}

impl TimeForms {
    /// Values in SQL, and wherever a person writes one time.
    pub const SQL: Self = Self {
        other_dates: None,
        compact: CompactTimes::DatesAndClocks,
        has_wide_blanks: true,
        has_postgres_clocks: true,
        has_hours: false,
        is_rfc_3339: false,
    };

    /// Columns that are compared as times. Text that is no time is not an error there, so numbers must not be read as
    /// times.
    pub const COLLATION: Self =
        Self { compact: CompactTimes::WholeTimes, has_postgres_clocks: false, has_hours: true, ..Self::SQL };

    /// Requests over HTTP.
    pub const RFC_3339: Self = Self {
        other_dates: None,
        compact: CompactTimes::Refused,
        has_wide_blanks: false,
        has_postgres_clocks: false,
        has_hours: false,
        is_rfc_3339: true,
    };

    /// Files, in which a column is a time if its values look like times.
    pub const fn files(reading: DateReading) -> Self {
        Self {
            other_dates: Some(reading),
            compact: CompactTimes::WholeTimes,
            has_wide_blanks: false,
            has_postgres_clocks: false,
            has_hours: false,
            is_rfc_3339: false,
        }
    }
}
