//! Native histograms in scripts: `{{schema:1 count:4 sum:5 buckets:[1 3]}}`, and those made of classic ones.

use super::series::{Item, number};
use atsdb_prom::histogram::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint};
use atsdb_prom::labels::{Labels, METRIC_NAME};
use std::collections::BTreeMap;
use std::sync::Arc;

fn empty() -> Histogram {
    Histogram {
        schema: 0,
        zero_threshold: 0.0,
        zero_count: 0.0,
        count: 0.0,
        sum: 0.0,
        positive: Buckets::default(),
        negative: Buckets::default(),
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::Unknown,
    }
}

/// The words between braces; those in brackets stay together.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut inside = false;
    for letter in text.chars() {
        inside = match letter {
            '[' => true,
            ']' => false,
            _ => inside,
        };
        if letter.is_whitespace() && !inside {
            words.push(String::new());
        } else {
            words.last_mut().unwrap().push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn numbers(text: &str) -> Vec<f64> {
    let inner = text.trim_start_matches('[').trim_end_matches(']');
    inner.split_whitespace().map(|word| number(word).unwrap_or_else(|| panic!("not a number: {word}"))).collect()
}

/// Parses a histogram in double braces. Whether its hint is given, too.
fn literal(text: &str) -> (Histogram, bool) {
    let inner = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    let inner = inner.unwrap_or_else(|| panic!("not a histogram: {text}"));
    let mut histogram = empty();
    let (mut offset, mut negative_offset) = (0, 0);
    let (mut counts, mut negative_counts) = (Vec::new(), Vec::new());
    let mut hint_given = false;
    for word in words(inner) {
        let (name, value) = word.split_once(':').unwrap_or_else(|| panic!("not a field: {word}"));
        let float = || number(value).unwrap_or_else(|| panic!("not a number: {word}"));
        match name {
            "schema" => histogram.schema = value.parse().unwrap(),
            "count" => histogram.count = float(),
            "sum" => histogram.sum = float(),
            "z_bucket" => histogram.zero_count = float(),
            "z_bucket_w" => histogram.zero_threshold = float(),
            "custom_values" => histogram.custom_bounds = numbers(value),
            "buckets" => counts = numbers(value),
            "n_buckets" => negative_counts = numbers(value),
            "offset" => offset = value.parse().unwrap(),
            "n_offset" => negative_offset = value.parse().unwrap(),
            "counter_reset_hint" => {
                hint_given = true;
                histogram.reset_hint = match value {
                    "unknown" => ResetHint::Unknown,
                    "reset" => ResetHint::Reset,
                    "not_reset" => ResetHint::NoReset,
                    "gauge" => ResetHint::Gauge,
                    _ => panic!("not a hint: {word}"),
                };
            }
            _ => panic!("unknown field: {word}"),
        }
    }
    histogram.positive = Buckets::from_indexed((offset..).zip(counts));
    histogram.negative = Buckets::from_indexed((negative_offset..).zip(negative_counts));
    (histogram, hint_given)
}

/// Parses a sequence: a histogram, or one and an increment.
pub(crate) fn sequence(body: &str, count: usize, items: &mut Vec<Item>) {
    let end = body.find("}}").unwrap() + 2;
    let (mut histogram, mut hint_given) = literal(&body[..end]);
    let increment = &body[end..];
    let step = (!increment.is_empty()).then(|| literal(&increment[1..]));
    if let Some((_, has_hint)) = step {
        hint_given = has_hint;
    }
    for _ in 0..count {
        items.push(Item::Histogram(Arc::new(histogram.clone()), hint_given));
        if let Some((step, _)) = &step {
            let next = if increment.starts_with('-') { histogram.minus(step) } else { histogram.plus(step) };
            histogram = next.unwrap().0;
        }
    }
}

/// The parts of a classic histogram at one time.
#[derive(Default)]
struct Classic {
    buckets: Vec<(f64, f64)>,
    count: Option<f64>,
    sum: f64,
}

impl Classic {
    fn native(mut self) -> Histogram {
        self.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.buckets.dedup_by(|next, kept| next.0 == kept.0);
        let count = self.count.unwrap_or_else(|| self.buckets.last().map_or(0.0, |bucket| bucket.1));
        if self.buckets.last().is_none_or(|bucket| bucket.0 != f64::INFINITY) {
            self.buckets.push((f64::INFINITY, count));
        }
        let mut below = 0.0;
        let counts: Vec<f64> =
            self.buckets.iter().map(|bucket| bucket.1 - std::mem::replace(&mut below, bucket.1)).collect();
        let bounds = self.buckets.iter().map(|bucket| bucket.0).filter(|bound| *bound != f64::INFINITY);
        Histogram {
            schema: CUSTOM_SCHEMA,
            count,
            sum: self.sum,
            positive: Buckets::from_indexed((0..).zip(counts).filter(|bucket| bucket.1 != 0.0)),
            custom_bounds: bounds.collect(),
            ..empty()
        }
    }
}

/// Native histograms with custom boundaries from the series of classic ones.
#[derive(Default)]
pub(crate) struct Converter {
    series: BTreeMap<Labels, BTreeMap<i64, Classic>>,
}

impl Converter {
    pub(crate) fn add(&mut self, labels: &Labels, time: i64, value: f64) {
        let metric = labels.metric();
        let Some((name, kind)) =
            ["_bucket", "_count", "_sum"].iter().find_map(|kind| Some((metric.strip_suffix(kind)?, *kind)))
        else {
            return;
        };
        let bound = number(labels.get("le"));
        if kind == "_bucket" && bound.is_none() {
            return;
        }
        let rest = labels.iter().filter(|(label, _)| !matches!(*label, METRIC_NAME | "le"));
        let labels = Labels::new(rest.chain([(METRIC_NAME, name)]));
        let classic = self.series.entry(labels).or_default().entry(time).or_default();
        match (kind, bound) {
            ("_bucket", Some(bound)) => classic.buckets.push((bound, value)),
            ("_count", _) => classic.count = Some(value),
            _ => classic.sum = value,
        }
    }

    pub(crate) fn histograms(self) -> impl Iterator<Item = (Labels, i64, Histogram)> {
        self.series.into_iter().flat_map(|(labels, samples)| {
            samples.into_iter().map(move |(time, classic)| (labels.clone(), time, classic.native()))
        })
    }
}
