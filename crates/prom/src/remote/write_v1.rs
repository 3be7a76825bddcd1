//! Remote write 1.0: `prometheus.WriteRequest`.

use super::budget::check_label_count;
use super::error::RemoteError;
use super::exemplars::SentExemplar;
use super::fields::{FieldValue, Fields, sample, text};
use super::histogram;
use super::request::{Metadata, MetricKind, WriteRequest};
use super::sent_series::SeriesCache;
use std::borrow::Cow;

pub(super) fn decode(body: &[u8], cache: &SeriesCache, request: &mut WriteRequest) -> Result<(), RemoteError> {
    let mut fields = Fields::new(body);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(message)) => series(message, cache, request)?,
            (3, FieldValue::Bytes(message)) => request.push_metadata(metadata(message)?)?,
            _ => {}
        }
    }
    Ok(())
}

fn series(message: &[u8], cache: &SeriesCache, request: &mut WriteRequest) -> Result<(), RemoteError> {
    // The fields with labels, one after the other, and the end of those that the message begins with.
    let (mut block, mut first_end) = (Cow::Borrowed(&message[..0]), 0);
    let (mut label_count, mut histograms, mut exemplars) = (0, 0, 0);
    let mut fields = Fields::new(message);
    loop {
        let start = message.len() - fields.left();
        let Some(field) = fields.next()? else { break };
        let end = message.len() - fields.left();
        match field {
            (1, FieldValue::Bytes(_)) => {
                label_count += 1;
                check_label_count(label_count)?;
                // Senders write the labels first.
                if first_end == start {
                    (block, first_end) = (Cow::Borrowed(&message[..end]), end);
                } else {
                    block.to_mut().extend_from_slice(&message[start..end]);
                }
            }
            (3, FieldValue::Bytes(_)) => exemplars += 1,
            (4, FieldValue::Bytes(_)) => histograms += 1,
            _ => {}
        }
    }
    let Some(number) = request.cached_series_number(cache, &block, || labels(&block))? else {
        request.refused.histograms += histograms;
        request.refused.exemplars += exemplars;
        return Ok(());
    };
    let mut fields = Fields::new(&message[first_end..]);
    while let Some(field) = fields.next()? {
        match field {
            (2, FieldValue::Bytes(message)) => {
                let (time, value) = sample(message)?;
                request.push_sample(number, time, value)?;
            }
            (3, FieldValue::Bytes(message)) => request.push_exemplar(number, &exemplar(message)?)?,
            (4, FieldValue::Bytes(message)) => histogram::read(number, message, request)?,
            _ => {}
        }
    }
    Ok(())
}

/// The labels of a block of fields.
fn labels(block: &[u8]) -> Result<Vec<(&str, &str)>, RemoteError> {
    let mut fields = Fields::new(block);
    let mut labels = Vec::new();
    while let Some(field) = fields.next()? {
        if let (1, FieldValue::Bytes(message)) = field {
            labels.push(label(message)?);
        }
    }
    Ok(labels)
}

fn label(message: &[u8]) -> Result<(&str, &str), RemoteError> {
    let mut fields = Fields::new(message);
    let mut label = ("", "");
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(name)) => label.0 = text(name)?,
            (2, FieldValue::Bytes(value)) => label.1 = text(value)?,
            _ => {}
        }
    }
    Ok(label)
}

fn exemplar(message: &[u8]) -> Result<SentExemplar<'_>, RemoteError> {
    let mut fields = Fields::new(message);
    let mut exemplar = SentExemplar::default();
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(message)) => {
                exemplar.labels.push(label(message)?);
                check_label_count(exemplar.labels.len())?;
            }
            (2, FieldValue::Fixed64(bits)) => exemplar.value = f64::from_bits(bits),
            (3, FieldValue::Varint(milliseconds)) => exemplar.time = milliseconds.cast_signed(),
            _ => {}
        }
    }
    Ok(exemplar)
}

fn metadata(message: &[u8]) -> Result<Metadata, RemoteError> {
    let mut fields = Fields::new(message);
    let mut metadata =
        Metadata { metric: String::new(), kind: MetricKind::Unknown, help: String::new(), unit: String::new() };
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(number)) => metadata.kind = MetricKind::of(number),
            (2, FieldValue::Bytes(bytes)) => metadata.metric = text(bytes)?.to_owned(),
            (4, FieldValue::Bytes(bytes)) => metadata.help = text(bytes)?.to_owned(),
            (5, FieldValue::Bytes(bytes)) => metadata.unit = text(bytes)?.to_owned(),
            _ => {}
        }
    }
    Ok(metadata)
}
