//! Connections, and transactions that survive a lost one.
//!
//! A transaction is retried if its connection breaks or the server rolls it back in favour of another. If the
//! connection broke during the commit, the outcome is read from the server: each writing connection has a row in
//! `atsdb_writer`, in which every transaction records its number. Locking that row waits until the transaction has
//! ended. Nodes of a cluster do not wait for each other's locks: if the number is missing, the row is deleted, so that
//! the transaction conflicts if it arrives later. All nodes are read from, each program uses the first one in its URL;
//! [the node that is written to](crate::routing) is recorded in the store. The pool is written by hand, since general
//! pools neither retry transactions nor find out the outcome of a commit.

use crate::connection::{Connection, Server, Value};
use crate::error::{Attempt, Failure, unknown_outcome};
use crate::options::ServerOptions;
use crate::retry::{READER_WAIT_MAX, RetryDeadline};
use crate::routing::{
    ServerRole, check_writer_node, conflict_with_node_change, connect_to_any, connect_to_writer_node, require_store,
};
use atsdb_core::{Error, ErrorKind};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

/// The maximum number of idle connections that are kept.
const IDLE_CONNECTIONS_MAX: usize = 8;

/// The message if pages were deleted between the snapshots of two servers.
pub(crate) const PAGES_RECLAIMED: &str = "pages were deleted while their snapshot was taken";

/// The connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    server: Box<dyn Server>,
    /// The uid of the store.
    uid: [u8; 16],
    retry_for: Duration,
    role: ServerRole,
    sessions: Sessions,
    /// The connections to the writer node of a cluster; unused elsewhere.
    writing: Sessions,
    now_ms: AtomicI64,
}

/// Idle connections, and the address that answered last.
#[derive(Debug, Default)]
struct Sessions {
    address: AtomicUsize,
    idle: Mutex<Vec<Session>>,
}

/// A connection, and the record of its transactions.
pub(crate) struct Session {
    connection: Box<dyn Connection>,
    /// The node of a cluster, if the connection is for writing.
    node: Option<Vec<u8>>,
    receipt: Option<CommitReceipt>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

/// The connection's row in `atsdb_writer`, and the number of its last transaction.
#[derive(Debug, Clone)]
struct CommitReceipt {
    id: Vec<u8>,
    last: i64,
}

impl Pool {
    pub(crate) fn new(server: Box<dyn Server>, uid: [u8; 16], options: &ServerOptions) -> Self {
        let (sessions, writing) = (Sessions::default(), Sessions::default());
        let (retry_for, role) = (options.busy_timeout, ServerRole::of(options));
        Self { server, uid, retry_for, role, sessions, writing, now_ms: AtomicI64::new(0) }
    }

    /// Returns the server.
    pub(crate) fn server(&self) -> &dyn Server {
        &*self.server
    }

    /// Updates the current time, for rows that record when they were last used.
    pub(crate) fn set_now(&self, now_ms: i64) {
        self.now_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    fn take(&self) -> Attempt<Session> {
        let idle = self.sessions.idle().pop();
        idle.map_or_else(|| self.connect(), Ok)
    }

    /// Returns a session for writing: on a cluster one of the writer node.
    fn take_for_writing(&self) -> Attempt<Session> {
        if self.server.cluster().is_none() {
            return self.take();
        }
        let idle = self.writing.idle().pop();
        idle.map_or_else(|| self.connect_to_write(), Ok)
    }

    fn connect(&self) -> Attempt<Session> {
        let (connection, ()) =
            connect_to_any(self.server(), &self.sessions.address, self.role, |new| self.check_store(new))?;
        Ok(Session { connection, node: None, receipt: None })
    }

    fn connect_to_write(&self) -> Attempt<Session> {
        let Some(dialect) = self.server.cluster() else { return self.connect() };
        let (server, address) = (self.server(), &self.writing.address);
        let (connection, node) = connect_to_writer_node(server, address, |new| self.check_store(new), dialect)?;
        Ok(Session { connection, node: Some(node), receipt: None })
    }

    fn check_store(&self, connection: &mut dyn Connection) -> Attempt<()> {
        require_store(connection, self.uid, self.server.location())
    }

    fn give_back(&self, session: Session) {
        let mut idle = if session.node.is_some() { self.writing.idle() } else { self.sessions.idle() };
        if idle.len() < IDLE_CONNECTIONS_MAX {
            idle.push(session);
        }
    }

    /// Drops the idle connections: if one connection broke, the others are likely to be broken too.
    fn drop_idle(&self) {
        for sessions in [&self.sessions, &self.writing] {
            let idle = std::mem::take(&mut *sessions.idle());
            drop(idle);
        }
    }

    /// Rolls a failed transaction back, and keeps the connection if it is usable.
    fn roll_back(&self, mut session: Session, failure: &Failure) {
        match failure {
            Failure::Lost(_) => self.drop_idle(),
            _ => {
                if session.connection.run("ROLLBACK").is_ok() {
                    self.give_back(session);
                }
            }
        }
    }

    /// Runs the work in one transaction, which is rolled back after an error. It is retried after a lost connection
    /// until the store's timeout.
    pub(crate) fn transaction<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut retry = RetryDeadline::new(self.retry_for);
        loop {
            match self.try_transaction(&mut work, &mut retry) {
                Err(failure) if failure.is_transient() && retry.wait() => {}
                done => return done,
            }
        }
    }

    fn try_transaction<T>(
        &self,
        work: &mut impl FnMut(&mut dyn Connection) -> Attempt<T>,
        retry: &mut RetryDeadline,
    ) -> Attempt<T> {
        let mut session = self.take_for_writing()?;
        let done = self.work(&mut session, work);
        let (done, receipt) = match done {
            Ok(done) => done,
            Err(failure) => {
                self.roll_back(session, &failure);
                return Err(failure);
            }
        };
        match session.connection.run(self.server.commit()) {
            Ok(()) => {
                self.give_back(session);
                Ok(done)
            }
            // A node that learns of another's change during a commit may report this for a commit that succeeded.
            Err(failure @ (Failure::Lost(_) | Failure::RolledBack(_))) => {
                drop(session);
                if let Failure::Lost(_) = failure {
                    self.drop_idle();
                }
                match self.was_committed(&receipt, retry) {
                    Ok(true) => Ok(done),
                    Ok(false) => Err(failure),
                    Err(unknown) => Err(Failure::Server(unknown_outcome(self.server.location(), unknown.into_error()))),
                }
            }
            Err(failure) => {
                self.roll_back(session, &failure);
                Err(failure)
            }
        }
    }

    /// Runs all of a transaction except its COMMIT.
    fn work<T>(
        &self,
        session: &mut Session,
        work: &mut impl FnMut(&mut dyn Connection) -> Attempt<T>,
    ) -> Attempt<(T, CommitReceipt)> {
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
            // The row was deleted because the connection was idle for long.
            session.receipt = None;
            return Err(Failure::RolledBack(Error::internal("a connection's row in atsdb_writer is missing")));
        }
        if let Some(node) = &session.node {
            // Recording another node from now on conflicts with the row above.
            check_writer_node(&mut *session.connection, node, self.server.location())?;
        }
        Ok((done, receipt))
    }

    /// Adds the connection's row in a separate transaction, because others could not wait for a row that does not exist
    /// yet.
    fn new_receipt(&self, connection: &mut dyn Connection) -> Attempt<CommitReceipt> {
        let row = connection.query_first(&format!("SELECT {}", self.server.random_bytes()), &[])?;
        let id = row.ok_or_else(|| Error::internal("the server returned no random bytes"))?.bytes(0)?;
        let values = [Value::Bytes(&id), 0.into(), self.now_ms.load(Ordering::Relaxed).into()];
        let sql = "INSERT INTO atsdb_writer (id, last, touched_ms) VALUES ($1, $2, $3)";
        match self.server.cluster() {
            None => connection.execute(sql, &values).map(drop)?,
            Some(_) => {
                connection.run(self.server.begin_write())?;
                connection.execute(sql, &values)?;
                conflict_with_node_change(connection)?;
                connection.run(self.server.commit())?;
            }
        }
        Ok(CommitReceipt { id, last: 0 })
    }

    /// Returns whether the receipt's transaction was committed. Waits until the transaction has ended; if it was not
    /// committed, it never will be. If it was, others may see it before it is on disk, and a positive answer
    /// acknowledges it. So a row is changed in either case, and once that is on disk, the transaction is too.
    fn was_committed(&self, receipt: &CommitReceipt, retry: &mut RetryDeadline) -> Attempt<bool> {
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
                Err(failure) if failure.is_transient() && retry.wait() => {}
                answer => return answer,
            }
        }
    }

    /// Returns a connection with an open read transaction.
    pub(crate) fn begin_read(&self) -> Attempt<Session> {
        let mut retry = RetryDeadline::new(self.retry_for.min(READER_WAIT_MAX));
        loop {
            let begun = self.take().and_then(|mut session| match self.try_begin_read(&mut *session.connection) {
                Ok(()) => Ok(session),
                Err(failure) => {
                    self.roll_back(session, &failure);
                    Err(failure)
                }
            });
            match begun {
                Err(failure) if failure.is_transient() && retry.wait() => {}
                begun => return begun,
            }
        }
    }

    fn try_begin_read(&self, connection: &mut dyn Connection) -> Attempt<()> {
        connection.run(self.server.begin_read())?;
        let Some(waiting) = self.server.reads_pages_later() else { return Ok(()) };
        // The snapshots of the pages still contain pages that are deleted from now on.
        if self.has_reclaimed_since(connection, waiting)? {
            return Err(Failure::RolledBack(Error::new(ErrorKind::Busy, PAGES_RECLAIMED)));
        }
        Ok(())
    }

    /// Returns whether pages were deleted since the connection's transaction began; `waiting` is the clause of
    /// [`Server::reads_pages_later`].
    pub(crate) fn has_reclaimed_since(&self, connection: &mut dyn Connection, waiting: &str) -> Attempt<bool> {
        let sql = "SELECT last FROM atsdb_number WHERE name = 'reclaim'";
        let seen = connection.query_first(sql, &[])?.map(|row| row.int(0)).transpose()?;
        let now = self.without_transaction(|other| other.query_first(&format!("{sql} {waiting}"), &[]))?;
        Ok(now.map(|row| row.int(0)).transpose()? != seen)
    }

    /// Ends a read transaction.
    pub(crate) fn end_read(&self, mut session: Session) {
        if session.connection.run("ROLLBACK").is_ok() {
            self.give_back(session);
        }
    }

    /// Runs work in a read transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut session = self.begin_read()?;
        let done = work(&mut *session.connection);
        self.end_read(session);
        done
    }

    /// Runs work on a connection without a transaction.
    pub(crate) fn without_transaction<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Attempt<T> {
        let mut session = self.take()?;
        let done = work(&mut *session.connection)?;
        self.give_back(session);
        Ok(done)
    }
}

impl Sessions {
    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock()
    }
}

impl Session {
    /// Returns the connection.
    pub(crate) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }
}
