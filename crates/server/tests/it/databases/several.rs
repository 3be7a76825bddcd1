//! A server with two databases, `air` and `machines`.

use crate::client::{self, Reply};
use atsdb::Database;
use atsdb_server::{DatabaseSource, Listening, Role, Server, ServerOptions, UserStore};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use postgres::{Client, NoTls};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(super) const NAMES: [&str; 2] = ["air", "machines"];

/// The users of a database, with their roles and passwords.
pub(super) type Users<'a> = &'a [(&'a str, Role, &'a str)];

/// The server and its stores, in the order of [`NAMES`].
pub(super) struct Several {
    pub(super) databases: Vec<Database>,
    pub(super) server: Server,
    pub(super) folder: TempDir,
}

impl Several {
    pub(super) fn new() -> Self {
        Self::with(&[], &[], ServerOptions::default())
    }

    pub(super) fn with(air: Users<'_>, machines: Users<'_>, options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut databases, mut sources) = (Vec::new(), Vec::new());
        for (name, users) in NAMES.into_iter().zip([air, machines]) {
            let database = atsdb::open(folder.path().join(name).to_str().unwrap()).unwrap();
            for (user, role, password) in users {
                UserStore::new(database.clone()).add(user, *role, Some(password)).unwrap();
            }
            databases.push(database.clone());
            sources.push(DatabaseSource::named(name, move || Ok(database.clone())).unwrap());
        }
        let server = Server::start_all(sources, Listening::open(any_ports(options)).unwrap()).unwrap();
        Self { databases, server, folder }
    }

    /// Executes statements in the store of a database itself.
    pub(super) fn execute(&self, name: &str, statements: &str) {
        self.database(name).sql(statements).unwrap();
    }

    pub(super) fn database(&self, name: &str) -> &Database {
        &self.databases[NAMES.iter().position(|one| *one == name).unwrap()]
    }

    /// The rows of a query on the store itself, each as one text.
    pub(super) fn rows(&self, name: &str, sql: &str) -> Vec<String> {
        client::rows(self.database(name), sql)
    }

    /// The number of tables of a store.
    pub(super) fn table_count(&self, name: &str) -> usize {
        self.database(name).tables().unwrap().len()
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        client::send(self.server.http_address().unwrap(), method, path, headers, body.as_ref())
    }

    pub(super) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.send("POST", path, &[], body)
    }

    /// Connects by keywords such as `user=me dbname=air`.
    pub(super) fn connect(&self, keywords: &str) -> Result<Client, postgres::Error> {
        let port = self.server.pg_address().unwrap().port();
        Client::connect(&format!("host=127.0.0.1 port={port} {keywords}"), NoTls)
    }

    /// Returns the output of psql for a script, errors included; `None` if psql is not installed.
    pub(super) fn psql(&self, keywords: &str, password: &str, script: &str) -> Option<String> {
        let mut command = Command::new("psql");
        let port = self.server.pg_address().unwrap().port();
        command.args(["-X", "-q", "-A", "-t", "-w", "-v", "VERBOSITY=verbose", "-d"]);
        command.arg(format!("host=127.0.0.1 port={port} {keywords}")).env("PGPASSWORD", password);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("skipped: there is no psql here");
            return None;
        };
        // psql may end before it reads the script.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes());
        let output = child.wait_with_output().unwrap();
        Some(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    }
}

/// Any free ports for all protocols.
pub(super) fn any_ports(options: ServerOptions) -> ServerOptions {
    let any = Some("127.0.0.1:0".to_owned());
    ServerOptions { pg: any.clone(), http: any.clone(), grpc: any, ..options }
}

/// The header of a user with a password.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}
