//! Single bits flipped anywhere in the file: each changes no answer, or is reported. Descriptors and pages have
//! checksums of their own, which these tests check as the engine does.
//!
//! A run flips one bit of every eighth byte, chosen by a seed. `ATSDB_EVERY_BIT=1` flips all bits, which takes long.

use crate::support::{NOW_MS, Scratch, append, create, open};
use atsdb_core::checksum;
use atsdb_core::{
    Change, ChunkDescriptor, ChunkId, ColumnId, Durability, Error, ErrorKind, NewChunk, Result, Snapshot, Store, Table,
    TableId, TimeRange,
};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, Random};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const SENSOR: ColumnId = ColumnId(1);
const STRINGS: u32 = 80;
const CHUNKS: u64 = 60;
/// The number of slices that have chunks.
const SLICES: u64 = 12;
/// The file's page size. Small pages give trees of several levels.
const PAGE_BYTES: usize = 512;
const SEED: u64 = 7;

/// A chunk whose descriptor and page carry checksums.
fn chunk(table: TableId, seed: u64) -> NewChunk {
    let start = (seed % SLICES) as i64 * 86_400;
    let mut chunk = Plan::new(seed).in_slice(start).with_pages(1, 24).chunk(table);
    let place = checksum::of_bytes(&chunk.descriptor.uid.0).to_le_bytes();
    let bound = checksum::of_bytes(&[&place, &chunk.pages[0][8..]].concat());
    chunk.pages[0][..8].copy_from_slice(&bound.to_le_bytes());
    chunk.descriptor_bytes = described(&chunk.descriptor);
    chunk
}

fn described(descriptor: &ChunkDescriptor) -> Vec<u8> {
    let numbers = [i64::from(descriptor.row_count), i64::from(descriptor.sealed), descriptor.byte_count() as i64];
    let mut bytes = descriptor.uid.0.to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.splice(0..0, checksum::of_bytes(&bytes).to_le_bytes());
    bytes
}

/// A chunk's number, its slice, its times and its descriptor.
type ChunkFields = (ChunkId, i64, i64, i64, Vec<u8>);

/// The answers of a store to all calls that read.
#[derive(Debug, PartialEq)]
struct Answers {
    tables: Vec<Table>,
    chunks: Vec<Vec<ChunkFields>>,
    in_range: Vec<ChunkId>,
    strings: Vec<Vec<u8>>,
    last_strings: Vec<Vec<u8>>,
}

fn damaged(what: &str) -> Error {
    Error::corrupt(what.to_owned())
}

fn ask(path: &Path, of: &[TableId]) -> Result<Answers> {
    let options = SqliteOptions { read_only: true, create: false, ..SqliteOptions::default() };
    let store = SqliteStore::open(path, &options)?;
    let snapshot = store.snapshot()?;
    let range = TimeRange::from(2 * 86_400..4 * 86_400);
    Ok(Answers {
        tables: snapshot.tables()?,
        chunks: of.iter().map(|table| chunks(&*snapshot, *table)).collect::<Result<_>>()?,
        in_range: snapshot.chunks(of[0], range)?.iter().map(|entry| entry.id).collect(),
        strings: snapshot.mapping(of[0], SENSOR, 0)?,
        last_strings: snapshot.mapping(of[0], SENSOR, STRINGS - 3)?,
    })
}

fn chunks(snapshot: &dyn Snapshot, table: TableId) -> Result<Vec<ChunkFields>> {
    let mut chunks = Vec::new();
    for entry in snapshot.chunks(table, TimeRange::ALL)? {
        let bytes = entry.descriptor_bytes.as_slice();
        if bytes.len() < 48 || bytes[..8] != checksum::of_bytes(&bytes[8..]).to_le_bytes() {
            return Err(damaged("descriptor"));
        }
        let numbers = [i64::from(entry.row_count), i64::from(entry.sealed), entry.byte_count as i64];
        if bytes[24..] != numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>() {
            return Err(damaged("row and descriptor disagree"));
        }
        // Each page is read in the same way, so a sample is enough.
        if entry.id.0 % 16 == 0 {
            let page = snapshot.read_pages(entry.id, &[ColumnId(0)])?.remove(0);
            let place = checksum::of_bytes(&bytes[8..24]).to_le_bytes();
            if page.len() != 24 || page[..8] != checksum::of_bytes(&[&place, &page[8..]].concat()).to_le_bytes() {
                return Err(damaged("page"));
            }
        }
        chunks.push((entry.id, entry.slice_start, entry.time_min, entry.time_max, entry.descriptor_bytes));
    }
    Ok(chunks)
}

fn string(number: u32) -> Vec<u8> {
    format!("sensor {number}").into_bytes()
}

/// Maps all strings and a new one, and returns their indices.
fn indices(path: &Path, table: TableId) -> Result<Vec<u32>> {
    let options = SqliteOptions { durability: Durability::Off, create: false, ..SqliteOptions::default() };
    let store = SqliteStore::open(path, &options)?;
    let strings: Vec<Vec<u8>> = (0..=STRINGS).map(string).collect();
    let values: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    store.map_values(table, SENSOR, 1 << 16, &values)
}

/// Returns the bits to flip: the position of the byte, and a mask.
fn flips(range: Range<usize>) -> Vec<(u64, u8)> {
    let every_bit = std::env::var_os("ATSDB_EVERY_BIT").is_some();
    let mut random = Random::new(SEED ^ range.start as u64);
    let bytes = range.into_iter().map(|position| position as u64);
    match every_bit {
        true => bytes.flat_map(|position| (0..8).map(move |bit| (position, 1 << bit))).collect(),
        false => bytes.step_by(8).map(|position| (position + random.below(8), 1 << random.below(8))).collect(),
    }
}

/// Flips a bit of a file that no process has open.
fn flip(file: &File, (position, bit): (u64, u8)) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, position).unwrap();
    file.write_all_at(&[byte[0] ^ bit], position).unwrap();
}

fn place((position, bit): (u64, u8)) -> String {
    let page = PAGE_BYTES as u64;
    format!("seed {SEED}, page {}, byte {}, bit {bit:#04x}", position / page + 1, position % page)
}

/// A closed store with small pages and without a log: its path, its catalogue's path, and the tables to read.
fn sample(scratch: &Scratch, layout: Option<SplitLayout>) -> (PathBuf, PathBuf, Vec<TableId>) {
    let path = scratch.path("a");
    let store = open(&path, layout, Durability::Off);
    let tables = ["t", "u", "empty"].map(|name| create(&store, name)).to_vec();
    let strings: Vec<Vec<u8>> = (0..STRINGS).map(string).collect();
    let values: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    store.map_values(tables[0], SENSOR, 1 << 16, &values).unwrap();
    for seed in 0..CHUNKS {
        let table = if seed % 6 == 5 { tables[1] } else { tables[0] };
        let change = Change { add: vec![chunk(table, seed)], ..Change::default() };
        store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
    }
    drop(store);
    let file = if layout.is_some() { path.join("atsdb.db") } else { path.clone() };
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.execute_batch(&format!("PRAGMA journal_mode = DELETE; PRAGMA page_size = {PAGE_BYTES}; VACUUM")).unwrap();
    (path, file, tables)
}

/// Flips bits of the catalogue and returns how many of the flips were reported.
fn flips_reported(layout: Option<SplitLayout>) -> usize {
    let scratch = Scratch::new();
    let (path, file, tables) = sample(&scratch, layout);
    let expected = ask(&path, &tables).unwrap();
    assert_eq!((expected.tables.len(), expected.chunks[0].len(), expected.in_range.len()), (3, 50, 10));
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut reported = 0;
    for bit in flips(0..file.metadata().unwrap().len() as usize) {
        flip(&file, bit);
        match ask(&path, &tables) {
            Ok(answers) => assert!(answers == expected, "{}: {answers:?}", place(bit)),
            Err(error) => {
                let kinds = [ErrorKind::Corrupt, ErrorKind::NotAStore, ErrorKind::NewerFormat];
                assert!(kinds.contains(&error.kind()), "{}: {error:?}", place(bit));
                reported += 1;
            }
        }
        flip(&file, bit);
    }
    assert_eq!(ask(&path, &tables).unwrap(), expected);
    reported
}

#[test]
fn a_bit_that_flips_changes_no_answer_or_is_reported() {
    let reported = flips_reported(None);
    assert!(reported > 1_000, "{reported}");
}

#[test]
fn a_bit_that_flips_in_the_catalogue_of_a_split_store_changes_no_answer_or_is_reported() {
    let reported = flips_reported(Some(SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 }));
    assert!(reported > 1_000, "{reported}");
}

/// A string that damage hides from the index of strings must not get a second dictionary index.
#[test]
fn a_bit_that_flips_gives_no_string_a_second_index() {
    let scratch = Scratch::new();
    let (path, file, tables) = sample(&scratch, None);
    // Otherwise opening the store would switch it to a log, and wait for the disk.
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(raw);
    let bytes = std::fs::read(&file).unwrap();
    let expected: Vec<u32> = (0..=STRINGS).collect();
    let pages = bytes.chunks(PAGE_BYTES).enumerate();
    let of_strings = pages.filter(|(_, page)| page.windows(6).any(|window| window == b"sensor"));
    let mut reported = 0;
    for (number, _) in of_strings {
        for bit in flips(number * PAGE_BYTES..(number + 1) * PAGE_BYTES) {
            for end in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(scratch.path(&format!("a{end}")));
            }
            let mut flipped = bytes.clone();
            flipped[bit.0 as usize] ^= bit.1;
            std::fs::write(&file, &flipped).unwrap();
            match indices(&path, tables[0]) {
                Ok(indices) => assert_eq!(indices, expected, "{}", place(bit)),
                Err(_) => reported += 1,
            }
        }
    }
    assert!(reported > 100, "{reported}");
}

/// Rows that were changed by other means, in the table and in its indexes alike.
#[test]
fn a_row_that_was_changed_is_reported_by_readers_and_by_verify() {
    let damages = [
        "DELETE FROM atsdb_chunk WHERE id = 7",
        "UPDATE atsdb_chunk SET table_id = 2 WHERE id = 7",
        "UPDATE atsdb_chunk SET table_id = 3 WHERE id = 7",
        "UPDATE atsdb_chunk SET stage = 1 WHERE id = 7",
        "UPDATE atsdb_chunk SET time_max = time_max + 1 WHERE id = 7",
        "UPDATE atsdb_chunk SET id = 1000 WHERE id = 60",
        "UPDATE atsdb_table SET stage = 1 WHERE id = 3",
        "UPDATE atsdb_table SET name_key = 'x' WHERE id = 3",
        "UPDATE atsdb_table SET version = 2 WHERE id = 3",
        "DELETE FROM atsdb_table WHERE id = 3",
        "DELETE FROM atsdb_map WHERE id = 79",
        "DELETE FROM atsdb_map",
        "DELETE FROM atsdb_list WHERE table_id = 1 AND column_id = -1",
        "DELETE FROM atsdb_list WHERE table_id = 0",
        "DELETE FROM atsdb_list",
        "UPDATE atsdb_list SET hash = hash + 1 WHERE table_id = 1 AND column_id = -1",
        "UPDATE atsdb_list SET entry_count = 79 WHERE column_id = 1",
    ];
    for damage in damages {
        let scratch = Scratch::new();
        let (path, file, tables) = sample(&scratch, None);
        let raw = rusqlite::Connection::open(&file).unwrap();
        assert!(raw.execute(damage, []).unwrap() > 0, "{damage}");
        drop(raw);
        let error = ask(&path, &tables).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{damage}: {error}");
        assert!(!open(&path, None, Durability::Off).verify().unwrap().is_empty(), "{damage}");
    }
}

/// A stage that has lost data is not made visible as if it were complete.
#[test]
fn a_stage_that_lost_a_chunk_is_not_committed() {
    let damages = [
        "DELETE FROM atsdb_chunk WHERE id = 2",
        "UPDATE atsdb_chunk SET table_id = 2 WHERE id = 2",
        "DELETE FROM atsdb_table WHERE id = 3",
    ];
    for damage in damages {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        let store = open(&path, None, Durability::Off);
        let tables = ["t", "u"].map(|name| create(&store, name));
        append(&store, tables[0], &Plan::new(9));
        let stage = store.open_stage(NOW_MS).unwrap();
        store.create_table(&atsdb_testkit::sample::series_table("new"), Some(stage)).unwrap();
        store.stage(stage, (0..3).map(|seed| chunk(tables[0], seed)).collect(), NOW_MS).unwrap();
        assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap(), 1, "{damage}");
        let change = Change { stage: Some(stage), ..Change::default() };
        let error = store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{damage}: {error}");
        assert_eq!(crate::support::visible(&store, tables[0]).len(), 1);
    }
}
