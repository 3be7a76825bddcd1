//! PgBouncer for tests, in front of a PostgreSQL. It refuses to run as root, too.

use super::data::ServerKind;
use super::postgres;
use super::setup::{PASSWORD, USER, find, listening, own_folder, spawn_for_good};
use super::test_server::TestServer;
use crate::skipped;
use std::process::{Child, Stdio};
use tempfile::TempDir;

const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/// A running pooler.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    server_port: u16,
    child: Child,
    _folder: TempDir,
}

impl Pooler {
    /// Starts a separate pooler that shares its connections according to `pool_mode`. `None`, with a message on stderr,
    /// if it is not installed.
    pub fn start(server: &TestServer, pool_mode: &str) -> Option<Self> {
        assert_eq!(server.kind, ServerKind::Postgres, "it is PostgreSQL's");
        let Some(program) = find("pgbouncer", &FOLDERS) else {
            skipped("PgBouncer is not installed; the Debian package pgbouncer has it");
            return None;
        };
        let folder = own_folder().expect("a folder can be made");
        let server_port = server.port();
        let file = folder.path().join("pgbouncer.ini");
        let run = |port: u16| {
            let settings = format!(
                "[databases]\n* = host=127.0.0.1 port={server_port} user={USER} password='{PASSWORD}'\n\
                 [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
                 pool_mode = {pool_mode}\n"
            );
            std::fs::write(&file, settings).expect("a file can be written");
            let mut command = postgres::as_user(&program);
            command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            spawn_for_good(command).expect("PgBouncer runs")
        };
        let (port, child) = listening("PgBouncer", run);
        Some(Self { port, server_port, child, _folder: folder })
    }

    /// Returns a server's URL with the pooler's port.
    pub fn through(&self, url: &str) -> String {
        url.replace(&format!(":{}/", self.server_port), &format!(":{}/", self.port))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
