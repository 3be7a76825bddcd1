//! A store whose file is deleted or replaced under the server: every request is refused, and none is acknowledged.

use crate::client::serve;
use crate::support::Served;
use atsdb_server::IngestOptions;
use std::fs;

#[test]
fn a_server_without_the_file_of_its_store_acknowledges_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, elsewhere) = (folder.path().join("air.db"), folder.path().join("elsewhere.db"));
    let server = serve(atsdb::open(file.to_str().unwrap()).unwrap(), IngestOptions::default());
    assert_eq!(server.post("/api/sql", "CREATE TABLE t (a INT)").status, 200);
    assert_eq!(server.post("/api/sql", "INSERT INTO t VALUES (1)").status, 200);
    assert_eq!(server.get("/ready").status, 200);
    fs::rename(&file, &elsewhere).unwrap();
    for _ in 0..2 {
        for (path, body) in [
            ("/api/sql", "INSERT INTO t VALUES (2)"),
            ("/api/sql", "SELECT * FROM t"),
            ("/api/sql", "CREATE TABLE u (a INT)"),
            ("/write?db=d", "m v=1i 1\n"),
        ] {
            let reply = server.post(path, body);
            assert_eq!(reply.status, 503, "{body}: {}", reply.text());
            assert!(reply.text().contains("was deleted or moved"), "{body}: {}", reply.text());
        }
        let ready = server.get("/ready");
        assert_eq!(ready.status, 503);
        assert!(ready.text().contains("the store was deleted, moved or replaced"), "{}", ready.text());
        assert_eq!(server.get("/health").status, 200);
    }
    fs::rename(&elsewhere, &file).unwrap();
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.post("/api/sql", "INSERT INTO t VALUES (3)").status, 200);
    assert_eq!(server.rows("SELECT a FROM t ORDER BY a"), ["1", "3"]);
}

#[test]
fn a_client_of_postgresql_gets_the_state_of_a_lost_store() {
    let served = Served::with_tables();
    let file = served.database.engine().store().url().strip_prefix("sqlite:").unwrap().to_owned();
    fs::rename(&file, format!("{file}-elsewhere")).unwrap();
    let Some(output) = served.psql(&[], "INSERT INTO sensors VALUES (3, 's3', NULL);\n") else { return };
    assert!(output.contains("58030") && output.contains("was deleted or moved"), "{output}");
    fs::rename(format!("{file}-elsewhere"), &file).unwrap();
    assert_eq!(served.count("sensors"), 2);
}
