//! Which of a database's addresses is connected to, and whether what answers there is the store that was opened.
//!
//! Nodes of a cluster know nothing of each other's locks, and find out only when they commit that they changed the same:
//! that is late for what was read meanwhile, and breaks down where all change the same rows. So the store notes one node, and
//! that one is written to until somebody cannot reach it: who then notes another one also touches the rows of
//! `atsdb_writer`, of which every transaction changes its connection's. What the former node has not committed by then
//! conflicts with that, and what begins there later finds another node noted.

use crate::connection::{ClusterDialect, Connection, Server, Value};
use crate::error::{Attempt, Failure};
use crate::options::{OnNotice, ServerOptions};
use crate::patience::{Patience, READER_PATIENCE_MAX};

use atsdb_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a server's crate tells what a database holds: the store's uid, or none.
pub type Check = fn(&mut dyn Connection, &str) -> Attempt<Option<[u8; 16]>>;
/// How it makes a store, unless another process has just done so.
pub type Create = fn(&mut dyn Connection, &str) -> Attempt<[u8; 16]>;

/// Which servers of a database will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One that takes writes. It is also read from: a standby may lack what was acknowledged.
    Primary,
    /// That one, or a standby while there is none.
    PrimaryOrStandby,
}

impl Wanted {
    pub(crate) fn of(options: &ServerOptions) -> Self {
        if options.read_only { Self::PrimaryOrStandby } else { Self::Primary }
    }
}

/// Connects, looks at the server's settings, and finds the database's store or makes one, as the options say. Gives the
/// store's uid and what `look` found. Waits for a server that is away.
pub fn prepare<T>(
    server: &dyn Server,
    options: &ServerOptions,
    mut look: impl FnMut(&mut dyn Connection) -> Attempt<T>,
    kind: (Check, Create),
) -> Attempt<([u8; 16], T)> {
    let waits = if options.read_only { options.busy_timeout.min(READER_PATIENCE_MAX) } else { options.busy_timeout };
    let mut patience = Patience::new(waits);
    let mut is_told = false;
    loop {
        match try_prepare(server, options, &mut look, kind) {
            // That only standbys answer may stay so: who named no other is told at once.
            Err(Failure::Lost(error)) if error.kind() == ErrorKind::ReadOnly => return Err(Failure::Server(error)),
            Err(failure) if failure.may_pass() && patience.wait() => {
                // What others undo is soon done again; that is not worth a word.
                if let (Failure::Lost(error) | Failure::Full(error), false) = (failure, is_told) {
                    is_told = true;
                    tell(options, &format!("{error}; waiting up to {} s for the server", waits.as_secs()));
                }
            }
            prepared => return prepared,
        }
    }
}

fn tell(options: &ServerOptions, sentence: &str) {
    if let Some(OnNotice(tell)) = &options.on_notice {
        tell(sentence);
    }
}

fn try_prepare<T>(
    server: &dyn Server,
    options: &ServerOptions,
    look: impl FnMut(&mut dyn Connection) -> Attempt<T>,
    (check, create): (Check, Create),
) -> Attempt<([u8; 16], T)> {
    let place = server.place();
    let (mut connection, found) = reach(server, &AtomicUsize::new(0), Wanted::of(options), look)?;
    if connection.is_standby() {
        tell(
            options,
            &format!("{place}: the server that answers is a standby; what was written lately may be missing"),
        );
    }
    let uid = match check(&mut *connection, place)? {
        Some(uid) => uid,
        // Another process may be making it, too: then this is undone, and done again.
        None if options.create && !options.read_only => create(&mut *connection, place)?,
        None => {
            return Err(Error::not_found(format!("there is no store in the database {place}"))
                .with_hint("check the URL; whoever writes first creates one")
                .into());
        }
    };
    Ok((uid, found))
}

/// A connection to the first address, from `from` on, whose server answers and passes the look; `from` becomes that one.
pub(crate) fn reach<T>(
    server: &dyn Server,
    from: &AtomicUsize,
    wanted: Wanted,
    mut look: impl FnMut(&mut dyn Connection) -> Attempt<T>,
) -> Attempt<(Box<dyn Connection>, T)> {
    let (mut lost, mut standby) = (None, None);
    for address in addresses(server, from) {
        let reached = server.connect(address).and_then(|mut connection| {
            if connection.is_standby() && (wanted == Wanted::Primary || standby.is_some()) {
                return Err(only_standbys(server.place()));
            }
            let found = look(&mut *connection)?;
            Ok((connection, found))
        });
        match reached {
            Ok(reached) if reached.0.is_standby() => standby = Some((address, reached)),
            Ok(reached) => {
                from.store(address, Ordering::Relaxed);
                return Ok(reached);
            }
            // Why a server is gone says more than that another one takes no writes.
            Err(Failure::Lost(error)) if error.kind() == ErrorKind::ReadOnly => lost = lost.or(Some(error)),
            Err(Failure::Lost(error) | Failure::Full(error)) => lost = Some(error),
            Err(failure) => return Err(failure),
        }
    }
    let (address, reached) = standby.ok_or_else(|| none_answers(lost))?;
    from.store(address, Ordering::Relaxed);
    Ok(reached)
}

fn only_standbys(place: &str) -> Failure {
    let message = format!("the server of {place} that answers is a standby: it takes no writes, and lags behind");
    let hint = "name the primary's address in the URL, too; to read from a standby, open the store with read_only";
    Failure::Lost(Error::new(ErrorKind::ReadOnly, message).with_hint(hint))
}

/// All of them, beginning with the one that answered last.
fn addresses(server: &dyn Server, from: &AtomicUsize) -> impl Iterator<Item = usize> + use<> {
    let (first, count) = (from.load(Ordering::Relaxed), server.address_count());
    (first..first + count).map(move |address| address % count)
}

/// A connection to the node of a cluster that is written to, and that node. Where it cannot be reached, the first one that
/// can takes its place.
pub(crate) fn reach_writer(
    server: &dyn Server,
    from: &AtomicUsize,
    mut look: impl FnMut(&mut dyn Connection) -> Attempt<()>,
    dialect: ClusterDialect,
) -> Attempt<(Box<dyn Connection>, Vec<u8>)> {
    let (mut first_that_answers, mut lost, mut refused) = (None, None, None);
    for address in addresses(server, from) {
        let reached = server.connect(address).and_then(|mut connection| {
            look(&mut *connection)?;
            let (node, noted) = (ask(&mut *connection, dialect.node)?, ask(&mut *connection, NOTED)?);
            connection.run(dialect.only_by_commit)?;
            Ok((connection, node, noted))
        });
        match reached {
            Ok((connection, node, noted)) if node == noted => {
                from.store(address, Ordering::Relaxed);
                return Ok((connection, node));
            }
            Ok(other) => first_that_answers = first_that_answers.or(Some((address, other))),
            Err(Failure::Lost(error)) => lost = Some(error),
            Err(failure) => refused = Some(failure),
        }
    }
    if let Some(failure) = refused {
        // It may be the one that is noted, which then is not gone.
        return Err(failure);
    }
    let (address, (mut connection, node, noted)) = first_that_answers.ok_or_else(|| none_answers(lost))?;
    note(&mut *connection, server, &node, &noted)?;
    from.store(address, Ordering::Relaxed);
    Ok((connection, node))
}

fn none_answers(lost: Option<Error>) -> Failure {
    lost.map_or_else(|| Error::internal("the URL has no address").into(), Failure::Lost)
}

const NOTED: &str = "SELECT value FROM atsdb_store WHERE name = 'node'";

fn ask(connection: &mut dyn Connection, question: &str) -> Attempt<Vec<u8>> {
    let row = connection.query_first(question, &[])?;
    let lost = || Failure::Server(Error::corrupt("the store has lost which node of the cluster is written to"));
    row.ok_or_else(lost)?.bytes(0)
}

/// Notes the node as the one that is written to, in place of the former one.
fn note(connection: &mut dyn Connection, server: &dyn Server, node: &[u8], former: &[u8]) -> Attempt<()> {
    connection.run(server.begin_write())?;
    let sql = "UPDATE atsdb_store SET value = $1 WHERE name = 'node' AND value = $2";
    if connection.execute(sql, &[node.into(), former.into()])? == 0 {
        return Err(moved(server.place()));
    }
    connection.execute("UPDATE atsdb_writer SET touched_ms = touched_ms + 1", &[])?;
    conflict_with_noting(connection)?;
    connection.run(server.commit())
}

/// Has the transaction conflict with one that notes another node, if that does not see yet what this one adds to
/// `atsdb_writer`.
pub(crate) fn conflict_with_noting(connection: &mut dyn Connection) -> Attempt<()> {
    connection.execute("UPDATE atsdb_number SET last = last + 1 WHERE name = 'lease'", &[]).map(drop)
}

/// Refuses to go on at a node that is not the one that is written to any more.
pub(crate) fn require_noted(connection: &mut dyn Connection, node: &[u8], place: &str) -> Attempt<()> {
    if ask(connection, NOTED)? == node { Ok(()) } else { Err(moved(place)) }
}

fn moved(place: &str) -> Failure {
    let message = format!("another node of {place} is written to since a moment ago");
    let hint = "if that goes on, programs know different nodes: name all of them in every program's URL";
    Failure::Lost(Error::new(ErrorKind::Busy, message).with_hint(hint))
}

/// Refuses a database that holds another store than the one of this uid: an address may be wrong, or a server may have
/// been set up anew while the store was open.
pub(crate) fn require_store(connection: &mut dyn Connection, uid: [u8; 16], place: &str) -> Attempt<()> {
    let sql = "SELECT value FROM atsdb_store WHERE name = $1";
    let row = connection.query_first(sql, &[Value::Bytes(b"uid")])?;
    if row.map(|mut row| row.bytes(0)).transpose()?.is_some_and(|found| found == uid) {
        return Ok(());
    }
    let message = format!("a server of {place} holds another store than the one that was opened");
    let hint = "check the URL's addresses; after a restored backup, open the store anew";
    Err(Failure::Server(Error::new(ErrorKind::NotAStore, message).with_hint(hint)))
}
