//! The store on MariaDB.

use crate::support::{MARIADB, open};
use atsdb_core::{ColumnId, Durability, ErrorKind};
use atsdb_mysql::MysqlStore;
use atsdb_sqlstore::ServerOptions;
use atsdb_testkit::sample::series_table;
use atsdb_testkit::server::{self, ServerKind, TestServer};

atsdb_testkit::on_server_tests!("mariadb", crate::support::MARIADB);

/// Encryption that the URL requires is used, or the connection is refused.
#[test]
fn encryption_that_a_socket_does_not_have_is_refused_where_it_is_asked_for() {
    let Some(server) = server::shared(ServerKind::Mariadb) else { return };
    let url = format!("{}?socket={}", server.database(), server.data().with_extension("socket").display());
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = open(&format!("{url}&sslmode={mode}")).expect_err("nothing would be encrypted");
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("socket") && !error.to_string().contains("word"), "{error}");
    }
    for option in ["", "&sslmode=disable", "&sslmode=prefer"] {
        let url = format!("{}{option}", url.replace("127.0.0.1", "db.example"));
        let (store, warnings) = MysqlStore::open(&url, None, &ServerOptions::default()).unwrap();
        assert!(!warnings.iter().any(|warning| warning.message.contains("unencrypted")), "{warnings:?}");
        drop(store);
    }
}

/// Many long strings are sent in several statements. If one does not fit into a statement, the error names the setting
/// to change.
#[test]
fn a_string_that_the_server_refuses_is_reported_with_the_setting() {
    const STRING_BYTES: usize = 300_000;
    let Some(server) = TestServer::start_with(ServerKind::Mariadb, &["--max-allowed-packet=1M"]) else { return };
    let store = open(&server.database()).unwrap();
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let map = |values: &[Vec<u8>]| {
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        store.map_values(table, ColumnId(1), 1 << 32, &values)
    };
    let long: Vec<Vec<u8>> = (0..40).map(|number| vec![number + 1; STRING_BYTES]).collect();
    assert_eq!(map(&long).unwrap(), (0..40).collect::<Vec<_>>());
    // Also above the size of a protocol packet, where strings are sent in another way.
    for size in [(1 << 20) - 10, 1 << 20, 3 << 20, 20 << 20] {
        let error = map(&[vec![b'a'], vec![b'b'; size]]).expect_err("it does not fit");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains("max_allowed_packet allows 1048576"), "{error}");
    }
    assert_eq!(map(&long[7..9]).unwrap(), [7, 8]);
    assert_eq!(store.verify().unwrap(), []);
}

/// Like a standby, a replica that is set to read only is skipped.
#[test]
fn a_server_that_is_read_only_is_not_written_while_there_is_another() {
    let Some(primary) = TestServer::start(ServerKind::Mariadb) else { return };
    let Some(replica) = TestServer::start(ServerKind::Mariadb) else { return };
    let (at_primary, at_replica) = (primary.database(), replica.database());
    replica.administer("SET GLOBAL read_only = 1");
    let error = open(&at_replica).expect_err("it takes no writes");
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    let address = at_primary.rsplit_once('@').unwrap().1.split_once('/').unwrap().0;
    let (before, database) = at_replica.rsplit_once('/').unwrap();
    let store = open(&format!("{before},{address}/{database}")).unwrap();
    store.create_table(&series_table("t"), None).unwrap();
    assert_eq!(open(&at_primary).unwrap().snapshot().unwrap().tables().unwrap().len(), 1);
    assert_eq!((MARIADB.open_for_reading)(&at_replica).expect_err("it has no store").kind(), ErrorKind::NotFound);
}

/// With a binary log, that log decides after a crash what was committed.
#[test]
fn a_binary_log_that_is_not_synced_is_reported() {
    const LOGGED: [&str; 2] = ["--log-bin=log", "--innodb-flush-log-at-trx-commit=1"];
    for (sync_binlog, survives) in [("0", Durability::Normal), ("1", Durability::Full)] {
        let sync = format!("--sync-binlog={sync_binlog}");
        let Some(server) = TestServer::start_with(ServerKind::Mariadb, &[LOGGED[0], LOGGED[1], &sync]) else { return };
        let (store, warnings) = MysqlStore::open(&server.database(), None, &ServerOptions::default()).unwrap();
        assert_eq!(atsdb_core::Store::durability(&store), survives);
        let told = warnings.iter().find(|warning| warning.message.contains("sync_binlog = 0"));
        assert_eq!(told.is_some(), survives != Durability::Full, "{warnings:?}");
        let fix = told.and_then(|warning| warning.fix.as_deref());
        assert_eq!(fix, told.map(|_| "SET GLOBAL sync_binlog = 1;"));
    }
}
