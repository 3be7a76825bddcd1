//! The bound holds over all writers, the least recently used pages are evicted first, and other files are left alone.

use crate::support::{UID, file, found, keep, open, places, try_open};
use std::path::Path;
use std::time::{Duration, SystemTime};

const BYTES_MAX: u64 = 4 << 20;

fn set_used(path: &Path, seconds_ago: u64) {
    let past = SystemTime::now() - Duration::from_secs(seconds_ago);
    let file = std::fs::File::open(path).unwrap();
    file.set_times(std::fs::FileTimes::new().set_modified(past)).unwrap();
}

#[test]
fn the_bound_is_of_all_stores_together() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[30_000, 10_000]);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    let (other, _) = try_open(folder.path(), BYTES_MAX, [8; 16]);
    let other = other.unwrap();
    for number in 0..400 {
        keep(&cache, number, &places);
        keep(&other, number, &places);
        if number % 8 == 0 {
            cache.flush();
            other.flush();
            assert!(cache.stats().bytes <= BYTES_MAX, "{}", cache.stats().bytes);
        }
    }
    cache.flush();
    assert!(cache.stats().bytes > BYTES_MAX / 2, "{}", cache.stats().bytes);
    assert_eq!(found(&cache, 399, &places), [true, true]);
}

#[test]
fn the_least_recently_used_is_evicted_first() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[40_000]);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    for number in 0..80 {
        keep(&cache, number, &places);
    }
    cache.flush();
    for number in 0..80 {
        set_used(&cache.store_folder().join(file(number).to_string()), 1_000_000 - number);
    }
    // Reading one of the oldest marks it as used.
    assert_eq!(found(&cache, 3, &places), [true]);
    for number in 100..130 {
        keep(&cache, number, &places);
    }
    cache.flush();
    assert_eq!(found(&cache, 3, &places), [true], "used lately, and evicted");
    assert_eq!(found(&cache, 0, &places), [false], "the oldest is there");
    assert_eq!(found(&cache, 129, &places), [true]);
}

#[test]
fn files_of_others_stay_and_stores_that_are_empty_go() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), vec![1; 5 << 20]).unwrap();
    let (removed, _) = try_open(folder.path(), BYTES_MAX, UID);
    let removed = removed.unwrap();
    keep(&removed, 1, &places(&[10]));
    removed.flush();
    let oldest = removed.store_folder().to_owned();
    set_used(&oldest.join(file(1).to_string()), 1_000);
    let (cache, _) = try_open(folder.path(), BYTES_MAX, [8; 16]);
    let cache = cache.unwrap();
    keep(&cache, 0, &places(&[40_000]));
    cache.flush();
    let foreign = cache.store_folder().join("notes");
    std::fs::write(&foreign, vec![1; 5 << 20]).unwrap();
    for number in 0..200 {
        keep(&cache, number, &places(&[40_000]));
    }
    cache.flush();
    assert!(foreign.exists() && folder.path().join("letter.txt").exists());
    assert!(!oldest.exists());
    assert_eq!(found(&cache, 199, &places(&[40_000])), [true]);
}

#[test]
fn a_store_that_is_only_opened_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, _) = open(folder.path(), BYTES_MAX);
    assert_eq!(found(&cache, 1, &places(&[10])), [false]);
    cache.stats();
    drop(cache);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Stores that no longer exist, such as those of a test, must not keep their space for ever.
#[test]
fn stores_unused_for_a_month_are_removed() {
    const DAY: u64 = 24 * 3_600;
    let folder = tempfile::tempdir().unwrap();
    let mut folders = Vec::new();
    for (number, days) in [31, 29, 31].into_iter().enumerate() {
        let (cache, _) = try_open(folder.path(), BYTES_MAX, [number as u8; 16]);
        let cache = cache.unwrap();
        keep(&cache, 1, &places(&[10]));
        cache.flush();
        found(&cache, 1, &places(&[10]));
        let path = cache.store_folder().to_owned();
        drop(cache);
        for name in [file(1).to_string(), "counts".into()] {
            set_used(&path.join(name), days * DAY);
        }
        folders.push(path);
    }
    // A file that does not belong to the cache is kept at any age.
    std::fs::write(folders[2].join("notes"), "mine").unwrap();
    let (cache, _) = open(folder.path(), BYTES_MAX);
    keep(&cache, 1, &places(&[10]));
    cache.flush();
    let is_there = |number: usize| folders[number].join(file(1).to_string()).exists();
    assert_eq!([0, 1, 2].map(is_there), [false, true, false]);
    assert!(!folders[0].exists() && folders[2].join("notes").exists());
}

/// A folder and its counts take two blocks, even with a single page: many stores with one page each are bounded as
/// well.
#[test]
fn the_folders_of_very_many_stores_count() {
    let folder = tempfile::tempdir().unwrap();
    let bytes_max = 256 << 10;
    for number in 0..200 {
        let (cache, _) = try_open(folder.path(), bytes_max, [number; 16]);
        let cache = cache.unwrap();
        keep(&cache, 1, &places(&[10]));
        cache.flush();
        found(&cache, 1, &places(&[10]));
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 256 / 8);
}
