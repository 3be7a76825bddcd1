//! The server's settings that the store's promises depend on.

use atsdb_core::{Durability, Error, StoreWarning};
use atsdb_sqlstore::{Attempt, Connection, ServerOptions};

/// The time after which an unused connection is closed: a day, in seconds.
const IDLE_SECONDS_MAX: u64 = 86_400;
/// The minimum packet size in bytes: a part of a page must fit with its statement.
const PACKET_BYTES_MIN: u64 = 256 << 10;

/// The result of the check.
pub(crate) struct Settings {
    pub(crate) warnings: Vec<StoreWarning>,
    pub(crate) packet_bytes: u64,
    pub(crate) is_mariadb: bool,
    /// The durability of a commit. A session cannot choose it here.
    pub(crate) durability: Durability,
    /// Whether the server is a node of a Galera cluster.
    pub(crate) is_cluster: bool,
    /// Whether Spider stores the pages on other servers.
    pub(crate) uses_spider: bool,
}

/// Additional session settings for clusters, whose nodes may lag behind each other: the session waits until its node
/// has applied what others have committed before it reads or takes a snapshot.
pub(crate) const IN_CLUSTER: &str = "; SET SESSION wsrep_sync_wait = 1; SET SESSION wsrep_dirty_reads = OFF";

/// Refuses a server that is not supported. Settings that break a promise become warnings.
pub(crate) fn check(connection: &mut dyn Connection, location: &str, durability: Durability) -> Attempt<Settings> {
    let version = ask(connection, "version")?;
    let is_mariadb = version.contains("MariaDB");
    let (wanted, name) = if is_mariadb { ((10, 11), "MariaDB") } else { ((8, 0), "MySQL") };
    if release(&version) < wanted {
        let message = format!("the server of {location} is {name} {version}");
        return Err(Error::usage(message)
            .with_hint("atsdb needs MariaDB 10.11 or later, or MySQL 8.0 or later")
            .into());
    }
    let packet_bytes = ask(connection, "max_allowed_packet")?.parse().unwrap_or(0);
    if packet_bytes < PACKET_BYTES_MIN {
        let message = format!("the server of {location} accepts packets of at most {packet_bytes} bytes");
        return Err(Error::usage(message).with_hint("set max_allowed_packet there to 16M or more").into());
    }
    let mut warnings = Vec::new();
    let flush = ask(connection, "innodb_flush_log_at_trx_commit")?;
    // After a crash the binary log alone determines what was committed, unless both logs are flushed (3).
    let sync_binlog = if is_on(connection, "log_bin")? { ask(connection, "sync_binlog")? } else { "1".to_owned() };
    let survives = match flush.as_str() {
        "1" if sync_binlog != "1" => Durability::Normal,
        "1" | "3" => Durability::Full,
        "2" => Durability::Normal,
        _ => Durability::Off,
    };
    if durability == Durability::Full && survives != Durability::Full {
        warnings.push(weak_durability(location, survives, &flush, &sync_binlog));
    }
    if !is_on(connection, "innodb_doublewrite").unwrap_or(true) {
        let message =
            format!("{location}: the server runs with innodb_doublewrite = off; a power cut may damage pages");
        warnings.push(StoreWarning::new(message));
    }
    if !ask(connection, "global.sql_mode")?.contains("STRICT_") {
        let message = format!(
            "{location}: the server runs without strict mode; atsdb's own sessions are strict, others may cut values silently"
        );
        let fix = "SET GLOBAL sql_mode = TRIM(LEADING ',' FROM CONCAT(@@GLOBAL.sql_mode, ',STRICT_TRANS_TABLES'));";
        warnings.push(StoreWarning::new(message).with_fix(fix));
    }
    let is_cluster = is_mariadb && is_on(connection, "wsrep_on")?;
    let uses_spider = uses_spider(connection)?;
    if uses_spider && !is_on(connection, "spider_internal_xa")? {
        let message = format!(
            "{location}: the server runs with spider_internal_xa = off; when a server fails in the middle of a commit, pages of \
             what was acknowledged may be missing"
        );
        warnings.push(StoreWarning::new(message).with_fix("SET GLOBAL spider_internal_xa = ON;"));
    }
    Ok(Settings { warnings, packet_bytes, is_mariadb, durability: survives, is_cluster, uses_spider })
}

/// The warning about logs that are flushed too seldom, by the values of the settings for InnoDB's and the binary log.
fn weak_durability(location: &str, survives: Durability, flush: &str, sync_binlog: &str) -> StoreWarning {
    let event = if survives == Durability::Off { "a crash of the server" } else { "a power cut there" };
    let setting = match flush {
        "1" => format!("a binary log and sync_binlog = {sync_binlog}"),
        _ => format!("innodb_flush_log_at_trx_commit = {flush}"),
    };
    let mut fixes = Vec::new();
    if !matches!(flush, "1" | "3") {
        fixes.push("SET GLOBAL innodb_flush_log_at_trx_commit = 1;");
    }
    if flush != "3" && sync_binlog != "1" {
        fixes.push("SET GLOBAL sync_binlog = 1;");
    }
    let message = format!(
        "{location}: the server runs with {setting}; {event} may take the last of what was acknowledged, and programs that \
         outlive it must be started again"
    );
    StoreWarning::new(message).with_fix(fixes.join("\n"))
}

fn ask(connection: &mut dyn Connection, name: &str) -> Attempt<String> {
    let row = connection.query_first(&format!("SELECT CAST(@@{name} AS CHAR)"), &[])?;
    row.ok_or_else(|| Error::internal(format!("the server has no setting {name}")))?.text(0)
}

/// Some releases report a number, others a word; `innodb_doublewrite` has further words for kinds of being on.
fn is_on(connection: &mut dyn Connection, name: &str) -> Attempt<bool> {
    let value = ask(connection, name)?;
    Ok(value != "0" && !value.eq_ignore_ascii_case("off"))
}

fn uses_spider(connection: &mut dyn Connection) -> Attempt<bool> {
    let sql = "SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'atsdb_sealed' AND engine = 'SPIDER'";
    connection.exists(sql, &[])
}

fn release(version: &str) -> (u32, u32) {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The settings of a session. All parameters are bytes: with a character set the server would parse every page as text,
/// which takes longer than storing it.
pub(crate) fn setup(options: &ServerOptions) -> String {
    format!(
        "SET NAMES binary;
         SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO';
         SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION autocommit = 1;
         SET SESSION innodb_lock_wait_timeout = {0}; SET SESSION lock_wait_timeout = {0};
         SET SESSION wait_timeout = {IDLE_SECONDS_MAX}; SET SESSION net_read_timeout = 30;
         SET SESSION net_write_timeout = 600; SET SESSION time_zone = '+00:00'",
        options.busy_timeout.as_secs().clamp(1, 1_000_000),
    )
}

/// Returns the settings before each write and each read transaction, which may stay open for as long as a query takes:
/// the maximum silence of the client before the server ends it. MySQL has only one limit for any silence. MariaDB's
/// limit for transactions that have written is not enough, since a lock may be taken before.
pub(crate) fn silence(options: &ServerOptions, is_mariadb: bool) -> [String; 2] {
    let (setting, of_readers) =
        if is_mariadb { ("idle_transaction_timeout", 0) } else { ("wait_timeout", IDLE_SECONDS_MAX) };
    [options.silence_max().as_secs(), of_readers].map(|seconds| format!("SET SESSION {setting} = {seconds}; "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_release_is_the_first_two_numbers() {
        assert_eq!(super::release("10.11.19-MariaDB-0+deb12u1"), (10, 11));
        assert_eq!(super::release("8.4.3"), (8, 4));
        assert_eq!(super::release("x"), (0, 0));
    }
}
