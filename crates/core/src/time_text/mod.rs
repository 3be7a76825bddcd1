//! The one parser of times, dates and times of day in text.
//!
//! SQL, import, the ends of a copy, requests of Prometheus and the collation of the SQLite extension accept different
//! forms, which [`TimeForms`] lists. [`parse_time`] returns the parts as they are written, because callers treat a
//! fraction finer than their unit, and a time without an offset, in different ways.
//!
//! Owned here: what callers accept (`forms`), numbers and offsets (`parts`), names of months (`calendar_words`), dates
//! (`dates`), times of day (`clocks`), and both together (`written`). Not owned: times of day as values
//! ([`time_of_day`](crate::time_of_day)), words such as `today` (`dialect`), counts since the epoch, and names of
//! zones.

mod calendar_words;
mod clocks;
mod dates;
mod forms;
#[cfg(test)]
mod forms_tests;
mod parts;
mod written;

pub use calendar_words::{MONTH_NAMES, WEEKDAY_NAMES, is_weekday, month_named};
pub use clocks::{Clock, clock};
pub use dates::{OrderSeen, full_year, year_first};
pub use forms::{CompactTimes, DateOrder, DateReading, TimeForms};
pub use parts::{days_of_date, leading_number, utc_offset};
pub use written::{RoundedFraction, WrittenTime, parse_time};
