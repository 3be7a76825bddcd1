//! Stores the samples of many requests in one commit.

use super::tables::{PromTables, RareTables};
use crate::ingest::attempts;
use crate::ingest::queue::{GroupQueue, GroupWriter};
use crate::ingest::request_memory::MemoryReservation;
use atsdb::arrow::array::{ArrayRef, RecordBatch, StringArray};
use atsdb::{Database, Error, Result};
use atsdb_prom::labels::read_series;
use atsdb_prom::remote::{LabelRow, Metadata, WriteRequest};
use hashbrown::HashSet;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The maximum number of series whose labels are remembered as stored.
const KNOWN_SERIES_MAX: usize = 2_000_000;

/// The maximum number of metrics whose stored metadata is remembered.
const KNOWN_METRICS_MAX: usize = 100_000;

/// The waiting requests with samples.
pub(crate) type SampleQueue = GroupQueue<SampleWriter>;

/// Waiting samples, with their share of the memory for all requests.
#[derive(Debug)]
pub(crate) struct SampleRequest {
    pub(crate) write: WriteRequest,
    pub(crate) _reservation: MemoryReservation,
}

/// Stores samples, native histograms, exemplars, new labels, and metadata of metrics.
pub(crate) struct SampleWriter {
    database: Database,
    known: Mutex<StoredSeries>,
}

/// The series and metadata that are known to be stored in the tables with these numbers.
#[derive(Default)]
struct StoredSeries {
    tables: Option<[i64; 2]>,
    /// Fingerprints.
    series: HashSet<[u64; 2]>,
    metadata: HashMap<String, Metadata>,
}

impl SampleWriter {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, known: Mutex::default() }
    }
}

impl GroupWriter for SampleWriter {
    type Request = SampleRequest;
    type Report = ();

    /// Returns one, because two concurrent commits could add samples of the same series.
    fn worker_count_max(&self) -> usize {
        1
    }

    fn byte_count(request: &SampleRequest) -> usize {
        request.write.byte_count()
    }

    fn stands_alone(_: &SampleRequest) -> bool {
        false
    }

    fn store(&self, group: &[SampleRequest]) -> Result<Vec<()>> {
        let mut known = self.known.lock();
        attempts::repeat(|| known.store(&self.database, group))?;
        Ok(vec![(); group.len()])
    }
}

impl StoredSeries {
    fn store(&mut self, database: &Database, group: &[SampleRequest]) -> Result<()> {
        let snapshot = database.snapshot()?;
        let mut batch = database.batch(None);
        let needed = RareTables {
            histograms: group.iter().any(|request| !request.write.histograms.is_empty()),
            exemplars: group.iter().any(|request| !request.write.exemplars.is_empty()),
        };
        let tables = PromTables::of(&mut batch, snapshot.tables(), needed)?;
        drop(snapshot);
        self.forget_other(&tables);
        let (mut new_series, mut label_rows) = (HashSet::new(), Vec::new());
        let mut new_metadata: BTreeMap<&str, &Metadata> = BTreeMap::new();
        for request in group {
            let WriteRequest { samples, histograms, exemplars, metadata, .. } = &request.write;
            for series in samples.sent_series() {
                let fingerprint = series.fingerprint();
                if !self.series.contains(&fingerprint) && new_series.insert(fingerprint) {
                    label_rows.extend(labels_of(series.text())?);
                }
            }
            for about in metadata.iter().filter(|about| self.metadata.get(&about.metric) != Some(about)) {
                new_metadata.insert(&about.metric, about);
            }
            if !samples.is_empty() {
                batch.append(&tables.samples, &samples.to_batch()?)?;
            }
            if let Some(table) = tables.histograms.as_ref().filter(|_| !histograms.is_empty()) {
                batch.append(table, &histograms.to_batch(samples)?)?;
            }
            if let Some(table) = tables.exemplars.as_ref().filter(|_| !exemplars.is_empty()) {
                batch.append(table, &exemplars.to_batch(samples)?)?;
            }
        }
        if !label_rows.is_empty() {
            batch.append(&tables.labels, &LabelRow::to_batch(&label_rows)?)?;
        }
        if !new_metadata.is_empty() {
            batch.append(&tables.metadata, &metadata_rows(&new_metadata)?)?;
        }
        batch.commit()?;
        if self.series.len() + new_series.len() > KNOWN_SERIES_MAX {
            self.series.clear();
        }
        self.series.extend(new_series);
        if self.metadata.len() + new_metadata.len() > KNOWN_METRICS_MAX {
            self.metadata.clear();
        }
        self.metadata.extend(new_metadata.into_values().map(|about| (about.metric.clone(), about.clone())));
        Ok(())
    }

    /// Forgets what was stored in tables that have since been dropped.
    fn forget_other(&mut self, tables: &PromTables) {
        let numbers = Some([tables.labels.id.0, tables.metadata.id.0]);
        if self.tables != numbers {
            *self = Self { tables: numbers, ..Self::default() };
        }
    }
}

fn labels_of(series: &str) -> Result<Vec<LabelRow>> {
    let labels = read_series(series).ok_or_else(|| Error::internal(format!("{series:?} is not a series")))?;
    let row = |(name, value): (&str, &str)| LabelRow {
        series: series.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Ok(labels.iter().map(row).collect())
}

fn metadata_rows(metadata: &BTreeMap<&str, &Metadata>) -> Result<RecordBatch> {
    let texts = |text: fn(&Metadata) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(metadata.values().map(|about| text(about))))
    };
    let columns = [
        ("metric", texts(|about| &about.metric)),
        ("kind", texts(|about| about.kind.name())),
        ("help", texts(|about| &about.help)),
        ("unit", texts(|about| &about.unit)),
    ];
    RecordBatch::try_from_iter(columns).map_err(Error::from)
}
