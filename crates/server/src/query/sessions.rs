//! Sessions for requests, each used by one request at a time.

use super::options::QueryOptions;
use atsdb::sql::{Session, SessionOptions};
use atsdb::{Database, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// Idle sessions, whose threads are ready.
#[derive(Debug, Clone)]
pub(crate) struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    options: QueryOptions,
    idle: Mutex<Vec<Session>>,
}

impl Sessions {
    pub(crate) fn new(database: Database, options: QueryOptions) -> Self {
        Self(Arc::new(Inner { database, options, idle: Mutex::default() }))
    }

    /// Takes an idle session. It still has the rights of the previous request.
    pub(crate) fn take(&self) -> Result<Session> {
        if let Some(session) = self.0.idle.lock().pop() {
            return Ok(session);
        }
        let options = &self.0.options;
        let (memory_bytes, time_limit) = (options.memory_bytes, Some(options.time_limit));
        self.0.database.session(SessionOptions { memory_bytes, time_limit, ..SessionOptions::default() })
    }

    /// Gives a session back. It must have no transaction and no rows that are still read.
    pub(crate) fn give_back(&self, session: Session) {
        let mut idle = self.0.idle.lock();
        if idle.len() < self.0.options.statements_max {
            idle.push(session);
        }
    }
}
