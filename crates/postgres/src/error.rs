//! Converts the server's error codes to kinds of [`Error`].

use atsdb_core::{Error, ErrorKind};
use atsdb_foreign::errors;
use atsdb_sqlstore::{Failure, Fault};
use std::error::Error as StdError;
use std::time::Duration;
use tokio_postgres::error::DbError;

/// Converts an error of the client to a failure. `location` is the URL without secrets.
pub(crate) fn translate(error: tokio_postgres::Error, location: &str) -> Failure {
    match error.as_db_error() {
        Some(reported) => by_code(reported, location).with_source(error),
        None => lost(error, location),
    }
}

/// Converts an error of the client while it reads a table that does not belong to the store.
pub(crate) fn translate_source(error: tokio_postgres::Error, location: &str, table: &str) -> Error {
    let Some(reported) = error.as_db_error() else { return lost(error, location).into_error() };
    let (code, reason) = (reported.code().code(), reported.message());
    let known = match code {
        "42501" => errors::not_permitted(location, reason, &format!("GRANT SELECT ON {table} TO the user")),
        // The classes of connections, resources, and a server that is shutting down.
        _ if ["08", "53", "57P"].iter().any(|class| code.starts_with(class)) => {
            return by_code(reported, location).with_source(error).into_error();
        }
        _ => errors::failed(location, table, reason, &format!("SQLSTATE {code}")),
    };
    known.with_source(error)
}

/// The failure of the connection itself, without an error of the server.
fn lost(error: tokio_postgres::Error, location: &str) -> Failure {
    let causes = causes(&error);
    if causes.contains("certificate") || causes.contains("TLS") || causes.contains("tls") {
        return Fault::NoEncryption.at(location, &causes).with_source(error);
    }
    if causes.contains("password missing") {
        let message = format!("the server of {location} requires a password");
        let hint = "give it in ATSDB_PASSWORD, in a file named by ATSDB_PASSWORD_FILE, or in the URL";
        return Failure::Server(Error::new(ErrorKind::Unavailable, message).with_hint(hint).with_source(error));
    }
    Fault::NoConnection.at(location, &causes).with_source(error)
}

/// The failure of a server that has not answered for this long.
pub(crate) fn silent(location: &str, waited: Duration) -> Failure {
    let message = format!("the server of {location} has not answered for {} s", waited.as_secs());
    let hint = "check whether the server hangs, and the network; it is not known whether this call stored anything";
    Failure::Lost(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

/// The failure of a pooler that gives transactions of one connection different sessions.
pub(crate) fn other_session(location: &str) -> Failure {
    let message = format!(
        "the connection to {location} does not keep its session: a pooler uses another one for each transaction"
    );
    let hint = "connect to the server itself, or set the pooler to pool sessions (PgBouncer: pool_mode = session)";
    Failure::Server(Error::usage(message).with_hint(hint))
}

fn causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn by_code(reported: &DbError, location: &str) -> Failure {
    let (code, reason) = (reported.code().code(), reported.message());
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    match code {
        // Serialization failure, deadlock.
        "40001" | "40P01" => Fault::RolledBack.at(location, reason),
        // Shut down by the administrator or after a crash, starting up, or closed because of silence.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Fault::Closed.at(location, reason),
        // Prepared statements that are missing, or belong to another client.
        "26000" | "42P05" => other_session(location),
        "53300" => Fault::Full.at(location, reason),
        // Lock not available, statement timeout.
        "55P03" | "57014" => Fault::Locked.at(location, reason),
        "53100" => Fault::DiskFull.at(location, reason),
        "53200" => Fault::OutOfMemory.at(location, reason),
        "58030" => Failure::Server(unavailable(
            format!("input or output failed at the server of {location}, nothing was acknowledged: {reason}"),
            "check its disk and its log",
        )),
        "28P01" | "28000" => Fault::NoLogin.at(location, reason),
        "3D000" => Fault::NoDatabase.at(location, reason),
        "42501" | "25006" => Fault::ReadOnly.at(location, reason),
        "XX001" | "XX002" => Fault::Damaged.at(location, reason),
        // A missing table, column or function: the statements are fixed, so the tables must have changed.
        "42P01" | "42703" | "42883" | "42804" => Failure::Server(
            Error::corrupt(format!("the tables of the store {location} were altered: {reason}"))
                .with_hint("restore them from a backup"),
        ),
        _ if code.starts_with("53") => Failure::Server(
            Error::new(ErrorKind::Resources, format!("the server of {location} lacks a resource: {reason}"))
                .with_hint("check its limits and its log, then retry"),
        ),
        _ if code.starts_with("08") => Failure::Lost(unavailable(
            format!("the connection to {location} broke: {reason}"),
            "retry when the server is available again",
        )),
        _ => Failure::Server(Error::internal(format!("PostgreSQL failed at {location}: {reason} (SQLSTATE {code})"))),
    }
}
