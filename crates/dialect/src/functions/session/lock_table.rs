//! Advisory locks: numbers that sessions lock by agreement. Owned here: what holds which locks, and waiting for one.
//! Not owned: the functions that statements call (`advisory_locks`).
//!
//! A scope holds locks until it ends: a session, a transaction, or a statement outside of one. The scopes of one
//! session do not exclude each other. After a scope has ended it takes no locks, so that a statement that is stopped
//! while it waits leaves none behind.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// The key of an advisory lock: a number of 64 bits, or two numbers of 32 bits. Keys of the two forms are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockKey {
    /// A key of one number.
    Number(i64),
    /// A key of two numbers.
    Pair(i32, i32),
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// At most one session holds the lock.
    Exclusive,
    /// Any number of sessions hold the lock together.
    Shared,
}

/// A lock that a session holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLock {
    /// The key that is locked.
    pub key: LockKey,
    /// Exclusive or shared.
    pub mode: LockMode,
    /// The number of the session's process, if it has one.
    pub process: Option<i32>,
}

/// The locks of all sessions over one store.
#[derive(Debug, Default)]
pub struct LockTable {
    holds: Mutex<BTreeMap<LockKey, Vec<Hold>>>,
    /// The numbers of the processes of sessions.
    processes: Mutex<BTreeMap<u64, i32>>,
    released: Notify,
    /// The number of the last scope.
    last_scope: AtomicU64,
}

/// A lock that a scope holds in one mode, and how often it has taken it.
#[derive(Debug)]
struct Hold {
    session: u64,
    scope: u64,
    mode: LockMode,
    count: u64,
}

/// An owner of locks, which are released when it ends.
#[derive(Debug)]
pub struct LockScope {
    table: Arc<LockTable>,
    /// The number of the session's own scope.
    session: u64,
    number: u64,
    /// Written while the table's locks are locked.
    has_ended: AtomicBool,
}

/// A scope that ends when this is dropped.
#[derive(Debug)]
pub struct OpenScope(Arc<LockScope>);

/// The scopes in which the statements of a session take locks.
#[derive(Debug)]
pub struct SessionLocks {
    session: Arc<LockScope>,
    inner: Mutex<InnerScopes>,
}

#[derive(Debug, Default)]
struct InnerScopes {
    transaction: Weak<LockScope>,
    /// The last statement outside of a transaction.
    statement: Weak<LockScope>,
}

impl LockTable {
    /// The locks that sessions hold, by key. One that a session holds several times in the same mode is listed once.
    fn held(&self) -> Vec<HeldLock> {
        let (holds, processes) = (self.holds.lock(), self.processes.lock());
        let mut held = Vec::new();
        for (key, holders) in holds.iter() {
            for (at, hold) in holders.iter().enumerate() {
                let is_same = |other: &Hold| other.session == hold.session && other.mode == hold.mode;
                if !holders[..at].iter().any(is_same) {
                    let process = processes.get(&hold.session).copied();
                    held.push(HeldLock { key: *key, mode: hold.mode, process });
                }
            }
        }
        held
    }
}

impl LockScope {
    fn begin(table: &Arc<LockTable>, session: Option<u64>) -> Arc<Self> {
        let number = table.last_scope.fetch_add(1, Ordering::Relaxed) + 1;
        let (table, session) = (Arc::clone(table), session.unwrap_or(number));
        Arc::new(Self { table, session, number, has_ended: AtomicBool::new(false) })
    }

    /// Takes a lock at once. Returns whether it did: not if another session's hold excludes it.
    pub fn try_take(&self, key: LockKey, mode: LockMode) -> bool {
        let mut holds = self.table.holds.lock();
        let excludes = |hold: &Hold| {
            hold.session != self.session && (mode == LockMode::Exclusive || hold.mode == LockMode::Exclusive)
        };
        if self.has_ended() || holds.get(&key).is_some_and(|holders| holders.iter().any(excludes)) {
            return false;
        }
        let holders = holds.entry(key).or_default();
        match holders.iter_mut().find(|hold| hold.scope == self.number && hold.mode == mode) {
            Some(hold) => hold.count += 1,
            None => holders.push(Hold { session: self.session, scope: self.number, mode, count: 1 }),
        }
        true
    }

    /// Takes a lock, once no other session's hold excludes it.
    pub async fn take(&self, key: LockKey, mode: LockMode) {
        loop {
            // It notices releases from here on.
            let released = self.table.released.notified();
            if self.try_take(key, mode) {
                return;
            }
            released.await;
        }
    }

    /// Gives a lock back that was taken once. Returns whether the scope holds it in this mode.
    pub fn release(&self, key: LockKey, mode: LockMode) -> bool {
        let mut holds = self.table.holds.lock();
        let Some(holders) = holds.get_mut(&key) else { return false };
        let Some(at) = holders.iter().position(|hold| hold.scope == self.number && hold.mode == mode) else {
            return false;
        };
        holders[at].count -= 1;
        if holders[at].count == 0 {
            holders.swap_remove(at);
        }
        if holders.is_empty() {
            holds.remove(&key);
        }
        drop(holds);
        self.table.released.notify_waiters();
        true
    }

    /// Gives all its locks back.
    pub fn release_all(&self) {
        self.remove_from(&mut self.table.holds.lock());
    }

    fn end(&self) {
        let mut holds = self.table.holds.lock();
        self.has_ended.store(true, Ordering::Relaxed);
        self.remove_from(&mut holds);
        if self.number == self.session {
            self.table.processes.lock().remove(&self.session);
        }
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    fn remove_from(&self, holds: &mut BTreeMap<LockKey, Vec<Hold>>) {
        let mut has_released = false;
        holds.retain(|_, holders| {
            let before = holders.len();
            holders.retain(|hold| hold.scope != self.number);
            has_released |= holders.len() < before;
            !holders.is_empty()
        });
        if has_released {
            self.table.released.notify_waiters();
        }
    }
}

impl Drop for OpenScope {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl SessionLocks {
    /// Begins a session, and returns its own scope.
    pub fn begin(table: &Arc<LockTable>) -> (Self, OpenScope) {
        let session = LockScope::begin(table, None);
        (Self { session: Arc::clone(&session), inner: Mutex::default() }, OpenScope(session))
    }

    /// Sets the number of the session's process, by which [`held`](Self::held) names it.
    pub fn set_process(&self, process: i32) {
        self.session.table.processes.lock().insert(self.session.number, process);
    }

    /// The locks that all sessions hold.
    pub fn held(&self) -> Vec<HeldLock> {
        self.session.table.held()
    }

    /// The scope of the session.
    pub fn of_session(&self) -> &Arc<LockScope> {
        &self.session
    }

    /// The scope of the open transaction, or else of the last statement; `None` if that has ended.
    pub fn of_transaction(&self) -> Option<Arc<LockScope>> {
        let inner = self.inner.lock();
        open(&inner.transaction).or_else(|| open(&inner.statement))
    }

    /// Begins a transaction.
    pub fn begin_transaction(&self) -> OpenScope {
        let scope = LockScope::begin(&self.session.table, Some(self.session.number));
        self.inner.lock().transaction = Arc::downgrade(&scope);
        OpenScope(scope)
    }

    /// Begins a statement, which has a scope of its own outside of a transaction.
    pub fn begin_statement(&self) -> Option<OpenScope> {
        let mut inner = self.inner.lock();
        if open(&inner.transaction).is_some() {
            return None;
        }
        let scope = LockScope::begin(&self.session.table, Some(self.session.number));
        inner.statement = Arc::downgrade(&scope);
        Some(OpenScope(scope))
    }
}

fn open(scope: &Weak<LockScope>) -> Option<Arc<LockScope>> {
    scope.upgrade().filter(|scope| !scope.has_ended())
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockMode::{Exclusive, Shared};

    const KEY: LockKey = LockKey::Number(7);

    #[test]
    fn only_other_sessions_are_excluded() {
        let table = Arc::new(LockTable::default());
        let ((one, _one), (two, _two)) = (SessionLocks::begin(&table), SessionLocks::begin(&table));
        let (one, two) = (one.of_session(), two.of_session());
        assert!(one.try_take(KEY, Exclusive) && one.try_take(KEY, Exclusive) && one.try_take(KEY, Shared));
        assert!(!two.try_take(KEY, Exclusive) && !two.try_take(KEY, Shared));
        assert!(two.try_take(LockKey::Number(8), Exclusive) && two.try_take(LockKey::Pair(0, 7), Exclusive));
        assert!(one.release(KEY, Exclusive) && !two.try_take(KEY, Shared));
        assert!(one.release(KEY, Exclusive) && two.try_take(KEY, Shared));
        assert!(!one.release(KEY, Exclusive) && !one.try_take(KEY, Exclusive));
        assert!(one.release(KEY, Shared) && !one.release(KEY, Shared));
    }

    #[test]
    fn held_locks_are_listed_once_with_their_process() {
        let table = Arc::new(LockTable::default());
        let ((one, open), (two, _two)) = (SessionLocks::begin(&table), SessionLocks::begin(&table));
        one.set_process(41);
        let statement = one.begin_statement().unwrap();
        let (own, inner) = (one.of_session(), one.of_transaction().unwrap());
        assert!(own.try_take(KEY, Shared) && own.try_take(KEY, Shared) && inner.try_take(KEY, Shared));
        assert!(two.of_session().try_take(KEY, Shared) && own.try_take(LockKey::Pair(1, 2), Exclusive));
        let held = |key, mode, process| HeldLock { key, mode, process };
        let of_two = held(KEY, Shared, None);
        assert_eq!(two.held(), [held(KEY, Shared, Some(41)), of_two, held(LockKey::Pair(1, 2), Exclusive, Some(41))]);
        drop((statement, open));
        assert_eq!(two.held(), [of_two]);
        assert!(table.processes.lock().is_empty());
    }

    #[test]
    fn locks_end_with_their_scope() {
        let table = Arc::new(LockTable::default());
        let ((one, open), (two, _two)) = (SessionLocks::begin(&table), SessionLocks::begin(&table));
        let statement = one.begin_statement().unwrap();
        assert!(one.of_transaction().unwrap().try_take(KEY, Exclusive));
        drop(statement);
        assert!(one.of_transaction().is_none() && two.of_session().try_take(KEY, Exclusive));
        two.of_session().release_all();
        let transaction = one.begin_transaction();
        assert!(one.begin_statement().is_none());
        let scope = one.of_transaction().unwrap();
        assert!(scope.try_take(KEY, Exclusive) && !one.of_session().release(KEY, Exclusive));
        drop(transaction);
        // A statement that still runs takes nothing any more.
        assert!(!scope.try_take(KEY, Exclusive));
        assert!(one.of_session().try_take(KEY, Exclusive) && !two.of_session().try_take(KEY, Exclusive));
        drop(open);
        assert!(!one.of_session().try_take(KEY, Exclusive) && two.of_session().try_take(KEY, Exclusive));
    }
}
