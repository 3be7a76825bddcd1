//! Full disks. They are small file systems in memory; without permission to mount them, these tests print a message and
//! pass.

use crate::content::{Shape, assert_batches, assert_sound, create_tables, read, send};
use crate::support::open;
use atsdb::{CommitOutcome, Database, Error, ErrorKind};
use atsdb_testkit::disk::{SmallDisk, alone};

fn assert_reports_full(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let text = error.to_string();
    assert!(text.contains("disk full") && text.contains("a.db"), "{text}");
}

/// Sends batches until this many have failed on the full disk. Returns the numbers of the acknowledged batches and of
/// the others.
fn fill(db: &Database, failures: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
    for number in 0.. {
        match send(db, Shape::Bulky, number) {
            Ok(outcome) => {
                assert_eq!(outcome, CommitOutcome::Committed);
                acknowledged.push(number);
            }
            Err(error) => {
                assert_reports_full(&error);
                refused.push(number);
                if refused.len() == failures {
                    break;
                }
            }
        }
    }
    (acknowledged, refused)
}

fn assert_holds(db: &Database, numbers: &[u64]) {
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Bulky, numbers.iter().copied());
}

#[test]
fn a_full_disk_is_reported_loses_nothing_acknowledged_and_work_resumes_with_room() {
    alone("full_disk::a_full_disk_is_reported_loses_nothing_acknowledged_and_work_resumes_with_room", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 8 << 20) else { return };
        let path = disk.path().join("a.db");
        let db = open(&path);
        create_tables(&db);
        let (acknowledged, refused) = fill(&db, 8);
        assert!(acknowledged.len() > 20, "{acknowledged:?}");
        assert_holds(&db, &acknowledged);
        drop(db);
        let db = open(&path);
        assert_holds(&db, &acknowledged);
        assert_sound(&db);
        disk.resize(64 << 20);
        for number in &acknowledged {
            assert_eq!(send(&db, Shape::Bulky, *number).unwrap(), CommitOutcome::Duplicate);
        }
        for number in &refused {
            assert_eq!(send(&db, Shape::Bulky, *number).unwrap(), CommitOutcome::Committed);
        }
        let mut all = [acknowledged, refused].concat();
        all.sort();
        assert_holds(&db, &all);
        db.engine().recompress(None).unwrap();
        assert_holds(&db, &all);
        assert_sound(&db);
    });
}

#[test]
fn a_batch_larger_than_the_disk_stores_nothing_and_frees_its_space() {
    alone("full_disk::a_batch_larger_than_the_disk_stores_nothing_and_frees_its_space", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 16 << 20) else { return };
        let path = disk.path().join("a.db");
        let db = open(&path);
        create_tables(&db);
        for number in 0..3 {
            send(&db, Shape::Import, number).unwrap();
        }
        let holds =
            |db: &Database, count| assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Import, 0..count);
        for _ in 0..3 {
            assert_reports_full(&send(&db, Shape::Import, 3).unwrap_err());
            holds(&db, 3);
        }
        assert_sound(&db);
        drop(db);
        let db = open(&path);
        holds(&db, 3);
        disk.resize(128 << 20);
        for number in 3..6 {
            assert_eq!(send(&db, Shape::Import, number).unwrap(), CommitOutcome::Committed);
        }
        holds(&db, 6);
        db.engine().recompress(None).unwrap();
        assert_sound(&db);
        holds(&db, 6);
    });
}

#[test]
fn with_a_little_room_a_table_can_be_dropped_and_its_room_is_used() {
    alone("full_disk::with_a_little_room_a_table_can_be_dropped_and_its_room_is_used", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 8 << 20) else { return };
        let something_else = disk.path().join("something else");
        std::fs::write(&something_else, vec![1; 1 << 20]).unwrap();
        let db = open(&disk.path().join("a.db"));
        create_tables(&db);
        let (acknowledged, _) = fill(&db, 3);
        std::fs::remove_file(something_else).unwrap();
        let noise = db.engine().table("noise").unwrap();
        db.engine().drop_table(&noise).unwrap();
        db.engine().recompress(None).unwrap();
        for number in 0..100 {
            send(&db, Shape::Small, 1_000_000 + number).unwrap();
        }
        let rows = read(&db.snapshot().unwrap()).unwrap();
        assert!(!rows.contains_key("noise"));
        assert_batches(&rows, Shape::Small, acknowledged.into_iter().chain(1_000_000..1_000_100));
        assert_sound(&db);
    });
}
