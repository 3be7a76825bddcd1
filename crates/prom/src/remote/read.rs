//! Remote read, answered with samples.

use super::encode::Message;
use super::error::RemoteError;
use super::fields::{FieldValue, Fields, each_varint, text};
use super::histogram;
use crate::evaluate::{RawHistograms, RawSeries};
use crate::labels::{MatchOp, Matcher};
use std::cmp::Ordering;

/// One query of a read request.
#[derive(Debug, Clone)]
pub struct ReadQuery {
    /// The first time in milliseconds.
    pub from: i64,
    /// The last time, included.
    pub to: i64,
    /// The conditions on the series.
    pub matchers: Vec<Matcher>,
}

/// Decodes `prometheus.ReadRequest`.
pub fn decode_read(body: &[u8]) -> Result<Vec<ReadQuery>, RemoteError> {
    let mut fields = Fields::new(body);
    let mut queries = Vec::new();
    // The kinds of answers that the reader accepts. An empty list means samples.
    let (mut samples, mut others) = (false, false);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(message)) => queries.push(query(message)?),
            (2, value) => each_varint(value, |kind| {
                samples |= kind == 0;
                others |= kind != 0;
                Ok(())
            })?,
            _ => {}
        }
    }
    if others && !samples {
        return Err(RemoteError::malformed("only answers with samples are supported, not streamed chunks"));
    }
    Ok(queries)
}

fn query(message: &[u8]) -> Result<ReadQuery, RemoteError> {
    let mut fields = Fields::new(message);
    let mut query = ReadQuery { from: 0, to: 0, matchers: Vec::new() };
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(time)) => query.from = time as i64,
            (2, FieldValue::Varint(time)) => query.to = time as i64,
            (3, FieldValue::Bytes(message)) => query.matchers.push(matcher(message)?),
            _ => {}
        }
    }
    Ok(query)
}

fn matcher(message: &[u8]) -> Result<Matcher, RemoteError> {
    let mut fields = Fields::new(message);
    let (mut op, mut name, mut value) = (MatchOp::Equal, "", "");
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(kind)) => {
                let known = u8::try_from(kind).ok().and_then(MatchOp::from_repr);
                op = known.ok_or_else(|| RemoteError::malformed(format!("unknown matcher {kind}")))?;
            }
            (2, FieldValue::Bytes(bytes)) => name = text(bytes)?,
            (3, FieldValue::Bytes(bytes)) => value = text(bytes)?,
            _ => {}
        }
    }
    Matcher::new(name, op, value).map_err(RemoteError::Malformed)
}

/// The answer to a query, each part sorted by labels.
#[derive(Debug, Clone, Default)]
pub struct ReadResult {
    /// The samples that are numbers.
    pub samples: Vec<RawSeries>,
    /// The native histograms.
    pub histograms: Vec<RawHistograms>,
}

/// Encodes `prometheus.ReadResponse`: the series of each query, each once, sorted by labels.
pub fn encode_read(results: &[ReadResult]) -> Vec<u8> {
    let mut response = Message::default();
    for result in results {
        response.inner(1, |message| {
            let (mut samples, mut histograms) = (result.samples.iter().peekable(), result.histograms.iter().peekable());
            loop {
                let order = match (samples.peek(), histograms.peek()) {
                    (Some(one), Some(other)) => one.labels.cmp(&other.labels),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => break,
                };
                let own_samples = samples.next_if(|_| order.is_le());
                let own_histograms = histograms.next_if(|_| order.is_ge());
                message.inner(1, |message| push_series(message, own_samples, own_histograms));
            }
        });
    }
    response.finish()
}

/// Writes `prometheus.TimeSeries`.
fn push_series(message: &mut Message, samples: Option<&RawSeries>, histograms: Option<&RawHistograms>) {
    let labels = samples.map(|own| &own.labels).or(histograms.map(|own| &own.labels));
    for (name, value) in labels.into_iter().flat_map(|labels| labels.iter()) {
        message.inner(1, |label| {
            label.bytes(1, name.as_bytes());
            label.bytes(2, value.as_bytes());
        });
    }
    for (time, value) in samples.into_iter().flat_map(|own| own.times.iter().zip(&own.values)) {
        message.inner(2, |sample| {
            sample.double(1, *value);
            sample.varint(2, *time as u64);
        });
    }
    for (time, own) in histograms.into_iter().flat_map(|own| own.times.iter().zip(&own.histograms)) {
        message.inner(4, |message| histogram::encode(message, *time, own));
    }
}
