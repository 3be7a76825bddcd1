//! Archives of several stores, and clocks that jump: which backup is the newest, which one is selected, and which is
//! deleted.

use crate::backups::{back_up, restore};
use crate::support::{append, fill, hashes, memory, rows};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{ChunkUid, ErrorKind, Result};
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_memory::MemoryStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const NOW_MS: i64 = 1_709_294_400_000;
const YEAR_MS: i64 = 365 * 86_400_000;

/// A clock that is set by hand.
struct Clock(AtomicI64);

impl Environment for Clock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }

    fn chunk_uid(&self) -> Result<ChunkUid> {
        SystemEnvironment.chunk_uid()
    }
}

fn with_clock() -> (Engine, Arc<Clock>) {
    let clock = Arc::new(Clock(AtomicI64::new(NOW_MS)));
    let options = EngineOptions { maintenance: false, environment: clock.clone(), ..EngineOptions::default() };
    (Engine::new(Arc::new(MemoryStore::new([0xc1; 16])), options).unwrap(), clock)
}

#[test]
fn the_backup_just_made_is_the_newest_whatever_the_clock_says() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(folder.path().to_str().unwrap()).unwrap();
    let (source, clock) = with_clock();
    let table = fill(&source);
    clock.0.store(NOW_MS + 4 * YEAR_MS, Ordering::SeqCst);
    back_up(&source, &archive, Some(1)).unwrap();
    clock.0.store(NOW_MS, Ordering::SeqCst);
    append(&source, &table, &rows(9, 30));
    let before = hashes(&source);
    let second = back_up(&source, &archive, Some(1)).unwrap();
    assert_eq!(second.backups_deleted, 1);
    let target = memory();
    assert_eq!(restore(&archive, &BackupSelector::Latest, &target).unwrap().0.id, second.id);
    assert_eq!(hashes(&target), before);

    // If the clock stands still, two backups still get different ids.
    append(&source, &table, &rows(10, 30));
    let third = back_up(&source, &archive, Some(2)).unwrap();
    let ids: Vec<String> = archive.backups().unwrap().whole.into_iter().map(|backup| backup.id).collect();
    assert_eq!(ids, [second.id, third.id.clone()]);
    assert_eq!(archive.backup(&BackupSelector::At(NOW_MS)).unwrap().id, third.id);
}

#[test]
fn with_several_stores_a_restore_must_name_one() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(folder.path().to_str().unwrap()).unwrap();
    let (first, second) = (memory(), memory());
    let table = fill(&first);
    fill(&second);
    append(&first, &table, &rows(9, 30));
    let of_first = back_up(&first, &archive, None).unwrap().id;
    restore(&archive, &BackupSelector::Latest, &memory()).unwrap();
    let of_second = back_up(&second, &archive, None).unwrap().id;
    let number = |engine: &Engine| engine.store().uid()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let (first_number, second_number): (String, String) = (number(&first), number(&second));
    for which in [BackupSelector::Latest, BackupSelector::At(i64::MAX)] {
        let error = restore(&archive, &which, &memory()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains(&first_number) && hint.contains(&second_number) && hint.contains("--store"), "{hint}");
    }
    let target = memory();
    let (backup, _) = restore(&archive, &BackupSelector::Latest.of(first_number.clone()), &target).unwrap();
    assert_eq!((backup.id, hashes(&target)), (of_first.clone(), hashes(&first)));
    let target = memory();
    restore(&archive, &BackupSelector::Id(of_second.clone()), &target).unwrap();
    assert_eq!(hashes(&target), hashes(&second));
    // Both stores are in memory and have the same URL, which does not select one.
    let error = archive.backup(&BackupSelector::Latest.of(first.store().url())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let error = archive.backup(&BackupSelector::Latest.of("sqlite:/elsewhere.db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.hint().unwrap().contains(&first_number), "{error:?}");

    // A store counts as one of several even if its only backup is damaged.
    for file in crate::backups::files(&folder.path().join("backups")) {
        if file.to_str().unwrap().contains(&of_second) {
            std::fs::write(file, "damaged").unwrap();
        }
    }
    assert_eq!(archive.backup(&BackupSelector::Latest).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(archive.backup(&BackupSelector::Latest.of(first_number)).unwrap().id, of_first);
    assert_eq!(archive.backup(&BackupSelector::Latest.of(second_number)).unwrap_err().kind(), ErrorKind::Corrupt);
}
