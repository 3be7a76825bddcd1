//! Converts the server's error codes to kinds of [`Error`].

use atsdb_core::{Error, ErrorKind};
use atsdb_sqlstore::Failure;
use mysql::{DriverError, MySqlError};

/// The beginning of the client's message about an untrusted server.
const CERTIFICATE: &str = "invalid peer certificate";

/// Converts an error of the client to a failure. `location` is the URL without secrets.
pub(crate) fn translate(error: mysql::Error, location: &str, in_cluster: bool) -> Failure {
    let failure = match &error {
        mysql::Error::MySqlError(reported) => by_code(reported, location, in_cluster),
        mysql::Error::TlsError(why) => no_tls(&why.to_string(), location),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) if error.to_string().contains("ertificate") => {
            let reported = error.to_string();
            let why = reported.find(CERTIFICATE).map_or(reported.as_str(), |start| &reported[start..]);
            no_tls(why.trim_end_matches([' ', '}', '`', '\'']), location)
        }
        mysql::Error::DriverError(DriverError::TlsNotSupported) => no_tls("the server offers none", location),
        // For an unknown user the server asks for a random login method, which the client may not support.
        mysql::Error::DriverError(DriverError::UnknownAuthPlugin(way)) => Failure::Server(
            Error::new(
                ErrorKind::Unavailable,
                format!("the server of {location} requires the login method {way}, which atsdb does not support"),
            )
            .with_hint("check the user; it must use the login method mysql_native_password or, on MySQL, caching_sha2_password"),
        ),
        mysql::Error::DriverError(DriverError::PacketTooLarge) => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {location} takes"))
                .with_hint("raise max_allowed_packet there"),
        ),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) | mysql::Error::DriverError(_) => lost(&error, location),
        _ => Failure::Server(Error::internal(format!("the client failed at {location}: {error}"))),
    };
    failure.with_source(error)
}

fn no_tls(why: &str, location: &str) -> Failure {
    let hint = "give the authority's certificate with sslrootcert=FILE, or connect unencrypted with sslmode=disable";
    let message = format!("cannot open an encrypted connection to {location}: {why}");
    Failure::Server(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

fn lost(error: &mysql::Error, location: &str) -> Failure {
    let why = match error {
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        other => other.to_string(),
    };
    let message = format!("no connection to {location}: {why}");
    let hint = "check that the server runs and listens there, and the network between";
    Failure::Lost(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

fn by_code(reported: &MySqlError, location: &str, in_cluster: bool) -> Failure {
    let (code, said) = (reported.code, &reported.message);
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    let undone = || {
        let message = format!("the server of {location} rolled back a transaction in favour of another: {said}");
        Failure::RolledBack(Error::new(ErrorKind::Busy, message))
    };
    match code {
        // Deadlock; a change of another node of a cluster came first.
        1213 | 1020 | 3101 => undone(),
        // A node may report that as an existing row, or as a missing savepoint.
        1062 | 1305 if in_cluster => undone(),
        // Shutting down, killed, not ready; a node that is not part of its cluster.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1317 | 1927 | 3169 | 4031 | 1047 => {
            Failure::Lost(unavailable(
                format!("the server of {location} closed the connection: {said}"),
                "retry when it is available again; this call stored nothing",
            ))
        }
        1040 | 1135 | 1203 | 1226 => Failure::Full(unavailable(
            format!("the server of {location} accepts no more connections: {said}"),
            "raise max_connections there, or use fewer programs at once",
        )),
        // Lock wait timeout.
        1205 | 3572 => Failure::Server(
            Error::new(ErrorKind::Busy, format!("the store {location} is held by another writer"))
                .with_hint("retry when it has finished"),
        ),
        // Disk full, file system full, table full.
        1021 | 1114 => Failure::Server(unavailable(
            format!("disk full at the server of {location}: this call stored nothing"),
            "free some space there and retry; reading still works",
        )),
        1016 | 1023 | 1024 | 1026 | 1030 | 1180 | 1181 => Failure::Server(unavailable(
            format!("input or output failed at the server of {location}, nothing was acknowledged: {said}"),
            "check its disk and its log; the cause may be a full disk",
        )),
        1037 | 1038 | 1041 => {
            Failure::Server(Error::new(ErrorKind::Resources, format!("the server of {location} is out of memory")))
        }
        1045 | 1698 | 1130 | 1129 | 1251 | 1862 | 1820 => Failure::Server(unavailable(
            format!("the server of {location} refuses the login: {said}"),
            "check the user and the password (URL, ATSDB_PASSWORD or ATSDB_PASSWORD_FILE)",
        )),
        1049 => Failure::Server(
            Error::not_found(format!("there is no such database: {location}"))
                .with_hint("create it first: CREATE DATABASE name"),
        ),
        1044 => Failure::Server(unavailable(
            format!("the user may not use the database {location}: {said}"),
            "grant it: GRANT ALL ON database.* TO user, or create the database first",
        )),
        // Permission denied, read-only server or transaction.
        1142 | 1143 | 1227 | 1290 | 1792 | 1836 => Failure::Server(
            Error::new(ErrorKind::ReadOnly, format!("the store {location} cannot be written: {said}"))
                .with_hint("grant the user what the store needs, or open it with read_only"),
        ),
        1153 => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {location} takes"))
                .with_hint("raise max_allowed_packet there"),
        ),
        // Damaged table or index.
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => Failure::Server(
            Error::corrupt(format!("the store {location} is damaged: {said}"))
                .with_hint("run verify to find what is affected, and restore that from a backup"),
        ),
        // A missing table or column: the statements are fixed, so the tables must have changed.
        1146 | 1054 | 1412 => Failure::Server(
            Error::corrupt(format!("the tables of the store {location} were altered: {said}"))
                .with_hint("retry if they are being altered right now; otherwise restore them from a backup"),
        ),
        // Statement-based logging cannot replay statements that read what others commit.
        1665 => Failure::Server(
            Error::usage(format!("the server of {location} logs statements (binlog_format = STATEMENT): {said}"))
                .with_hint("set binlog_format = ROW or MIXED there"),
        ),
        _ => Failure::Server(Error::internal(format!("the server failed at {location}: {said} (error {code})"))),
    }
}
