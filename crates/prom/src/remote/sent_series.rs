//! Series as they are stored, and a cache that finds them by the bytes of their labels.
//!
//! A sender repeats the labels of each series in each request, usually as the same bytes. What the bytes mean depends
//! on nothing else: neither on a table nor on an earlier request. So an entry of the cache is never wrong; entries are
//! only evicted. Whether a series is stored already, and under which number, is not decided here.

use crate::labels::{METRIC_NAME, write_series};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// The maximum size of a cache in bytes.
const CACHE_BYTES_MAX: u64 = 64 << 20;

/// The number of series that a cache has room for at first.
const SERIES_EXPECTED: usize = 4_096;

/// Series with more bytes of labels are not cached.
const KEY_BYTES_MAX: usize = 16 << 10;

/// The size of an entry in bytes, without its key and its texts.
const ENTRY_BYTES: usize = 128;

/// A series.
#[derive(Debug)]
pub struct SentSeries {
    text: Box<str>,
    metric: Box<str>,
    fingerprint: [u64; 2],
    label_bytes: usize,
}

impl SentSeries {
    /// The series with these labels, which may be in any order; empty values are left out. The error is the reason why
    /// the series is invalid.
    pub(super) fn new(labels: &mut Vec<(&str, &str)>) -> Result<Self, String> {
        let label_bytes = label_bytes(labels);
        labels.retain(|label| !label.1.is_empty());
        if !labels.is_sorted() {
            labels.sort_unstable();
        }
        if let Some(pair) = labels.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("label {:?} occurs twice in one series", pair[0].0));
        }
        if labels.iter().any(|label| label.0.is_empty()) {
            return Err("a label has no name".to_owned());
        }
        let Some((_, metric)) = labels.iter().find(|label| label.0 == METRIC_NAME) else {
            return Err("a series has no metric name".to_owned());
        };
        let mut text = String::new();
        write_series(&mut text, labels.iter().copied());
        let fingerprint = [0, 1].map(|seed| XxHash3_64::oneshot_with_seed(seed, text.as_bytes()));
        Ok(Self { text: text.into(), metric: (*metric).into(), fingerprint, label_bytes })
    }

    /// The series as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of its metric.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// 128 bits that identify the series: no two series of a store have the same ones.
    pub fn fingerprint(&self) -> [u64; 2] {
        self.fingerprint
    }

    /// The [`label_bytes`] of its labels.
    pub(super) fn label_bytes(&self) -> usize {
        self.label_bytes
    }
}

/// The length of labels as text before escaping: each has quotes, an equals sign and a comma.
pub(super) fn label_bytes(labels: &[(&str, &str)]) -> usize {
    labels.iter().map(|(name, value)| name.len() + value.len() + 6).sum()
}

/// The series of earlier requests, by the bytes of their labels. Of bounded size.
#[derive(Debug)]
pub struct SeriesCache(Cache<Box<[u8]>, Arc<SentSeries>, ByteWeighter>);

#[derive(Debug, Clone)]
struct ByteWeighter;

impl Weighter<Box<[u8]>, Arc<SentSeries>> for ByteWeighter {
    fn weight(&self, key: &Box<[u8]>, series: &Arc<SentSeries>) -> u64 {
        (key.len() + series.text.len() + series.metric.len() + ENTRY_BYTES) as u64
    }
}

impl Default for SeriesCache {
    fn default() -> Self {
        Self(Cache::with_weighter(SERIES_EXPECTED, CACHE_BYTES_MAX, ByteWeighter))
    }
}

impl SeriesCache {
    pub(super) fn get(&self, key: &[u8]) -> Option<Arc<SentSeries>> {
        self.0.get(key)
    }

    pub(super) fn put(&self, key: &[u8], series: &Arc<SentSeries>) {
        if key.len() <= KEY_BYTES_MAX {
            self.0.insert(key.into(), Arc::clone(series));
        }
    }
}

/// Writes the key of labels that are not sent as one block of bytes. It begins with a zero, as no block of version 1
/// does: a field would have this number.
pub(super) fn write_key(key: &mut Vec<u8>, labels: &[(&str, &str)]) {
    key.clear();
    key.push(0);
    for text in labels.iter().flat_map(|(name, value)| [name, value]) {
        key.extend_from_slice(&(text.len() as u64).to_le_bytes());
        key.extend_from_slice(text.as_bytes());
    }
}
