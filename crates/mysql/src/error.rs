//! The server's error codes become kinds of [`Error`].

use atsdb_core::{Error, ErrorKind};
use atsdb_sqlstore::Failure;
use mysql::{DriverError, MySqlError};

/// What is said of a server that is not trusted begins with this, whatever stands around it.
const CERTIFICATE: &str = "invalid peer certificate";

/// What the client says, as a failure at this place, which may be a node of a cluster.
pub(crate) fn translate(error: mysql::Error, place: &str, in_cluster: bool) -> Failure {
    let failure = match &error {
        mysql::Error::MySqlError(told) => by_code(told, place, in_cluster),
        mysql::Error::TlsError(why) => no_tls(&why.to_string(), place),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) if error.to_string().contains("ertificate") => {
            let told = error.to_string();
            let why = told.find(CERTIFICATE).map_or(told.as_str(), |start| &told[start..]);
            no_tls(why.trim_end_matches([' ', '}', '`', '\'']), place)
        }
        mysql::Error::DriverError(DriverError::TlsNotSupported) => no_tls("the server offers none", place),
        // Whom it does not know it asks to log in by some way of those there are, which may be one that the client lacks.
        mysql::Error::DriverError(DriverError::UnknownAuthPlugin(way)) => Failure::Server(
            Error::new(
                ErrorKind::Unavailable,
                format!("the server of {place} wants a login by {way}, which atsdb has not"),
            )
            .with_hint("check the user; it must log in by mysql_native_password or, on MySQL, caching_sha2_password"),
        ),
        mysql::Error::DriverError(DriverError::PacketTooLarge) => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {place} takes"))
                .with_hint("raise max_allowed_packet there"),
        ),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) | mysql::Error::DriverError(_) => lost(&error, place),
        _ => Failure::Server(Error::internal(format!("the client refused at {place}: {error}"))),
    };
    failure.with_source(error)
}

fn no_tls(why: &str, place: &str) -> Failure {
    let hint = "give the authority's certificate with sslrootcert=FILE, or go on unencrypted with sslmode=disable";
    let message = format!("no encrypted connection to {place}: {why}");
    Failure::Server(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

fn lost(error: &mysql::Error, place: &str) -> Failure {
    let why = match error {
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        other => other.to_string(),
    };
    let message = format!("no connection to {place}: {why}");
    let hint = "check that the server runs and listens there, and the network between";
    Failure::Lost(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
}

fn by_code(told: &MySqlError, place: &str, in_cluster: bool) -> Failure {
    let (code, said) = (told.code, &told.message);
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    let undone = || {
        let message = format!("the server of {place} undid a transaction for another's sake: {said}");
        Failure::Undone(Error::new(ErrorKind::Busy, message))
    };
    match code {
        // Deadlock; a change of another node of a cluster came first.
        1213 | 1020 | 3101 => undone(),
        // A node may show that by a row that is there already, or by a savepoint that is not.
        1062 | 1305 if in_cluster => undone(),
        // Shutting down, killed, not ready; a node that is not part of its cluster.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1317 | 1927 | 3169 | 4031 | 1047 => {
            Failure::Lost(unavailable(
                format!("the server of {place} went away: {said}"),
                "try again when it is back; nothing of this call was stored",
            ))
        }
        1040 | 1135 | 1203 | 1226 => Failure::Full(unavailable(
            format!("the server of {place} takes no more connections: {said}"),
            "raise max_connections there, or use fewer programs at once",
        )),
        // Lock wait timeout.
        1205 | 3572 => Failure::Server(
            Error::new(ErrorKind::Busy, format!("the store {place} is held by another writer"))
                .with_hint("try again when it has finished"),
        ),
        // Disk full, file system full, table full.
        1021 | 1114 => Failure::Server(unavailable(
            format!("disk full at the server of {place}: nothing of this call was stored"),
            "make room there and try again; reading goes on",
        )),
        1016 | 1023 | 1024 | 1026 | 1030 | 1180 | 1181 => Failure::Server(unavailable(
            format!("input or output failed at the server of {place}, nothing was acknowledged: {said}"),
            "check its disk and its log; a full disk shows like this too",
        )),
        1037 | 1038 | 1041 => {
            Failure::Server(Error::new(ErrorKind::Resources, format!("the server of {place} is out of memory")))
        }
        1045 | 1698 | 1130 | 1129 | 1251 | 1862 | 1820 => Failure::Server(unavailable(
            format!("the server of {place} refuses the login: {said}"),
            "check the user and the password (URL, ATSDB_PASSWORD or ATSDB_PASSWORD_FILE)",
        )),
        1049 => Failure::Server(
            Error::not_found(format!("there is no such database: {place}"))
                .with_hint("create it first: CREATE DATABASE name"),
        ),
        1044 => Failure::Server(unavailable(
            format!("the user may not use the database {place}: {said}"),
            "grant it: GRANT ALL ON database.* TO user, or create the database first",
        )),
        // Permission denied, read-only server or transaction.
        1142 | 1143 | 1227 | 1290 | 1792 | 1836 => Failure::Server(
            Error::new(ErrorKind::ReadOnly, format!("the store {place} cannot be written: {said}"))
                .with_hint("grant the user what the store needs, or open it with read_only"),
        ),
        1153 => Failure::Server(
            Error::new(ErrorKind::Limit, format!("a value is larger than the server of {place} takes"))
                .with_hint("raise max_allowed_packet there"),
        ),
        // Damaged table or index.
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => Failure::Server(
            Error::corrupt(format!("the store {place} is damaged: {said}"))
                .with_hint("run verify to find what is affected, and restore that from a backup"),
        ),
        // A missing table or column: the statements are fixed, so that it is the tables that changed.
        1146 | 1054 | 1412 => Failure::Server(
            Error::corrupt(format!("the tables of the store {place} are not what they were: {said}"))
                .with_hint("if somebody altered them just now, ask again; else restore them from a backup"),
        ),
        // Statement-based logging cannot repeat what reads what others commit.
        1665 => Failure::Server(
            Error::usage(format!("the server of {place} logs statements (binlog_format = STATEMENT): {said}"))
                .with_hint("set binlog_format = ROW or MIXED there"),
        ),
        _ => Failure::Server(Error::internal(format!("the server refused at {place}: {said} (error {code})"))),
    }
}
