//! Routing: the choice of one of a database's addresses, and the check that the server there has the store that was
//! opened. Nodes of a cluster do not see each other's locks. They detect conflicting changes only at commit. That is
//! too late for data that was read before, and it fails if all processes change the same rows. So the store records one
//! writer node. All processes write to it until one of them cannot reach it. That process records another node, and
//! also touches the rows of `atsdb_writer`, of which every transaction changes the one of its connection. So
//! transactions that the former node has not committed by then get a conflict, and transactions that begin there later
//! find another node recorded.

use crate::connection::{ClusterDialect, Connection, Server, Value};
use crate::error::{Attempt, Failure};
use crate::options::{OnNotice, ServerOptions};
use crate::retry::{READER_WAIT_MAX, RetryDeadline};

use atsdb_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the uid of the store in a database, or `None`. Each server's crate provides one.
pub type CheckStore = fn(&mut dyn Connection, &str) -> Attempt<Option<[u8; 16]>>;
/// Creates a store, unless another process has just done so, and returns its uid.
pub type CreateStore = fn(&mut dyn Connection, &str) -> Attempt<[u8; 16]>;

/// The servers of a database that are acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerRole {
    /// A server that accepts writes. It is also used for reading, because a standby may lack acknowledged changes.
    Primary,
    /// A primary, or a standby if there is none.
    PrimaryOrStandby,
}

impl ServerRole {
    pub(crate) fn of(options: &ServerOptions) -> Self {
        if options.read_only { Self::PrimaryOrStandby } else { Self::Primary }
    }
}

/// Connects, checks the server with `check_server`, and finds the database's store or creates one, depending on the
/// options. Returns the store's uid and the result of `check_server`. It waits for an unreachable server.
pub fn prepare<T>(
    server: &dyn Server,
    options: &ServerOptions,
    mut check_server: impl FnMut(&mut dyn Connection) -> Attempt<T>,
    kind: (CheckStore, CreateStore),
) -> Attempt<([u8; 16], T)> {
    let wait_max = if options.read_only { options.busy_timeout.min(READER_WAIT_MAX) } else { options.busy_timeout };
    let mut retry = RetryDeadline::new(wait_max);
    let mut is_notified = false;
    loop {
        match try_prepare(server, options, &mut check_server, kind) {
            // If only standbys answer, this may be permanent, so it is reported to the caller at once.
            Err(Failure::Lost(error)) if error.kind() == ErrorKind::ReadOnly => return Err(Failure::Server(error)),
            Err(failure) if failure.is_transient() && retry.wait() => {
                // A rollback is retried soon, and is not worth a notice.
                if let (Failure::Lost(error) | Failure::Full(error), false) = (failure, is_notified) {
                    is_notified = true;
                    notify(options, &format!("{error}; waiting up to {} s for the server", wait_max.as_secs()));
                }
            }
            prepared => return prepared,
        }
    }
}

fn notify(options: &ServerOptions, sentence: &str) {
    if let Some(OnNotice(notify)) = &options.on_notice {
        notify(sentence);
    }
}

fn try_prepare<T>(
    server: &dyn Server,
    options: &ServerOptions,
    check_server: impl FnMut(&mut dyn Connection) -> Attempt<T>,
    (check, create): (CheckStore, CreateStore),
) -> Attempt<([u8; 16], T)> {
    let location = server.location();
    let (mut connection, found) = connect_to_any(server, &AtomicUsize::new(0), ServerRole::of(options), check_server)?;
    if connection.is_standby() {
        notify(options, &format!("{location}: the server that answers is a standby; recent writes may be missing"));
    }
    let uid = match check(&mut *connection, location)? {
        Some(uid) => uid,
        // Another process may create it at the same time. Then this attempt is rolled back and retried.
        None if options.create && !options.read_only => create(&mut *connection, location)?,
        None => {
            return Err(Error::not_found(format!("there is no store in the database {location}"))
                .with_hint("check the URL; the first writer creates the store")
                .into());
        }
    };
    Ok((uid, found))
}

/// Connects to the first address, starting at `from`, whose server answers and passes `check_server`. Stores that
/// address in `from`.
pub(crate) fn connect_to_any<T>(
    server: &dyn Server,
    from: &AtomicUsize,
    role: ServerRole,
    mut check_server: impl FnMut(&mut dyn Connection) -> Attempt<T>,
) -> Attempt<(Box<dyn Connection>, T)> {
    let (mut lost, mut standby) = (None, None);
    for address in addresses(server, from) {
        let reached = server.connect(address).and_then(|mut connection| {
            if connection.is_standby() && (role == ServerRole::Primary || standby.is_some()) {
                return Err(only_standbys(server.location()));
            }
            let found = check_server(&mut *connection)?;
            Ok((connection, found))
        });
        match reached {
            Ok(reached) if reached.0.is_standby() => standby = Some((address, reached)),
            Ok(reached) => {
                from.store(address, Ordering::Relaxed);
                return Ok(reached);
            }
            // The reason why a server is unreachable is more helpful than that another one is a standby.
            Err(Failure::Lost(error)) if error.kind() == ErrorKind::ReadOnly => lost = lost.or(Some(error)),
            Err(Failure::Lost(error) | Failure::Full(error)) => lost = Some(error),
            Err(failure) => return Err(failure),
        }
    }
    let (address, reached) = standby.ok_or_else(|| none_answers(lost))?;
    from.store(address, Ordering::Relaxed);
    Ok(reached)
}

fn only_standbys(location: &str) -> Failure {
    let message = format!("the server of {location} that answers is a standby: it takes no writes and may lag behind");
    let hint = "name the primary's address in the URL, too; to read from a standby, open the store with read_only";
    Failure::Lost(Error::new(ErrorKind::ReadOnly, message).with_hint(hint))
}

/// Returns all addresses, starting with the one that answered last.
fn addresses(server: &dyn Server, from: &AtomicUsize) -> impl Iterator<Item = usize> + use<> {
    let (first, count) = (from.load(Ordering::Relaxed), server.address_count());
    (first..first + count).map(move |address| address % count)
}

/// Connects to the writer node of a cluster, and returns the node too. If it is unreachable, the first node that
/// answers replaces it.
pub(crate) fn connect_to_writer_node(
    server: &dyn Server,
    from: &AtomicUsize,
    mut check_server: impl FnMut(&mut dyn Connection) -> Attempt<()>,
    dialect: ClusterDialect,
) -> Attempt<(Box<dyn Connection>, Vec<u8>)> {
    let (mut first_reachable, mut lost, mut refused) = (None, None, None);
    for address in addresses(server, from) {
        let reached = server.connect(address).and_then(|mut connection| {
            check_server(&mut *connection)?;
            let (node, recorded) =
                (query_bytes(&mut *connection, dialect.node)?, query_bytes(&mut *connection, WRITER_NODE_QUERY)?);
            connection.run(dialect.disable_autocommit)?;
            Ok((connection, node, recorded))
        });
        match reached {
            Ok((connection, node, recorded)) if node == recorded => {
                from.store(address, Ordering::Relaxed);
                return Ok((connection, node));
            }
            Ok(other) => first_reachable = first_reachable.or(Some((address, other))),
            Err(Failure::Lost(error)) => lost = Some(error),
            Err(failure) => refused = Some(failure),
        }
    }
    if let Some(failure) = refused {
        // It may be the recorded node, which is then not unreachable.
        return Err(failure);
    }
    let (address, (mut connection, node, recorded)) = first_reachable.ok_or_else(|| none_answers(lost))?;
    record_writer_node(&mut *connection, server, &node, &recorded)?;
    from.store(address, Ordering::Relaxed);
    Ok((connection, node))
}

fn none_answers(lost: Option<Error>) -> Failure {
    lost.map_or_else(|| Error::internal("the URL has no address").into(), Failure::Lost)
}

const WRITER_NODE_QUERY: &str = "SELECT value FROM atsdb_store WHERE name = 'node'";

fn query_bytes(connection: &mut dyn Connection, query: &str) -> Attempt<Vec<u8>> {
    let row = connection.query_first(query, &[])?;
    let lost = || Failure::Server(Error::corrupt("the record of the writing node is missing"));
    row.ok_or_else(lost)?.bytes(0)
}

/// Records the node as the writer node, in place of the former one.
fn record_writer_node(connection: &mut dyn Connection, server: &dyn Server, node: &[u8], former: &[u8]) -> Attempt<()> {
    connection.run(server.begin_write())?;
    let sql = "UPDATE atsdb_store SET value = $1 WHERE name = 'node' AND value = $2";
    if connection.execute(sql, &[node.into(), former.into()])? == 0 {
        return Err(writer_node_changed(server.location()));
    }
    connection.execute("UPDATE atsdb_writer SET touched_ms = touched_ms + 1", &[])?;
    conflict_with_node_change(connection)?;
    connection.run(server.commit())
}

/// Makes the transaction conflict with one that records another node, if that one does not see yet what this one adds
/// to `atsdb_writer`.
pub(crate) fn conflict_with_node_change(connection: &mut dyn Connection) -> Attempt<()> {
    connection.execute("UPDATE atsdb_number SET last = last + 1 WHERE name = 'lease'", &[]).map(drop)
}

/// Refuses a node that is no longer the writer node.
pub(crate) fn check_writer_node(connection: &mut dyn Connection, node: &[u8], location: &str) -> Attempt<()> {
    if query_bytes(connection, WRITER_NODE_QUERY)? == node { Ok(()) } else { Err(writer_node_changed(location)) }
}

fn writer_node_changed(location: &str) -> Failure {
    let message = format!("the writer node of {location} has just changed");
    let hint = "if this happens often, name the same nodes in every program's URL";
    Failure::Lost(Error::new(ErrorKind::Busy, message).with_hint(hint))
}

/// Refuses a database that holds another store: an address may be wrong, or a server may have been set up again while
/// the store was open.
pub(crate) fn require_store(connection: &mut dyn Connection, uid: [u8; 16], location: &str) -> Attempt<()> {
    let sql = "SELECT value FROM atsdb_store WHERE name = $1";
    let row = connection.query_first(sql, &[Value::Bytes(b"uid")])?;
    if row.map(|mut row| row.bytes(0)).transpose()?.is_some_and(|found| found == uid) {
        return Ok(());
    }
    let message = format!("a server of {location} holds another store than the one that was opened");
    let hint = "check the URL's addresses; after a restored backup, reopen the store";
    Err(Failure::Server(Error::new(ErrorKind::NotAStore, message).with_hint(hint)))
}
