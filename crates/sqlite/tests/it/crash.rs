//! Processes that are killed while they work. (A power cut is tested elsewhere: after a kill, the system's cache
//! survives.)

use crate::rolling;
use crate::support::{LAYOUTS, NOW_MS, Scratch, as_other_process, create, open, other_process, reclaim_all, reopen};
use atsdb_core::{BatchId, Change, Durability, Store, TimeRange};
use atsdb_testkit::clock::wait_until;
use atsdb_testkit::sample::Plan;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The number of rounds for each layout.
const ROUNDS: u32 = 20;
const CHUNKS: u64 = 4;

/// Returns the numbers that the store's writers have noted as acknowledged.
fn acknowledged(path: &Path) -> Vec<u64> {
    let mut log = path.as_os_str().to_owned();
    log.push(".acknowledged");
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills a writer at a random moment. Every other writer acknowledges something first, even on a slow machine.
fn kill_at_some_time(mut writer: Command, path: &Path, round: u32) {
    let before = acknowledged(path).len();
    let mut writer = writer.spawn().unwrap();
    wait_until("a change is acknowledged", || {
        assert!(writer.try_wait().unwrap().is_none(), "it ended by itself");
        round.is_multiple_of(2) || acknowledged(path).len() > before
    });
    std::thread::sleep(Duration::from_millis(20 + u64::from(round * 7 % 60)));
    writer.kill().unwrap();
    writer.wait().unwrap();
}

fn chunk_plan(batch: u64, position: u64) -> Plan {
    Plan::new(batch * 100 + position).with_pages(3, 40_000)
}

#[test]
fn a_killed_writer_leaves_what_it_acknowledged_and_no_half_batch() {
    (0..3).for_each(kill_writers);
}

fn kill_writers(layout: usize) {
    let scratch = Scratch::new();
    let path = scratch.path("a.db");
    let table = create(&open(&path, LAYOUTS[layout], Durability::Full), "t");
    for round in 0..ROUNDS {
        kill_at_some_time(other_process("crash::a_writer_until_killed", &path, round), &path, round);
    }
    let store = reopen(&path);
    assert_eq!(store.verify().unwrap(), []);
    let acknowledged = acknowledged(&path);
    assert!(acknowledged.len() > 5, "the writers did nothing: {}", acknowledged.len());
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
    let whole = |batch: u64| {
        (0..CHUNKS).all(|position| {
            let chunk = chunk_plan(batch, position).chunk(table);
            let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
            entries.iter().any(|entry| {
                entry.descriptor_bytes == chunk.descriptor_bytes
                    && snapshot.read_pages(entry.id, &columns).unwrap() == chunk.pages
            })
        })
    };
    for batch in acknowledged {
        assert!(whole(batch), "batch {batch} was acknowledged and is not there");
    }
    assert_eq!(entries.len() as u64 % CHUNKS, 0, "half a batch is visible");
    drop(snapshot);
    // The stages of killed writers are reclaimed in the end. A stage is abandoned after it was found idle twice, some
    // time apart.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(8 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    reclaim_all(&store);
    assert_eq!(store.verify().unwrap(), []);
    let size = store.size().unwrap();
    assert!(size.total < size.tables[0].1 * 6 / 5 + 200_000, "{size:?}");
}

#[test]
fn a_writer_until_killed() {
    let Some((path, number)) = as_other_process() else { return };
    let store = reopen(&path);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    let mut log = path.into_os_string();
    log.push(".acknowledged");
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    for step in 0.. {
        let batch = number * 100_000 + step;
        let stage = store.open_stage(NOW_MS).unwrap();
        for position in 0..CHUNKS - 1 {
            store.stage(stage, vec![chunk_plan(batch, position).chunk(table)], NOW_MS).unwrap();
        }
        let change = Change {
            batch: Some(BatchId::new(batch.to_string()).unwrap()),
            stage: Some(stage),
            add: vec![chunk_plan(batch, CHUNKS - 1).chunk(table)],
            ..Change::default()
        };
        store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
        log.write_all(format!("{batch}\n").as_bytes()).unwrap();
        if step % 3 == 2 {
            store.reclaim(1 << 20, NOW_MS).unwrap();
        }
    }
}

#[test]
fn a_killed_writer_leaves_every_change_whole() {
    (0..3).for_each(kill_rolling_writers);
}

fn kill_rolling_writers(layout: usize) {
    let scratch = Scratch::new();
    let path = scratch.path("a.db");
    rolling::begin(&open(&path, LAYOUTS[layout], Durability::Full));
    let mut last = 1;
    for round in 0..ROUNDS {
        kill_at_some_time(other_process("crash::a_rolling_writer_until_killed", &path, round), &path, round);
        let store = reopen(&path);
        let step = rolling::check(&store);
        let acknowledged = acknowledged(&path).into_iter().max().unwrap_or(1);
        assert!(step >= last && step >= acknowledged, "step {acknowledged} was acknowledged, {step} is there");
        last = step;
    }
    assert!(last > 5, "the writers did nothing: {last}");
    let store = reopen(&path);
    assert_eq!(store.verify().unwrap(), []);
    // A stage is abandoned after it was found idle twice, some time apart.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(8 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    assert_eq!(rolling::check(&store), last);
    assert_eq!(store.verify().unwrap(), []);
    let size = store.size().unwrap();
    let payload: u64 = size.tables.iter().map(|(_, byte_count)| byte_count).sum();
    assert!(size.total < payload * 6 / 5 + 200_000, "{size:?}");
}

#[test]
fn a_rolling_writer_until_killed() {
    let Some((path, _)) = as_other_process() else { return };
    let store = reopen(&path);
    let mut log = path.into_os_string();
    log.push(".acknowledged");
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    for round in 0.. {
        let step = rolling::step(&store).unwrap();
        log.write_all(format!("{step}\n").as_bytes()).unwrap();
        if round % 3 == 2 {
            store.reclaim(1 << 20, NOW_MS).unwrap();
        }
    }
}
