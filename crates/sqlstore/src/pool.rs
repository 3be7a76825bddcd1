//! Connections, and transactions that outlive them.
//!
//! A transaction whose connection breaks, or that the server undoes for another's sake, is done again. Where it broke while
//! committing, the server is asked what became of it: each connection that writes has a row in `atsdb_writer`, in which
//! every transaction of it notes its number. Whoever locks that row waits until the transaction has ended. Nodes of a
//! cluster do not wait for each other's locks: whoever finds the number missing deletes the row, so that the transaction,
//! if it comes later, conflicts. They are all read, each program the one that its URL names first; [which one is
//! written to](crate::reach) is noted in the store.

use crate::connection::{Connection, Server, Value};
use crate::error::{Attempt, Failure, unknown_outcome};
use crate::options::ServerOptions;
use crate::patience::{Patience, READER_PATIENCE_MAX};
use crate::reach::{Wanted, conflict_with_noting, reach, reach_writer, require_noted, require_store};
use atsdb_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Idle connections that are kept.
const KEPT_MAX: usize = 8;

/// The connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    server: Box<dyn Server>,
    /// The store's.
    uid: [u8; 16],
    patience: Duration,
    wanted: Wanted,
    sessions: Sessions,
    /// Those of a cluster's node that is written to; unused elsewhere.
    writing: Sessions,
    now_ms: AtomicI64,
}

/// Connections that are idle, and the address that answered last.
#[derive(Debug, Default)]
struct Sessions {
    address: AtomicUsize,
    idle: Mutex<Vec<Session>>,
}

/// A connection, and where its transactions are noted.
pub(crate) struct Session {
    connection: Box<dyn Connection>,
    /// The node of a cluster, if it is connected to write.
    node: Option<Vec<u8>>,
    receipt: Option<Receipt>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

/// The connection's row in `atsdb_writer`, and the number of its last transaction.
#[derive(Debug, Clone)]
struct Receipt {
    id: Vec<u8>,
    last: i64,
}

impl Pool {
    pub(crate) fn new(server: Box<dyn Server>, uid: [u8; 16], options: &ServerOptions) -> Self {
        let (sessions, writing) = (Sessions::default(), Sessions::default());
        let (patience, wanted) = (options.busy_timeout, Wanted::of(options));
        Self { server, uid, patience, wanted, sessions, writing, now_ms: AtomicI64::new(0) }
    }

    /// The server.
    pub(crate) fn server(&self) -> &dyn Server {
        &*self.server
    }

    /// Keeps the caller's clock, for what notes when it was last used.
    pub(crate) fn set_now(&self, now_ms: i64) {
        self.now_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    fn take(&self) -> Attempt<Session> {
        let idle = self.sessions.idle().pop();
        idle.map_or_else(|| self.connect(), Ok)
    }

    /// A session of the node that is written to, where there are several.
    fn take_to_write(&self) -> Attempt<Session> {
        if self.server.cluster().is_none() {
            return self.take();
        }
        let idle = self.writing.idle().pop();
        idle.map_or_else(|| self.connect_to_write(), Ok)
    }

    fn connect(&self) -> Attempt<Session> {
        let (connection, ()) = reach(self.server(), &self.sessions.address, self.wanted, |new| self.look(new))?;
        Ok(Session { connection, node: None, receipt: None })
    }

    fn connect_to_write(&self) -> Attempt<Session> {
        let Some(dialect) = self.server.cluster() else { return self.connect() };
        let (server, address) = (self.server(), &self.writing.address);
        let (connection, node) = reach_writer(server, address, |new| self.look(new), dialect)?;
        Ok(Session { connection, node: Some(node), receipt: None })
    }

    fn look(&self, connection: &mut dyn Connection) -> Attempt<()> {
        require_store(connection, self.uid, self.server.place())
    }

    fn give_back(&self, session: Session) {
        let mut idle = if session.node.is_some() { self.writing.idle() } else { self.sessions.idle() };
        if idle.len() < KEPT_MAX {
            idle.push(session);
        }
    }

    /// Where one connection broke, the idle ones are likely to be gone too.
    fn forget_idle(&self) {
        for sessions in [&self.sessions, &self.writing] {
            let idle = std::mem::take(&mut *sessions.idle());
            drop(idle);
        }
    }

    /// Ends a transaction that failed, and keeps the connection where it is well.
    fn undo(&self, mut session: Session, failure: &Failure) {
        match failure {
            Failure::Lost(_) => self.forget_idle(),
            _ => {
                if session.connection.run("ROLLBACK").is_ok() {
                    self.give_back(session);
                }
            }
        }
    }

    /// Runs the work in one transaction: all of it, or nothing after an error. The work is done again where a connection
    /// broke, for as long as the store's patience lasts.
    pub(crate) fn transaction<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut patience = Patience::new(self.patience);
        loop {
            match self.try_transaction(&mut work, &mut patience) {
                Err(failure) if failure.may_pass() && patience.wait() => {}
                done => return done,
            }
        }
    }

    fn try_transaction<T>(
        &self,
        work: &mut impl FnMut(&mut dyn Connection) -> Attempt<T>,
        patience: &mut Patience,
    ) -> Attempt<T> {
        let mut session = self.take_to_write()?;
        let done = self.work(&mut session, work);
        let (done, receipt) = match done {
            Ok(done) => done,
            Err(failure) => {
                self.undo(session, &failure);
                return Err(failure);
            }
        };
        match session.connection.run(self.server.commit()) {
            Ok(()) => {
                self.give_back(session);
                Ok(done)
            }
            // A node that is told of another's change while it commits may say so of a commit that came through.
            Err(failure @ (Failure::Lost(_) | Failure::Undone(_))) => {
                drop(session);
                if let Failure::Lost(_) = failure {
                    self.forget_idle();
                }
                match self.was_committed(&receipt, patience) {
                    Ok(true) => Ok(done),
                    Ok(false) => Err(failure),
                    Err(unknown) => Err(Failure::Server(unknown_outcome(self.server.place(), unknown.into_error()))),
                }
            }
            Err(failure) => {
                self.undo(session, &failure);
                Err(failure)
            }
        }
    }

    /// All of a transaction but its COMMIT.
    fn work<T>(
        &self,
        session: &mut Session,
        work: &mut impl FnMut(&mut dyn Connection) -> Attempt<T>,
    ) -> Attempt<(T, Receipt)> {
        if session.receipt.is_none() {
            session.receipt = Some(self.new_receipt(&mut *session.connection)?);
        }
        let receipt = session.receipt.as_mut().ok_or_else(|| Error::internal("a connection has no receipt"))?;
        receipt.last += 1;
        let receipt = receipt.clone();
        session.connection.run(self.server.begin_write())?;
        let done = work(&mut *session.connection)?;
        let sql = "UPDATE atsdb_writer SET last = $1, touched_ms = $2 WHERE id = $3";
        let now_ms = self.now_ms.load(Ordering::Relaxed);
        let values = [receipt.last.into(), now_ms.into(), Value::Bytes(&receipt.id)];
        if session.connection.execute(sql, &values)? == 0 {
            // Long idle, it was forgotten.
            session.receipt = None;
            return Err(Failure::Undone(Error::internal("a connection's row in atsdb_writer is gone")));
        }
        if let Some(node) = &session.node {
            // Who notes another node from now on conflicts with the row above.
            require_noted(&mut *session.connection, node, self.server.place())?;
        }
        Ok((done, receipt))
    }

    /// Adds the connection's row, in a transaction of its own: nobody could wait for a row that is not there yet.
    fn new_receipt(&self, connection: &mut dyn Connection) -> Attempt<Receipt> {
        let row = connection.query_first(&format!("SELECT {}", self.server.random()), &[])?;
        let id = row.ok_or_else(|| Error::internal("the server gave no random bytes"))?.bytes(0)?;
        let values = [Value::Bytes(&id), 0.into(), self.now_ms.load(Ordering::Relaxed).into()];
        let sql = "INSERT INTO atsdb_writer (id, last, touched_ms) VALUES ($1, $2, $3)";
        match self.server.cluster() {
            None => connection.execute(sql, &values).map(drop)?,
            Some(_) => {
                connection.run(self.server.begin_write())?;
                connection.execute(sql, &values)?;
                conflict_with_noting(connection)?;
                connection.run(self.server.commit())?;
            }
        }
        Ok(Receipt { id, last: 0 })
    }

    /// Whether the receipt's transaction was committed. Waits until it has ended, one way or the other; if it was not, it
    /// never will be. If it was, others may see it before it is on disk, and who answers yes acknowledges it: so a row is
    /// changed either way, and what is on disk with that has the transaction, too.
    fn was_committed(&self, receipt: &Receipt, patience: &mut Patience) -> Attempt<bool> {
        loop {
            let ask = || -> Attempt<bool> {
                let mut session = self.connect_to_write()?;
                let connection = &mut *session.connection;
                connection.run(self.server.begin_write())?;
                let id = Value::Bytes(&receipt.id);
                let row = connection.query_first("SELECT last FROM atsdb_writer WHERE id = $1 FOR UPDATE", &[id])?;
                let committed = row.map(|row| row.int(0)).transpose()?.is_some_and(|last| last >= receipt.last);
                let sql = match committed {
                    true => "UPDATE atsdb_writer SET touched_ms = touched_ms + 1 WHERE id = $1",
                    false => "DELETE FROM atsdb_writer WHERE id = $1",
                };
                connection.execute(sql, &[id])?;
                connection.run(self.server.commit())?;
                self.give_back(session);
                Ok(committed)
            };
            match ask() {
                Err(failure) if failure.may_pass() && patience.wait() => {}
                answer => return answer,
            }
        }
    }

    /// A connection with a transaction that sees the present state.
    pub(crate) fn begin_read(&self) -> Attempt<Session> {
        let mut patience = Patience::new(self.patience.min(READER_PATIENCE_MAX));
        loop {
            let begun = self.take().and_then(|mut session| match self.try_begin_read(&mut *session.connection) {
                Ok(()) => Ok(session),
                Err(failure) => {
                    self.undo(session, &failure);
                    Err(failure)
                }
            });
            match begun {
                Err(failure) if failure.may_pass() && patience.wait() => {}
                begun => return begun,
            }
        }
    }

    fn try_begin_read(&self, connection: &mut dyn Connection) -> Attempt<()> {
        connection.run(self.server.begin_read())?;
        let Some(waiting) = self.server.reads_pages_later() else { return Ok(()) };
        // What is deleted from now on, the snapshots of the pages still have.
        let sql = "SELECT last FROM atsdb_number WHERE name = 'reclaim'";
        let seen = connection.query_first(sql, &[])?.map(|row| row.int(0)).transpose()?;
        let now = self.outside(|other| other.query_first(&format!("{sql} {waiting}"), &[]))?;
        if now.map(|row| row.int(0)).transpose()? != seen {
            let message = "pages were deleted while their snapshot was taken";
            return Err(Failure::Undone(Error::new(ErrorKind::Busy, message)));
        }
        Ok(())
    }

    /// Ends a transaction that only read.
    pub(crate) fn end_read(&self, mut session: Session) {
        if session.connection.run("ROLLBACK").is_ok() {
            self.give_back(session);
        }
    }

    /// Reads in a transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut session = self.begin_read()?;
        let done = work(&mut *session.connection);
        self.end_read(session);
        done
    }

    /// Works on a connection that has no transaction.
    pub(crate) fn outside<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut session = self.take()?;
        let done = work(&mut *session.connection)?;
        self.give_back(session);
        Ok(done)
    }
}

impl Sessions {
    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// The connection.
    pub(crate) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }
}
