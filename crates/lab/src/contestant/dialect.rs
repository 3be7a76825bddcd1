//! The SQL dialects of the contestants.

/// The SQL dialect of a contestant. A *time* is an expression that [`time`](Self::time) writes; the variants with
/// epochs store it as an integer of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite: a time is an integer of seconds.
    Sqlite,
    /// atsdb: a time is a timestamp.
    Atsdb,
    /// MariaDB and MySQL: a time is a DATETIME in UTC.
    Mysql,
    /// MariaDB and MySQL with times as integers of seconds.
    MysqlEpoch,
    /// PostgreSQL: a time is a TIMESTAMPTZ.
    Postgres,
    /// PostgreSQL with times as integers of seconds.
    PostgresEpoch,
    /// DuckDB: a time is a TIMESTAMP in UTC.
    Duckdb,
    /// ClickHouse: a time is a DateTime in UTC.
    Clickhouse,
    /// QuestDB: a time is a TIMESTAMP in UTC.
    Questdb,
    /// The query dialect for InfluxDB and VictoriaMetrics, whose contestants translate it: a part of atsdb's, in which
    /// a time is a number of seconds, maybe with a fraction.
    Series,
}

impl Dialect {
    /// A time, given in seconds since the epoch, as a literal.
    pub fn time(self, seconds: i64) -> String {
        match self {
            Self::Sqlite | Self::MysqlEpoch | Self::PostgresEpoch | Self::Series => seconds.to_string(),
            Self::Atsdb | Self::Postgres | Self::Questdb => format!("'{}'", utc(seconds)),
            Self::Mysql | Self::Duckdb | Self::Clickhouse => {
                format!("'{}'", utc(seconds).replace('T', " ").trim_end_matches('Z'))
            }
        }
    }

    /// The start of the hour that the time in `column` falls in.
    pub fn hour(self, column: &str) -> String {
        match self {
            Self::Sqlite | Self::PostgresEpoch => format!("({column} / 3600 * 3600)"),
            Self::MysqlEpoch => format!("({column} DIV 3600 * 3600)"),
            Self::Mysql => format!("(UNIX_TIMESTAMP({column}) DIV 3600 * 3600)"),
            Self::Atsdb | Self::Postgres | Self::Duckdb | Self::Series => format!("date_trunc('hour', {column})"),
            Self::Questdb => format!("timestamp_floor('h', {column})"),
            Self::Clickhouse => format!("toStartOfHour({column})"),
        }
    }

    /// The type of a text of at most this many characters.
    pub fn text(self, characters: u32) -> String {
        match self {
            Self::Mysql | Self::MysqlEpoch => format!("VARCHAR({characters})"),
            Self::Questdb => "VARCHAR".to_owned(),
            _ => "TEXT".to_owned(),
        }
    }

    /// A column or table name in quotes, with any characters.
    pub fn quote(self, name: &str) -> String {
        match self {
            Self::Mysql | Self::MysqlEpoch => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

fn utc(seconds: i64) -> String {
    atsdb::time::format_time(seconds, atsdb::TimeUnit::Second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_as_each_reads_it() {
        assert_eq!(Dialect::Sqlite.time(3_600), "3600");
        assert_eq!(Dialect::Postgres.time(3_600), "'1970-01-01T01:00:00Z'");
        assert_eq!(Dialect::Questdb.time(3_600), "'1970-01-01T01:00:00Z'");
        assert_eq!(Dialect::Mysql.time(3_600), "'1970-01-01 01:00:00'");
    }
}
