//! Native histograms as messages, which are the same in all versions of remote write and in remote read.

use super::buckets::merged;
use super::encode::Message;
use super::error::RemoteError;
use super::fields::{FieldValue, Fields, each_fixed64, each_varint, signed, signed32};
use super::request::WriteRequest;
use crate::histogram::{Buckets, Histogram, ResetHint, Span};

/// The finest schema that is stored. Buckets of a finer one, which senders may use, are merged.
const SCHEMA_MAX: i32 = 8;

/// The finest schema of all.
const SCHEMA_RESERVED_MAX: i32 = 52;

/// A number of observations, as its sender counts.
#[derive(Clone, Copy)]
enum SentCount {
    Whole(u64),
    Float(f64),
}

/// The buckets of one side, as they are sent: of whole numbers the differences.
#[derive(Default)]
struct SentBuckets {
    spans: Vec<Span>,
    deltas: Vec<i64>,
    counts: Vec<f64>,
}

struct SentHistogram {
    time: i64,
    schema: i32,
    sum: f64,
    count: SentCount,
    zero_threshold: f64,
    zero_count: SentCount,
    positive: SentBuckets,
    negative: SentBuckets,
    custom_bounds: Vec<f64>,
    reset_hint: ResetHint,
}

/// Reads a histogram of a series that has a number. One that can never be stored is counted.
pub(super) fn read(series: u32, message: &[u8], request: &mut WriteRequest) -> Result<(), RemoteError> {
    let sent = decode(message, request)?;
    let time = sent.time;
    match sent.checked() {
        Ok(histogram) => request.push_histogram(series, time, histogram),
        Err(reason) => {
            request.refuse_histogram(reason);
            Ok(())
        }
    }
}

fn decode(message: &[u8], request: &mut WriteRequest) -> Result<SentHistogram, RemoteError> {
    let mut sent = SentHistogram {
        time: 0,
        schema: 0,
        sum: 0.0,
        count: SentCount::Whole(0),
        zero_threshold: 0.0,
        zero_count: SentCount::Whole(0),
        positive: SentBuckets::default(),
        negative: SentBuckets::default(),
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::Unknown,
    };
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(count)) => sent.count = SentCount::Whole(count),
            (2, FieldValue::Fixed64(bits)) => sent.count = SentCount::Float(f64::from_bits(bits)),
            (3, FieldValue::Fixed64(bits)) => sent.sum = f64::from_bits(bits),
            (4, FieldValue::Varint(schema)) => sent.schema = signed32(schema)?,
            (5, FieldValue::Fixed64(bits)) => sent.zero_threshold = f64::from_bits(bits),
            (6, FieldValue::Varint(count)) => sent.zero_count = SentCount::Whole(count),
            (7, FieldValue::Fixed64(bits)) => sent.zero_count = SentCount::Float(f64::from_bits(bits)),
            (number @ 8..=10, value) => sent.negative.read(number - 8, value, request)?,
            (number @ 11..=13, value) => sent.positive.read(number - 11, value, request)?,
            (14, FieldValue::Varint(number)) => sent.reset_hint = reset_hint(number),
            (15, FieldValue::Varint(time)) => sent.time = time.cast_signed(),
            (16, value) => push_doubles(value, &mut sent.custom_bounds, request)?,
            _ => {}
        }
    }
    Ok(sent)
}

fn push_doubles(value: FieldValue<'_>, to: &mut Vec<f64>, request: &mut WriteRequest) -> Result<(), RemoteError> {
    each_fixed64(value, |bits| {
        request.spend(size_of::<f64>())?;
        to.push(f64::from_bits(bits));
        Ok(())
    })
}

fn reset_hint(number: u64) -> ResetHint {
    match number {
        1 => ResetHint::Reset,
        2 => ResetHint::NoReset,
        3 => ResetHint::Gauge,
        _ => ResetHint::Unknown,
    }
}

impl SentBuckets {
    /// Reads one of the three fields of a side: spans, differences, counts.
    fn read(&mut self, field: u32, value: FieldValue<'_>, request: &mut WriteRequest) -> Result<(), RemoteError> {
        match (field, value) {
            (0, FieldValue::Bytes(message)) => {
                request.spend(size_of::<Span>())?;
                self.spans.push(span(message)?);
                Ok(())
            }
            (1, value) => each_varint(value, |delta| {
                request.spend(size_of::<i64>())?;
                self.deltas.push(signed(delta));
                Ok(())
            }),
            (2, value) => push_doubles(value, &mut self.counts, request),
            _ => Ok(()),
        }
    }

    /// The buckets whose counts are given by their differences, and the sum of the counts.
    fn of_deltas(self) -> Result<(Buckets, u64), String> {
        let (mut count, mut total) = (0_i64, 0_u64);
        let mut counts = Vec::with_capacity(self.deltas.len());
        for (index, delta) in self.deltas.into_iter().enumerate() {
            let own = count.checked_add(delta).and_then(|sum| Some((sum, u64::try_from(sum).ok()?)));
            let Some((sum, own)) = own else {
                return Err(format!("the count of bucket number {} is negative or too large", index + 1));
            };
            (count, total) = (sum, total.saturating_add(own));
            counts.push(own as f64);
        }
        Ok((Buckets { spans: self.spans, counts }, total))
    }
}

fn span(message: &[u8]) -> Result<Span, RemoteError> {
    let mut fields = Fields::new(message);
    let mut span = Span { offset: 0, length: 0 };
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Varint(offset)) => span.offset = signed32(offset)?,
            (2, FieldValue::Varint(length)) => {
                let too_long = |_| RemoteError::malformed("the length of a span is no number of 32 bits");
                span.length = u32::try_from(length).map_err(too_long)?;
            }
            _ => {}
        }
    }
    Ok(span)
}

impl SentHistogram {
    fn checked(self) -> Result<Histogram, String> {
        let (positive, negative, count, zero_count) = match self.count {
            SentCount::Whole(count) => {
                let (positive, above) = self.positive.of_deltas().map_err(|error| format!("positive side: {error}"))?;
                let (negative, below) = self.negative.of_deltas().map_err(|error| format!("negative side: {error}"))?;
                let zero_count = if let SentCount::Whole(count) = self.zero_count { count } else { 0 };
                check_whole(count, [above, below, zero_count], self.sum)?;
                (positive, negative, count as f64, zero_count as f64)
            }
            SentCount::Float(count) => {
                let of_counts = |sent: SentBuckets| Buckets { spans: sent.spans, counts: sent.counts };
                let zero_count = if let SentCount::Float(count) = self.zero_count { count } else { 0.0 };
                (of_counts(self.positive), of_counts(self.negative), count, zero_count)
            }
        };
        let is_finer = (SCHEMA_MAX + 1..=SCHEMA_RESERVED_MAX).contains(&self.schema);
        let schema = if is_finer { SCHEMA_MAX } else { self.schema };
        let mut histogram = Histogram {
            schema: i8::try_from(schema).map_err(|_| format!("there is no schema {schema}"))?,
            zero_threshold: self.zero_threshold,
            zero_count,
            count,
            sum: self.sum,
            positive,
            negative,
            custom_bounds: self.custom_bounds,
            reset_hint: self.reset_hint,
        };
        histogram.check()?;
        if is_finer {
            let by = (self.schema - SCHEMA_MAX).unsigned_abs();
            for side in [&mut histogram.positive, &mut histogram.negative] {
                *side = merged(side, by).ok_or("a bucket has no index of 32 bits")?;
            }
        }
        Ok(histogram)
    }
}

/// Checks that all observations are in buckets. NaN is in none, and makes the sum NaN.
pub(crate) fn check_whole(count: u64, in_buckets: [u64; 3], sum: f64) -> Result<(), String> {
    let found = in_buckets.into_iter().fold(0, u64::saturating_add);
    if found == count || sum.is_nan() && found < count {
        return Ok(());
    }
    Err(format!("{found} observations are in buckets, and the histogram's observation count is {count}"))
}

/// Encodes a histogram. Its counts are floating-point numbers, also if they were sent as whole numbers.
pub(super) fn encode(message: &mut Message, time: i64, histogram: &Histogram) {
    message.double(2, histogram.count);
    message.double(3, histogram.sum);
    message.signed(4, histogram.schema.into());
    message.double(5, histogram.zero_threshold);
    message.double(7, histogram.zero_count);
    for (side, first) in [(&histogram.negative, 8), (&histogram.positive, 11)] {
        for span in &side.spans {
            message.inner(first, |message| {
                message.signed(1, span.offset.into());
                message.varint(2, span.length.into());
            });
        }
        message.doubles(first + 2, &side.counts);
    }
    let hint = match histogram.reset_hint {
        ResetHint::Unknown => 0,
        ResetHint::Reset => 1,
        ResetHint::NoReset => 2,
        ResetHint::Gauge => 3,
    };
    message.varint(14, hint);
    message.varint(15, time.cast_unsigned());
    message.doubles(16, &histogram.custom_bounds);
}
