//! The store itself: calls to the modules, each in its kind of transaction.

use crate::chunk_write::Payloads;
use crate::connection::{Connection, Server};
use crate::drop_table::drop_table;
use crate::error::{Attempt, Failure};
use crate::mapping::VerifiedDictionaries;
use crate::number_allocation::{ChangeLock, PayloadNumbers};
use crate::options::ServerOptions;
use crate::pool::Pool;
use crate::snapshot::ServerSnapshot;
use crate::{commit, counter, lease, mapping, reclaim, size, stage, table, verify};
use atsdb_core::store::{Finding, Reclaimed, StoreSize};
use atsdb_core::{
    Change, ChunkId, ColumnId, CommitOutcome, Durability, Error, ErrorKind, NewChunk, NumberBlock, NumberRequest,
    Result, Snapshot, StageId, Store, Table, TableDefinition, TableId,
};
use std::sync::Arc;
use std::time::Duration;

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            create: true,
            read_only: false,
            busy_timeout: Duration::from_secs(60),
            answer_timeout: Duration::from_secs(300),
            on_notice: None,
        }
    }
}

/// A store on a server. Its tables exist.
#[derive(Debug)]
pub struct ServerStore {
    uid: [u8; 16],
    read_only: bool,
    pool: Arc<Pool>,
    payloads: PayloadNumbers,
    verified: VerifiedDictionaries,
}

impl ServerStore {
    /// Creates the store of a server that was checked by [`prepare`](crate::prepare).
    pub fn new(server: Box<dyn Server>, uid: [u8; 16], options: &ServerOptions) -> Self {
        let pool = Arc::new(Pool::new(server, uid, options));
        Self {
            uid,
            read_only: options.read_only,
            pool,
            payloads: PayloadNumbers::default(),
            verified: VerifiedDictionaries::default(),
        }
    }

    fn write<T>(&self, work: impl FnOnce() -> Attempt<T>) -> Result<T> {
        if self.read_only {
            let message = format!("the store {} is open for reading only", self.pool.server().location());
            return Err(Error::new(ErrorKind::ReadOnly, message)
                .with_hint("open it without --read-only (read_only in the library)"));
        }
        work().map_err(Failure::into_error)
    }

    fn transaction<T>(&self, work: impl FnMut(&mut dyn Connection) -> Attempt<T>) -> Result<T> {
        self.write(|| self.pool.transaction(work))
    }

    /// Commits changes in one transaction. If a refused change ends it, the others are retried without that one.
    fn commit_together(&self, changes: &[Change], now_ms: i64) -> Attempt<Vec<Result<CommitOutcome>>> {
        let count = changes.iter().map(|change| change.add.len()).sum();
        let payloads = Payloads::new(self.payloads.allocate(&self.pool, count)?);
        let mut outcomes: Vec<Option<Result<CommitOutcome>>> = changes.iter().map(|_| None).collect();
        loop {
            let left: Vec<usize> = (0..changes.len()).filter(|position| outcomes[*position].is_none()).collect();
            if left.is_empty() {
                return Ok(outcomes.into_iter().flatten().collect());
            }
            let asked: Vec<&Change> = left.iter().map(|position| &changes[*position]).collect();
            let (server, mut at) = (self.pool.server(), 0);
            let work = |connection: &mut dyn Connection| {
                commit::commit(connection, server, &asked, &payloads, &mut at, now_ms)
            };
            match self.pool.transaction(work) {
                Ok(done) => left.into_iter().zip(done).for_each(|(position, done)| outcomes[position] = Some(done)),
                Err(Failure::Refused(error)) => outcomes[left[at]] = Some(Err(error)),
                Err(failure) => return Err(failure),
            }
        }
    }

    fn open_snapshot(&self, stage: Option<StageId>) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(ServerSnapshot::new(Arc::clone(&self.pool), stage)?))
    }
}

/// Runs work under the lock under which everything visible changes.
fn locked<T>(connection: &mut dyn Connection, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
    let lock = ChangeLock::acquire(connection)?;
    let done = work(&mut *lock.connection)?;
    lock.record()?;
    Ok(done)
}

impl Store for ServerStore {
    fn url(&self) -> &str {
        self.pool.server().location()
    }

    fn uid(&self) -> [u8; 16] {
        self.uid
    }

    fn durability(&self) -> Durability {
        self.pool.server().durability()
    }

    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
        definition.check()?;
        match stage {
            Some(staged) => self.transaction(|connection| {
                stage::lock(connection, staged)?;
                table::create(connection, definition, stage)
            }),
            None => self
                .transaction(|connection| locked(connection, |connection| table::create(connection, definition, None))),
        }
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.transaction(|connection| locked(connection, |connection| drop_table(connection, table)))
    }

    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>> {
        self.write(|| mapping::map_values((&self.pool, &self.verified), (table, column), capacity, values))
    }

    fn reserve_numbers(&self, request: &NumberRequest) -> Result<NumberBlock> {
        self.transaction(|connection| counter::reserve(connection, request))
    }

    fn open_stage(&self, now_ms: i64) -> Result<StageId> {
        self.pool.set_now(now_ms);
        self.transaction(|connection| stage::open(connection, now_ms))
    }

    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
        chunks.iter().try_for_each(NewChunk::check)?;
        self.pool.set_now(now_ms);
        self.write(|| {
            let payloads = Payloads::new(self.payloads.allocate(&self.pool, chunks.len())?);
            self.pool.transaction(|connection| {
                stage::write(connection, self.pool.server(), stage, &chunks, &payloads, now_ms)
            })
        })
    }

    fn stages(&self) -> Result<Vec<StageId>> {
        self.pool.read(stage::list).map_err(Failure::into_error)
    }

    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(Some(stage))
    }

    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        self.transaction(|connection| stage::remove_chunks(connection, stage, chunks))
    }

    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()> {
        self.transaction(|connection| stage::remove_table(connection, stage, table))
    }

    fn abandon_stage(&self, stage: StageId) -> Result<()> {
        self.transaction(|connection| stage::abandon(connection, stage))
    }

    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<CommitOutcome>>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.pool.set_now(now_ms);
        self.write(|| self.commit_together(changes, now_ms))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(None)
    }

    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool> {
        self.pool.set_now(now_ms);
        self.write(|| lease::acquire(&self.pool, name, holder, now_ms, ttl_ms))
    }

    fn release_lease(&self, name: &str, holder: &str) -> Result<()> {
        self.transaction(|connection| lease::release(connection, name, holder))
    }

    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.write(|| reclaim::reclaim(&self.pool, byte_budget, now_ms))
    }

    fn size(&self) -> Result<StoreSize> {
        self.pool.read(|connection| size::size(connection, self.pool.server())).map_err(Failure::into_error)
    }

    fn verify(&self) -> Result<Vec<Finding>> {
        let server = self.pool.server();
        let verify = || self.pool.read(|connection| verify::verify(connection, server)).map_err(Failure::into_error);
        let mut findings = verify()?;
        if server.reads_pages_later().is_some() && !findings.is_empty() {
            // Pages that are being committed are not lost: a second check finds them.
            let again = verify()?;
            findings.retain(|finding| again.contains(finding));
        }
        Ok(findings)
    }
}
