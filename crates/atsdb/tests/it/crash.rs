//! Writers that are killed while they work, 200 times. (A power cut is tested elsewhere: after a kill, the system's
//! cache survives.)

use crate::content::{Shape, assert_batches, assert_sound, create_tables, numbers, read, send};
use crate::support::{Acknowledged, as_other_process, assert_no_complaints, beside, open, open_quiet, other_process};
use atsdb::CommitOutcome;
use atsdb_testkit::clock::wait_until;
use atsdb_testkit::sample::Random;
use std::path::Path;
use std::time::Duration;

const DAY_MS: i64 = 86_400_000;

/// Kills a writer again and again at random moments. After each kill, the store must hold what was acknowledged, and at
/// most the one batch more that was being sent.
fn kill_writers(task: &str, shape: Shape, store_count: u64, kills_per_store: u32, pause_ms_max: u64) {
    for number in 0..store_count {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        create_tables(&open(&path));
        let mut random = Random::new(number);
        for kill in 0..kills_per_store {
            let before = Acknowledged::read(&path).len();
            let mut writer = other_process("crash::a_writer_until_killed", &path, task).spawn().unwrap();
            // Every other writer acknowledges at least one batch before it is killed, even on a slow machine.
            wait_until("a batch is acknowledged", || {
                assert!(writer.try_wait().unwrap().is_none(), "it ended by itself");
                kill % 2 == 0 || Acknowledged::read(&path).len() > before
            });
            std::thread::sleep(Duration::from_millis(5 + random.below(pause_ms_max)));
            writer.kill().unwrap();
            writer.wait().unwrap();
            assert_no_complaints(&path);
            check_what_is_left(&path, shape);
        }
        check_that_nothing_counts_twice(&path, shape);
    }
}

fn check_what_is_left(path: &Path, shape: Shape) {
    let acknowledged = Acknowledged::read(path);
    let count = acknowledged.len() as u64;
    assert!(acknowledged.into_iter().eq(0..count), "the writers sent their batches in order");
    let db = open_quiet(path).unwrap();
    assert_sound(&db);
    let rows = read(&db.snapshot().unwrap()).unwrap();
    let found = numbers(&rows).len() as u64;
    assert!((count..=count + 1).contains(&found), "{count} batches were acknowledged, {found} are there");
    assert_batches(&rows, shape, 0..found);
}

fn check_that_nothing_counts_twice(path: &Path, shape: Shape) {
    let db = open_quiet(path).unwrap();
    let before = read(&db.snapshot().unwrap()).unwrap();
    let found = numbers(&before).len() as u64;
    for number in 0..found {
        assert_eq!(send(&db, shape, number).unwrap(), CommitOutcome::Duplicate, "batch {number}");
    }
    assert!(before == read(&db.snapshot().unwrap()).unwrap(), "sending it all again changed something");
    drop(before);
    // Days later, everything that the killed writers left unfinished is reclaimed, and all else is kept.
    let now_ms = now_ms() + 3 * DAY_MS;
    while db.engine().store().reclaim(8 << 20, now_ms).unwrap().more {}
    assert_sound(&db);
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), shape, 0..found);
}

fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}

#[test]
fn writers_killed_70_times_while_appending_lose_nothing_that_was_acknowledged() {
    kill_writers("append", Shape::Small, 2, 35, 90);
}

#[test]
fn writers_killed_70_times_while_sealing_lose_nothing_that_was_acknowledged() {
    kill_writers("seal", Shape::Small, 2, 35, 120);
}

#[test]
fn writers_killed_60_times_while_importing_lose_nothing_that_was_acknowledged() {
    kill_writers("import", Shape::Import, 4, 15, 250);
}

#[test]
fn a_writer_until_killed() {
    let Some((path, task)) = as_other_process() else { return };
    let shape = if task == "import" { Shape::Import } else { Shape::Small };
    let db = open(&path);
    if task == "seal" {
        let engine = db.engine().clone();
        std::thread::spawn(move || {
            loop {
                engine.recompress(None).unwrap();
            }
        });
    }
    let mut acknowledged = Acknowledged::open(&path);
    // As a careful client does, it first resends the batch that the previous writer was sending when it was killed.
    for number in Acknowledged::read(&path).len() as u64.. {
        send(&db, shape, number).unwrap();
        acknowledged.note(number);
    }
}

#[test]
fn a_store_whose_creator_was_killed_opens() {
    let mut random = Random::new(7);
    for _ in 0..25 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut creator = other_process("crash::a_creator_until_killed", &path, "").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.below(25)));
        creator.kill().unwrap();
        creator.wait().unwrap();
        assert_no_complaints(&path);
        let db = open(&path);
        if db.tables().unwrap().is_empty() {
            create_tables(&db);
            send(&db, Shape::Small, 0).unwrap();
            assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Small, 0..1);
        }
        assert_sound(&db);
    }
}

#[test]
fn a_creator_until_killed() {
    let Some((path, _)) = as_other_process() else { return };
    create_tables(&open(&path));
    loop {
        std::thread::park();
    }
}

#[test]
fn chunks_staged_by_killed_imports_are_reclaimed_a_day_later_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create_tables(&open(&path));
    let file_bytes = || std::fs::metadata(&path).unwrap().len();
    for kill in 0..3 {
        let mut writer = other_process("crash::an_import_that_never_ends", &path, &kill.to_string()).spawn().unwrap();
        wait_until("chunks are staged", || {
            assert!(writer.try_wait().unwrap().is_none(), "it ended by itself");
            beside(&path, &format!(".staged_{kill}")).exists()
        });
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    assert_no_complaints(&path);
    let db = open_quiet(&path).unwrap();
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Import, 0..0);
    assert_sound(&db);
    let store = db.engine().store();
    // A concurrent import keeps what it has staged.
    while store.reclaim(8 << 20, now_ms()).unwrap().more {}
    let before = file_bytes();
    assert!(before > 3 * (16 << 20), "{before} bytes: nothing was staged");
    for days in [2, 3] {
        while store.reclaim(8 << 20, now_ms() + days * DAY_MS).unwrap().more {}
    }
    assert!(file_bytes() < 200_000, "{} of {before} bytes are left", file_bytes());
    assert_sound(&db);
    // The name of the table that was never committed is free.
    send(&db, Shape::Import, 1).unwrap();
}

#[test]
fn an_import_that_never_ends() {
    let Some((path, kill)) = as_other_process() else { return };
    let db = open(&path);
    let mut batch = db.batch(None);
    for part in [1, 3, 9, 15].into_iter().flat_map(|number| crate::content::parts(Shape::Import, number)) {
        let table = match part.creates {
            true => batch.create_table(&crate::content::own_table(1)).unwrap(),
            false => db.engine().table(&part.table).unwrap(),
        };
        batch.append(&table, &part.rows).unwrap();
    }
    std::fs::write(beside(&path, &format!(".staged_{kill}")), "").unwrap();
    loop {
        std::thread::park();
    }
}
