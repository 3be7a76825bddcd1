//! OTLP as protocol buffers.

use super::convert::{Converter, OtlpRequest};
use super::points::{
    ConsecutiveBuckets, ExponentialPoint, HistogramPoint, MetricHead, NO_RECORDED_VALUE, NumberPoint, PointExemplar,
    PointHead, PointKind, SummaryPoint, Temporality,
};
use super::values::push_attribute;
use crate::remote::RemoteError;
use crate::remote::fields::{FieldValue, Fields, each_fixed64, each_varint, signed32, text};
use atsdb_core::hex;

type Result<T> = std::result::Result<T, RemoteError>;

/// Calls for each message in a field.
fn each<'a>(message: &'a [u8], number: u32, mut call: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        if let (own, FieldValue::Bytes(inner)) = field
            && own == number
        {
            call(inner)?;
        }
    }
    Ok(())
}

pub(super) fn decode(body: &[u8], bytes_max: usize) -> Result<OtlpRequest> {
    let mut converter = Converter::new(bytes_max);
    each(body, 1, |resource_metrics| {
        let mut attributes = Vec::new();
        each(resource_metrics, 1, |resource| {
            each(resource, 1, |pair| push_attribute(pair, &mut attributes, &mut converter))
        })?;
        converter.begin_resource(attributes);
        each(resource_metrics, 2, |scope_metrics| each(scope_metrics, 2, |message| metric(message, &mut converter)))?;
        converter.end_resource()
    })?;
    Ok(converter.finish())
}

fn metric(message: &[u8], converter: &mut Converter) -> Result<()> {
    let (mut name, mut description, mut unit, mut data) = ("", "", "", None);
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(bytes)) => name = text(bytes)?,
            (2, FieldValue::Bytes(bytes)) => description = text(bytes)?,
            (3, FieldValue::Bytes(bytes)) => unit = text(bytes)?,
            (number @ (5 | 7 | 9 | 10 | 11), FieldValue::Bytes(bytes)) => data = Some((number, bytes)),
            _ => {}
        }
    }
    let Some((number, data)) = data else { return Ok(()) };
    let kind = kind(number, data)?;
    let [name, description, unit] = [name, description, unit].map(str::to_owned);
    converter.begin_metric(&MetricHead { name, description, unit, kind })?;
    each(data, 1, |point| match kind {
        PointKind::Gauge | PointKind::Sum { .. } => {
            let point = number_point(point, converter)?;
            converter.number(point)
        }
        PointKind::Histogram { .. } => {
            let point = histogram_point(point, converter)?;
            converter.histogram(point)
        }
        PointKind::Summary => {
            let point = summary_point(point, converter)?;
            converter.summary(point)
        }
        PointKind::Exponential { .. } => {
            let point = exponential_point(point, converter)?;
            converter.exponential(point)
        }
    })
}

fn kind(number: u32, data: &[u8]) -> Result<PointKind> {
    let (mut temporality, mut is_monotonic) = (Temporality::default(), false);
    let mut fields = Fields::new(data);
    while let Some(field) = fields.next()? {
        match field {
            (2, FieldValue::Varint(number)) => temporality = Temporality::of(number),
            (3, FieldValue::Varint(number)) => is_monotonic = number != 0,
            _ => {}
        }
    }
    Ok(match number {
        5 => PointKind::Gauge,
        7 => PointKind::Sum { temporality, is_monotonic },
        9 => PointKind::Histogram { temporality },
        10 => PointKind::Exponential { temporality },
        _ => PointKind::Summary,
    })
}

fn number_point(message: &[u8], converter: &mut Converter) -> Result<NumberPoint> {
    let mut point = NumberPoint::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (4, FieldValue::Fixed64(bits)) => point.value = f64::from_bits(bits),
            (6, FieldValue::Fixed64(bits)) => point.value = bits.cast_signed() as f64,
            (number, value) => NUMBER_HEAD.read(&mut point.head, number, value, converter)?,
        }
    }
    Ok(point)
}

fn histogram_point(message: &[u8], converter: &mut Converter) -> Result<HistogramPoint> {
    let mut point = HistogramPoint::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (4, FieldValue::Fixed64(count)) => point.count = count,
            (5, FieldValue::Fixed64(bits)) => point.sum = Some(f64::from_bits(bits)),
            (6, value) => each_fixed64(value, |count| {
                point.bucket_counts.push(count);
                Ok(())
            })?,
            (7, value) => each_fixed64(value, |bits| {
                point.bounds.push(f64::from_bits(bits));
                Ok(())
            })?,
            (number, value) => HISTOGRAM_HEAD.read(&mut point.head, number, value, converter)?,
        }
    }
    Ok(point)
}

fn exponential_point(message: &[u8], converter: &mut Converter) -> Result<ExponentialPoint> {
    let mut point = ExponentialPoint::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (4, FieldValue::Fixed64(count)) => point.count = count,
            (5, FieldValue::Fixed64(bits)) => point.sum = Some(f64::from_bits(bits)),
            (6, FieldValue::Varint(scale)) => point.scale = signed32(scale)?,
            (7, FieldValue::Fixed64(count)) => point.zero_count = count,
            (8, FieldValue::Bytes(message)) => point.positive = buckets(message, converter)?,
            (9, FieldValue::Bytes(message)) => point.negative = buckets(message, converter)?,
            (number, value) => EXPONENTIAL_HEAD.read(&mut point.head, number, value, converter)?,
        }
    }
    Ok(point)
}

/// The counts of one side. They take more memory than bytes of the message.
fn buckets(message: &[u8], converter: &mut Converter) -> Result<ConsecutiveBuckets> {
    let mut buckets = ConsecutiveBuckets::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(offset)) => buckets.offset = signed32(offset)?,
            (2, value) => each_varint(value, |count| {
                converter.spend(size_of::<u64>())?;
                buckets.counts.push(count);
                Ok(())
            })?,
            _ => {}
        }
    }
    Ok(buckets)
}

fn summary_point(message: &[u8], converter: &mut Converter) -> Result<SummaryPoint> {
    let mut point = SummaryPoint::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (4, FieldValue::Fixed64(count)) => point.count = count,
            (5, FieldValue::Fixed64(bits)) => point.sum = f64::from_bits(bits),
            (6, FieldValue::Bytes(message)) => {
                let (mut quantile, mut value) = (0.0, 0.0);
                let mut fields = Fields::new(message);
                while let Some(field) = fields.next()? {
                    match field {
                        (1, FieldValue::Fixed64(bits)) => quantile = f64::from_bits(bits),
                        (2, FieldValue::Fixed64(bits)) => value = f64::from_bits(bits),
                        _ => {}
                    }
                }
                converter.spend(size_of::<(f64, f64)>())?;
                point.quantiles.push((quantile, value));
            }
            (number, value) => SUMMARY_HEAD.read(&mut point.head, number, value, converter)?,
        }
    }
    Ok(point)
}

/// The numbers of the fields that points of all kinds have, and that differ between kinds.
struct HeadFields {
    attributes: u32,
    flags: u32,
    exemplars: Option<u32>,
}

const NUMBER_HEAD: HeadFields = HeadFields { attributes: 7, flags: 8, exemplars: Some(5) };
const HISTOGRAM_HEAD: HeadFields = HeadFields { attributes: 9, flags: 10, exemplars: Some(8) };
const EXPONENTIAL_HEAD: HeadFields = HeadFields { attributes: 1, flags: 10, exemplars: Some(11) };
const SUMMARY_HEAD: HeadFields = HeadFields { attributes: 7, flags: 8, exemplars: None };

impl HeadFields {
    /// Reads one of these fields, or the time.
    fn read(&self, head: &mut PointHead, number: u32, value: FieldValue<'_>, converter: &mut Converter) -> Result<()> {
        match value {
            FieldValue::Fixed64(time) if number == 3 => head.time_ns = time,
            FieldValue::Bytes(pair) if number == self.attributes => {
                push_attribute(pair, &mut head.attributes, converter)?;
            }
            FieldValue::Varint(own) if number == self.flags => head.is_empty = own & NO_RECORDED_VALUE != 0,
            FieldValue::Bytes(message) if Some(number) == self.exemplars => {
                let exemplar = exemplar(message, converter)?;
                converter.add_exemplar(head, exemplar)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn exemplar(message: &[u8], converter: &mut Converter) -> Result<PointExemplar> {
    let mut exemplar = PointExemplar::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (2, FieldValue::Fixed64(time)) => exemplar.time_ns = time,
            (3, FieldValue::Fixed64(bits)) => exemplar.value = f64::from_bits(bits),
            (4, FieldValue::Bytes(bytes)) => exemplar.span_id = id(bytes),
            (5, FieldValue::Bytes(bytes)) => exemplar.trace_id = id(bytes),
            (6, FieldValue::Fixed64(bits)) => exemplar.value = bits.cast_signed() as f64,
            (7, FieldValue::Bytes(pair)) => push_attribute(pair, &mut exemplar.attributes, converter)?,
            _ => {}
        }
    }
    Ok(exemplar)
}

/// The ID of a trace or a span. One of zeros means that there is none.
fn id(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) { String::new() } else { hex::encode(bytes) }
}
