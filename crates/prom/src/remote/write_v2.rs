//! Remote write 2.0: `io.prometheus.write.v2.Request`. Each text occurs once, in a table of symbols.

use super::budget::check_label_count;
use super::error::RemoteError;
use super::fields::{FieldValue, Fields, sample, text};
use super::histogram;
use super::request::{Metadata, MetricKind, WriteRequest};
use crate::labels::METRIC_NAME;

pub(super) fn decode(body: &[u8], request: &mut WriteRequest) -> Result<(), RemoteError> {
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
    let mut fields = Fields::new(body);
    let mut series = Series { symbols: &symbols, references: Vec::new(), labels: Vec::new() };
    while let Some(field) = fields.next()? {
        if let (5, FieldValue::Bytes(message)) = field {
            series.decode(message, request)?;
        }
    }
    Ok(())
}

struct Series<'a> {
    symbols: &'a [&'a str],
    references: Vec<u64>,
    labels: Vec<(&'a str, &'a str)>,
}

impl<'a> Series<'a> {
    fn symbol(&self, reference: u64) -> Result<&'a str, RemoteError> {
        let symbol = usize::try_from(reference).ok().and_then(|index| self.symbols.get(index));
        symbol.copied().ok_or_else(|| {
            RemoteError::malformed(format!("symbol {reference} is not among {} symbols", self.symbols.len()))
        })
    }

    fn reference(&mut self, reference: u64) -> Result<(), RemoteError> {
        self.references.push(reference);
        check_label_count(self.references.len() / 2)
    }

    fn decode(&mut self, message: &[u8], request: &mut WriteRequest) -> Result<(), RemoteError> {
        self.references.clear();
        let (mut metadata, mut histograms) = (None, 0);
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, FieldValue::Varint(reference)) => self.reference(reference)?,
                (1, FieldValue::Bytes(packed)) => {
                    let mut packed = Fields::new(packed);
                    while packed.left() > 0 {
                        self.reference(packed.varint()?)?;
                    }
                }
                (3, FieldValue::Bytes(_)) => histograms += 1,
                (4, FieldValue::Bytes(_)) => request.exemplars += 1,
                (5, FieldValue::Bytes(message)) => metadata = Some(message),
                _ => {}
            }
        }
        if self.references.len() % 2 == 1 {
            return Err(RemoteError::malformed("a series has an odd number of label references"));
        }
        self.labels.clear();
        for index in (0..self.references.len()).step_by(2) {
            let label = (self.symbol(self.references[index])?, self.symbol(self.references[index + 1])?);
            self.labels.push(label);
        }
        let Some(number) = request.series_number(&mut self.labels)? else {
            request.refused.histograms += histograms;
            return Ok(());
        };
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (2, FieldValue::Bytes(message)) => {
                    let (time, value) = sample(message)?;
                    request.push_sample(number, time, value)?;
                }
                (3, FieldValue::Bytes(message)) => histogram::read(number, message, request)?,
                _ => {}
            }
        }
        if let Some(message) = metadata {
            let metric = self.labels.iter().find(|label| label.0 == METRIC_NAME).map_or("", |label| label.1);
            let (kind, help, unit) = self.about(message)?;
            request.check_text(metric.len() + help.len() + unit.len())?;
            let [metric, help, unit] = [metric, help, unit].map(str::to_owned);
            request.push_metadata(Metadata { metric, kind, help, unit })?;
        }
        Ok(())
    }

    /// The kind of a metric, its description, and its unit.
    fn about(&self, message: &[u8]) -> Result<(MetricKind, &'a str, &'a str), RemoteError> {
        let mut fields = Fields::new(message);
        let (mut kind, mut help, mut unit) = (MetricKind::Unknown, "", "");
        while let Some(field) = fields.next()? {
            match field {
                (1, FieldValue::Varint(number)) => kind = MetricKind::of(number),
                (3, FieldValue::Varint(reference)) => help = self.symbol(reference)?,
                (4, FieldValue::Varint(reference)) => unit = self.symbol(reference)?,
                _ => {}
            }
        }
        Ok((kind, help, unit))
    }
}
