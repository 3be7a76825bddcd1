//! A disk that becomes full under the server: an error for who writes, answers for who reads, and nothing acknowledged
//! is lost.

use crate::client::serve;
use atsdb_server::IngestOptions;
use atsdb_testkit::disk::{SmallDisk, alone};

const LINES_PER_BATCH: u64 = 2_000;

/// Values that take their full size.
fn lines(batch: u64) -> String {
    let mut state = batch.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let line = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("m v={}i {}\n", state as i64, batch * LINES_PER_BATCH + n)
    };
    (0..LINES_PER_BATCH).map(line).collect()
}

#[test]
fn who_writes_to_a_full_disk_is_told_and_nothing_is_lost() {
    alone("full_disk::who_writes_to_a_full_disk_is_told_and_nothing_is_lost", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 6 << 20) else { return };
        let database = atsdb::open(disk.path().join("air.db").to_str().unwrap()).unwrap();
        let server = serve(database, IngestOptions::default());
        let mut stored = 0;
        let refused = loop {
            let reply = server.post("/write?db=d", lines(stored));
            if reply.status != 204 {
                break reply;
            }
            stored += 1;
            assert!(stored < 10_000, "the disk is never full");
        };
        assert!(stored > 10, "{}", refused.text());
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.header("retry-after").is_some());
        let counted = || server.rows("SELECT count(*), count(DISTINCT v) FROM m");
        let expected = |batches: u64| [format!("{0} | {0}", batches * LINES_PER_BATCH)];
        assert_eq!(counted(), expected(stored));
        // Sealing may have made some room.
        let create = |number: usize| server.post("/api/sql", format!("CREATE TABLE another{number} (a INT)"));
        let reply = (0..10_000).map(create).find(|reply| reply.status != 200).expect("the disk is never full");
        assert!([503, 507].contains(&reply.status), "{} {}", reply.status, reply.text());
        assert_eq!(server.get("/ready").status, 200);
        disk.resize(64 << 20);
        // What was refused is sent again, as the answer said.
        assert_eq!(server.post("/write?db=d", lines(stored)).status, 204);
        assert_eq!(counted(), expected(stored + 1));
        assert!(server.database.engine().verify(None).unwrap().findings.is_empty());
    });
}
