//! Exemplars of requests, and the selectors of the queries that ask for them.

use atsdb_prom::otlp::{decode_json, decode_protobuf};
use atsdb_prom::promql::parse;
use atsdb_prom::remote::{SeriesCache, WriteRequest, WriteVersion, decode_write};

fn exemplars(request: &WriteRequest) -> Vec<(String, i64, f64, String)> {
    let series: Vec<&str> = request.samples.series().collect();
    let all = request.exemplars.iter();
    all.map(|(time, number, value, labels)| (series[number as usize].to_owned(), time, value, labels.to_owned()))
        .collect()
}

/// A field with a short message.
fn field(key: u8, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![key, u8::try_from(message.len()).unwrap()];
    bytes.extend(message);
    bytes
}

fn double(key: u8, value: f64) -> Vec<u8> {
    [&[key][..], &value.to_le_bytes()].concat()
}

#[test]
fn both_versions_have_the_same_exemplars() {
    let label = |name: &str, value: &str| [field(0x0a, name.as_bytes()), field(0x12, value.as_bytes())].concat();
    let rest = [double(0x11, 0.5), vec![0x18, 7]].concat();
    let exemplar = [field(0x0a, &label("trace_id", "t")), rest.clone()].concat();
    let series = [field(0x0a, &label("__name__", "m")), field(0x1a, &exemplar)].concat();
    let first = decode_write(&field(0x0a, &series), WriteVersion::V1, 1 << 20, &SeriesCache::default()).unwrap();

    let symbols = ["", "__name__", "m", "trace_id", "t"].map(|symbol| field(0x22, symbol.as_bytes())).concat();
    let series = |exemplar: &[u8]| [field(0x0a, &[1, 2]), field(0x22, exemplar)].concat();
    let version_2 = |exemplar: &[u8]| [symbols.clone(), field(0x2a, &series(exemplar))].concat();
    let body = version_2(&[field(0x0a, &[3, 4]), rest].concat());
    let second = decode_write(&body, WriteVersion::V2, 1 << 20, &SeriesCache::default()).unwrap();

    let expected = [("m".to_owned(), 7, 0.5, r#"{"trace_id":"t"}"#.to_owned())];
    assert_eq!(exemplars(&first), expected);
    assert_eq!(exemplars(&second), expected);
    assert_eq!(first.exemplars.to_batch(&first.samples).unwrap().num_rows(), 1);
    assert_eq!(decode_write(&body, WriteVersion::V2, 150, &SeriesCache::default()).unwrap_err().status(), 413);
    for wrong in [&[3][..], &[3, 9]] {
        let body = version_2(&field(0x0a, wrong));
        assert_eq!(decode_write(&body, WriteVersion::V2, 1 << 20, &SeriesCache::default()).unwrap_err().status(), 400);
    }
}

#[test]
fn both_formats_of_opentelemetry_have_the_same_exemplars() {
    let time = |key: u8, seconds: u64| [&[key][..], &(seconds * 1_000_000_000).to_le_bytes()].concat();
    let exemplar = [time(0x11, 2), double(0x19, 1.5), field(0x22, &[0xab]), field(0x2a, &[0xcd])].concat();
    let point = [time(0x19, 3), double(0x21, 4.0), field(0x2a, &exemplar)].concat();
    let sum = [field(0x0a, &point), vec![0x10, 2]].concat();
    let metric = [field(0x0a, b"m"), field(0x3a, &sum)].concat();
    let body = field(0x0a, &field(0x12, &field(0x12, &metric)));
    let first = decode_protobuf(&body, 1 << 20).unwrap();
    let json = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "sum": {
        "aggregationTemporality": 2, "dataPoints": [{"timeUnixNano": "3000000000", "asDouble": 4, "exemplars": [
        {"timeUnixNano": "2000000000", "asDouble": 1.5, "spanId": "AB", "traceId": "cd"}]}]}}]}]}]}"#;
    let second = decode_json(json.as_bytes(), 1 << 20).unwrap();
    let expected = [("m".to_owned(), 2_000, 1.5, r#"{"span_id":"ab","trace_id":"cd"}"#.to_owned())];
    assert_eq!(exemplars(&first.write), expected);
    assert_eq!(exemplars(&second.write), expected);
}

#[test]
fn exemplars_are_in_the_first_bucket_that_holds_their_value() {
    let json = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "h", "histogram": {
        "aggregationTemporality": 2, "dataPoints": [{"timeUnixNano": "1000000", "count": 5, "explicitBounds": [1, 2],
        "bucketCounts": [2, 1, 2], "exemplars": [{"asDouble": "NaN"}, {"asDouble": 2}, {"asDouble": 1},
        {"asDouble": "Infinity"}, {"asDouble": "-Infinity"}]}]}}]}]}]}"#;
    let request = decode_json(json.as_bytes(), 1 << 20).unwrap();
    let all = exemplars(&request.write);
    let found: Vec<String> = all.iter().map(|(series, _, value, _)| format!("{series} {value}")).collect();
    let of = |le: &str, value: &str| format!("h_bucket{{le=\"{le}\"}} {value}");
    let expected = [of("1", "-inf"), of("1", "1"), of("2", "2"), of("+Inf", "inf"), of("+Inf", "NaN")];
    assert_eq!(found, expected);
    assert!(all.iter().all(|exemplar| exemplar.1 == 1), "the time of the point");
}

#[test]
fn selectors_are_found_in_all_operands() {
    let text = "-sum by (a) (rate(b[5m])) / topk(scalar(c), d{e=\"f\"} or vector(1)) and abs(g)";
    let names = |text: &str| -> Vec<String> {
        let expr = parse(text).unwrap();
        expr.selectors().iter().filter_map(|selector| selector.name.clone()).collect()
    };
    assert_eq!(names(text), ["b", "c", "d", "g"]);
    assert_eq!(names("max_over_time((a + b)[1h:5m])"), ["a", "b"]);
    assert_eq!(names("1 + time()"), [""; 0]);
}

#[test]
fn parts_of_opentelemetry_that_are_small_in_the_message_are_counted() {
    /// A field with a message of any length.
    fn long(key: u8, message: &[u8]) -> Vec<u8> {
        let (mut bytes, mut rest) = (vec![key], message.len());
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
        bytes.extend(message);
        bytes
    }
    let of_point = |point: &[u8]| {
        let metric = [field(0x0a, b"m"), long(0x2a, &long(0x0a, point))].concat();
        long(0x0a, &long(0x12, &long(0x12, &metric)))
    };
    // 10,001 attributes; a value that is an array of 4,000; 200 exemplars of 100 attributes.
    let attributes = [0x3a, 0].repeat(10_001);
    let array = long(0x3a, &long(0x12, &long(0x2a, &[0x0a, 0].repeat(4_000))));
    let exemplars = long(0x2a, &[0x3a, 0].repeat(100)).repeat(200);
    for (point, status) in [(attributes, 400), (array, 413), (exemplars, 413)] {
        assert_eq!(decode_protobuf(&of_point(&point), 100_000).unwrap_err().status(), status, "{} bytes", point.len());
    }
    let of_point = |point: &str| {
        format!(
            r#"{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": [{{"name": "m", "gauge": {{
            "dataPoints": [{{{point}}}]}}}}]}}]}}]}}"#
        )
    };
    let attributes = |count: usize| vec![r#"{"key":""}"#; count].join(",");
    let many = format!(r#""attributes": [{}]"#, attributes(10_001));
    let exemplar = format!(r#"{{"filteredAttributes": [{}]}}"#, attributes(100));
    let exemplars = format!(r#""exemplars": [{}]"#, vec![exemplar.as_str(); 200].join(","));
    for (point, status) in [(many, 400), (exemplars, 413)] {
        let body = of_point(&point);
        assert_eq!(decode_json(body.as_bytes(), 100_000).unwrap_err().status(), status, "{} bytes", point.len());
    }
}
