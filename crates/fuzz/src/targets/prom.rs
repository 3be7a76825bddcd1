//! Remote write and read, and PromQL.

use super::corpus::without_checksum;
use crate::target::Target;
use atsdb_prom::evaluate::{EvaluateError, LOOKBACK_MS, Limits, RawHistograms, evaluate_instant, evaluate_range};
use atsdb_prom::histogram::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint, Span};
use atsdb_prom::labels::{Labels, Matcher, read_series};
use atsdb_prom::otlp::{decode_json, decode_protobuf};
use atsdb_prom::promql::parse;
use atsdb_prom::remote::{
    SeriesCache, WriteRequest, WriteVersion, decode_read, decode_write, decompress, read_exemplar_labels,
};
use atsdb_prom::{RawSeries, SeriesSource};
use std::sync::Arc;

/// The maximum length of a body after decompression.
const PLAIN_BYTES_MAX: usize = 1 << 20;

pub(super) fn all() -> Vec<Target> {
    vec![
        Target {
            name: "remote-write",
            test_count: 20_000,
            corpus: write_requests,
            reseal: without_checksum,
            read: read_write,
        },
        Target {
            name: "otlp",
            test_count: 20_000,
            corpus: otlp_requests,
            reseal: without_checksum,
            read: |bytes| {
                let decoded = [decode_protobuf(bytes, PLAIN_BYTES_MAX), decode_json(bytes, PLAIN_BYTES_MAX)];
                for request in decoded.into_iter().flatten() {
                    let rows = request.write.samples.to_batch().expect("columns of one length");
                    assert_eq!(rows.num_rows(), request.write.samples.len());
                    check_histograms(&request.write);
                    check_exemplars(&request.write);
                }
            },
        },
        Target {
            name: "snappy",
            test_count: 5_000,
            // "abc" as a literal, then copies of it.
            corpus: || vec![b"\x0c\x08abc\x21\x03".to_vec(), b"\x03\x08abc".to_vec()],
            reseal: without_checksum,
            read: |bytes| {
                if let Ok(plain) = decompress(bytes, PLAIN_BYTES_MAX) {
                    assert!(plain.len() <= PLAIN_BYTES_MAX, "the limit holds");
                }
            },
        },
        Target {
            name: "remote-read",
            test_count: 20_000,
            corpus: || {
                vec![b"\x0a\x19\x08\x01\x10\x02\x1a\x13\x08\x02\x12\x08__name__\x1a\x05up|.*\x12\x01\x00".to_vec()]
            },
            reseal: without_checksum,
            read: |bytes| drop(decode_read(bytes)),
        },
        Target { name: "promql", test_count: 20_000, corpus: queries, reseal: without_checksum, read: read_query },
        Target {
            name: "series-text",
            test_count: 20_000,
            corpus: || vec![b"up{job=\"a\\\"b\",\"odd name\"=\"\"}".to_vec(), b"{\"dotted.name\",a=\"b\"}".to_vec()],
            reseal: without_checksum,
            read: |bytes| drop(read_series(&String::from_utf8_lossy(bytes))),
        },
    ]
}

/// One request of each version: a series with two labels and a sample, and one with a native histogram.
fn write_requests() -> Vec<Vec<u8>> {
    let sample = b"\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x10\xe8\x07";
    let mut v1 = b"\x0a\x2b\x0a\x0e\x0a\x08__name__\x12\x02up\x0a\x08\x0a\x03job\x12\x01x\x12\x0c".to_vec();
    v1.extend(sample);
    v1.extend(b"\x1a\x09\x08\x02\x12\x02up\x22\x01h");
    let mut v2 = b"\x22\x00\x22\x08__name__\x22\x02up\x2a\x19\x0a\x02\x01\x02\x12\x0c".to_vec();
    v2.extend(sample);
    v2.extend(b"\x2a\x05\x08\x01\x18\x02\x20\x00");
    // Three observations: one in the zero bucket, two in two others.
    let histogram = b"\x08\x03\x19\0\0\0\0\0\0\xf8\x3f\x30\x01\x5a\x04\x08\x02\x10\x02\x62\x02\x02\0\x78\x05";
    v1.extend(b"\x0a\x2a\x0a\x0d\x0a\x08__name__\x12\x01h\x22\x19");
    v1.extend(histogram);
    v2.extend(b"\x2a\x1f\x0a\x02\x01\x02\x1a\x19");
    v2.extend(histogram);
    // An exemplar with a label.
    v1.extend(b"\x0a\x1f\x0a\x0d\x0a\x08__name__\x12\x01h\x1a\x0e\x0a\x08\x0a\x03job\x12\x01x\x10\x01\x18\x07");
    v2.extend(b"\x2a\x0c\x0a\x02\x01\x02\x22\x06\x0a\x02\x01\x02\x18\x07");
    vec![v1, v2]
}

/// A gauge and a histogram of one resource as a protocol buffer, a histogram and an exponential one as JSON.
fn otlp_requests() -> Vec<Vec<u8>> {
    let protobuf = [
        b"\x0ay\x0a\x15\x0a\x13\x0a\x0cservice.name".as_slice(),
        b"\x12\x03\x0a\x01s\x12`\x12%\x0a\x01m\x1a\x01s*\x1d\x0a\x1b\x19\x00",
        b"\xca\x9a;\x00\x00\x00\x00!\x00\x00\x00\x00\x00\x00\xf0?:\x07\x0a\x01",
        b"a\x12\x02\x18\x01\x127\x0a\x01hJ2\x0a.\x19\x05\x00\x00\x00\x00\x00",
        b"\x00\x00!\x02\x00\x00\x00\x00\x00\x00\x002\x10\x01\x00\x00\x00\x00\x00\x00",
        b"\x00\x01\x00\x00\x00\x00\x00\x00\x00:\x08\x00\x00\x00\x00\x00\x00\xe0?\x10\x02",
    ];
    let json = br#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},
        "scopeMetrics":[{"metrics":[{"name":"m","histogram":{"aggregationTemporality":2,"dataPoints":[
        {"timeUnixNano":"1","count":"2","sum":1.5,"bucketCounts":["1","1"],"explicitBounds":[1],
        "exemplars":[{"timeUnixNano":"1","asDouble":1.5,"traceId":"ab","spanId":"cd"}]}]}}]}]}]}"#;
    let exponential = br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","exponentialHistogram":{
        "aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"1","count":"7","sum":1.5,"scale":9,"zeroCount":"1",
        "positive":{"offset":-3,"bucketCounts":["1","0",2]},"negative":{"bucketCounts":[3]}}]}}]}]}]}"#;
    vec![protobuf.concat(), json.to_vec(), exponential.to_vec()]
}

fn check_histograms(request: &WriteRequest) {
    let rows = request.histograms.to_batch(&request.samples).expect("columns of one length");
    assert_eq!(rows.num_rows(), request.histograms.len());
    for (_, _, histogram) in request.histograms.iter() {
        assert_eq!(histogram.check(), Ok(()));
        assert!(histogram.buckets().len() <= 1 + histogram.positive.counts.len() + histogram.negative.counts.len());
    }
}

fn check_exemplars(request: &WriteRequest) {
    let rows = request.exemplars.to_batch(&request.samples).expect("columns of one length");
    assert_eq!(rows.num_rows(), request.exemplars.len());
    for (_, _, _, labels) in request.exemplars.iter() {
        assert!(read_exemplar_labels(labels).is_some(), "{labels} can be read back");
    }
}

fn read_write(bytes: &[u8]) {
    let cache = SeriesCache::default();
    for version in [WriteVersion::V1, WriteVersion::V2] {
        if let Ok(request) = decode_write(bytes, version, PLAIN_BYTES_MAX, &cache) {
            let again = decode_write(bytes, version, PLAIN_BYTES_MAX, &cache).expect("it was valid");
            assert!(request.samples.series().eq(again.samples.series()), "the cache changes nothing");
            assert_eq!(request.byte_count(), again.byte_count());
            assert!(request.byte_count() <= PLAIN_BYTES_MAX, "the limit holds");
            let rows = request.samples.to_batch().expect("columns of one length");
            assert_eq!(rows.num_rows(), request.samples.len());
            check_histograms(&request);
            check_exemplars(&request);
            for series in request.samples.series() {
                assert!(read_series(series).is_some(), "{series} can be read back");
            }
        }
    }
}

fn queries() -> Vec<Vec<u8>> {
    let texts = [
        "sum by (job) (rate(m{a=~\"b.*\", c!=\"d\"}[5m] offset 1m)) / on(job) group_left(x) topk(3, m @ end())",
        "histogram_quantile(0.9, label_replace(m, \"le\", \"$1\", \"a\", \"(.*)\")) or vector(1) unless absent(m)",
        "max_over_time(-m[30m:1m]) > bool 0x1F ^ 2 % 1e3 # remark",
        "m{\"quoted\"='\\x41\\u00e4', b!~`raw`} atan2 ignoring(a) fill(1) {__name__=\"n\"} anchored",
        "increase(m[step() * 2 + max_of(1m, 30s)] smoothed) and count_values(\"v\", m)",
        "histogram_fraction(0, 2, sum by (a) (rate(h[5m]))) + histogram_avg(avg_over_time(h[3m])) * 2",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Returns two series of numbers and two of native histograms for any request.
struct FixedSource;

impl SeriesSource for FixedSource {
    fn select(&self, _: &[Matcher], from: i64, to: i64, _: usize) -> Result<Vec<RawSeries>, EvaluateError> {
        let series = |name: &str, value: f64| {
            let times = minutes(from, to);
            let values = times.iter().map(|time| value * *time as f64).collect();
            RawSeries { labels: Labels::new([("__name__", name), ("a", "b"), ("le", "1")]), times, values }
        };
        Ok(vec![series("m", 1.0), series("n", f64::NAN)])
    }

    fn select_histograms(
        &self,
        _: &[Matcher],
        from: i64,
        to: i64,
        _: usize,
    ) -> Result<Vec<RawHistograms>, EvaluateError> {
        let series = |name: &str, histogram: fn(f64) -> Histogram| {
            let times = minutes(from, to);
            // The counters are reset every four minutes.
            let histograms = times.iter().map(|time| Arc::new(histogram((time / 60_000 % 4) as f64))).collect();
            RawHistograms { labels: Labels::new([("__name__", name), ("a", "b")]), times, histograms }
        };
        Ok(vec![series("g", custom), series("h", exponential)])
    }
}

/// The full minutes from one time to another, of the first ten.
fn minutes(from: i64, to: i64) -> Vec<i64> {
    (0..10).map(|minute| minute * 60_000).filter(|time| (from..=to).contains(time)).collect()
}

/// A histogram of exponential buckets with buckets on both sides and a gap between them.
fn exponential(value: f64) -> Histogram {
    Histogram {
        schema: 1,
        zero_threshold: 0.001,
        zero_count: value,
        count: 4.0 * value + 1.0,
        sum: 2.5 * value,
        positive: Buckets {
            spans: vec![Span { offset: -1, length: 1 }, Span { offset: 2, length: 1 }],
            counts: vec![value, value + 1.0],
        },
        negative: Buckets { spans: vec![Span { offset: 0, length: 1 }], counts: vec![value] },
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::Unknown,
    }
}

/// A histogram with custom boundaries.
fn custom(value: f64) -> Histogram {
    Histogram {
        schema: CUSTOM_SCHEMA,
        zero_threshold: 0.0,
        zero_count: 0.0,
        count: 2.0 * value,
        sum: 3.0 * value,
        positive: Buckets { spans: vec![Span { offset: 0, length: 2 }], counts: vec![value, value] },
        negative: Buckets::default(),
        custom_bounds: vec![1.0],
        reset_hint: ResetHint::Unknown,
    }
}

fn read_query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(expr) = parse(&text) else { return };
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max: 100_000, stop: &|| false };
    let _ = evaluate_instant(&FixedSource, &text, &expr, 300_000, &limits);
    let _ = evaluate_range(&FixedSource, &text, &expr, (0, 600_000, 60_000), &limits);
}
