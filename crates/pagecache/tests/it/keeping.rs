//! Pages that were written are found again, also by the next process, and by no other store or user.

use crate::support::{UID, file, found, keep, open, page, places, try_open};
use atsdb_core::ChunkUid;
use atsdb_pagecache::PageFile;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const BYTES_MAX: u64 = 64 << 20;

#[test]
fn pages_come_back_after_a_restart_and_holes_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[20, 5_000, 70_000, 300]);
    let (cache, warnings) = open(folder.path(), BYTES_MAX);
    assert_eq!(found(&cache, 1, &places), [false; 4]);
    keep(&cache, 1, &[places[0], places[2]]);
    drop(cache);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    assert_eq!(found(&cache, 1, &places), [true, false, true, false]);
    keep(&cache, 1, &[places[1]]);
    cache.flush();
    assert_eq!(found(&cache, 1, &places), [true, true, true, false]);
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.damaged, stats.bytes_max), (5, 3, 0, BYTES_MAX));
    assert!(stats.bytes >= 75_020 && stats.bytes < 100_000, "{stats:?}");
    assert_eq!(warnings.all(), [""; 0]);
    // The four pages that were read before the restart were misses.
    assert_eq!((stats.hits_ever, stats.misses_ever), (5, 7));
    std::fs::write(cache.store_folder().join("counts"), [0xff; 200]).unwrap();
    assert_eq!((cache.stats().hits_ever, cache.stats().misses_ever), (0, 0));
}

#[test]
fn a_store_gets_at_its_own_pages_only() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[100]);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    keep(&cache, 1, &places);
    cache.flush();
    let (other, _) = try_open(folder.path(), BYTES_MAX, [8; 16]);
    assert_eq!(found(&other.unwrap(), 1, &places), [false]);
    let options = atsdb_pagecache::PageCacheOptions {
        folder: folder.path().to_owned(),
        bytes_max: BYTES_MAX,
        on_warning: std::sync::Arc::new(|_| {}),
    };
    let impostor = atsdb_pagecache::PageCache::open(&options, "postgresql://me@elsewhere/air", UID).unwrap();
    assert_eq!(found(&impostor, 1, &places), [false]);
}

#[test]
fn an_index_is_found_by_what_it_means() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[100]);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    let uid = ChunkUid([9; 16]);
    cache.keep(PageFile::of_index(uid, "1 text"), vec![(places[0], page(1, places[0]))]);
    cache.flush();
    let is_there = |file| cache.read(&file, &places, |_, _| true)[0].is_some();
    assert!(is_there(PageFile::of_index(uid, "1 text")));
    assert!(!is_there(PageFile::of_index(uid, "2 text")));
    assert!(!is_there(PageFile::of_columns(uid)));
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a/b");
    let (cache, _) = open(&root, BYTES_MAX);
    keep(&cache, 1, &places(&[10]));
    cache.flush();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&root), mode(cache.store_folder())), (0o700, 0o700));
    assert_eq!(mode(&cache.store_folder().join(file(1).to_string())), 0o600);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    /// After any order of writes and reads, a page is right or missing, and never missing once it was written.
    #[test]
    fn any_order_of_keeping_and_reading(
        sizes in prop::collection::vec(1_u32..3_000, 1..6),
        steps in prop::collection::vec((0_u64..3, any::<u8>(), any::<bool>()), 1..30),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let places = places(&sizes);
        let (mut cache, _) = open(folder.path(), BYTES_MAX);
        let mut kept = std::collections::HashSet::new();
        for (number, chosen, again) in steps {
            let position = usize::from(chosen) % places.len();
            keep(&cache, number, &[places[position]]);
            kept.insert((number, position));
            cache.flush();
            if again {
                drop(cache);
                cache = open(folder.path(), BYTES_MAX).0;
            }
            for number in 0..3 {
                let there = found(&cache, number, &places);
                for (position, there) in there.into_iter().enumerate() {
                    prop_assert_eq!(there, kept.contains(&(number, position)));
                }
            }
        }
    }
}
