//! Converts the server's error codes to kinds of [`Error`].

use atsdb_core::{Error, ErrorKind};
use atsdb_foreign::errors;
use atsdb_sqlstore::{Failure, Fault};
use mysql::{DriverError, MySqlError};

/// The beginning of the client's message about an untrusted server.
const CERTIFICATE: &str = "invalid peer certificate";

/// Converts an error of the client to a failure. `location` is the URL without secrets.
pub(crate) fn translate(error: mysql::Error, location: &str, in_cluster: bool) -> Failure {
    let failure = match &error {
        mysql::Error::MySqlError(reported) => by_code(reported, location, in_cluster),
        mysql::Error::TlsError(why) => Fault::NoEncryption.at(location, &why.to_string()),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) if error.to_string().contains("ertificate") => {
            let reported = error.to_string();
            let why = reported.find(CERTIFICATE).map_or(reported.as_str(), |start| &reported[start..]);
            Fault::NoEncryption.at(location, why.trim_end_matches([' ', '}', '`', '\'']))
        }
        mysql::Error::DriverError(DriverError::TlsNotSupported) => {
            Fault::NoEncryption.at(location, "the server offers none")
        }
        // For an unknown user the server requests a random login method, which the client may not support.
        mysql::Error::DriverError(DriverError::UnknownAuthPlugin(way)) => Failure::Server(
            Error::new(
                ErrorKind::Unavailable,
                format!("the server of {location} requires the login method {way}, which atsdb does not support"),
            )
            .with_hint("check the user; it must use the login method mysql_native_password or, on MySQL, caching_sha2_password"),
        ),
        mysql::Error::DriverError(DriverError::PacketTooLarge) => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {location} accepts"))
                .with_hint("raise max_allowed_packet there"),
        ),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) | mysql::Error::DriverError(_) => lost(&error, location),
        _ => Failure::Server(Error::internal(format!("the client failed at {location}: {error}"))),
    };
    failure.with_source(error)
}

/// Converts an error of the client while it reads a table that does not belong to the store.
pub(crate) fn translate_source(error: mysql::Error, location: &str, table: &str) -> Error {
    let mysql::Error::MySqlError(reported) = &error else { return translate(error, location, false).into_error() };
    let reason = &reported.message;
    let known = match reported.code {
        1142 | 1143 | 1227 | 1356 | 1370 => {
            errors::not_permitted(location, reason, &format!("GRANT SELECT ON {table} TO the user"))
        }
        // Shutting down, killed, not ready; no connections left.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1317 | 1927 | 3169 | 4031 | 1040 | 1203 | 1226 => {
            by_code(reported, location, false).into_error()
        }
        code => errors::failed(location, table, reason, &format!("error {code}")),
    };
    known.with_source(error)
}

fn lost(error: &mysql::Error, location: &str) -> Failure {
    let why = match error {
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        other => other.to_string(),
    };
    Fault::NoConnection.at(location, &why)
}

fn by_code(reported: &MySqlError, location: &str, in_cluster: bool) -> Failure {
    let (code, reason) = (reported.code, &reported.message);
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    match code {
        // Deadlock; a change of another node of a cluster came first.
        1213 | 1020 | 3101 => Fault::RolledBack.at(location, reason),
        // A node may report that as an existing row, or as a missing savepoint.
        1062 | 1305 if in_cluster => Fault::RolledBack.at(location, reason),
        // Shutting down, killed, not ready; a node that is not part of its cluster.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1317 | 1927 | 3169 | 4031 | 1047 => {
            Fault::Closed.at(location, reason)
        }
        1040 | 1135 | 1203 | 1226 => Fault::Full.at(location, reason),
        // Lock wait timeout.
        1205 | 3572 => Fault::Locked.at(location, reason),
        // Disk full, file system full, table full.
        1021 | 1114 => Fault::DiskFull.at(location, reason),
        1016 | 1023 | 1024 | 1026 | 1030 | 1180 | 1181 => Failure::Server(unavailable(
            format!("input or output failed at the server of {location}, nothing was acknowledged: {reason}"),
            "check its disk and its log; the cause may be a full disk",
        )),
        1037 | 1038 | 1041 => Fault::OutOfMemory.at(location, reason),
        1045 | 1698 | 1130 | 1129 | 1251 | 1862 | 1820 => Fault::NoLogin.at(location, reason),
        1049 => Fault::NoDatabase.at(location, reason),
        1044 => Failure::Server(unavailable(
            format!("the user may not use the database {location}: {reason}"),
            "grant it: GRANT ALL ON database.* TO user, or create the database first",
        )),
        // Permission denied, read-only server or transaction.
        1142 | 1143 | 1227 | 1290 | 1792 | 1836 => Fault::ReadOnly.at(location, reason),
        1153 => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {location} accepts"))
                .with_hint("raise max_allowed_packet there"),
        ),
        // Damaged table or index.
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => Fault::Damaged.at(location, reason),
        // A missing table or column: the statements are fixed, so the tables must have changed.
        1146 | 1054 | 1412 => Failure::Server(
            Error::corrupt(format!("the tables of the store {location} were altered: {reason}"))
                .with_hint("retry if they are being altered right now; otherwise restore them from a backup"),
        ),
        // Statement-based logging cannot replay statements that read what others commit.
        1665 => Failure::Server(
            Error::usage(format!("the server of {location} logs statements (binlog_format = STATEMENT): {reason}"))
                .with_hint("set binlog_format = ROW or MIXED there"),
        ),
        _ => Failure::Server(Error::internal(format!("the server failed at {location}: {reason} (error {code})"))),
    }
}
