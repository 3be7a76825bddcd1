//! Defaults that are computed when rows are added: the current time, and random UUIDs.
//!
//! Not owned: when the values are computed, and the random bits (`engine`).

use crate::column_type::ColumnType;
use crate::time::DAY_SECONDS;
use serde::{Deserialize, Serialize};

/// A function without arguments. Its result is the value of added rows that lack the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultFunction {
    /// The time at which the transaction began.
    Now,
    /// The time at which the transaction began, declared as `CURRENT_TIMESTAMP`.
    CurrentTimestamp,
    /// The time at which the transaction began, declared as `transaction_timestamp()`.
    TransactionTimestamp,
    /// The time at which the transaction began, declared as `LOCALTIMESTAMP`.
    Localtimestamp,
    /// The time at which the statement began.
    StatementTimestamp,
    /// The time at which the statement began, declared as `clock_timestamp()`.
    ClockTimestamp,
    /// The day on which the transaction began.
    CurrentDate,
    /// A new random UUID for each row.
    GenRandomUuid,
}

/// The current times of a statement, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentTimes {
    /// The time at which its transaction began.
    pub transaction: i64,
    /// The time at which the statement began.
    pub statement: i64,
}

impl CurrentTimes {
    /// The times of a statement that begins at this time and is its own transaction.
    pub const fn at(time: i64) -> Self {
        Self { transaction: time, statement: time }
    }
}

impl DefaultFunction {
    /// All functions.
    pub const ALL: [Self; 8] = [
        Self::Now,
        Self::CurrentTimestamp,
        Self::TransactionTimestamp,
        Self::Localtimestamp,
        Self::StatementTimestamp,
        Self::ClockTimestamp,
        Self::CurrentDate,
        Self::GenRandomUuid,
    ];

    /// The call in SQL, as PostgreSQL prints it.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Now => "now()",
            Self::CurrentTimestamp => "CURRENT_TIMESTAMP",
            Self::TransactionTimestamp => "transaction_timestamp()",
            Self::Localtimestamp => "LOCALTIMESTAMP",
            Self::StatementTimestamp => "statement_timestamp()",
            Self::ClockTimestamp => "clock_timestamp()",
            Self::CurrentDate => "CURRENT_DATE",
            Self::GenRandomUuid => "gen_random_uuid()",
        }
    }

    /// The type of the result, as PostgreSQL names it.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::CurrentDate => "date",
            Self::GenRandomUuid => "uuid",
            Self::Localtimestamp => "timestamp without time zone",
            _ => "timestamp with time zone",
        }
    }

    /// Returns whether a column of this type can have the default.
    pub const fn fits(self, column_type: ColumnType) -> bool {
        match self {
            Self::GenRandomUuid => matches!(column_type, ColumnType::Uuid | ColumnType::Text),
            _ => matches!(column_type, ColumnType::Timestamp(_) | ColumnType::Date),
        }
    }

    /// Returns whether statements of one transaction get different values, apart from random ones.
    pub const fn is_of_statement(self) -> bool {
        matches!(self, Self::StatementTimestamp | Self::ClockTimestamp)
    }

    /// The current time in the unit of a column, to which it is rounded; for a date, the day that contains it. `None`
    /// if the function returns no time, or if the column cannot have it.
    pub fn time(self, times: CurrentTimes, column_type: ColumnType) -> Option<i64> {
        const SECOND: i128 = 1_000_000;
        if self == Self::GenRandomUuid {
            return None;
        }
        let time = i128::from(if self.is_of_statement() { times.statement } else { times.transaction });
        let day_length = i128::from(DAY_SECONDS) * SECOND;
        let day = time.div_euclid(day_length);
        let count = match column_type {
            ColumnType::Date => day,
            ColumnType::Timestamp(unit) => {
                let time = if self == Self::CurrentDate { day * day_length } else { time };
                (time * i128::from(unit.per_second()) + SECOND / 2).div_euclid(SECOND)
            }
            _ => return None,
        };
        i64::try_from(count).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TimeUnit;

    #[test]
    fn times_are_rounded_to_the_unit_of_the_column() {
        let times = CurrentTimes { transaction: 86_400_500_000, statement: 86_401_499_999 };
        let in_seconds = ColumnType::Timestamp(TimeUnit::Second);
        assert_eq!(DefaultFunction::Now.time(times, in_seconds), Some(86_401));
        assert_eq!(DefaultFunction::StatementTimestamp.time(times, in_seconds), Some(86_401));
        assert_eq!(DefaultFunction::CurrentDate.time(times, in_seconds), Some(86_400));
        let in_nanoseconds = ColumnType::Timestamp(TimeUnit::Nanosecond);
        assert_eq!(DefaultFunction::CurrentTimestamp.time(times, in_nanoseconds), Some(86_400_500_000_000));
        assert_eq!(DefaultFunction::Now.time(CurrentTimes::at(i64::MAX), in_nanoseconds), None);
    }

    #[test]
    fn a_date_is_the_day_that_contains_the_time() {
        for (time, day) in [(0, 0), (86_399_999_999, 0), (86_400_000_000, 1), (-1, -1)] {
            for function in [DefaultFunction::Now, DefaultFunction::CurrentDate] {
                assert_eq!(function.time(CurrentTimes::at(time), ColumnType::Date), Some(day), "{time}");
            }
        }
    }

    #[test]
    fn each_function_fits_some_type_and_has_a_name_in_json() {
        for function in DefaultFunction::ALL {
            let json = serde_json::to_string(&function).unwrap();
            assert_eq!(serde_json::from_str::<DefaultFunction>(&json).unwrap(), function);
            assert!(!function.fits(ColumnType::Int64));
            let column_type =
                if function == DefaultFunction::GenRandomUuid { ColumnType::Uuid } else { ColumnType::Date };
            assert!(function.fits(column_type));
        }
        assert_eq!(serde_json::to_string(&DefaultFunction::GenRandomUuid).unwrap(), "\"gen_random_uuid\"");
        assert!(serde_json::from_str::<DefaultFunction>("\"random\"").is_err());
    }
}
