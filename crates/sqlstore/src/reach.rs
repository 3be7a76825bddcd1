//! Which of a database's addresses is connected to, and whether what answers there is the store that was opened.

use crate::connection::{Connection, Server, Value};
use crate::error::{Attempt, Failure};
use crate::store::ServerOptions;
use atsdb_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a server's crate tells what a database holds: the store's uid, or none.
pub type Check = fn(&mut dyn Connection, &str) -> Attempt<Option<[u8; 16]>>;
/// How it makes a store, unless another process has just done so.
pub type Create = fn(&mut dyn Connection, &str) -> Attempt<[u8; 16]>;

/// Connects, looks at the server's settings, and finds the database's store or makes one, as the options say. Gives the
/// store's uid and what `look` found.
pub fn prepare<T>(
    server: &dyn Server,
    options: &ServerOptions,
    look: impl FnMut(&mut dyn Connection) -> Attempt<T>,
    (check, create): (Check, Create),
) -> Attempt<([u8; 16], T)> {
    let place = server.place();
    let (mut connection, found) = reach(server, &AtomicUsize::new(0), look)?;
    let uid = match check(&mut *connection, place)? {
        Some(uid) => uid,
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
    mut look: impl FnMut(&mut dyn Connection) -> Attempt<T>,
) -> Attempt<(Box<dyn Connection>, T)> {
    let (first, count) = (from.load(Ordering::Relaxed), server.address_count().max(1));
    let mut tried = 0;
    loop {
        let address = (first + tried) % count;
        tried += 1;
        let reached = server.connect(address).and_then(|mut connection| {
            let found = look(&mut *connection)?;
            Ok((connection, found))
        });
        match reached {
            Err(Failure::Lost(_)) if tried < count => {}
            Ok(reached) => {
                from.store(address, Ordering::Relaxed);
                return Ok(reached);
            }
            Err(failure) => return Err(failure),
        }
    }
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
