//! A session: connections to the workspace's server, over both of its protocols.

use super::load_method::LoadMethod;
use super::program::{SERVERS, ServedProgram};
use crate::contestant::{Dialect, Loader, Session};
use crate::contestants::http::{Http, Reply};
use crate::contestants::line_protocol::{LineDialect, Role, precision};
use crate::contestants::postgres::PostgresSession;
use crate::contestants::series::{PointLoader, PointServer, SeriesTable};
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::failure::Failure;
use crate::measure::Tier;
use crate::server::{WorkspaceServer, postgres_failure};
use atsdb::{Column, ColumnType, ConflictPolicy, TableDefinition, Unique};
use postgres::{Config, NoTls};
use std::path::Path;
use std::sync::Arc;

pub(super) struct ServedSession {
    /// The session for rows. It is declared before the server, so that connections are closed first.
    rows: PostgresSession,
    lines: LineConnection,
    method: LoadMethod,
}

/// The connection that takes lines.
struct LineConnection {
    http: Http,
    server: Arc<WorkspaceServer>,
}

impl ServedSession {
    pub(super) fn open(program: &ServedProgram, method: LoadMethod) -> Result<Self, Failure> {
        let server = SERVERS.of(&program.folder, program)?;
        let mut config = Config::new();
        config.host("127.0.0.1").port(server.ports.other).user("lab").dbname("lab");
        let client = config.connect(NoTls).map_err(|error| server.explain(postgres_failure(error)))?;
        let load = match method {
            LoadMethod::Copy => "load = COPY, binary".to_owned(),
            LoadMethod::Lines => format!("lines a request = {}", LineConnection::LINES),
        };
        let settings = vec![format!("durability = {}", program.durability.name()), load];
        let rows = PostgresSession::of_client(client, Tier::from(program.durability), settings);
        Ok(Self { rows, lines: LineConnection { http: Http::new(server.ports.http), server }, method })
    }

    /// The failure of a request, with the reason if the server has died.
    fn explained<T>(&mut self, work: impl FnOnce(&mut PostgresSession) -> Result<T, Failure>) -> Result<T, Failure> {
        work(&mut self.rows).map_err(|failure| self.lines.server.explain(failure))
    }
}

/// The table with integers of the types that PostgreSQL's contestant copies. If rows are loaded as lines and the table
/// declares what names a series, it has the key that the server gives to a table that it creates itself.
fn declared(table: &TableDefinition, method: LoadMethod) -> TableDefinition {
    let mut table = table.clone();
    for column in &mut table.columns {
        column.column_type = match column.column_type {
            ColumnType::Bool | ColumnType::Int8 | ColumnType::UInt8 => ColumnType::Int16,
            ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64 => ColumnType::Int64,
            other => other,
        };
    }
    if let (LoadMethod::Lines, Some(time), false) = (method, table.time, table.key.is_empty()) {
        let tags = table.columns.iter().filter(|column| is_tag(column)).map(|column| column.id);
        let key = Unique { nulls_equal: true, ..Unique::new(tags.chain([time.column]).collect()) };
        table.unique.push(key);
        table.on_conflict = ConflictPolicy::Merge;
    }
    table
}

impl PointServer for LineConnection {
    const DIALECT: LineDialect = LineDialect::Influxdb;
    const LINES: u64 = 75_000;

    fn write(&mut self, table: &SeriesTable, lines: &[u8]) -> Result<(), Failure> {
        let path = format!("/write?db=lab&precision={}", precision(table.per_second));
        self.http.post(&path, lines).and_then(Reply::end).map_err(|failure| self.server.explain(failure))
    }

    fn finish(&mut self, _table: SeriesTable) -> Result<(), Failure> {
        Ok(())
    }
}

/// Mapped texts are tags.
fn is_tag(column: &Column) -> bool {
    column.map.is_some() && column.column_type == ColumnType::Text
}

/// The columns of a table as tags and fields.
fn series_table(table: &TableDefinition) -> Result<SeriesTable, Failure> {
    SeriesTable::of(table, |column| {
        Ok(match column.column_type {
            ColumnType::Text if is_tag(column) => Role::Tag,
            ColumnType::Text => Role::Text,
            ColumnType::Float32 | ColumnType::Float64 => Role::Float,
            ColumnType::Timestamp(_) | ColumnType::Date | ColumnType::Binary => {
                return Err(Failure::cannot("lines have no other times, dates or bytes"));
            }
            _ => Role::Integer,
        })
    })
}

impl Session for ServedSession {
    fn dialect(&self) -> Dialect {
        Dialect::Atsdb
    }

    fn tier(&self) -> Tier {
        self.rows.tier()
    }

    fn settings(&self) -> Vec<String> {
        self.rows.settings()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let create = atsdb::sql::create_table_sql(&declared(table, self.method));
        self.execute(&[create])
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        match self.method {
            LoadMethod::Copy => self.rows.loader(&declared(table, self.method)),
            LoadMethod::Lines => Ok(Box::new(PointLoader::new(&mut self.lines, series_table(table)?))),
        }
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("the server seals in the background"))
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds rows by slice and statistics; there is no index to make"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        self.explained(|rows| rows.read_all(table))
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.explained(|rows| rows.query(sql))
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.explained(|rows| rows.execute(statements))
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.explained(|rows| rows.transaction(statements))
    }

    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        self.explained(|rows| rows.load_lines(table, file))
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        self.explained(|rows| rows.lookups(table, column, values))
    }
}
