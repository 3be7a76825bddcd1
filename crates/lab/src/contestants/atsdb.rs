//! atsdb on each of its stores, through the facade, as an application uses it. While single operations are measured,
//! background maintenance is off, so that it does not disturb them; sealing is run explicitly and timed separately.
//! Readers and writers that work at the same time are threads of one program with the default settings.

use crate::contestant::{Contestant, Dialect, Loader, OpenSession, Session, Workspace, folder_bytes};
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::data::rows::{LabRow, RowSet, RowVisitor, Timed};
use crate::failure::Failure;
use crate::measure::Tier;
use crate::server::{ServerKind, ServerUrls};
use arrow::array::RecordBatch;
use atsdb::{Appender, Database, Error, ErrorKind, OpenOptions, PageCacheFolder, ScanRequest, TableDefinition};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// atsdb on one of its stores.
pub(crate) struct Atsdb {
    name: &'static str,
    summary: &'static str,
    store: StoreKind,
}

/// The location of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreKind {
    Sqlite,
    Memory,
    Server(ServerKind),
}

/// All of them.
pub(super) static VARIANTS: [Atsdb; 4] = [
    Atsdb { name: "atsdb", summary: "atsdb on its SQLite store, through the Rust library", store: StoreKind::Sqlite },
    Atsdb { name: "atsdb:memory", summary: "atsdb in memory, gone with the process", store: StoreKind::Memory },
    Atsdb {
        name: "atsdb:mariadb",
        summary: "atsdb on its store in MariaDB",
        store: StoreKind::Server(ServerKind::Mariadb),
    },
    Atsdb {
        name: "atsdb:postgres",
        summary: "atsdb on its store in PostgreSQL",
        store: StoreKind::Server(ServerKind::Postgres),
    },
];

/// The setting by which a session of PostgreSQL waits for the disk, or does not.
const WAITING: &str = "synchronous_commit";

/// Stores in memory, kept between the sessions of a workspace.
static IN_MEMORY: LazyLock<Mutex<HashMap<PathBuf, Database>>> = LazyLock::new(Mutex::default);

struct AtsdbSession {
    database: Database,
    tier: Tier,
    settings: Vec<String>,
}

struct AtsdbLoader {
    appender: Appender,
}

/// An open store, with the durability that its commits have.
struct OpenStore {
    kind: StoreKind,
    database: Database,
    tier: Tier,
}

impl Atsdb {
    fn open_database(&self, options: OpenOptions, workspace: &Workspace) -> Result<OpenStore, Failure> {
        let options = options.durability(workspace.durability);
        let (database, tier) = match self.store {
            StoreKind::Sqlite => {
                let url = format!("sqlite:{}", workspace.directory.join("atsdb.db").display());
                (options.open(&url)?, Tier::from(workspace.durability))
            }
            StoreKind::Memory => {
                let mut kept = IN_MEMORY.lock();
                let database = match kept.get(&workspace.directory) {
                    Some(database) => database.clone(),
                    None => options.open("memory:")?,
                };
                kept.insert(workspace.directory.clone(), database.clone());
                (database, Tier::None)
            }
            StoreKind::Server(kind) => {
                let rows_survive = prepare_database(kind, workspace)?;
                // Pages are cached in the folder of the run, which is removed with it, so each run begins without
                // cached pages.
                let pages = PageCacheFolder::At(workspace.directory.join("pages"));
                let database = options.page_cache(pages).open(&workspace.server()?.url_of(&workspace.database))?;
                let tier = match kind {
                    // The store's sessions wait for the disk, regardless of the server's default.
                    ServerKind::Postgres => Tier::from(database.engine().store().durability()),
                    _ => rows_survive,
                };
                (database, tier)
            }
        };
        Ok(OpenStore { kind: self.store, database, tier })
    }
}

impl OpenStore {
    /// A session, with settings to report beside those of the store.
    fn session(&self, workspace: &Workspace, settings: &[&str]) -> AtsdbSession {
        let mut reported = Vec::new();
        if self.tier != Tier::None {
            reported.push(format!("durability = {}", workspace.durability.name()));
        }
        reported.extend(settings.iter().map(|setting| (*setting).to_owned()));
        if let (StoreKind::Server(kind), Some(server)) = (self.kind, &workspace.server) {
            let of_session = |setting: &&String| kind == ServerKind::Postgres && setting.starts_with(WAITING);
            reported.extend(server.settings.iter().filter(|setting| !of_session(setting)).cloned());
            if kind == ServerKind::Postgres {
                reported.push(format!("{WAITING} = on (by the store)"));
            }
        }
        AtsdbSession { database: self.database.clone(), tier: self.tier, settings: reported }
    }
}

impl Contestant for Atsdb {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn server(&self) -> Option<ServerKind> {
        match self.store {
            StoreKind::Server(kind) => Some(kind),
            StoreKind::Sqlite | StoreKind::Memory => None,
        }
    }

    fn version(&self, urls: &ServerUrls) -> Result<String, Failure> {
        let own = format!("atsdb {}", env!("CARGO_PKG_VERSION"));
        match self.store {
            StoreKind::Server(kind) => Ok(format!("{own} on {}", kind.version(urls)?)),
            StoreKind::Sqlite | StoreKind::Memory => Ok(own),
        }
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        let opened = self.open_database(OpenOptions::new().maintenance(false), workspace)?;
        Ok(Box::new(opened.session(workspace, &["maintenance = off"])))
    }

    /// The threads of a program share one database, which is maintained in the background, as it is by default. One in
    /// memory stays as it was first opened.
    fn open_for_threads<'a>(&'a self, workspace: &'a Workspace) -> Result<OpenSession<'a>, Failure> {
        let opened = self.open_database(OpenOptions::new(), workspace)?;
        Ok(Box::new(move || Ok(Box::new(opened.session(workspace, &[])))))
    }

    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        match self.store {
            StoreKind::Sqlite => return folder_bytes(&workspace.directory),
            StoreKind::Server(kind) => return rows_on(kind).bytes(workspace),
            StoreKind::Memory => {}
        }
        let kept = IN_MEMORY.lock();
        let Some(database) = kept.get(&workspace.directory) else { return Ok(0) };
        Ok(database.engine().snapshot()?.table_bytes()?.values().sum())
    }

    fn has_program(&self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Session for AtsdbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Atsdb
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        self.database.engine().create_table(table)?;
        Ok(())
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        let engine = self.database.engine();
        let appender = engine.appender(&engine.table(&table.name)?);
        Ok(Box::new(AtsdbLoader { appender }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        self.database.engine().recompress(None)?;
        Ok(())
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds rows by slice and statistics; there is no index to make"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let snapshot = self.database.engine().snapshot()?;
        let table = snapshot.table(&table.name)?;
        let scan = snapshot.scan(table, &ScanRequest::all(table))?;
        let mut digest = RowDigest::default();
        for batch in scan.batches() {
            digest.add_batch(&batch?)?;
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let atsdb::sql::Answer::Rows(rows) = self.database.sql(sql)? else {
            return Err(Failure::wrong(format!("{sql} gave no rows")));
        };
        let mut answer = Answer::default();
        for batch in rows {
            answer.add_batch(&batch?)?;
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            self.database.sql(statement).map_err(cannot_or_failed)?;
        }
        Ok(())
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.database.sql("BEGIN").map_err(cannot_or_failed)?;
        self.execute(statements)?;
        self.database.sql("COMMIT").map_err(cannot_or_failed)?;
        Ok(())
    }

    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        super::lines::load(&self.database, table, file)
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        super::lines::find(&self.database, table, column, values)
    }

    fn bytes_in_memory(&mut self, table: &str) -> Result<Option<u64>, Failure> {
        match super::lines::is_in_memory(&self.database, table)? {
            true => Ok(Some(self.database.memory_table(table)?.byte_count() as u64)),
            false => Ok(None),
        }
    }
}

/// The contestant for plain tables on this server, which also handles the databases for a store.
fn rows_on(kind: ServerKind) -> &'static dyn Contestant {
    match kind {
        ServerKind::Postgres => &super::postgres::VARIANTS[0],
        _ => &super::mariadb::VARIANTS[0],
    }
}

/// Creates the database of a new workspace, and returns the durability of the server's own tables there.
fn prepare_database(kind: ServerKind, workspace: &Workspace) -> Result<Tier, Failure> {
    let mark = workspace.directory.join("database");
    if let Some(tier) = std::fs::read(&mark).ok().and_then(|known| serde_json::from_slice(&known).ok()) {
        return Ok(tier);
    }
    let tier = rows_on(kind).open(workspace)?.tier();
    std::fs::write(&mark, serde_json::to_vec(&tier).map_err(Failure::broken)?).map_err(Failure::broken)?;
    Ok(tier)
}

/// A statement that is valid but not supported is no failure.
fn cannot_or_failed(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Sql if error.message().contains("not supported") => Failure::Cannot(error.to_string()),
        _ => error.into(),
    }
}

impl Loader for AtsdbLoader {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        rows.visit(PushRows(&mut self.appender))?;
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.appender.append(batch)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.appender.flush()?;
        Ok(())
    }
}

struct PushRows<'a>(&'a mut Appender);

impl RowVisitor for PushRows<'_> {
    type Output = atsdb::Result<()>;

    fn visit<R: LabRow>(self, rows: &[Timed<R>]) -> Self::Output {
        rows.iter().try_for_each(|row| self.0.push(row.time, &row.record))
    }
}
