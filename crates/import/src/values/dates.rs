//! How dates are read whose text leaves something open.

/// The order of day and month in dates such as `03/04/2024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day first: the 3rd of April.
    DayFirst,
    /// The month first: the 4th of March.
    MonthFirst,
}

/// How dates are read that do not say it themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DateReading {
    /// How `a/b/yyyy` is read. Without it, a number above 12 decides, and if neither is above 12, the day comes first.
    pub(crate) order: Option<DateOrder>,
    /// A time without a year is the last one before this one, in seconds since the epoch. Without it there are none.
    pub(crate) until: Option<i64>,
}
