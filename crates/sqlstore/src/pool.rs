//! Connections, and transactions that outlive them.
//!
//! A transaction whose connection breaks, or that the server undoes for another's sake, is done again. Where it broke while
//! committing, the server is asked what became of it: each connection that writes has a row in `atsdb_writer`, in which
//! every transaction of it notes its number. Whoever locks that row waits until the transaction has ended. Nodes of a
//! cluster do not wait for each other's locks: whoever finds the number missing deletes the row, so that the transaction,
//! if it comes later, conflicts.

use crate::connection::{Connection, Server, Value};
use crate::error::{Attempt, Failure, unknown_outcome};
use crate::reach::{reach, require_store};
use atsdb_core::Error;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Idle connections that are kept.
const KEPT_MAX: usize = 8;
/// How long a reader waits for a server that is away.
const READER_PATIENCE_MAX: Duration = Duration::from_secs(10);
/// Between two tries.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    server: Box<dyn Server>,
    /// The store's.
    uid: [u8; 16],
    /// The address that answered last.
    address: AtomicUsize,
    patience: Duration,
    idle: Mutex<Vec<Session>>,
    now_ms: AtomicI64,
}

/// A connection, and where its transactions are noted.
pub(crate) struct Session {
    connection: Box<dyn Connection>,
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

/// Waits a little longer each time.
struct Patience {
    deadline: Instant,
    pause: Duration,
}

impl Patience {
    fn new(patience: Duration) -> Self {
        Self { deadline: Instant::now() + patience, pause: PAUSE_MIN }
    }

    /// Whether it is worth another try; waits before that.
    fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}

impl Pool {
    pub(crate) fn new(server: Box<dyn Server>, uid: [u8; 16], patience: Duration) -> Self {
        let (idle, now_ms) = (Mutex::default(), AtomicI64::new(0));
        Self { server, uid, address: AtomicUsize::new(0), patience, idle, now_ms }
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
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(session) => Ok(session),
            None => Ok(Session { connection: self.connect()?, receipt: None }),
        }
    }

    fn connect(&self) -> Attempt<Box<dyn Connection>> {
        let look = |connection: &mut dyn Connection| require_store(connection, self.uid, self.server.place());
        Ok(reach(self.server(), &self.address, look)?.0)
    }

    fn give_back(&self, session: Session) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_MAX {
            idle.push(session);
        }
    }

    /// Where one connection broke, the idle ones are likely to be gone too.
    fn forget_idle(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
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
                Err(Failure::Lost(_) | Failure::Undone(_)) if patience.wait() => {}
                done => return done,
            }
        }
    }

    fn try_transaction<T>(
        &self,
        work: &mut impl FnMut(&mut dyn Connection) -> Attempt<T>,
        patience: &mut Patience,
    ) -> Attempt<T> {
        let mut session = self.take()?;
        let done = self.work(&mut session, work);
        let (done, receipt) = match done {
            Ok(done) => done,
            Err(failure) => {
                self.undo(session, &failure);
                return Err(failure);
            }
        };
        match session.connection.run("COMMIT") {
            Ok(()) => {
                self.give_back(session);
                Ok(done)
            }
            Err(Failure::Lost(error)) => {
                drop(session);
                self.forget_idle();
                match self.was_committed(&receipt, patience) {
                    Ok(true) => Ok(done),
                    Ok(false) => Err(Failure::Lost(error)),
                    Err(failure) => Err(Failure::Server(unknown_outcome(self.server.place(), failure.into_error()))),
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
        let values = [receipt.last.into(), self.now_ms.load(Ordering::Relaxed).into(), Value::Bytes(&receipt.id)];
        if session.connection.execute(sql, &values)? == 0 {
            // Long idle, it was forgotten.
            session.receipt = None;
            return Err(Failure::Undone(Error::internal("a connection's row in atsdb_writer is gone")));
        }
        Ok((done, receipt))
    }

    /// Adds the connection's row, in a transaction of its own: nobody could wait for a row that is not there yet.
    fn new_receipt(&self, connection: &mut dyn Connection) -> Attempt<Receipt> {
        let row = connection.query_first(&format!("SELECT {}", self.server.random()), &[])?;
        let id = row.ok_or_else(|| Error::internal("the server gave no random bytes"))?.bytes(0)?;
        let values = [Value::Bytes(&id), 0.into(), self.now_ms.load(Ordering::Relaxed).into()];
        connection.execute("INSERT INTO atsdb_writer (id, last, touched_ms) VALUES ($1, $2, $3)", &values)?;
        Ok(Receipt { id, last: 0 })
    }

    /// Whether the receipt's transaction was committed. Waits until it has ended, one way or the other; if it was not, it
    /// never will be.
    fn was_committed(&self, receipt: &Receipt, patience: &mut Patience) -> Attempt<bool> {
        loop {
            let ask = || -> Attempt<bool> {
                let mut connection = self.connect()?;
                connection.run(self.server.begin_write())?;
                let id = Value::Bytes(&receipt.id);
                let row = connection.query_first("SELECT last FROM atsdb_writer WHERE id = $1 FOR UPDATE", &[id])?;
                let committed = row.map(|row| row.int(0)).transpose()?.is_some_and(|last| last >= receipt.last);
                if !committed {
                    connection.execute("DELETE FROM atsdb_writer WHERE id = $1", &[id])?;
                }
                connection.run("COMMIT")?;
                Ok(committed)
            };
            match ask() {
                Err(Failure::Lost(_) | Failure::Undone(_)) if patience.wait() => {}
                answer => return answer,
            }
        }
    }

    /// A connection with a transaction that sees the present state.
    pub(crate) fn begin_read(&self) -> Attempt<Session> {
        let mut patience = Patience::new(self.patience.min(READER_PATIENCE_MAX));
        loop {
            let begun = self.take().and_then(|mut session| match session.connection.run(self.server.begin_read()) {
                Ok(()) => Ok(session),
                Err(failure) => {
                    self.undo(session, &failure);
                    Err(failure)
                }
            });
            match begun {
                Err(Failure::Lost(_) | Failure::Undone(_)) if patience.wait() => {}
                begun => return begun,
            }
        }
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

impl Session {
    /// The connection.
    pub(crate) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }
}
