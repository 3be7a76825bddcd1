//! A server on a store of its own.

use atsdb::Database;
use atsdb_server::{Listening, Role, Server, ServerOptions, TlsOptions, UserStore};
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A server and its store.
pub(crate) struct Served {
    pub(crate) database: Database,
    pub(crate) server: Server,
    folder: TempDir,
}

impl Served {
    /// Starts a server on an empty store in a file.
    pub(crate) fn new() -> Self {
        Self::with_users(&[], None)
    }

    /// The same with users and their passwords, and with TLS.
    pub(crate) fn with_users(users: &[(&str, Role, &str)], tls: Option<TlsOptions>) -> Self {
        Self::with_options(users, ServerOptions { tls, ..ServerOptions::default() })
    }

    /// The same, with users and with other options.
    pub(crate) fn with_options(users: &[(&str, Role, &str)], options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = atsdb::open(folder.path().join("air.db").to_str().unwrap()).unwrap();
        for (name, role, password) in users {
            UserStore::new(database.clone()).add(name, *role, Some(password)).unwrap();
        }
        let any = Some("127.0.0.1:0".to_owned());
        let options = ServerOptions { pg: any.clone(), http: any, ..options };
        let server = Server::start(database.clone(), Listening::open(options).unwrap()).unwrap();
        Self { database, server, folder }
    }

    /// The store, the server, and the folder that both need.
    pub(crate) fn into_parts(self) -> (Database, Server, TempDir) {
        (self.database, self.server, self.folder)
    }

    /// Wraps a server that was started elsewhere, and the folder that it needs.
    pub(crate) fn of(server: Server, folder: TempDir) -> Self {
        let database = atsdb::open("memory:").unwrap();
        Self { database, server, folder }
    }

    /// Starts a server with the tables that the tests use.
    pub(crate) fn with_tables() -> Self {
        let served = Self::new();
        served.create_tables();
        served
    }

    pub(crate) fn create_tables(&self) {
        for statement in [
            "CREATE TABLE readings (time TIMESTAMP(3) NOT NULL, sensor TEXT, status TEXT DEFAULT 'ok', value DOUBLE, \
             count BIGINT) WITH (time = 'time', map = 'sensor:u32, status:u8')",
            "CREATE TABLE sensors (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, height REAL)",
            "CREATE INDEX readings_count ON readings (count)",
            "CREATE VIEW high AS SELECT sensor, value FROM readings WHERE value > 1",
            "INSERT INTO readings VALUES ('2024-01-01 00:00:00', 's1', 'ok', 0.5, 1), \
             ('2024-01-01 00:01:00', 's2', NULL, 1.5, 2), ('2024-01-01 00:02:00', 's1', 'bad', NULL, 3)",
            "INSERT INTO sensors VALUES (1, 's1', 1.5), (2, 's2', NULL)",
        ] {
            self.database.sql(statement).unwrap();
        }
    }

    pub(crate) fn pg(&self) -> SocketAddr {
        self.server.pg_address().unwrap()
    }

    /// Returns the rows of a query on the store itself, as text.
    pub(crate) fn rows(&self, sql: &str) -> String {
        let atsdb::sql::Answer::Rows(rows) = self.database.sql(sql).unwrap() else { panic!("{sql} has no rows") };
        let batches: Vec<_> = rows.map(Result::unwrap).collect();
        arrow::util::pretty::pretty_format_batches(&batches).unwrap().to_string()
    }

    /// Returns the number of rows of a table, counted by the store itself.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let atsdb::sql::Answer::Rows(mut rows) = self.database.sql(&format!("SELECT count(*) FROM {table}")).unwrap()
        else {
            panic!("no rows")
        };
        let batch = rows.next().unwrap().unwrap();
        arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(batch.column(0)).value(0)
    }

    /// Returns psql's output for a statement, connected by keywords such as `user=me sslmode=require`.
    pub(crate) fn psql_as(&self, keywords: &str, password: &str, statement: &str) -> Option<String> {
        let mut command = Command::new("psql");
        let place = format!("host=127.0.0.1 port={} dbname=air {keywords}", self.pg().port());
        command.args(["-X", "-q", "-A", "-t", "-w", "-v", "VERBOSITY=verbose", "-c", statement, "-d", &place]);
        command.env("PGPASSWORD", password).stdin(Stdio::null());
        let Ok(output) = command.output() else {
            eprintln!("skipped: there is no psql here");
            return None;
        };
        Some(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    }

    /// Runs statements in psql and returns its unaligned output, including errors.
    pub(crate) fn psql(&self, arguments: &[&str], script: &str) -> Option<String> {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-A", "-v", "VERBOSITY=verbose", "-h", "127.0.0.1", "-U", "me", "-d", "air"]);
        command.arg("-p").arg(self.pg().port().to_string()).args(arguments).env("PGSSLMODE", "prefer");
        let output = output_of_psql(&mut command, script)?;
        Some(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    }
}

/// Runs psql on a script; `None` if it is not installed.
pub(crate) fn output_of_psql(psql: &mut Command, script: &str) -> Option<Output> {
    let Ok(mut child) = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        eprintln!("skipped: there is no psql here");
        return None;
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}
