//! Series from a snapshot of the store.

use super::tables::{
    EXEMPLAR_LABELS, EXEMPLARS, HISTOGRAM, HISTOGRAMS, METRIC, SAMPLES, SERIES, TIME, VALUE, check_exemplars,
    check_histograms, check_samples,
};
use atsdb::arrow::array::{ArrayRef, AsArray, UInt32Array};
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Float64Type, TimestampMillisecondType, UInt32Type};
use atsdb::arrow::record_batch::RecordBatch;
use atsdb::{Comparison, Database, Error, Predicate, ReadSnapshot, Result, ScanRequest, Table, TimeRange, Value};
use atsdb_prom::evaluate::{EvaluateError, RawHistograms};
use atsdb_prom::histogram::Histogram;
use atsdb_prom::labels::{Labels, METRIC_NAME, MatchOp, Matcher, read_series};
use atsdb_prom::remote::{HISTOGRAM_COLUMNS, StoredHistograms, read_exemplar_labels};
use atsdb_prom::{RawSeries, SeriesSource};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The maximum size of remembered labels, by the bytes of their texts.
const CACHED_BYTES_MAX: usize = 64 << 20;

/// The bytes that a byte of an exemplar's labels takes in memory and in an answer.
const EXEMPLAR_BYTES_FACTOR: usize = 8;

/// The labels of series by their numbers in the dictionaries of the tables with samples and exemplars.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelCache {
    samples: TableLabels,
    histograms: TableLabels,
    exemplars: TableLabels,
}

/// The labels of series by their numbers in a dictionary. A number keeps its meaning as long as the table exists.
type TableLabels = Arc<Mutex<Cached>>;

#[derive(Debug, Default)]
struct Cached {
    table: Option<i64>,
    labels: HashMap<u32, Labels>,
    text_bytes: usize,
}

/// An exemplar that is stored.
#[derive(Debug, Clone)]
pub(crate) struct Exemplar {
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    pub(crate) value: f64,
    pub(crate) labels: Labels,
}

/// The exemplars of a series, by time.
#[derive(Debug)]
pub(crate) struct SeriesExemplars {
    pub(crate) labels: Labels,
    pub(crate) exemplars: Vec<Exemplar>,
}

/// The samples in one snapshot.
pub(crate) struct StoreSource<'a> {
    snapshot: ReadSnapshot,
    cache: LabelCache,
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// A read of series: which of them, and which of their columns.
struct SeriesRead<'a> {
    table: &'a Table,
    cache: &'a TableLabels,
    matchers: &'a [Matcher],
    range: TimeRange,
    /// The columns with the values; none if only the series are wanted.
    columns: Vec<usize>,
}

/// The series that were looked up: whether each is selected, by number, and the labels and values of the selected ones.
struct Chosen<'a, V> {
    source: &'a StoreSource<'a>,
    wanted: &'a SeriesRead<'a>,
    known: HashMap<u32, Option<usize>>,
    found: Vec<Selected<V>>,
}

/// A series with the times and values of its samples.
struct Selected<V> {
    labels: Labels,
    times: Vec<i64>,
    values: Vec<V>,
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
            for wanted in [self.samples(matchers, range)?, self.histograms(matchers, range)?].into_iter().flatten() {
                let found = self.read::<()>(&SeriesRead { columns: Vec::new(), ..wanted }, |_, _| Ok(()))?;
                all.extend(found.into_iter().map(|series| series.labels));
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// The exemplars of all series that satisfy one of several selectors, each series once. They take at most
    /// `bytes_max` bytes.
    pub(crate) fn exemplars(
        &self,
        selectors: &[Vec<Matcher>],
        range: TimeRange,
        bytes_max: usize,
    ) -> Result<Vec<SeriesExemplars>, EvaluateError> {
        let Some(table) = self.table(EXEMPLARS) else { return Ok(Vec::new()) };
        check_exemplars(table)?;
        let (mut all, mut byte_count) = (Vec::new(), 0);
        for (at, matchers) in selectors.iter().enumerate() {
            if selectors[..at].iter().any(|before| are_same(before, matchers)) {
                continue;
            }
            let columns = vec![VALUE, EXEMPLAR_LABELS];
            let wanted = SeriesRead { table, cache: &self.cache.exemplars, matchers, range, columns };
            let found = self.read(&wanted, |rows, chosen| {
                let values = rows.column(2).as_primitive::<Float64Type>();
                let times = rows.column(1).as_primitive::<TimestampMillisecondType>();
                let texts = cast(rows.column(3), &DataType::Utf8).map_err(Error::from)?;
                let texts = texts.as_string::<i32>();
                chosen.add(rows, |range, to| {
                    for row in range {
                        let text = texts.value(row);
                        byte_count += size_of::<Exemplar>() + EXEMPLAR_BYTES_FACTOR * text.len();
                        if byte_count > bytes_max {
                            return Err(EvaluateError::TooManySamples);
                        }
                        let labels = read_exemplar_labels(text).ok_or_else(|| {
                            Error::invalid(format!("table {EXEMPLARS} holds the labels {text:?}, which are not valid"))
                        })?;
                        to.push(Exemplar { time: times.value(row), value: values.value(row), labels });
                    }
                    Ok(())
                })?;
                Ok(())
            })?;
            all.extend(found.into_iter().map(|own| SeriesExemplars { labels: own.labels, exemplars: own.values }));
        }
        all.sort_by(|one, other| one.labels.cmp(&other.labels));
        all.dedup_by(|one, other| one.labels == other.labels);
        for series in &mut all {
            series.exemplars.sort_by(|one, other| {
                let by_value = one.value.total_cmp(&other.value);
                one.time.cmp(&other.time).then(by_value).then_with(|| one.labels.cmp(&other.labels))
            });
        }
        Ok(all)
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.snapshot.tables().iter().find(|table| table.definition.name == name)
    }

    /// The samples of series that satisfy every condition; `None` if there is no table.
    fn samples<'b>(&'b self, matchers: &'b [Matcher], range: TimeRange) -> Result<Option<SeriesRead<'b>>> {
        let Some(table) = self.table(SAMPLES) else { return Ok(None) };
        check_samples(table)?;
        Ok(Some(SeriesRead { table, cache: &self.cache.samples, matchers, range, columns: vec![VALUE] }))
    }

    /// Their native histograms.
    fn histograms<'b>(&'b self, matchers: &'b [Matcher], range: TimeRange) -> Result<Option<SeriesRead<'b>>> {
        let Some(table) = self.table(HISTOGRAMS) else { return Ok(None) };
        check_histograms(table)?;
        let columns = (HISTOGRAM..HISTOGRAM + HISTOGRAM_COLUMNS.len()).collect();
        Ok(Some(SeriesRead { table, cache: &self.cache.histograms, matchers, range, columns }))
    }

    /// Reads series. Of each chunk, `add` gets the rows and the series that were selected so far.
    fn read<V: Clone>(
        &self,
        wanted: &SeriesRead<'_>,
        mut add: impl FnMut(&RecordBatch, &mut Chosen<'_, V>) -> Result<(), EvaluateError>,
    ) -> Result<Vec<Selected<V>>, EvaluateError> {
        let mut columns = vec![SERIES];
        if !wanted.columns.is_empty() {
            columns.push(TIME);
            columns.extend(&wanted.columns);
        }
        let as_indices = columns.iter().map(|column| *column == SERIES).collect();
        let predicates = predicates(wanted.matchers);
        let request = ScanRequest { columns, range: wanted.range, predicates, use_cache: true };
        let scan = self.snapshot.scan(wanted.table, &request)?.with_indices(as_indices)?;
        let mut chosen = Chosen { source: self, wanted, known: HashMap::new(), found: Vec::new() };
        for position in 0..scan.chunks().len() {
            if (self.stop)() {
                return Err(EvaluateError::Stopped);
            }
            let Some(rows) = scan.read(position)? else { continue };
            chosen.learn(rows.column(0).as_primitive::<UInt32Type>())?;
            if !wanted.columns.is_empty() {
                add(&rows, &mut chosen)?;
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
        let Some(wanted) = self.samples(matchers, range)? else { return Ok(Vec::new()) };
        let mut count = 0;
        let found = self.read(&wanted, |rows, chosen| {
            let values = rows.column(2).as_primitive::<Float64Type>().values();
            count += chosen.add(rows, |range, to| {
                to.extend_from_slice(&values[range]);
                Ok(())
            })?;
            if count > samples_max { Err(EvaluateError::TooManySamples) } else { Ok(()) }
        })?;
        let series = |own: Selected<f64>| RawSeries { labels: own.labels, times: own.times, values: own.values };
        Ok(found.into_iter().map(series).collect())
    }

    fn select_histograms(
        &self,
        matchers: &[Matcher],
        from: i64,
        to: i64,
        samples_max: usize,
    ) -> Result<Vec<RawHistograms>, EvaluateError> {
        let range = TimeRange { start: Some(from), end: Some(to.saturating_add(1)) };
        let Some(wanted) = self.histograms(matchers, range)? else { return Ok(Vec::new()) };
        let mut count = 0;
        let found = self.read(&wanted, |rows, chosen| {
            let stored = StoredHistograms::new(&rows.columns()[2..]).map_err(Error::from)?;
            chosen.add(rows, |range, to| {
                for row in range {
                    let histogram = stored.get(row).map_err(|reason| {
                        Error::invalid(format!("table {HISTOGRAMS} holds a histogram that is not valid: {reason}"))
                    })?;
                    count += histogram.sample_count();
                    if count > samples_max {
                        return Err(EvaluateError::TooManySamples);
                    }
                    to.push(Arc::new(histogram));
                }
                Ok(())
            })?;
            Ok(())
        })?;
        let series = |own: Selected<Arc<Histogram>>| RawHistograms {
            labels: own.labels,
            times: own.times,
            histograms: own.values,
        };
        Ok(found.into_iter().map(series).collect())
    }
}

/// Returns whether two selectors have the same conditions in the same order.
fn are_same(some: &[Matcher], others: &[Matcher]) -> bool {
    fn condition(matcher: &Matcher) -> (&str, MatchOp, &str) {
        (&matcher.name, matcher.op, &matcher.value)
    }
    some.iter().map(condition).eq(others.iter().map(condition))
}

/// The conditions that skip chunks: those on the metric's name.
fn predicates(matchers: &[Matcher]) -> Vec<Predicate> {
    let of_name = matchers.iter().filter(|matcher| matcher.name == METRIC_NAME && matcher.op == MatchOp::Equal);
    of_name.map(|matcher| Predicate::new(METRIC, Comparison::Equal, Value::Text(matcher.value.clone()))).collect()
}

impl<V: Clone> Chosen<'_, V> {
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
        for (number, labels) in self.source.labels_of(self.wanted, new)? {
            if self.wanted.matchers.iter().all(|matcher| matcher.matches(labels.get(&matcher.name))) {
                self.known.insert(number, Some(self.found.len()));
                self.found.push(Selected { labels, times: Vec::new(), values: Vec::new() });
            }
        }
        Ok(())
    }

    /// Adds the samples of the selected series from rows whose first columns are series and time. `add_values` adds
    /// those of consecutive rows. Rows of one series are adjacent in sealed chunks.
    fn add(
        &mut self,
        rows: &RecordBatch,
        mut add_values: impl FnMut(Range<usize>, &mut Vec<V>) -> Result<(), EvaluateError>,
    ) -> Result<usize, EvaluateError> {
        let numbers = rows.column(0).as_primitive::<UInt32Type>().values();
        let times = rows.column(1).as_primitive::<TimestampMillisecondType>().values();
        let mut count = 0;
        let mut from = 0;
        for run in numbers.chunk_by(|one, next| one == next) {
            let to = from + run.len();
            if let Some(Some(index)) = self.known.get(&run[0]) {
                let series = &mut self.found[*index];
                series.times.extend_from_slice(&times[from..to]);
                add_values(from..to, &mut series.values)?;
                count += run.len();
            }
            from = to;
        }
        Ok(count)
    }

    /// The series by their labels, with their samples by time.
    fn sorted(self) -> Vec<Selected<V>> {
        let mut found = self.found;
        for series in &mut found {
            if !series.times.is_sorted() {
                let times = std::mem::take(&mut series.times);
                let mut samples: Vec<(i64, V)> = times.into_iter().zip(std::mem::take(&mut series.values)).collect();
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
    fn labels_of(&self, wanted: &SeriesRead<'_>, numbers: Vec<u32>) -> Result<Vec<(u32, Labels)>> {
        let table = wanted.table;
        let mut cache = wanted.cache.lock();
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
                let labels = read_series(text).ok_or_else(|| {
                    let name = &table.definition.name;
                    Error::invalid(format!("table {name} holds {text:?}, which is not a series"))
                })?;
                cache.text_bytes += text.len();
                cache.labels.insert(number, labels);
            }
        }
        Ok(numbers.into_iter().filter_map(|number| Some((number, cache.labels.get(&number)?.clone()))).collect())
    }
}
