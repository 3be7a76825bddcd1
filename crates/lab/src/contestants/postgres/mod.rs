//! PostgreSQL: one table with unmodified rows, times as TIMESTAMPTZ. Loaded by COPY, the way for many rows; by INSERT
//! of one row or of many; or by COPY into an unlogged table, which a crash empties.

mod load_method;
mod loader;
mod session;
pub(super) mod value;

use self::load_method::LoadMethod;
pub(super) use self::session::PostgresSession;
use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::server::{ServerKind, ServerUrls, postgres_client, postgres_failure};

/// PostgreSQL with one kind of table and one way to load it.
pub(crate) struct Postgres {
    name: &'static str,
    summary: &'static str,
    method: LoadMethod,
    unlogged: bool,
}

const fn loaded_by(name: &'static str, summary: &'static str, method: LoadMethod) -> Postgres {
    Postgres { name, summary, method, unlogged: false }
}

/// All of them.
pub(super) static VARIANTS: [Postgres; 4] = [
    loaded_by("postgres", "PostgreSQL, loaded by binary COPY", LoadMethod::Copy),
    loaded_by("postgres:multirow", "PostgreSQL, loaded by INSERT statements of many rows", LoadMethod::Multirow),
    loaded_by("postgres:insert", "PostgreSQL, loaded by a prepared INSERT a row", LoadMethod::Insert),
    Postgres {
        unlogged: true,
        ..loaded_by("postgres:unlogged", "PostgreSQL, unlogged tables, loaded by binary COPY", LoadMethod::Copy)
    },
];

impl Contestant for Postgres {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn server(&self) -> Option<ServerKind> {
        Some(ServerKind::Postgres)
    }

    fn version(&self, urls: &ServerUrls) -> Result<String, Failure> {
        ServerKind::Postgres.version(urls)
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(PostgresSession::open(self.method, self.unlogged, workspace)?))
    }

    /// The tables with their indexes, oversized values and maps, as the server counts them. The write-ahead log, which
    /// all databases share and whose size is a setting, is not included.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        let sum = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c \
                   JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') \
                   AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'";
        let row =
            postgres_client(workspace.server()?, &workspace.database)?.query_one(sum, &[]).map_err(postgres_failure)?;
        row.try_get::<_, i64>(0).map(i64::unsigned_abs).map_err(postgres_failure)
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
