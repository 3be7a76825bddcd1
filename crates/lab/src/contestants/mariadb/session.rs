//! A connection to the server, with its own database.

use super::connection::MariadbConnection;
use super::engine::Engine;
use super::loader::MariadbLoader;
use super::value;
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::contestants::time_unit::units_per_second;
use crate::data::answer::Answer;
use crate::data::digest::{RowDigest, fold};
use crate::failure::Failure;
use crate::measure::Tier;
use crate::server::{mysql_client, server_failure};
use atsdb::TableDefinition;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};
use std::fs::File;
use std::path::Path;

/// Means have this many digits after the point; without it they have four.
const MEAN_DIGITS: u32 = 12;

pub(super) struct MariadbSession {
    server: MariadbConnection,
    tier: Tier,
    settings: Vec<String>,
}

impl MariadbSession {
    pub(super) fn open(engine: Engine, delayed: bool, workspace: &Workspace) -> Result<Self, Failure> {
        let server = workspace.server()?;
        let mut connection = mysql_client(server, None)?;
        for statement in [
            format!(
                "CREATE DATABASE IF NOT EXISTS {} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                Dialect::Mysql.quote(&workspace.database)
            ),
            format!("USE {}", Dialect::Mysql.quote(&workspace.database)),
            format!("SET SESSION time_zone = '+00:00', div_precision_increment = {MEAN_DIGITS}"),
            format!("SET SESSION default_storage_engine = {}", engine.name()),
        ] {
            connection.query_drop(statement).map_err(server_failure)?;
        }
        let tier = tier(&mut connection, engine)?;
        let mut settings = vec![format!("engine = {}", engine.name())];
        if delayed {
            settings.push("statements = INSERT DELAYED".to_owned());
        }
        match server.process {
            Some(_) => settings.extend(server.settings.iter().filter(|setting| bears_on(setting, engine)).cloned()),
            None => settings.extend(variables(&mut connection)?),
        }
        Ok(Self { server: MariadbConnection::new(connection, engine, delayed), tier, settings })
    }
}

/// Returns whether a setting affects this engine. Settings of other engines do not.
fn bears_on(setting: &str, engine: Engine) -> bool {
    let of = |engines: &[Engine]| engines.contains(&engine);
    match setting.split(['-', '_']).next() {
        Some("innodb") => of(&[Engine::Innodb]),
        Some("aria") => of(&[Engine::Aria]),
        Some("plugin" | "local") => false,
        Some("key") => of(&[Engine::Myisam]),
        Some("max") if setting.starts_with("max-heap") => of(&[Engine::Memory]),
        _ => true,
    }
}

/// The durability of the engine's commits on this server, as the server itself reports it.
fn tier(connection: &mut Conn, engine: Engine) -> Result<Tier, Failure> {
    match engine {
        Engine::Innodb => innodb_tier(connection),
        Engine::Rocksdb => rocksdb_tier(connection),
        // Statements are in the log, and the log is on disk, before they are acknowledged, at every tier.
        Engine::Aria => Ok(Tier::Full),
        Engine::Myisam | Engine::Csv => Ok(Tier::Off),
        Engine::Memory => Ok(Tier::None),
    }
}

fn innodb_tier(connection: &mut Conn) -> Result<Tier, Failure> {
    let select = "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@innodb_flush_method";
    let row: Option<(u32, u32, u32, String)> = connection.query_first(select).map_err(server_failure)?;
    Ok(match row {
        Some((_, _, _, method)) if method.eq_ignore_ascii_case("nosync") => Tier::Off,
        Some((1, 0, ..) | (1, _, 1, _)) => Tier::Full,
        Some((1 | 2, ..)) => Tier::Normal,
        _ => Tier::Off,
    })
}

/// 1 syncs each commit, 2 every second, 0 never.
fn rocksdb_tier(connection: &mut Conn) -> Result<Tier, Failure> {
    let select = "SELECT @@rocksdb_flush_log_at_trx_commit";
    let flush: Option<u32> = connection.query_first(select).map_err(server_failure)?;
    Ok(match flush {
        Some(1) => Tier::Full,
        Some(2) => Tier::Normal,
        _ => Tier::Off,
    })
}

/// The settings of a server that the lab did not start, and whether the connection is encrypted.
fn variables(connection: &mut Conn) -> Result<Vec<String>, Failure> {
    let names = "'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_buffer_pool_size', 'innodb_doublewrite', \
                 'innodb_log_file_size', 'innodb_redo_log_capacity', 'log_bin', 'sync_binlog'";
    let mut rows: Vec<(String, String)> =
        connection.query(format!("SHOW VARIABLES WHERE Variable_name IN ({names})")).map_err(server_failure)?;
    let encryption: Option<(String, String)> =
        connection.query_first("SHOW STATUS LIKE 'Ssl_version'").map_err(server_failure)?;
    let version = encryption.map(|(_, version)| version).filter(|version| !version.is_empty());
    rows.push(("encryption".to_owned(), version.unwrap_or_else(|| "none".to_owned())));
    Ok(rows.into_iter().map(|(name, value)| format!("{name} = {value}")).collect())
}

impl Session for MariadbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let column = |column: &atsdb::Column| {
            let null = if column.nullable && self.server.holds_null() { "" } else { " NOT NULL" };
            format!("{} {}{null}", Dialect::Mysql.quote(&column.name), value::column_type(column, self.server.engine))
        };
        let columns: Vec<String> = table.columns.iter().map(column).collect();
        let create = format!("CREATE TABLE {} ({})", Dialect::Mysql.quote(&table.name), columns.join(", "));
        self.server.connection.query_drop(create).map_err(server_failure)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        Ok(Box::new(MariadbLoader::new(&mut self.server, table)?))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were inserted"))
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        if self.server.engine == Engine::Csv {
            return Err(Failure::cannot("CSV tables have no indexes"));
        }
        let quote = |column: &atsdb::Column| Dialect::Mysql.quote(&column.name);
        let Some(time) = table.time_column().map(quote) else { return Ok(()) };
        let mut indexes = Vec::new();
        if let Some(series) = table.columns.iter().find(|column| column.map.is_some()).map(quote) {
            indexes.push(format!("ADD INDEX by_series ({series}, {time}) USING BTREE"));
        }
        indexes.push(format!("ADD INDEX by_time ({time}) USING BTREE"));
        let alter = format!("ALTER TABLE {} {}", Dialect::Mysql.quote(&table.name), indexes.join(", "));
        self.server.connection.query_drop(alter).map_err(server_failure)
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Mysql.quote(&column.name)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), Dialect::Mysql.quote(&table.name));
        let mut digest = RowDigest::default();
        for row in self.server.connection.exec_iter(select, ()).map_err(server_failure)? {
            let row = row.map_err(server_failure)?;
            let mut number = 0;
            for (position, column) in table.columns.iter().enumerate() {
                let value = row.as_ref(position).ok_or_else(|| Failure::wrong("a row is too short"))?;
                number = fold(number, value::digest_cell(value, column.column_type, units_per_second(table))?);
            }
            digest.add_row(number);
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let rows = self.server.connection.exec_iter(sql, ()).map_err(server_failure)?;
        let types: Vec<ColumnType> = rows.columns().as_ref().iter().map(mysql::Column::column_type).collect();
        let mut answer = Answer::default();
        for row in rows {
            let values = row.map_err(server_failure)?.unwrap();
            let cells = values.into_iter().zip(&types).map(|(value, column_type)| value::cell(value, *column_type));
            answer.rows.push(cells.collect::<Result<_, _>>()?);
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.server.run(statements)
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.server.connection.query_drop("START TRANSACTION").map_err(server_failure)?;
        let done = self.server.run(statements);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        done.and(self.server.connection.query_drop(end).map_err(server_failure))
    }

    /// LOAD DATA LOCAL INFILE: the client sends the unmodified file.
    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        let path = file.to_owned();
        self.server.connection.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, writer| {
            std::io::copy(&mut File::open(&path)?, writer).map(drop)
        })));
        let done = self.server.connection.query_drop(format!("LOAD DATA LOCAL INFILE 'lines' INTO TABLE {table}"));
        self.server.connection.set_local_infile_handler(None);
        done.map_err(server_failure)
    }

    /// All databases of a server are reachable, by their own names.
    fn attach(&mut self, workspace: &Workspace, _name: &str) -> Result<String, Failure> {
        Ok(Dialect::Mysql.quote(&workspace.database))
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        let select = format!("SELECT {column} FROM {table} WHERE {column} = ?");
        let select = self.server.connection.prep(select).map_err(server_failure)?;
        let mut found = 0;
        for value in values {
            // A number that is passed as text would be compared as text, without the index.
            let wanted = match value.parse::<i64>() {
                Ok(number) => mysql::Value::Int(number),
                Err(_) => mysql::Value::from(value.trim_matches('\'')),
            };
            for row in self.server.connection.exec_iter(&select, (wanted,)).map_err(server_failure)? {
                row.map_err(server_failure)?;
                found += 1;
            }
        }
        Ok(found)
    }
}
