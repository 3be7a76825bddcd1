//! The server's error codes become kinds of [`Error`].

use atsdb_core::{Error, ErrorKind};
use atsdb_sqlstore::Failure;
use std::error::Error as StdError;
use std::time::Duration;
use tokio_postgres::error::DbError;

/// What the client says, as a failure at this place.
pub(crate) fn translate(error: tokio_postgres::Error, place: &str) -> Failure {
    match error.as_db_error() {
        Some(told) => by_code(told, place).with_source(error),
        None => lost(error, place),
    }
}

/// Without a word of the server: the connection, or the way to it.
fn lost(error: tokio_postgres::Error, place: &str) -> Failure {
    let causes = causes(&error);
    if causes.contains("certificate") || causes.contains("TLS") || causes.contains("tls") {
        let hint = "give the authority's certificate with sslrootcert=FILE, or go on unencrypted with sslmode=disable";
        let message = format!("no encrypted connection to {place}: {causes}");
        return Failure::Server(Error::new(ErrorKind::Unavailable, message).with_hint(hint).with_source(error));
    }
    if causes.contains("password missing") {
        let message = format!("the server of {place} wants a password");
        let hint = "give it in ATSDB_PASSWORD, in a file named by ATSDB_PASSWORD_FILE, or in the URL";
        return Failure::Server(Error::new(ErrorKind::Unavailable, message).with_hint(hint).with_source(error));
    }
    let message = format!("no connection to {place}: {causes}");
    let hint = "check that the server runs and listens there, and the network between";
    Failure::Lost(Error::new(ErrorKind::Unavailable, message).with_hint(hint).with_source(error))
}

/// No answer for so long.
pub(crate) fn silent(place: &str, waited: Duration) -> Failure {
    let message = format!("the server of {place} has not answered for {} s", waited.as_secs());
    let hint = "check whether it stands still, and the network between; nothing of this call is known to be stored";
    Failure::Lost(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

/// What was set up and prepared on one session is asked of another.
pub(crate) fn other_session(place: &str) -> Failure {
    let message = format!(
        "the connection to {place} does not keep its session: a pooler between gives each transaction another one"
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

fn by_code(told: &DbError, place: &str) -> Failure {
    let (code, said) = (told.code().code(), told.message());
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    match code {
        // Serialization failure, deadlock.
        "40001" | "40P01" => Failure::Undone(Error::new(
            ErrorKind::Busy,
            format!("the server of {place} undid a transaction for another's sake: {said}"),
        )),
        // Shut down by the administrator, by a crash, starting up; silent for too long, in a transaction or without.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Failure::Lost(unavailable(
            format!("the server of {place} went away: {said}"),
            "try again when it is back; nothing of this call was stored",
        )),
        // Prepared statements that are not there, or that are another's.
        "26000" | "42P05" => other_session(place),
        "53300" => Failure::Full(unavailable(
            format!("the server of {place} takes no more connections: {said}"),
            "raise max_connections there, or use fewer programs at once",
        )),
        // Lock not available, statement timeout.
        "55P03" | "57014" => Failure::Server(
            Error::new(ErrorKind::Busy, format!("the store {place} is held by another writer"))
                .with_hint("try again when it has finished"),
        ),
        "53100" => Failure::Server(unavailable(
            format!("disk full at the server of {place}: nothing of this call was stored"),
            "make room there and try again; reading goes on",
        )),
        "53200" => Failure::Server(Error::new(ErrorKind::Resources, format!("the server of {place} is out of memory"))),
        "58030" => Failure::Server(unavailable(
            format!("input or output failed at the server of {place}, nothing was acknowledged: {said}"),
            "check its disk and its log",
        )),
        "28P01" | "28000" => Failure::Server(unavailable(
            format!("the server of {place} refuses the login: {said}"),
            "check the user and the password (URL, ATSDB_PASSWORD or ATSDB_PASSWORD_FILE)",
        )),
        "3D000" => Failure::Server(
            Error::not_found(format!("there is no such database: {place}"))
                .with_hint("create it first: CREATE DATABASE name"),
        ),
        "42501" | "25006" => Failure::Server(
            Error::new(ErrorKind::ReadOnly, format!("the store {place} cannot be written: {said}"))
                .with_hint("grant the user what the store needs, or open it with read_only"),
        ),
        "XX001" | "XX002" => Failure::Server(
            Error::corrupt(format!("the store {place} is damaged: {said}"))
                .with_hint("run verify to find what is affected, and restore that from a backup"),
        ),
        // A missing table, column or function: the statements are fixed, so that it is the tables that changed.
        "42P01" | "42703" | "42883" | "42804" => Failure::Server(
            Error::corrupt(format!("the tables of the store {place} are not what they were: {said}"))
                .with_hint("restore them from a backup"),
        ),
        _ if code.starts_with("08") => Failure::Lost(unavailable(
            format!("the connection to {place} broke: {said}"),
            "try again when the server is back",
        )),
        _ => Failure::Server(Error::internal(format!("PostgreSQL refused at {place}: {said} (SQLSTATE {code})"))),
    }
}
