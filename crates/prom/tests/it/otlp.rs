//! Metrics of OpenTelemetry: both formats give the same samples.

use atsdb_prom::otlp::{OtlpRequest, answer_protobuf, decode_json, decode_protobuf};

/// A gauge and a histogram of the service `s`.
fn protobuf() -> Vec<u8> {
    [
        b"\x0ay\x0a\x15\x0a\x13\x0a\x0cservice.name".as_slice(),
        b"\x12\x03\x0a\x01s\x12`\x12%\x0a\x01m\x1a\x01s*\x1d\x0a\x1b\x19\x00",
        b"\xca\x9a;\x00\x00\x00\x00!\x00\x00\x00\x00\x00\x00\xf0?:\x07\x0a\x01",
        b"a\x12\x02\x18\x01\x127\x0a\x01hJ2\x0a.\x19\x00\x945w\x00\x00",
        b"\x00\x00!\x02\x00\x00\x00\x00\x00\x00\x002\x10\x01\x00\x00\x00\x00\x00\x00",
        b"\x00\x01\x00\x00\x00\x00\x00\x00\x00:\x08\x00\x00\x00\x00\x00\x00\xe0?\x10\x02",
    ]
    .concat()
}

const JSON: &str = r#"{"resourceMetrics": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
    "scopeMetrics": [{"metrics": [
        {"name": "m", "unit": "s", "gauge": {"dataPoints": [{"timeUnixNano": "1000000000", "asDouble": 1,
            "attributes": [{"key": "a", "value": {"intValue": "1"}}]}]}},
        {"name": "h", "histogram": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE", "dataPoints": [
            {"timeUnixNano": 2000000000, "count": "2", "bucketCounts": ["1", "1"], "explicitBounds": [0.5]}]}}
    ]}]
}]}"#;

fn samples(request: &OtlpRequest) -> Vec<(String, i64, f64)> {
    let series: Vec<&str> = request.write.samples.series().collect();
    let samples = request.write.samples.iter();
    samples.map(|(time, number, value)| (series[number as usize].to_owned(), time, value)).collect()
}

#[test]
fn both_formats_say_the_same() {
    let (first, second) =
        (decode_protobuf(&protobuf(), 1 << 20).unwrap(), decode_json(JSON.as_bytes(), 1 << 20).unwrap());
    let expected = [
        ("m_seconds{a=\"1\",job=\"s\"}", 1_000, 1.0),
        ("h_count{job=\"s\"}", 2_000, 2.0),
        ("h_bucket{job=\"s\",le=\"0.5\"}", 2_000, 1.0),
        ("h_bucket{job=\"s\",le=\"+Inf\"}", 2_000, 2.0),
    ];
    assert_eq!(samples(&first), expected.map(|(series, time, value)| (series.to_owned(), time, value)));
    assert_eq!(samples(&second), samples(&first));
    assert_eq!(first.write.metadata, second.write.metadata);
    assert_eq!((first.rejected_points, first.write.metadata[0].unit.as_str()), (0, "seconds"));
    assert_eq!(answer_protobuf(0, ""), b"");
    assert_eq!(answer_protobuf(3, "no"), b"\x0a\x06\x08\x03\x12\x02no");
}

#[test]
fn a_request_holds_no_more_than_it_may() {
    assert_eq!(decode_protobuf(&protobuf(), 100).unwrap_err().status(), 413);
    assert_eq!(decode_json(JSON.as_bytes(), 100).unwrap_err().status(), 413);
    let body = protobuf();
    for end in 1..body.len() {
        assert_eq!(decode_protobuf(&body[..end], 1 << 20).unwrap_err().status(), 400, "{end}");
    }
}
