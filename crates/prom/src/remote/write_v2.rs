//! Remote write 2.0: `io.prometheus.write.v2.Request`. Each text occurs once, in a table of symbols.

use super::budget::check_label_count;
use super::error::RemoteError;
use super::exemplars::SentExemplar;
use super::fields::{FieldValue, Fields, each_varint, sample, text};
use super::histogram;
use super::request::{Metadata, MetricKind, WriteRequest};
use super::sent_series::{SeriesCache, label_bytes, write_key};
use crate::labels::METRIC_NAME;

type Result<T> = std::result::Result<T, RemoteError>;

pub(super) fn decode(body: &[u8], cache: &SeriesCache, request: &mut WriteRequest) -> Result<()> {
    let symbols = symbols(body, request)?;
    let mut fields = Fields::new(body);
    let symbols = Symbols(&symbols);
    let mut decoder = SeriesDecoder { symbols, cache, references: Vec::new(), labels: Vec::new(), key: Vec::new() };
    while let Some(field) = fields.next()? {
        if let (5, FieldValue::Bytes(message)) = field {
            decoder.decode(message, request)?;
        }
    }
    Ok(())
}

fn symbols<'a>(body: &'a [u8], request: &mut WriteRequest) -> Result<Vec<&'a str>> {
    let mut symbols = Vec::new();
    let mut fields = Fields::new(body);
    while let Some(field) = fields.next()? {
        if let (4, FieldValue::Bytes(bytes)) = field {
            request.spend(size_of::<&str>())?;
            symbols.push(text(bytes)?);
        }
    }
    if symbols.first().is_some_and(|first| !first.is_empty()) {
        return Err(RemoteError::malformed("the first symbol is not empty"));
    }
    Ok(symbols)
}

/// The texts of a request. Messages refer to them by their positions.
#[derive(Clone, Copy)]
struct Symbols<'a>(&'a [&'a str]);

impl<'a> Symbols<'a> {
    fn get(self, reference: u64) -> Result<&'a str> {
        let symbol = usize::try_from(reference).ok().and_then(|index| self.0.get(index));
        symbol
            .copied()
            .ok_or_else(|| RemoteError::malformed(format!("symbol {reference} is not among {} symbols", self.0.len())))
    }

    /// Adds the labels whose names and values alternate in the references. `owner` is what has the labels.
    fn push_labels(self, references: &[u64], owner: &str, labels: &mut Vec<(&'a str, &'a str)>) -> Result<()> {
        let (pairs, []) = references.as_chunks::<2>() else {
            return Err(RemoteError::malformed(format!("{owner} has an odd number of label references")));
        };
        for [name, value] in pairs {
            labels.push((self.get(*name)?, self.get(*value)?));
        }
        Ok(())
    }
}

/// Adds the references of a field, one or packed.
fn push_references(value: FieldValue<'_>, references: &mut Vec<u64>) -> Result<()> {
    each_varint(value, |reference| {
        references.push(reference);
        check_label_count(references.len() / 2)
    })
}

/// Decodes one series after the other.
struct SeriesDecoder<'a> {
    symbols: Symbols<'a>,
    cache: &'a SeriesCache,
    references: Vec<u64>,
    /// The labels of the series.
    labels: Vec<(&'a str, &'a str)>,
    key: Vec<u8>,
}

impl<'a> SeriesDecoder<'a> {
    fn decode(&mut self, message: &[u8], request: &mut WriteRequest) -> Result<()> {
        self.references.clear();
        let (mut metadata, mut histograms, mut exemplars) = (None, 0, 0);
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, value) => push_references(value, &mut self.references)?,
                (3, FieldValue::Bytes(_)) => histograms += 1,
                (4, FieldValue::Bytes(_)) => exemplars += 1,
                (5, FieldValue::Bytes(message)) => metadata = Some(message),
                _ => {}
            }
        }
        self.labels.clear();
        self.symbols.push_labels(&self.references, "a series", &mut self.labels)?;
        // A key has as many bytes as its texts, which references may repeat.
        request.check_text(label_bytes(&self.labels))?;
        write_key(&mut self.key, &self.labels);
        let labels = || Ok(self.labels.clone());
        let Some(number) = request.cached_series_number(self.cache, &self.key, labels)? else {
            request.refused.histograms += histograms;
            request.refused.exemplars += exemplars;
            return Ok(());
        };
        self.push_values(number, message, request)?;
        if let Some(message) = metadata {
            self.push_metadata(message, request)?;
        }
        Ok(())
    }

    /// Adds the samples, histograms and exemplars of a series that has a number.
    fn push_values(&mut self, number: u32, message: &[u8], request: &mut WriteRequest) -> Result<()> {
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (2, FieldValue::Bytes(message)) => {
                    let (time, value) = sample(message)?;
                    request.push_sample(number, time, value)?;
                }
                (3, FieldValue::Bytes(message)) => histogram::read(number, message, request)?,
                (4, FieldValue::Bytes(message)) => request.push_exemplar(number, &self.exemplar(message)?)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn exemplar(&mut self, message: &[u8]) -> Result<SentExemplar<'a>> {
        self.references.clear();
        let mut exemplar = SentExemplar::default();
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, value) => push_references(value, &mut self.references)?,
                (2, FieldValue::Fixed64(bits)) => exemplar.value = f64::from_bits(bits),
                (3, FieldValue::Varint(milliseconds)) => exemplar.time = milliseconds.cast_signed(),
                _ => {}
            }
        }
        self.symbols.push_labels(&self.references, "an exemplar", &mut exemplar.labels)?;
        Ok(exemplar)
    }

    /// Adds the metadata of the series' metric.
    fn push_metadata(&self, message: &[u8], request: &mut WriteRequest) -> Result<()> {
        let is_metric = |label: &&(&str, &str)| label.0 == METRIC_NAME && !label.1.is_empty();
        let metric = self.labels.iter().find(is_metric).map_or("", |label| label.1);
        let (mut kind, mut help, mut unit) = (MetricKind::Unknown, "", "");
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, FieldValue::Varint(number)) => kind = MetricKind::of(number),
                (3, FieldValue::Varint(reference)) => help = self.symbols.get(reference)?,
                (4, FieldValue::Varint(reference)) => unit = self.symbols.get(reference)?,
                _ => {}
            }
        }
        request.check_text(metric.len() + help.len() + unit.len())?;
        let [metric, help, unit] = [metric, help, unit].map(str::to_owned);
        request.push_metadata(Metadata { metric, kind, help, unit })
    }
}
