//! The queries whose rows are being read, by the names in their tickets, so that their user can cancel them.

use crate::shared::outlet::Stop;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The queries whose rows are being read. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningQueries(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Several requests may read one ticket at once, so each query has a number beside its name.
    queries: BTreeMap<(Vec<u8>, u64), Query>,
    last_number: u64,
}

#[derive(Debug)]
struct Query {
    user: Option<Arc<str>>,
    stop: Stop,
}

/// A query that can be cancelled until this is dropped.
#[derive(Debug)]
pub(super) struct Cancellable {
    running: RunningQueries,
    key: (Vec<u8>, u64),
}

impl RunningQueries {
    pub(super) fn begin(&self, name: &[u8], user: Option<Arc<str>>, stop: Stop) -> Cancellable {
        let mut inner = self.0.lock();
        inner.last_number += 1;
        let key = (name.to_vec(), inner.last_number);
        inner.queries.insert(key.clone(), Query { user, stop });
        Cancellable { running: self.clone(), key }
    }

    /// Interrupts the queries of a user that have this name. Returns `false` if none of them can be interrupted any
    /// more. A query that a client reads without a ticket of its own has no name, and is not cancelled.
    pub(super) fn cancel(&self, name: &[u8], user: Option<&Arc<str>>) -> bool {
        if name.is_empty() {
            return false;
        }
        let inner = self.0.lock();
        let named = inner.queries.range((name.to_vec(), 0)..=(name.to_vec(), u64::MAX));
        let mut is_running = false;
        for (_, query) in named.filter(|(_, query)| query.user.as_ref() == user) {
            is_running |= query.stop.stop();
        }
        is_running
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        self.running.0.lock().queries.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::ErrorKind;
    use atsdb::sql::{Answer, SessionOptions};

    #[test]
    fn a_query_that_is_cancelled_before_it_begins_stays_cancelled() {
        let session = atsdb::open("memory:").unwrap().session(SessionOptions::default()).unwrap();
        let stop = Stop::new(session.interrupt_handle());
        stop.check().unwrap();
        assert!(stop.stop());
        let statement = session.statements("SELECT 1").next().unwrap().unwrap();
        let Answer::Rows(mut rows) = session.execute(&statement, &[]).unwrap() else { panic!("no rows") };
        assert!(rows.next().unwrap().is_ok(), "the session has forgotten the interrupt");
        assert_eq!(stop.check().unwrap_err().kind(), ErrorKind::Interrupted);
    }

    #[test]
    fn queries_of_one_ticket_are_cancelled_until_the_last_of_them_has_ended() {
        let session = atsdb::open("memory:").unwrap().session(SessionOptions::default()).unwrap();
        let stop = || Stop::new(session.interrupt_handle());
        let running = RunningQueries::default();
        let user: Arc<str> = "me".into();
        let first = running.begin(b"ticket", Some(Arc::clone(&user)), stop());
        let last = stop();
        let second = running.begin(b"ticket", Some(Arc::clone(&user)), last.clone());
        let _unnamed = running.begin(b"", Some(Arc::clone(&user)), stop());
        drop(first);
        assert!(running.cancel(b"ticket", Some(&user)));
        assert!(!running.cancel(b"ticket", None) && !running.cancel(b"", Some(&user)));
        last.disarm();
        assert!(!running.cancel(b"ticket", Some(&user)), "its last rows need no session");
        drop(second);
        assert!(!running.cancel(b"ticket", Some(&user)));
    }
}
