//! A connection to the server, with its own database.

use super::load_method::LoadMethod;
use super::loader::{CopyLoader, InsertLoader, MultirowLoader};
use super::value::{Raw, column_type};
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::contestants::time_unit::units_per_second;
use crate::data::answer::{Answer, Cell};
use crate::data::digest::{RowDigest, fold, null_cell};
use crate::failure::Failure;
use crate::measure::Tier;
use crate::server::{postgres_failure, postgres_session};
use atsdb::TableDefinition;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Row, SimpleQueryMessage};
use std::fs::File;
use std::path::Path;

pub(crate) struct PostgresSession {
    client: Client,
    method: LoadMethod,
    unlogged: bool,
    tier: Tier,
    settings: Vec<String>,
}

const NO_PARAMETERS: [(&(dyn ToSql + Sync), Type); 0] = [];

impl PostgresSession {
    pub(super) fn open(method: LoadMethod, unlogged: bool, workspace: &Workspace) -> Result<Self, Failure> {
        let server = workspace.server()?;
        let mut client = postgres_session(server, &workspace.database)?;
        let tier = if unlogged { Tier::None } else { tier(&mut client)? };
        let mut settings = vec![format!("load = {}", method.setting())];
        if unlogged {
            settings.push("tables = UNLOGGED".to_owned());
        }
        match server.process {
            Some(_) => settings.extend(server.settings.iter().cloned()),
            None => settings.extend(shown_settings(&mut client)?),
        }
        Ok(Self { client, method, unlogged, tier, settings })
    }

    /// A session of a server that speaks PostgreSQL's protocol, loaded by COPY.
    pub(crate) fn of_client(client: Client, tier: Tier, settings: Vec<String>) -> Self {
        Self { client, method: LoadMethod::Copy, unlogged: false, tier, settings }
    }
}

impl PostgresSession {
    /// Tables that a statement creates are of this contestant's kind.
    fn run(&mut self, statement: &str) -> Result<(), postgres::Error> {
        match statement.strip_prefix("CREATE TABLE").filter(|_| self.unlogged) {
            Some(rest) => self.client.batch_execute(&format!("CREATE UNLOGGED TABLE{rest}")),
            None => self.client.batch_execute(statement),
        }
    }
}

/// The durability of commits on this server, as the server itself reports it.
fn tier(client: &mut Client) -> Result<Tier, Failure> {
    let mut show = |name: &str| -> Result<String, Failure> {
        let row = client.query_one(&format!("SHOW {name}"), &[]).map_err(postgres_failure)?;
        row.try_get(0).map_err(postgres_failure)
    };
    Ok(match (show("fsync")?.as_str(), show("synchronous_commit")?.as_str()) {
        ("off", _) => Tier::Off,
        (_, "off") => Tier::Normal,
        _ => Tier::Full,
    })
}

/// The settings of a server that the lab did not start, and whether the connection is encrypted.
fn shown_settings(client: &mut Client) -> Result<Vec<String>, Failure> {
    let select = "SELECT name || ' = ' || current_setting(name) FROM pg_settings WHERE name IN ('fsync', \
                  'full_page_writes', 'synchronous_commit', 'shared_buffers', 'work_mem', 'max_wal_size')";
    let encryption =
        "SELECT 'encryption = ' || coalesce(version, 'none') FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let mut rows = client.query(select, &[]).map_err(postgres_failure)?;
    rows.extend(client.query(encryption, &[]).map_err(postgres_failure)?);
    rows.iter().map(|row| row.try_get(0).map_err(postgres_failure)).collect()
}

fn cell(row: &Row, position: usize) -> Result<Cell, Failure> {
    let value: Option<Raw<'_>> = row.try_get(position).map_err(postgres_failure)?;
    value.map_or(Ok(Cell::Null), |value| value.cell())
}

impl Session for PostgresSession {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let column = |column: &atsdb::Column| {
            let null = if column.nullable { "" } else { " NOT NULL" };
            format!("{} {}{null}", Dialect::Postgres.quote(&column.name), column_type(column.column_type))
        };
        let columns: Vec<String> = table.columns.iter().map(column).collect();
        let kind = if self.unlogged { "UNLOGGED TABLE" } else { "TABLE" };
        let create = format!("CREATE {kind} {} ({})", Dialect::Postgres.quote(&table.name), columns.join(", "));
        self.client.batch_execute(&create).map_err(postgres_failure)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        Ok(match self.method {
            LoadMethod::Copy => Box::new(CopyLoader::new(&mut self.client, table)?),
            LoadMethod::Multirow => Box::new(MultirowLoader::new(&mut self.client, table)?),
            LoadMethod::Insert => Box::new(InsertLoader::new(&mut self.client, table)?),
        })
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were inserted"))
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let quote = |column: &atsdb::Column| Dialect::Postgres.quote(&column.name);
        let Some(time) = table.time_column().map(quote) else { return Ok(()) };
        let name = Dialect::Postgres.quote(&table.name);
        if let Some(series) = table.columns.iter().find(|column| column.map.is_some()).map(quote) {
            let create = format!("CREATE INDEX by_series ON {name} ({series}, {time})");
            self.client.batch_execute(&create).map_err(postgres_failure)?;
        }
        let create = format!("CREATE INDEX by_time ON {name} ({time}); ANALYZE {name}");
        self.client.batch_execute(&create).map_err(postgres_failure)
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Postgres.quote(&column.name)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), Dialect::Postgres.quote(&table.name));
        let mut rows = self.client.query_typed_raw(&select, NO_PARAMETERS).map_err(postgres_failure)?;
        let mut digest = RowDigest::default();
        while let Some(row) = rows.next().map_err(postgres_failure)? {
            let mut number = 0;
            for position in 0..names.len() {
                let value: Option<Raw<'_>> = row.try_get(position).map_err(postgres_failure)?;
                let cell = value.map_or(Ok(null_cell()), |value| value.digest_cell(units_per_second(table)))?;
                number = fold(number, cell);
            }
            digest.add_row(number);
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut rows = self.client.query_typed_raw(sql, NO_PARAMETERS).map_err(postgres_failure)?;
        let mut answer = Answer::default();
        while let Some(row) = rows.next().map_err(postgres_failure)? {
            answer.rows.push((0..row.len()).map(|position| cell(&row, position)).collect::<Result<_, _>>()?);
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        statements.iter().try_for_each(|statement| self.run(statement)).map_err(postgres_failure)
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.client.batch_execute("BEGIN").map_err(postgres_failure)?;
        let done = self.execute(statements);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        done.and(self.client.batch_execute(end).map_err(postgres_failure))
    }

    /// COPY: the client sends the unmodified file.
    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        let mut file = File::open(file).map_err(Failure::broken)?;
        let mut copy = self.client.copy_in(&format!("COPY {table} FROM STDIN")).map_err(postgres_failure)?;
        std::io::copy(&mut file, &mut copy).map_err(Failure::broken)?;
        copy.finish().map_err(postgres_failure).map(drop)
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        let prepare = format!("PREPARE look AS SELECT {column} FROM {table} WHERE {column} = $1");
        self.client.batch_execute(&prepare).map_err(postgres_failure)?;
        let mut found = 0;
        for value in values {
            let messages = self.client.simple_query(&format!("EXECUTE look({value})")).map_err(postgres_failure)?;
            found += messages.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() as u64;
        }
        self.client.batch_execute("DEALLOCATE look").map_err(postgres_failure)?;
        Ok(found)
    }
}
