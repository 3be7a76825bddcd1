//! The server's settings that the store's promises depend on.

use atsdb_core::{Durability, Error, ErrorKind, StoreWarning};
use atsdb_sqlstore::{Attempt, Connection};
use std::time::Duration;

/// The oldest supported version.
const VERSION_MIN: i64 = 140_000;

/// The queries for the value of a setting, and for where that comes from.
const VALUE: &str = "SELECT current_setting($1)";
const SOURCE: &str = "SELECT source FROM pg_settings WHERE name = $1";

/// The result of the check.
pub(crate) struct Settings {
    pub(crate) warnings: Vec<StoreWarning>,
    /// The durability of a commit.
    pub(crate) durability: Durability,
}

/// Refuses a server that is not supported. Settings that break a promise become warnings.
pub(crate) fn check(connection: &mut dyn Connection, location: &str, durability: Durability) -> Attempt<Settings> {
    let mut ask = |sql: &str, name: &str| -> Attempt<String> {
        let row = connection.query_first(sql, &[name.into()])?;
        row.ok_or_else(|| Error::internal(format!("the server has no setting {name}")))?.text(0)
    };
    let version = ask(VALUE, "server_version_num")?.parse::<i64>().unwrap_or(0);
    if version < VERSION_MIN {
        let message = format!("the server of {location} is PostgreSQL {}", ask(VALUE, "server_version")?);
        return Err(Error::new(ErrorKind::Usage, message).with_hint("atsdb needs version 14 or later").into());
    }
    let encoding = ask(VALUE, "server_encoding")?;
    if encoding != "UTF8" && encoding != "SQL_ASCII" {
        let message = format!("the database {location} has the encoding {encoding}: it cannot store every name");
        return Err(Error::usage(message).with_hint("CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0").into());
    }
    let (mut warnings, mut survives) = (Vec::new(), Durability::Full);
    for (name, breaks) in
        [("fsync", "a power cut may destroy the whole database"), ("full_page_writes", "a power cut may damage pages")]
    {
        if ask(VALUE, name)? == "off" {
            survives = Durability::Off;
            if durability == Durability::Full {
                let warning = StoreWarning::new(format!("{location}: the server runs with {name} = off; {breaks}"));
                warnings.push(match ask(SOURCE, name)?.as_str() {
                    // The server's start options take precedence over ALTER SYSTEM.
                    "command line" | "environment variable" => warning,
                    _ => warning.with_fix(format!("ALTER SYSTEM SET {name} = on;\nSELECT pg_reload_conf();")),
                });
            }
        }
    }
    Ok(Settings { warnings, durability: survives })
}

/// The settings of a session. A commit always waits for the disk. A client whose machine is
/// lost is detected within half a minute, during which it acknowledges nothing and answers no probe.
pub(crate) fn setup(busy_timeout: Duration) -> String {
    format!(
        "SET synchronous_commit = on; SET lock_timeout = {}; SET statement_timeout = 0;
         SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning; SET bytea_output = hex;
         SET default_transaction_read_only = off; SET standard_conforming_strings = on; SET jit = off;
         SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4;
         SET tcp_user_timeout = 30000",
        busy_timeout.as_millis()
    )
}

/// The statement that begins a write transaction. The server ends it after this silence of its client; a read
/// transaction may stay open for as long as a query takes.
pub(crate) fn begin_write(silence_max: Duration) -> String {
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL idle_in_transaction_session_timeout = {}",
        silence_max.as_millis()
    )
}
