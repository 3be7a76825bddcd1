//! Exemplars as the columns of the table `prom_exemplars`, with one row each.

use super::columns::{Samples, mapped, time_array, time_type};
use super::texts::text_array;
use crate::labels::Labels;
use arrow::array::{ArrayRef, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use atsdb_core::Result;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns of `prom_exemplars`.
pub fn exemplars_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", time_type(), false),
        Field::new("metric", mapped(), false),
        Field::new("series", mapped(), false),
        Field::new("value", DataType::Float64, false),
        Field::new("labels", DataType::Utf8, false),
    ]))
}

/// An exemplar as it is sent.
#[derive(Debug, Default)]
pub(crate) struct SentExemplar<'a> {
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    pub(crate) value: f64,
    /// Names and values in any order.
    pub(crate) labels: Vec<(&'a str, &'a str)>,
}

/// Exemplars of series that [`Samples`] have numbered.
#[derive(Debug, Default)]
pub struct Exemplars {
    times: Vec<i64>,
    of_series: Vec<u32>,
    values: Vec<f64>,
    labels: Vec<String>,
}

impl Exemplars {
    /// The number of exemplars.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether the request has no exemplars.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Time in milliseconds, number of the series, value and labels of each exemplar. The labels are the text of a JSON
    /// object.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u32, f64, &str)> {
        let all = self.times.iter().zip(&self.of_series).zip(&self.values).zip(&self.labels);
        all.map(|(((time, series), value), labels)| (*time, *series, *value, labels.as_str()))
    }

    /// Adds an exemplar of a series that has a number. Returns the length of its labels in bytes.
    pub(super) fn push(&mut self, series: u32, exemplar: &SentExemplar<'_>) -> usize {
        let labels = written(&exemplar.labels);
        let length = labels.len();
        self.times.push(exemplar.time);
        self.of_series.push(series);
        self.values.push(exemplar.value);
        self.labels.push(labels);
        length
    }

    /// The rows of `prom_exemplars`. `samples` has the series.
    pub fn to_batch(&self, samples: &Samples) -> Result<RecordBatch> {
        let [metrics, series] = samples.texts_of(&self.of_series)?;
        let columns: Vec<ArrayRef> = vec![
            time_array(&self.times),
            metrics,
            series,
            Arc::new(Float64Array::from(self.values.clone())),
            Arc::new(text_array(self.labels.iter().map(String::as_str))?),
        ];
        Ok(RecordBatch::try_new(exemplars_schema(), columns)?)
    }
}

/// Labels as the text of a JSON object, sorted by name, so that equal labels have equal texts. Empty values are left
/// out. The last value of a repeated name counts.
fn written(labels: &[(&str, &str)]) -> String {
    let mut sorted: BTreeMap<&str, &str> = labels.iter().copied().collect();
    sorted.retain(|_, value| !value.is_empty());
    let pair = |(name, value): (&str, &str)| (name.to_owned(), Value::from(value));
    let object: Map<String, Value> = sorted.into_iter().map(pair).collect();
    Value::Object(object).to_string()
}

/// Reads the labels of a row of `prom_exemplars`; `None` if the text is not an object of texts.
pub fn read_exemplar_labels(text: &str) -> Option<Labels> {
    let object: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    Some(Labels::new(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_survive_their_text_in_any_order() {
        let text = written(&[("trace_id", "a\"b\n"), ("span_id", "1"), ("empty", ""), ("ä", "ö")]);
        assert_eq!(text, r#"{"span_id":"1","trace_id":"a\"b\n","ä":"ö"}"#);
        assert_eq!(written(&[("ä", "ö"), ("span_id", "1"), ("trace_id", "a\"b\n")]), text);
        let labels = Labels::new([("trace_id", "a\"b\n"), ("span_id", "1"), ("ä", "ö")]);
        assert_eq!(read_exemplar_labels(&text), Some(labels));
        assert_eq!(read_exemplar_labels(&written(&[])), Some(Labels::default()));
        for wrong in ["", "[]", r#"{"a":1}"#, "{"] {
            assert_eq!(read_exemplar_labels(wrong), None, "{wrong}");
        }
    }
}
