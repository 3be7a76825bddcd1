//! Shared helpers: a cache whose warnings are kept, and pages that can be checked for being whole.

use atsdb_core::ChunkUid;
use atsdb_pagecache::{PageCache, PageCacheOptions, PageFile, PageRange};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

pub(crate) const URL: &str = "postgresql://me@host/air";
pub(crate) const UID: [u8; 16] = [7; 16];

#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

pub(crate) fn try_open(folder: &Path, bytes_max: u64, uid: [u8; 16]) -> (Option<PageCache>, Warnings) {
    let warnings = Warnings::default();
    let keep = Arc::clone(&warnings.0);
    let on_warning = Arc::new(move |text: &str| keep.lock().push(text.to_owned()));
    let options = PageCacheOptions { folder: folder.to_owned(), bytes_max, on_warning };
    (PageCache::open(&options, URL, uid), warnings)
}

pub(crate) fn open(folder: &Path, bytes_max: u64) -> (PageCache, Warnings) {
    let (cache, warnings) = try_open(folder, bytes_max, UID);
    (cache.unwrap(), warnings)
}

pub(crate) fn file(number: u64) -> PageFile {
    let mut uid = [3; 16];
    uid[..8].copy_from_slice(&number.to_le_bytes());
    PageFile::of_columns(ChunkUid(uid))
}

/// The content of a page, which follows from its file and range: no two pages are equal.
pub(crate) fn page(number: u64, place: PageRange) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.offset ^ 0x5555_5555_5555_5555;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8 | 1
    };
    (0..place.byte_count).map(|_| next()).collect()
}

pub(crate) fn places(sizes: &[u32]) -> Vec<PageRange> {
    let mut offset = 0;
    let place = |size: &u32| {
        offset += u64::from(*size);
        PageRange { offset: offset - u64::from(*size), byte_count: *size }
    };
    sizes.iter().map(place).collect()
}

pub(crate) fn keep(cache: &PageCache, number: u64, places: &[PageRange]) {
    cache.keep(file(number), places.iter().map(|place| (*place, page(number, *place))).collect());
}

/// Returns which of the pages are found, after checking that these are right.
pub(crate) fn found(cache: &PageCache, number: u64, places: &[PageRange]) -> Vec<bool> {
    let is_whole = |position: usize, bytes: &[u8]| bytes == page(number, places[position]);
    let pages = cache.read(&file(number), places, is_whole);
    assert_eq!(pages.len(), places.len());
    for (found, place) in pages.iter().zip(places) {
        assert!(found.as_ref().is_none_or(|bytes| *bytes == page(number, *place)));
    }
    pages.iter().map(Option::is_some).collect()
}

/// Dates all files back by a minute: an incomplete page then counts as damage, not as a write in progress.
pub(crate) fn let_time_pass(cache: &PageCache) {
    for entry in std::fs::read_dir(cache.store_folder()).unwrap() {
        let file = std::fs::File::open(entry.unwrap().path()).unwrap();
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        file.set_times(std::fs::FileTimes::new().set_modified(past)).unwrap();
    }
}
