//! The functions of each dialect. A missing function is refused with the reason, which the report shows instead of a
//! figure.

use crate::contestant::dialect::Dialect;
use crate::failure::Failure;
use atsdb::TimeUnit;
use atsdb::time::{DAY_SECONDS, format_time};

const DAY_MILLISECONDS: i64 = DAY_SECONDS * 1_000;

impl Dialect {
    /// A date, given in days since the epoch, as a literal.
    pub fn date(self, days: i64) -> String {
        match self {
            Self::Sqlite => days.to_string(),
            _ => format!("'{}'", &format_time(days * DAY_SECONDS, TimeUnit::Second)[..10]),
        }
    }

    /// Returns a date as it is in an answer. QuestDB sends dates as times, so its answers have days.
    pub fn date_answer(self, date: &str) -> String {
        match self {
            Self::Questdb => format!("(cast({date} AS LONG) / {DAY_MILLISECONDS})"),
            _ => date.to_owned(),
        }
    }

    /// The start of the minute that the time in `column` falls in.
    pub fn minute(self, column: &str) -> String {
        match self {
            Self::Sqlite | Self::PostgresEpoch => format!("({column} / 60 * 60)"),
            Self::MysqlEpoch => format!("({column} DIV 60 * 60)"),
            Self::Mysql => format!("(UNIX_TIMESTAMP({column}) DIV 60 * 60)"),
            Self::Atsdb | Self::Postgres | Self::Duckdb | Self::Series => format!("date_trunc('minute', {column})"),
            Self::Questdb => format!("timestamp_floor('m', {column})"),
            Self::Clickhouse => format!("toStartOfMinute({column})"),
        }
    }

    /// The minute within its hour, from 0 to 59, of the time in `column`.
    pub fn minute_of_hour(self, column: &str) -> String {
        match self {
            Self::Sqlite | Self::PostgresEpoch => format!("({column} / 60 % 60)"),
            Self::MysqlEpoch => format!("({column} DIV 60 % 60)"),
            _ => format!("extract(minute FROM {column})"),
        }
    }

    /// The mean of large integers in `column`, as an aggregate.
    pub fn mean(self, column: &str) -> String {
        match self {
            // Sums of integers can overflow there, also in a mean.
            Self::Clickhouse => format!("avg(toFloat64({column}))"),
            _ => format!("avg({column})"),
        }
    }

    /// The middle value of `column`, or the mean of the two middle ones, as an aggregate.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if the dialect has no such aggregate.
    pub fn median(self, column: &str) -> Result<String, Failure> {
        match self {
            Self::Atsdb | Self::Duckdb => Ok(format!("median({column})")),
            // Its `median` is computed from a sample.
            Self::Clickhouse => Ok(format!("quantileExactInclusive(0.5)({column})")),
            Self::Postgres | Self::PostgresEpoch => {
                Ok(format!("percentile_cont(0.5) WITHIN GROUP (ORDER BY {column})"))
            }
            // Its percentiles are approximate.
            Self::Questdb => Err(Failure::cannot("has no exact median as an aggregate")),
            Self::Sqlite | Self::Mysql | Self::MysqlEpoch | Self::Series => {
                Err(Failure::cannot("has no median as an aggregate"))
            }
        }
    }

    /// The correlation of two columns, as an aggregate.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if the dialect has no such aggregate.
    pub fn correlation(self, first: &str, second: &str) -> Result<String, Failure> {
        match self {
            Self::Sqlite | Self::Mysql | Self::MysqlEpoch | Self::Series => {
                Err(Failure::cannot("has no correlation as an aggregate"))
            }
            _ => Ok(format!("corr({first}, {second})")),
        }
    }

    /// The host of the URL in `column`, without `www.`; the URL has a path.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] where texts cannot be replaced by a pattern.
    pub fn url_host(self, column: &str) -> Result<String, Failure> {
        match self {
            Self::Sqlite | Self::Series => Err(Failure::cannot("has no regexp_replace")),
            Self::Questdb => Ok(format!(r"regexp_replace({column}, '^https?://(?:www\.)?([^/]+)/.*$', '$1')")),
            // Regular expressions of MariaDB and of MySQL name their groups differently.
            Self::Mysql | Self::MysqlEpoch => {
                Ok(format!("TRIM(LEADING 'www.' FROM SUBSTRING_INDEX(SUBSTRING_INDEX({column}, '/', 3), '/', -1))"))
            }
            Self::Clickhouse => Ok(format!(r"replaceRegexpOne({column}, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1')")),
            _ => Ok(format!(r"regexp_replace({column}, '^https?://(?:www\.)?([^/]+)/.*$', '\1')")),
        }
    }

    /// The end of a query that skips rows.
    pub fn limit(self, rows: u64, skipped: u64) -> String {
        match self {
            Self::Questdb => format!("LIMIT {skipped}, {}", skipped + rows),
            _ => format!("LIMIT {rows} OFFSET {skipped}"),
        }
    }

    /// The groups of a query, `SELECT ... GROUP BY ...`, that meet a condition: of the aggregate `expression`, which is
    /// the column `name` of the query.
    pub fn having(self, groups: &str, expression: &str, name: &str, condition: &str) -> String {
        match self {
            Self::Questdb => format!("SELECT * FROM ({groups}) WHERE {name} {condition}"),
            _ => format!("{groups} HAVING {expression} {condition}"),
        }
    }

    /// The rows of a table that are the last of their `key`, all columns of each.
    pub fn last_rows(self, table: &str, key: &str, time: &str) -> String {
        match self {
            Self::Atsdb | Self::Postgres | Self::PostgresEpoch | Self::Series => {
                format!("SELECT DISTINCT ON ({key}) * FROM {table} ORDER BY {key}, {time} DESC")
            }
            Self::Clickhouse => format!("SELECT * FROM {table} ORDER BY {key}, {time} DESC LIMIT 1 BY {key}"),
            Self::Questdb => format!("SELECT * FROM {table} LATEST ON {time} PARTITION BY {key}"),
            // DuckDB knows DISTINCT ON, and takes hundreds of times as long for it.
            Self::Sqlite | Self::Mysql | Self::MysqlEpoch | Self::Duckdb => format!(
                "SELECT a.* FROM {table} a JOIN (SELECT {key}, max({time}) AS {time} FROM {table} GROUP BY {key}) b \
                 ON a.{key} = b.{key} AND a.{time} = b.{time}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_spelled_as_each_reads_it() {
        assert_eq!(Dialect::Sqlite.date(15_901), "15901");
        assert_eq!(Dialect::Postgres.date(15_901), "'2013-07-15'");
    }

    #[test]
    fn a_function_that_is_missing_has_a_reason() {
        assert!(matches!(Dialect::Sqlite.median("v"), Err(Failure::Cannot(reason)) if reason.contains("median")));
        assert_eq!(Dialect::Duckdb.median("v").expect("a median"), "median(v)");
    }

    #[test]
    fn parts_of_a_query_are_where_each_has_them() {
        let [usual, questdb] = [Dialect::Duckdb, Dialect::Questdb].map(|dialect| {
            dialect.having("SELECT a, count(*) AS c FROM t GROUP BY a", "count(*)", "c", "> 2")
                + " "
                + &dialect.limit(10, 100)
        });
        assert_eq!(usual, "SELECT a, count(*) AS c FROM t GROUP BY a HAVING count(*) > 2 LIMIT 10 OFFSET 100");
        assert_eq!(questdb, "SELECT * FROM (SELECT a, count(*) AS c FROM t GROUP BY a) WHERE c > 2 LIMIT 100, 110");
    }
}
