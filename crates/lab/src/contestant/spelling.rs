//! The statements of the workloads in each dialect: transactions, indexes, tables with a hash index.
//!
//! Owned here: whole statements. Not owned: types and literals ([`Dialect`]'s own file).

use crate::contestant::dialect::Dialect;
use atsdb::time::{DAY_SECONDS, format_time};
use atsdb::{TableDefinition, TimeUnit};

/// Contestants that share a dialect.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Sqlite,
    Atsdb,
    Mysql,
    Postgres,
    Duckdb,
    Clickhouse,
    Questdb,
    Series,
}

impl Dialect {
    fn family(self) -> Family {
        match self {
            Self::Sqlite => Family::Sqlite,
            Self::Atsdb => Family::Atsdb,
            Self::Mysql | Self::MysqlEpoch => Family::Mysql,
            Self::Postgres | Self::PostgresEpoch => Family::Postgres,
            Self::Duckdb => Family::Duckdb,
            Self::Clickhouse => Family::Clickhouse,
            Self::Questdb => Family::Questdb,
            Self::Series => Family::Series,
        }
    }

    /// Begins a transaction that excludes other writers.
    pub fn begin_exclusive(self) -> &'static str {
        match self.family() {
            Family::Sqlite => "begin exclusive transaction",
            Family::Mysql => "start transaction",
            _ => "begin transaction",
        }
    }

    /// The number of rows that a careful user commits at once if every row is a statement: SQLite keeps a transaction
    /// in the file, servers in memory and logs.
    pub fn rows_per_commit(self) -> u64 {
        match self.family() {
            Family::Mysql | Family::Postgres => 30_000,
            _ => 100_000,
        }
    }

    /// A table of one column with a hash index, or with the most similar index.
    pub fn hash_table(self, table: &str, column: &str, column_type: &str) -> Vec<String> {
        match self.family() {
            Family::Sqlite | Family::Duckdb => vec![
                format!("CREATE TABLE {table} ({column} {column_type})"),
                format!("CREATE INDEX {table}_{column} ON {table} ({column})"),
            ],
            // PostgreSQL would fill a CHAR up with spaces.
            Family::Postgres => vec![
                format!("CREATE TABLE {table} ({column} {})", column_type.replace("CHAR", "VARCHAR")),
                format!("CREATE INDEX {table}_{column} ON {table} USING hash ({column})"),
            ],
            // Sorted by the column, with a mark every 8,192 rows.
            Family::Clickhouse => {
                vec![format!("CREATE TABLE {table} ({column} {column_type}) ENGINE = MergeTree ORDER BY {column}")]
            }
            // Only symbols can have an index, and symbols are for repeated texts.
            Family::Questdb | Family::Series => {
                let column_type = if column_type.starts_with("CHAR") { "VARCHAR" } else { column_type };
                vec![format!("CREATE TABLE {table} ({column} {column_type})")]
            }
            Family::Mysql => {
                vec![format!("CREATE TABLE {table} ({column} {column_type}, INDEX USING HASH ({column}))")]
            }
            Family::Atsdb => vec![format!(
                "CREATE TABLE {table} ({column} {column_type}, INDEX USING HASH ({column})) ENGINE = memory"
            )],
        }
    }

    /// PingER's two tables, as they were published for this family: with keys within the declarations, as in MySQL, or
    /// with separate indexes, as in SQLite.
    pub fn pinger_tables(self) -> Vec<String> {
        let integer = |name: &str| format!("{name} smallint(6) default NULL");
        let meta = [
            "metaID bigint(20) NOT NULL".to_owned(),
            "ip_name_src varchar(52) NOT NULL default ''".to_owned(),
            "ip_name_dst varchar(52) NOT NULL default ''".to_owned(),
            "transport varchar(10) NOT NULL default ''".to_owned(),
            "packetSize smallint(6) NOT NULL default '0'".to_owned(),
            "count smallint(6) NOT NULL default '0'".to_owned(),
            integer("packetInterval"),
            integer("deadline"),
            integer("ttl"),
            "PRIMARY KEY (metaID)".to_owned(),
            "UNIQUE (ip_name_src,ip_name_dst,packetSize,count)".to_owned(),
        ];
        let number = |name: &str| format!("{name} float default NULL");
        let small = |name: &str| format!("{name} tinyint(1) default NULL");
        let mut data = vec!["metaID bigint(20) NOT NULL default 0".to_owned()];
        data.extend(["minRtt", "meanRtt", "medianRtt", "maxRtt"].map(number));
        data.push("timestamp bigint(12) NOT NULL default 0".to_owned());
        data.extend(["minIpd", "meanIpd", "maxIpd"].map(number));
        data.extend(["duplicates", "outOfOrder"].map(small));
        data.extend(["clp", "iqrIpd", "lossPercent"].map(number));
        data.extend(["rtts text", "seqNums text", "PRIMARY KEY (metaID,timestamp)"].map(str::to_owned));
        let key = "meanRtt,medianRtt,lossPercent,meanIpd,clp";
        let own_index = match self.has_keys_in_tables() {
            true => {
                data.push(format!("KEY meanRtt ({key})"));
                None
            }
            false => Some(format!("CREATE INDEX meanRtt ON data_200112 ({key})")),
        };
        let mut statements = vec![
            "DROP TABLE IF EXISTS metaData".to_owned(),
            format!("CREATE TABLE metaData ({})", meta.join(", ")),
            "DROP TABLE IF EXISTS data_200112".to_owned(),
            format!("CREATE TABLE data_200112 ({})", data.join(", ")),
        ];
        statements.extend(own_index);
        // If widths of integers and tinyint are not supported, the next wider plain type is used.
        statements.into_iter().map(|statement| self.plain_types(statement)).collect()
    }

    fn plain_types(self, statement: String) -> String {
        match self.family() {
            Family::Sqlite | Family::Atsdb | Family::Mysql => statement,
            _ => {
                let wide = statement.replace("bigint(20)", "bigint").replace("bigint(12)", "bigint");
                // This is as wide as PostgreSQL's own `float`.
                let plain = wide.replace("smallint(6)", "smallint").replace("tinyint(1)", "smallint");
                plain.replace(" float ", " double precision ")
            }
        }
    }

    /// Returns whether indexes are declared within CREATE TABLE, as MySQL's `KEY`.
    pub fn has_keys_in_tables(self) -> bool {
        matches!(self.family(), Family::Atsdb | Family::Mysql)
    }

    /// The type of a text of at most 20 letters that has an index.
    pub fn short_text(self) -> &'static str {
        match self.family() {
            Family::Mysql => "VARCHAR(20)",
            _ => "TEXT",
        }
    }

    /// Changes every row of a table.
    pub fn update(self, table: &str, assignment: &str) -> String {
        match self.family() {
            Family::Clickhouse => {
                format!("ALTER TABLE {table} UPDATE {assignment} WHERE true SETTINGS mutations_sync = 1")
            }
            _ => format!("UPDATE {table} SET {assignment}"),
        }
    }

    /// Drops an index.
    pub fn drop_index(self, index: &str, table: &str) -> String {
        match self.family() {
            Family::Mysql => format!("DROP INDEX {index} ON {table}"),
            _ => format!("DROP INDEX {index}"),
        }
    }

    /// A time of this table, in its unit, as a literal.
    pub fn time_in(self, table: &TableDefinition, value: i64) -> String {
        let unit = table.time.map_or(TimeUnit::Second, |time| time.unit);
        let value = value.saturating_mul(table.time_scale());
        let text = || format_time(value, unit);
        match self {
            // Dates are kept as days.
            Self::Sqlite => (value / table.time_scale()).to_string(),
            Self::MysqlEpoch | Self::PostgresEpoch => value.to_string(),
            Self::Series => decimal(value, unit.per_second()),
            Self::Atsdb | Self::Postgres | Self::Questdb => format!("'{}'", text()),
            Self::Mysql | Self::Duckdb | Self::Clickhouse => {
                format!("'{}'", text().replace('T', " ").trim_end_matches('Z'))
            }
        }
    }

    /// The start of the hour that the times of this table fall in, as a time or in seconds.
    pub fn hour_in(self, table: &TableDefinition) -> String {
        let Some(column) = table.time_column() else { return String::new() };
        let (unit, column) = (table.time.map_or(TimeUnit::Second, |time| time.unit), self.quote(&column.name));
        let hour = 3_600 * unit.per_second();
        match (self, table.time_scale()) {
            // Dates are kept as days.
            (Self::Sqlite, DAY_SECONDS) => format!("({column} * {DAY_SECONDS})"),
            (Self::Sqlite | Self::PostgresEpoch, _) => format!("({column} / {hour} * 3600)"),
            (Self::MysqlEpoch, _) => format!("({column} DIV {hour} * 3600)"),
            _ => self.hour(&column),
        }
    }

    /// Frees the space of deleted rows and compacts the rest; `None` if sealing does that.
    pub fn vacuum(self, table: &str) -> Option<String> {
        match self.family() {
            Family::Sqlite => Some("VACUUM".to_owned()),
            Family::Postgres => Some(format!("VACUUM FULL {table}")),
            Family::Mysql => Some(format!("OPTIMIZE TABLE {table}")),
            Family::Duckdb => Some("CHECKPOINT".to_owned()),
            Family::Clickhouse => Some(format!("OPTIMIZE TABLE {table} FINAL")),
            Family::Atsdb | Family::Questdb | Family::Series => None,
        }
    }
}

/// A number of units as seconds.
fn decimal(value: i64, per_second: i64) -> String {
    let digits = per_second.ilog10() as usize;
    let (sign, value, per_second) = (if value < 0 { "-" } else { "" }, value.unsigned_abs(), per_second.unsigned_abs());
    match digits {
        0 => format!("{sign}{value}"),
        digits => format!("{sign}{}.{:0digits$}", value / per_second, value % per_second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimals_of_seconds() {
        assert_eq!([decimal(-7, 1), decimal(1_500, 1_000), decimal(-1, 1_000)], ["-7", "1.500", "-0.001"]);
    }
}
