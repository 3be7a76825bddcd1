//! Series from a snapshot of the store.

use super::tables::{METRIC, SAMPLES, SERIES, TIME, VALUE, check_samples};
use atsdb::arrow::array::{ArrayRef, AsArray, UInt32Array};
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Float64Type, TimestampMillisecondType, UInt32Type};
use atsdb::{Comparison, Database, Error, Predicate, ReadSnapshot, Result, ScanRequest, Table, TimeRange, Value};
use atsdb_prom::evaluate::EvaluateError;
use atsdb_prom::labels::{Labels, METRIC_NAME, MatchOp, Matcher, read_series};
use atsdb_prom::{RawSeries, SeriesSource};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum size of remembered labels, by the bytes of their texts.
const CACHED_BYTES_MAX: usize = 64 << 20;

/// The labels of series by their numbers in the dictionary. A number keeps its meaning as long as the table exists.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelCache(Arc<Mutex<Cached>>);

#[derive(Debug, Default)]
struct Cached {
    table: Option<i64>,
    labels: HashMap<u32, Labels>,
    text_bytes: usize,
}

/// The samples in one snapshot.
pub(crate) struct StoreSource<'a> {
    snapshot: ReadSnapshot,
    cache: LabelCache,
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// For each series number, whether the series is selected, and its labels.
struct Chosen<'a> {
    source: &'a StoreSource<'a>,
    table: &'a Table,
    matchers: &'a [Matcher],
    known: HashMap<u32, Option<usize>>,
    found: Vec<RawSeries>,
}

impl<'a> StoreSource<'a> {
    pub(crate) fn new(database: &Database, cache: LabelCache, stop: &'a (dyn Fn() -> bool + Sync)) -> Result<Self> {
        Ok(Self { snapshot: database.snapshot()?, cache, stop })
    }

    /// The labels of all series that have a sample from one time to another and satisfy one of several selectors, each
    /// once.
    pub(crate) fn labels(&self, selectors: &[Vec<Matcher>], range: TimeRange) -> Result<Vec<Labels>, EvaluateError> {
        let mut all = Vec::new();
        for matchers in selectors {
            let found = self.read(matchers, range, None)?;
            all.extend(found.into_iter().map(|series| series.labels));
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Reads series, and their samples if a limit for them is given.
    fn read(
        &self,
        matchers: &[Matcher],
        range: TimeRange,
        samples_max: Option<usize>,
    ) -> Result<Vec<RawSeries>, EvaluateError> {
        let Some(table) = self.snapshot.tables().iter().find(|table| table.definition.name == SAMPLES) else {
            return Ok(Vec::new());
        };
        check_samples(table)?;
        let columns = if samples_max.is_some() { vec![SERIES, TIME, VALUE] } else { vec![SERIES] };
        let as_indices = columns.iter().map(|column| *column == SERIES).collect();
        let request = ScanRequest { columns, range, predicates: predicates(matchers), use_cache: true };
        let scan = self.snapshot.scan(table, &request)?.with_indices(as_indices)?;
        let mut chosen = Chosen { source: self, table, matchers, known: HashMap::new(), found: Vec::new() };
        let mut count = 0;
        for position in 0..scan.chunks().len() {
            if (self.stop)() {
                return Err(EvaluateError::Stopped);
            }
            let Some(rows) = scan.read(position)? else { continue };
            let numbers = rows.column(0).as_primitive::<UInt32Type>();
            chosen.learn(numbers)?;
            let Some(samples_max) = samples_max else { continue };
            let times = rows.column(1).as_primitive::<TimestampMillisecondType>().values();
            let values = rows.column(2).as_primitive::<Float64Type>().values();
            count += chosen.add(numbers.values(), times, values);
            if count > samples_max {
                return Err(EvaluateError::TooManySamples);
            }
        }
        Ok(chosen.sorted())
    }
}

impl SeriesSource for StoreSource<'_> {
    fn select(
        &self,
        matchers: &[Matcher],
        from: i64,
        to: i64,
        samples_max: usize,
    ) -> Result<Vec<RawSeries>, EvaluateError> {
        let range = TimeRange { start: Some(from), end: Some(to.saturating_add(1)) };
        self.read(matchers, range, Some(samples_max))
    }
}

/// The conditions that skip chunks: those on the metric's name.
fn predicates(matchers: &[Matcher]) -> Vec<Predicate> {
    let of_name = matchers.iter().filter(|matcher| matcher.name == METRIC_NAME && matcher.op == MatchOp::Equal);
    of_name.map(|matcher| Predicate::new(METRIC, Comparison::Equal, Value::Text(matcher.value.clone()))).collect()
}

impl Chosen<'_> {
    /// Looks up the series that occur for the first time.
    fn learn(&mut self, numbers: &UInt32Array) -> Result<()> {
        let mut new: Vec<u32> = Vec::new();
        let mut last = None;
        for number in numbers.values() {
            if last.replace(*number) != Some(*number) && !self.known.contains_key(number) {
                self.known.insert(*number, None);
                new.push(*number);
            }
        }
        for (number, labels) in self.source.labels_of(self.table, new)? {
            if self.matchers.iter().all(|matcher| matcher.matches(labels.get(&matcher.name))) {
                self.known.insert(number, Some(self.found.len()));
                self.found.push(RawSeries { labels, times: Vec::new(), values: Vec::new() });
            }
        }
        Ok(())
    }

    /// Adds the samples of the selected series. Rows of one series are adjacent in sealed chunks.
    fn add(&mut self, numbers: &[u32], times: &[i64], values: &[f64]) -> usize {
        let mut count = 0;
        let mut from = 0;
        for run in numbers.chunk_by(|one, next| one == next) {
            let to = from + run.len();
            if let Some(Some(index)) = self.known.get(&run[0]) {
                let series = &mut self.found[*index];
                series.times.extend_from_slice(&times[from..to]);
                series.values.extend_from_slice(&values[from..to]);
                count += run.len();
            }
            from = to;
        }
        count
    }

    /// The series by their labels, with their samples by time.
    fn sorted(self) -> Vec<RawSeries> {
        let mut found = self.found;
        for series in &mut found {
            if !series.times.is_sorted() {
                let mut samples: Vec<(i64, f64)> =
                    series.times.iter().copied().zip(series.values.iter().copied()).collect();
                samples.sort_by_key(|sample| sample.0);
                (series.times, series.values) = samples.into_iter().unzip();
            }
        }
        found.sort_by(|one, other| one.labels.cmp(&other.labels));
        found
    }
}

impl StoreSource<'_> {
    /// The labels of series by their numbers.
    fn labels_of(&self, table: &Table, numbers: Vec<u32>) -> Result<Vec<(u32, Labels)>> {
        let mut cache = self.cache.0.lock();
        if cache.table != Some(table.id.0) || cache.text_bytes > CACHED_BYTES_MAX {
            *cache = Cached { table: Some(table.id.0), ..Cached::default() };
        }
        let missing: Vec<u32> = numbers.iter().copied().filter(|number| !cache.labels.contains_key(number)).collect();
        if !missing.is_empty() {
            let column = &table.definition.columns[SERIES];
            let indices: ArrayRef = Arc::new(UInt32Array::from(missing.clone()));
            let strings = cast(&self.snapshot.strings(table, column, &indices)?, &DataType::Utf8)?;
            let texts = strings.as_string::<i32>();
            for (index, number) in missing.into_iter().enumerate() {
                let text = texts.value(index);
                let labels = read_series(text)
                    .ok_or_else(|| Error::invalid(format!("table {SAMPLES} holds {text:?}, which is not a series")))?;
                cache.text_bytes += text.len();
                cache.labels.insert(number, labels);
            }
        }
        Ok(numbers.into_iter().filter_map(|number| Some((number, cache.labels.get(&number)?.clone()))).collect())
    }
}
