//! Shared helpers: opening the store.

use atsdb_core::{Result, Store};
use atsdb_postgres::PostgresStore;
use atsdb_sqlstore::{OnNotice, ServerOptions};
use atsdb_testkit::on_server::{Limits, Subject};
use atsdb_testkit::server::ServerKind;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The store under test.
pub(crate) const SUBJECT: Subject = Subject { kind: ServerKind::Postgres, open, open_for_reading, open_with };

/// Opens the store of a URL, and creates it if it does not exist. Waits for a server that is restarting.
pub(crate) fn open(url: &str) -> Result<Box<dyn Store>> {
    open_as(url, false)
}

fn open_for_reading(url: &str) -> Result<Box<dyn Store>> {
    open_as(url, true)
}

fn open_as(url: &str, read_only: bool) -> Result<Box<dyn Store>> {
    let busy_timeout = Duration::from_secs(30);
    let options = ServerOptions { read_only, busy_timeout, ..ServerOptions::default() };
    Ok(Box::new(PostgresStore::open(url, None, &options)?.0))
}

fn open_with(url: &str, limits: Limits) -> Result<Box<dyn Store>> {
    let on_notice = limits.notices.map(|notices| {
        let notices = Mutex::new(notices);
        // The receiver may have been dropped.
        OnNotice(Arc::new(move |text: &str| drop(notices.lock().send(text.to_owned()))))
    });
    let (busy_timeout, answer_timeout) = (limits.busy, limits.answer);
    let options = ServerOptions { busy_timeout, answer_timeout, on_notice, ..ServerOptions::default() };
    Ok(Box::new(PostgresStore::open(url, None, &options)?.0))
}
