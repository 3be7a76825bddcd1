//! Whether a histogram is valid, by the rules of Prometheus.

use super::sample::{Buckets, CUSTOM_SCHEMA, Histogram};

/// The exponential schemas that a histogram may have.
pub(super) const SCHEMAS: std::ops::RangeInclusive<i8> = -4..=8;

impl Histogram {
    /// Checks schema, spans, counts and bounds. The error says what is wrong, in Prometheus' words.
    pub fn check(&self) -> Result<(), String> {
        if self.schema == CUSTOM_SCHEMA {
            check_bounds(self).map_err(|error| format!("custom buckets: {error}"))?;
            if self.zero_count != 0.0 {
                return Err("custom buckets: must have zero count of 0".to_owned());
            }
            if self.zero_threshold != 0.0 {
                return Err("custom buckets: must have zero threshold of 0".to_owned());
            }
            if !self.negative.spans.is_empty() {
                return Err("custom buckets: must not have negative spans".to_owned());
            }
            if !self.negative.counts.is_empty() {
                return Err("custom buckets: must not have negative buckets".to_owned());
            }
        } else if SCHEMAS.contains(&self.schema) {
            check_spans(&self.positive).map_err(|error| format!("positive side: {error}"))?;
            check_spans(&self.negative).map_err(|error| format!("negative side: {error}"))?;
            check_counts(&self.negative.counts).map_err(|error| format!("negative side: {error}"))?;
            if self.zero_count < 0.0 {
                let count = self.zero_count;
                return Err(format!("zero bucket has observation count of {count}: {NEGATIVE_BUCKET}"));
            }
            if !self.custom_bounds.is_empty() {
                return Err("histogram with exponential schema must not have custom bounds".to_owned());
            }
        } else {
            return Err(format!(
                "histogram has an invalid schema, which must be between {} and {} for exponential buckets, or \
                 {CUSTOM_SCHEMA} for custom buckets, got schema {}",
                SCHEMAS.start(),
                SCHEMAS.end(),
                self.schema
            ));
        }
        if self.count < 0.0 {
            return Err(format!("observation count is {}: histogram's observation count is negative", self.count));
        }
        check_counts(&self.positive.counts).map_err(|error| format!("positive side: {error}"))
    }
}

const NEGATIVE_BUCKET: &str = "histogram has a bucket whose observation count is negative";

fn check_counts(counts: &[f64]) -> Result<(), String> {
    match counts.iter().position(|count| *count < 0.0) {
        Some(index) => {
            Err(format!("bucket number {} has observation count of {}: {NEGATIVE_BUCKET}", index + 1, counts[index]))
        }
        None => Ok(()),
    }
}

fn check_offset(number: usize, offset: i32) -> Result<(), String> {
    if offset >= 0 {
        return Ok(());
    }
    Err(format!("span number {} with offset {offset}: histogram has a span whose offset is negative", number + 1))
}

/// The number of buckets must be that of the spans. Indices must stay far from overflow.
fn check_length(buckets: &Buckets) -> Result<(), String> {
    let wanted: u64 = buckets.spans.iter().map(|span| u64::from(span.length)).sum();
    let found = buckets.counts.len();
    if wanted != found as u64 {
        return Err(format!(
            "spans need {wanted} buckets, have {found} buckets: histogram spans specify different number of buckets \
             than provided"
        ));
    }
    let end = buckets.spans.iter().fold(0_i64, |end, span| end + i64::from(span.offset) + i64::from(span.length));
    if i32::try_from(end).is_err() {
        return Err(format!("the last span ends at bucket {end}: that is no bucket's index"));
    }
    Ok(())
}

fn check_spans(buckets: &Buckets) -> Result<(), String> {
    for (number, span) in buckets.spans.iter().enumerate().skip(1) {
        check_offset(number, span.offset)?;
    }
    check_length(buckets)
}

fn check_bounds(histogram: &Histogram) -> Result<(), String> {
    let bounds = &histogram.custom_bounds;
    if bounds.iter().any(|bound| bound.is_nan()) {
        return Err("histogram custom bounds must not be NaN".to_owned());
    }
    if let Some(pair) = bounds.windows(2).find(|pair| pair[1] <= pair[0]) {
        return Err(format!(
            "previous bound is {:.6} and current is {:.6}: histogram custom bounds must be in strictly increasing \
             order",
            pair[0], pair[1]
        ));
    }
    if bounds.last() == Some(&f64::INFINITY) {
        return Err("last +Inf bound must not be explicitly defined: histogram custom bounds must be finite".to_owned());
    }
    for (number, span) in histogram.positive.spans.iter().enumerate() {
        check_offset(number, span.offset)?;
    }
    check_length(&histogram.positive)?;
    let spans = histogram.positive.spans.iter();
    let length: i64 = spans.map(|span| i64::from(span.offset) + i64::from(span.length)).sum();
    if i64::try_from(bounds.len()).is_ok_and(|count| count + 1 < length) {
        return Err(format!(
            "only {} custom bounds defined which is insufficient to cover total span length of {length}: histogram \
             custom bounds are too few",
            bounds.len()
        ));
    }
    Ok(())
}
