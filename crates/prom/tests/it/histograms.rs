//! Native histograms of remote write, of OTLP and of remote read.

use atsdb_prom::evaluate::{RawHistograms, RawSeries, STALE_BITS};
use atsdb_prom::histogram::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint, Span};
use atsdb_prom::labels::Labels;
use atsdb_prom::otlp::{decode_json, decode_protobuf};
use atsdb_prom::remote::{
    HISTOGRAM_COLUMNS, ReadResult, SeriesCache, StoredHistograms, WriteRequest, WriteVersion, decode_write, encode_read,
};
use std::sync::Arc;

/// A message as a sender encodes it.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn varint(mut self, field: u64, value: u64) -> Self {
        self.raw(field << 3);
        self.raw(value);
        self
    }

    fn signed(self, field: u64, value: i64) -> Self {
        self.varint(field, zigzag(value))
    }

    fn fixed(mut self, field: u64, value: u64) -> Self {
        self.raw(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn double(self, field: u64, value: f64) -> Self {
        self.fixed(field, value.to_bits())
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.raw(field << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn packed(self, field: u64, values: &[u64]) -> Self {
        let mut packed = Self::default();
        values.iter().for_each(|value| packed.raw(*value));
        self.bytes(field, &packed.0)
    }

    fn deltas(self, field: u64, values: &[i64]) -> Self {
        self.packed(field, &values.iter().map(|value| zigzag(*value)).collect::<Vec<_>>())
    }

    fn doubles(self, field: u64, values: &[f64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.bytes(field, &bytes)
    }

    fn span(self, field: u64, offset: i64, length: u64) -> Self {
        self.bytes(field, &Self::default().signed(1, offset).varint(2, length).0)
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// A histogram of whole numbers, with all fields.
fn whole() -> Message {
    let message = Message::default().varint(1, 17).double(3, 18.5).signed(4, -1).double(5, 0.25).varint(6, 2);
    let negative = message.span(8, -3, 1).deltas(9, &[4]);
    negative.span(11, 1, 2).span(11, 3, 1).deltas(12, &[1, 2, 4]).varint(14, 2).varint(15, 1_000)
}

fn buckets(spans: &[(i32, u32)], counts: &[f64]) -> Buckets {
    let spans = spans.iter().map(|(offset, length)| Span { offset: *offset, length: *length });
    Buckets { spans: spans.collect(), counts: counts.to_vec() }
}

/// The histogram that [`whole`] encodes.
fn expected() -> Histogram {
    Histogram {
        schema: -1,
        zero_threshold: 0.25,
        zero_count: 2.0,
        count: 17.0,
        sum: 18.5,
        positive: buckets(&[(1, 2), (3, 1)], &[1.0, 3.0, 7.0]),
        negative: buckets(&[(-3, 1)], &[4.0]),
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::NoReset,
    }
}

/// Requests of both versions with one series.
fn requests(histograms: &[&Message]) -> [(WriteVersion, Vec<u8>); 2] {
    let label = Message::default().bytes(1, b"__name__").bytes(2, b"h");
    let first = histograms.iter().fold(Message::default().bytes(1, &label.0), |series, own| series.bytes(4, &own.0));
    let second = histograms.iter().fold(Message::default().packed(1, &[1, 2]), |series, own| series.bytes(3, &own.0));
    let symbols = ["", "__name__", "h"].iter().fold(Message::default(), |all, text| all.bytes(4, text.as_bytes()));
    let first = Message::default().bytes(1, &first.0);
    [(WriteVersion::V1, first.0), (WriteVersion::V2, symbols.bytes(5, &second.0).0)]
}

fn decoded(histogram: &Message) -> WriteRequest {
    let [(version, body), _] = requests(&[histogram]);
    decode_write(&body, version, 1 << 20, &SeriesCache::default()).unwrap()
}

/// The reason why a histogram is refused.
fn refusal(histogram: &Message) -> String {
    let request = decoded(histogram);
    assert_eq!((request.histograms.len(), request.refused.histograms), (0, 1), "{}", request.refused.reason);
    request.refused.reason
}

/// The only histogram of a request, which is also what its row says.
fn only(request: &WriteRequest) -> (i64, Histogram) {
    assert_eq!((request.histograms.len(), &request.refused.reason), (1, &String::new()));
    let (time, _, histogram) = request.histograms.iter().next().unwrap();
    let rows = request.histograms.to_batch(&request.samples).unwrap();
    let columns: Vec<_> = HISTOGRAM_COLUMNS.iter().map(|name| Arc::clone(rows.column_by_name(name).unwrap())).collect();
    let stored = StoredHistograms::new(&columns).unwrap().get(0).unwrap();
    assert_eq!(format!("{stored:?}"), format!("{histogram:?}"));
    assert_eq!(stored.sum.to_bits(), histogram.sum.to_bits());
    (time, stored)
}

#[test]
fn both_versions_say_the_same() {
    for (version, body) in requests(&[&whole(), &whole().varint(15, 2_000)]) {
        let request = decode_write(&body, version, 1 << 20, &SeriesCache::default()).unwrap();
        assert_eq!(request.samples.series().collect::<Vec<_>>(), ["h"]);
        let found: Vec<_> = request.histograms.iter().map(|(time, series, own)| (time, series, own.clone())).collect();
        assert_eq!(found, [(1_000, 0, expected()), (2_000, 0, expected())], "{version:?}");
        for end in 0..body.len() {
            if let Ok(request) = decode_write(&body[..end], version, 1 << 20, &SeriesCache::default()) {
                assert!(request.histograms.is_empty(), "{version:?}: {end}");
            }
        }
    }
    assert_eq!(only(&decoded(&whole())), (1_000, expected()));
}

#[test]
fn floats_and_custom_bounds_are_read() {
    let floats =
        Message::default().double(2, 4.5).double(3, -1.5).double(7, 0.5).span(11, 0, 2).doubles(13, &[1.5, 2.5]);
    let (time, histogram) = only(&decoded(&floats.clone().varint(14, 3).signed(4, 8)));
    assert_eq!((time, histogram.schema, histogram.reset_hint), (0, 8, ResetHint::Gauge));
    assert_eq!((histogram.count, histogram.zero_count, histogram.sum), (4.5, 0.5, -1.5));
    assert_eq!(histogram.positive, buckets(&[(0, 2)], &[1.5, 2.5]));
    let custom = Message::default().varint(1, 3).signed(4, CUSTOM_SCHEMA.into()).span(11, 1, 2).deltas(12, &[1, 1]);
    let (_, histogram) = only(&decoded(&custom.clone().doubles(16, &[0.5, 1.0]).varint(14, 1)));
    assert_eq!((histogram.schema, histogram.custom_bounds), (CUSTOM_SCHEMA, vec![0.5, 1.0]));
    assert_eq!((histogram.positive, histogram.reset_hint), (buckets(&[(1, 2)], &[1.0, 2.0]), ResetHint::Reset));
    assert!(refusal(&custom.clone().doubles(16, &[1.0, 0.5])).contains("strictly increasing"));
    assert!(refusal(&custom.doubles(16, &[0.5])).contains("too few"));
}

#[test]
fn a_stale_marker_keeps_its_bits() {
    let stale = Message::default().fixed(3, STALE_BITS).varint(15, 7);
    for message in [stale.clone(), stale.clone().varint(1, STALE_BITS), stale.double(2, 0.0)] {
        let (time, histogram) = only(&decoded(&message));
        assert_eq!((time, histogram.sum.to_bits()), (7, STALE_BITS));
    }
}

#[test]
fn buckets_of_finer_schemas_are_merged() {
    let fine = Message::default().varint(1, 10).double(3, 1.0).signed(4, 10);
    let (_, histogram) = only(&decoded(&fine.span(11, -4, 4).span(11, 1, 2).deltas(12, &[1, 0, 0, 0, 2, 0])));
    // Four buckets become one: those from -3 to 0 and those from 1 to 4.
    assert_eq!(histogram.schema, 8);
    assert_eq!(histogram.positive, buckets(&[(-1, 3)], &[1.0, 3.0, 6.0]));
}

#[test]
fn histograms_that_can_never_be_stored_are_left_out_and_counted() {
    let empty = Message::default;
    for (message, reason) in [
        (empty().varint(1, 5), "observation count is 5"),
        (empty().varint(1, 1).span(11, 0, 1).deltas(12, &[2]), "2 observations are in buckets"),
        (empty().varint(1, 1).span(11, 0, 1).deltas(12, &[-1]), "negative"),
        (empty().varint(1, 1).span(11, 0, 2).deltas(12, &[i64::MAX, 1]), "too large"),
        (empty().varint(1, 1).span(11, 0, u32::MAX.into()).deltas(12, &[1]), "spans need 4294967295 buckets"),
        (empty().double(2, 1.0).span(11, 0, u32::MAX.into()), "spans need 4294967295 buckets"),
        (empty().double(2, 1.0).span(11, 0, 1).span(11, -1, 1).doubles(13, &[1.0, 1.0]), "offset is negative"),
        (empty().double(2, 1.0).span(8, 2_147_483_647, 1).doubles(10, &[1.0]), "no bucket's index"),
        (empty().double(2, -1.0), "negative"),
        (empty().signed(4, 53), "schema 53"),
        (empty().signed(4, 300), "schema 300"),
        (empty().signed(4, -5), "schema -5"),
    ] {
        let found = refusal(&message);
        assert!(found.contains(reason), "{found}: {reason}");
    }
    let sum_is_nan = empty().varint(1, 3).double(3, f64::NAN).span(11, 0, 1).deltas(12, &[2]);
    assert_eq!(only(&decoded(&sum_is_nan)).1.count, 3.0, "an observation of NaN is in no bucket");
    // Other histograms of the request are stored.
    for (version, body) in requests(&[&empty().varint(1, 5), &whole(), &empty().signed(4, 99)]) {
        let request = decode_write(&body, version, 1 << 20, &SeriesCache::default()).unwrap();
        assert_eq!((request.histograms.len(), request.refused.histograms), (1, 2));
        assert!(request.refused.reason.contains("observation count is 5"), "{}", request.refused.reason);
    }
    // Those of a series without a name are counted with it.
    let nameless = Message::default().bytes(1, &Message::default().bytes(4, &whole().0).bytes(4, &whole().0).0);
    let request = decode_write(&nameless.0, WriteVersion::V1, 1 << 20, &SeriesCache::default()).unwrap();
    assert_eq!((request.refused.series, request.refused.histograms, request.histograms.len()), (1, 2, 0));
}

#[test]
fn buckets_count_towards_the_limit_of_a_request() {
    let count = 50_000;
    let deltas = Message::default().span(11, 0, count).packed(12, &vec![0; count as usize]);
    let spans = (0..count).fold(Message::default(), |message, _| message.bytes(11, &[]));
    let bounds = Message::default().signed(4, CUSTOM_SCHEMA.into()).doubles(16, &vec![1.0; count as usize]);
    for message in [deltas, spans, bounds] {
        for (version, body) in requests(&[&message]) {
            assert!(decode_write(&body, version, 1 << 20, &SeriesCache::default()).is_ok());
            assert_eq!(
                decode_write(&body, version, 300_000, &SeriesCache::default()).unwrap_err().status(),
                413,
                "{version:?}"
            );
        }
    }
    // Empty histograms take two bytes each.
    let [(version, body), _] = requests(&vec![&Message::default(); 2_000]);
    assert_eq!(decode_write(&body, version, 1 << 20, &SeriesCache::default()).unwrap().histograms.len(), 2_000);
    assert_eq!(decode_write(&body, version, 200_000, &SeriesCache::default()).unwrap_err().status(), 413);
}

/// An exponential histogram of OTLP.
fn exponential(temporality: u64, point: &Message) -> Vec<u8> {
    let data = Message::default().bytes(1, &point.0).varint(2, temporality);
    let metric = Message::default().bytes(1, b"latency").bytes(3, b"s").bytes(10, &data.0);
    let scope = Message::default().bytes(2, &metric.0);
    Message::default().bytes(1, &Message::default().bytes(2, &scope.0).0).0
}

fn point(scale: i64, offset: i64, counts: &[u64]) -> Message {
    let total = counts.iter().sum();
    let side = Message::default().signed(1, offset).packed(2, counts);
    Message::default().fixed(3, 1_000_000_000).fixed(4, total).double(5, 2.5).signed(6, scale).bytes(8, &side.0)
}

#[test]
fn exponential_histograms_of_otlp_become_native_ones() {
    let attribute = Message::default().bytes(1, b"room").bytes(2, &Message::default().bytes(1, b"hall").0);
    let negative = Message::default().signed(1, 1).packed(2, &[1]);
    let own = point(3, -2, &[1, 0, 0, 0, 2, 3]).fixed(4, 9).fixed(7, 2).bytes(9, &negative.0).bytes(1, &attribute.0);
    let request = decode_protobuf(&exponential(2, &own), 1 << 20).unwrap();
    assert_eq!((request.rejected_points, request.write.samples.len()), (0, 0));
    assert_eq!(request.write.samples.series().collect::<Vec<_>>(), ["latency_seconds{room=\"hall\"}"]);
    let (time, histogram) = only(&request.write);
    let expected = Histogram {
        schema: 3,
        zero_threshold: 1e-128,
        zero_count: 2.0,
        count: 9.0,
        sum: 2.5,
        // OTLP's bucket -2 is the native bucket -1.
        positive: buckets(&[(-1, 1), (3, 2)], &[1.0, 2.0, 3.0]),
        negative: buckets(&[(2, 1)], &[1.0]),
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::Unknown,
    };
    assert_eq!((time, histogram), (1_000, expected.clone()));
    let json = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "latency", "unit": "s",
        "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [{"timeUnixNano": "1000000000",
        "count": "9", "sum": 2.5, "scale": 3, "zeroCount": "2",
        "positive": {"offset": -2, "bucketCounts": ["1", "0", 0, "0", "2", "3"]},
        "negative": {"offset": 1, "bucketCounts": ["1"]},
        "attributes": [{"key": "room", "value": {"stringValue": "hall"}}]}]}}]}]}]}"#;
    let from_json = decode_json(json.as_bytes(), 1 << 20).unwrap();
    assert_eq!(only(&from_json.write), (1_000, expected));
    assert_eq!(from_json.write.metadata, request.write.metadata);

    // Two buckets of scale 9 become one of schema 8: -1 and -2 become 0, 0 and 1 become 1, 2 becomes 2.
    let request = decode_protobuf(&exponential(2, &point(9, -2, &[1, 1, 1, 1, 5])), 1 << 20).unwrap();
    let (_, histogram) = only(&request.write);
    assert_eq!((histogram.schema, histogram.positive), (8, buckets(&[(0, 3)], &[2.0, 2.0, 5.0])));
    let finest = decode_protobuf(&exponential(2, &point(i32::MAX.into(), -1, &[4, 5])), 1 << 20).unwrap();
    assert_eq!(only(&finest.write).1.positive, buckets(&[(0, 2)], &[4.0, 5.0]));
    let stale = decode_protobuf(&exponential(2, &point(0, 0, &[]).varint(10, 1)), 1 << 20).unwrap();
    assert_eq!(only(&stale.write).1.sum.to_bits(), STALE_BITS);
}

#[test]
fn points_of_exponential_histograms_that_cannot_be_stored_are_reported() {
    for (body, reason) in [
        (exponential(1, &point(0, 0, &[1])), "delta temporality"),
        (exponential(0, &point(0, 0, &[1])), "temporality is not specified"),
        (exponential(2, &point(-5, 0, &[1])), "scale -5"),
        (exponential(2, &point(0, i32::MAX.into(), &[1])), "index of 32 bits"),
        (exponential(2, &point(0, 0, &[1]).fixed(4, 7)), "observation count is 7"),
    ] {
        let request = decode_protobuf(&body, 1 << 20).unwrap();
        assert_eq!((request.rejected_points, request.write.histograms.len()), (1, 0), "{reason}");
        assert!(request.reason.contains(reason), "{}", request.reason);
    }
    let body = exponential(2, &point(0, 0, &[0; 50_000]));
    assert!(decode_protobuf(&body, 1 << 20).is_ok());
    assert_eq!(decode_protobuf(&body, 100_000).unwrap_err().status(), 413);
}

#[test]
fn remote_read_answers_with_histograms() {
    let labels = |name: &str| Labels::new([("__name__", name)]);
    let samples = |name: &str| RawSeries { labels: labels(name), times: vec![5], values: vec![1.5] };
    let histograms =
        |name: &str| RawHistograms { labels: labels(name), times: vec![1_000], histograms: vec![Arc::new(expected())] };
    let result = ReadResult {
        samples: vec![samples("a"), samples("b"), samples("d")],
        histograms: vec![histograms("b"), histograms("c")],
    };
    let label = |name: &str| {
        let label = Message::default().bytes(1, b"__name__").bytes(2, name.as_bytes());
        Message::default().bytes(1, &label.0)
    };
    let sample = Message::default().double(1, 1.5).varint(2, 5);
    let floats = Message::default().double(2, 17.0).double(3, 18.5).signed(4, -1).double(5, 0.25).double(7, 2.0);
    let floats = floats.span(8, -3, 1).doubles(10, &[4.0]).span(11, 1, 2).span(11, 3, 1).doubles(13, &[1.0, 3.0, 7.0]);
    let floats = floats.varint(14, 2).varint(15, 1_000);
    let all = [
        label("a").bytes(2, &sample.0),
        label("b").bytes(2, &sample.0).bytes(4, &floats.0),
        label("c").bytes(4, &floats.0),
        label("d").bytes(2, &sample.0),
    ];
    let answer = all.iter().fold(Message::default(), |answer, series| answer.bytes(1, &series.0));
    assert_eq!(encode_read(&[result]), Message::default().bytes(1, &answer.0).0);
    // What is read can be written again.
    assert_eq!(only(&decoded(&floats)), (1_000, expected()));
}
