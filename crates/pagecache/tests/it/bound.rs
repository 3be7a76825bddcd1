//! The bound holds, whoever writes; what was not used for longest goes first; what is not the cache's own stays.

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
fn what_was_not_used_for_longest_goes_first() {
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
    assert_eq!(found(&cache, 3, &places), [true], "used lately, and gone");
    assert_eq!(found(&cache, 0, &places), [false], "the oldest is there");
    assert_eq!(found(&cache, 129, &places), [true]);
}

#[test]
fn files_of_others_stay_and_stores_that_are_empty_go() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), vec![1; 5 << 20]).unwrap();
    let (gone, _) = try_open(folder.path(), BYTES_MAX, UID);
    let gone = gone.unwrap().store_folder().to_owned();
    let (cache, _) = try_open(folder.path(), BYTES_MAX, [8; 16]);
    let cache = cache.unwrap();
    let foreign = cache.store_folder().join("notes");
    std::fs::write(&foreign, vec![1; 5 << 20]).unwrap();
    for number in 0..200 {
        keep(&cache, number, &places(&[40_000]));
    }
    cache.flush();
    assert!(foreign.exists() && folder.path().join("letter.txt").exists());
    assert!(!gone.exists());
    assert_eq!(found(&cache, 199, &places(&[40_000])), [true]);
}
