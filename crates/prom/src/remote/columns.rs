//! Samples as the columns of two tables: `prom_samples` with one row a sample, `prom_labels` with one row for each
//! label of a series.

use super::sent_series::SentSeries;
use super::texts::{Texts, text_array};
use arrow::array::{ArrayRef, DictionaryArray, Float64Array, TimestampMillisecondArray, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit, UInt32Type};
use arrow::record_batch::RecordBatch;
use atsdb_core::Result;
use hashbrown::HashTable;
use std::sync::Arc;

/// The size of a series in bytes without its texts.
const SERIES_BYTES: usize = 128;

pub(super) fn mapped() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
}

/// The type of times, as the tables have it: other types would be converted value by value.
pub(super) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

/// Times in milliseconds as a column.
pub(super) fn time_array(times: &[i64]) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from(times.to_vec()).with_timezone("UTC"))
}

/// The columns of `prom_samples`.
pub fn samples_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", time_type(), false),
        Field::new("metric", mapped(), false),
        Field::new("series", mapped(), false),
        Field::new("value", DataType::Float64, false),
    ]))
}

/// The columns of `prom_labels`.
pub fn labels_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("series", mapped(), false),
        Field::new("name", mapped(), false),
        Field::new("value", DataType::Utf8, false),
    ]))
}

/// One label of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRow {
    /// The series as text.
    pub series: String,
    /// The label's name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Samples in columns. Each series and each metric is held once, also those of [`Histograms`](super::Histograms) and
/// [`Exemplars`](super::Exemplars).
#[derive(Debug, Default)]
pub struct Samples {
    times: Vec<i64>,
    values: Vec<f64>,
    /// The number of each sample's series.
    of_series: Vec<u32>,
    series: Vec<Arc<SentSeries>>,
    series_bytes: usize,
    /// The numbers of the series, each after the first half of its fingerprint.
    numbers: HashTable<(u64, u32)>,
    /// The number of each series' metric.
    of_metric: Vec<u32>,
    metrics: Texts,
}

impl Samples {
    /// The number of samples.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The series as text, by their numbers. Those without samples are among them.
    pub fn series(&self) -> impl ExactSizeIterator<Item = &str> {
        self.series.iter().map(|series| series.text())
    }

    /// The series by their numbers, as [`series`](Self::series) returns their texts.
    pub fn sent_series(&self) -> &[Arc<SentSeries>] {
        &self.series
    }

    /// Time in milliseconds, number of the series and value of each sample.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u32, f64)> {
        self.times.iter().zip(&self.of_series).zip(&self.values).map(|((time, series), value)| (*time, *series, *value))
    }

    /// The bytes of all series. Those that a cache holds, too, count like others.
    pub(super) fn series_bytes(&self) -> usize {
        self.series_bytes + self.metrics.byte_count()
    }

    /// The number of a series, a new one if the request did not have the series before.
    pub(super) fn series_number(&mut self, series: Arc<SentSeries>) -> u32 {
        let [hash, _] = series.fingerprint();
        let known = self.numbers.find(hash, |(_, number)| self.series[*number as usize].text() == series.text());
        if let Some((_, number)) = known {
            return *number;
        }
        let number = self.series.len() as u32;
        self.numbers.insert_unique(hash, (hash, number), |(hash, _)| *hash);
        self.of_metric.push(self.metrics.number(|text| text.push_str(series.metric())));
        self.series_bytes += SERIES_BYTES + series.text().len() + series.metric().len();
        self.series.push(series);
        number
    }

    /// Adds a sample of a series that has a number.
    pub fn push(&mut self, series: u32, time: i64, value: f64) {
        self.times.push(time);
        self.of_series.push(series);
        self.values.push(value);
    }

    /// The rows of `prom_samples`.
    pub fn to_batch(&self) -> Result<RecordBatch> {
        let [metrics, series] = self.texts_of(&self.of_series)?;
        let columns: Vec<ArrayRef> =
            vec![time_array(&self.times), metrics, series, Arc::new(Float64Array::from(self.values.clone()))];
        Ok(RecordBatch::try_new(samples_schema(), columns)?)
    }

    /// The metrics and the texts of series.
    pub(super) fn texts_of(&self, series: &[u32]) -> Result<[ArrayRef; 2]> {
        let metrics = UInt32Array::from_iter_values(series.iter().map(|series| self.of_metric[*series as usize]));
        let texts = text_array(self.series.iter().map(|series| series.text()))?;
        let series = UInt32Array::from(series.to_vec());
        Ok([
            Arc::new(DictionaryArray::<UInt32Type>::try_new(metrics, Arc::new(self.metrics.to_array()?))?),
            Arc::new(DictionaryArray::<UInt32Type>::try_new(series, Arc::new(texts))?),
        ])
    }
}

impl LabelRow {
    /// The rows of `prom_labels`.
    pub fn to_batch(rows: &[Self]) -> Result<RecordBatch> {
        let mapped = |text: fn(&Self) -> &str| -> ArrayRef {
            Arc::new(rows.iter().map(text).collect::<DictionaryArray<UInt32Type>>())
        };
        let columns: Vec<ArrayRef> = vec![
            mapped(|row| &row.series),
            mapped(|row| &row.name),
            Arc::new(text_array(rows.iter().map(|row| row.value.as_str()))?),
        ];
        Ok(RecordBatch::try_new(labels_schema(), columns)?)
    }
}
