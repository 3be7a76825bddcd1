//! Metrics of OpenTelemetry.

use super::client::{Served, json as json_of};
use crate::programs::clients;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Command;

fn send(served: &Served, body: &Value) -> crate::client::Reply {
    served.0.send("POST", "/v1/metrics", &[("Content-Type", "application/json")], body.to_string())
}

/// Returns a request with one metric.
fn of(metric: &Value) -> Value {
    let attribute = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let attributes = [
        attribute("service.namespace", "shop"),
        attribute("service.name", "web"),
        attribute("service.instance.id", "a:1"),
        attribute("host.name", "h1"),
    ];
    json!({ "resourceMetrics": [{ "resource": { "attributes": attributes },
        "scopeMetrics": [{ "scope": { "name": "own" }, "metrics": [metric] }] }] })
}

fn point(time: &str, value: &Value) -> Value {
    let mut point =
        json!({ "timeUnixNano": time, "attributes": [{ "key": "http.method", "value": { "stringValue": "GET" } }] });
    point.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    point
}

#[test]
fn points_get_the_names_and_labels_that_prometheus_gives_them() {
    let served = Served::start();
    let seven = point("1000000000", &json!({ "asInt": "7" }));
    let sum = json!({ "name": "http.requests", "description": "How many.", "unit": "1", "sum": {
        "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [seven] } });
    let reply = send(&served, &of(&sum));
    assert_eq!((reply.status, reply.text()), (200, "{}"));
    let labels = "http_method=\"GET\",instance=\"a:1\",job=\"shop/web\"";
    let rows = served.rows("SELECT series, CAST(value AS INT) FROM prom_samples ORDER BY 1");
    let target = "target_info{host_name=\"h1\",instance=\"a:1\",job=\"shop/web\"}";
    let requests = format!("http_requests_total{{{labels}}}");
    assert_eq!(rows, [[requests.as_str(), "7"], [target, "1"]]);
    let metadata = json_of(&served.get("/api/v1/metadata?metric=http_requests_total"));
    assert_eq!(
        metadata["data"]["http_requests_total"],
        json!([{ "type": "counter", "help": "How many.", "unit": "" }])
    );

    let counts = json!({ "count": "3", "sum": 2.5, "bucketCounts": ["1", "1", "1"], "explicitBounds": [0.5, 1] });
    let histogram = json!({ "name": "latency", "unit": "s", "histogram": { "aggregationTemporality": 2,
        "dataPoints": [point("1000000000", &counts)] } });
    let summary = json!({ "name": "size", "unit": "By", "summary": { "dataPoints": [point("1000000000",
        &json!({ "count": "2", "sum": 9.5, "quantileValues": [{ "quantile": 0.99, "value": 8 }] }))] } });
    let gone = json!({ "name": "gone", "gauge": { "dataPoints": [point("1000000000", &json!({ "flags": 1 }))] } });
    for metric in [&histogram, &summary, &gone] {
        assert_eq!(send(&served, &of(metric)).status, 200);
    }
    let sql = format!(
        "SELECT replace(series, '{labels}', '-'), CAST(value AS TEXT) FROM prom_samples
        WHERE metric LIKE 'latency%' OR metric LIKE 'size%' OR metric = 'gone' ORDER BY 1"
    );
    let expected = [
        ["gone{-}", "NaN"],
        ["latency_seconds_bucket{http_method=\"GET\",instance=\"a:1\",job=\"shop/web\",le=\"+Inf\"}", "3"],
        ["latency_seconds_bucket{http_method=\"GET\",instance=\"a:1\",job=\"shop/web\",le=\"0.5\"}", "1"],
        ["latency_seconds_bucket{http_method=\"GET\",instance=\"a:1\",job=\"shop/web\",le=\"1\"}", "2"],
        ["latency_seconds_count{-}", "3"],
        ["latency_seconds_sum{-}", "2.5"],
        ["size_bytes_count{-}", "2"],
        ["size_bytes_sum{-}", "9.5"],
        ["size_bytes{http_method=\"GET\",instance=\"a:1\",job=\"shop/web\",quantile=\"0.99\"}", "8"],
    ];
    let expected: Vec<[String; 2]> = expected.iter().map(|row| row.map(|cell| cell.replace(labels, "-"))).collect();
    let mut rows = served.rows(&sql);
    rows.sort();
    let mut expected: Vec<Vec<String>> = expected.into_iter().map(Vec::from).collect();
    expected.sort();
    assert_eq!(rows, expected);
}

#[test]
fn metrics_that_are_not_stored_are_reported() {
    let served = Served::start();
    let points: Vec<Value> = (0..3).map(|_| point("1", &json!({ "asInt": "1" }))).collect();
    let delta = json!({ "name": "d", "sum": { "aggregationTemporality": 1, "dataPoints": points } });
    let reply = send(&served, &of(&delta));
    assert_eq!(reply.status, 200);
    let partial = &json_of(&reply)["partialSuccess"];
    assert_eq!(partial["rejectedDataPoints"], "3", "{partial}");
    assert!(partial["errorMessage"].as_str().unwrap().contains("delta temporality"), "{partial}");
    let coarse = point("1", &json!({ "scale": -5 }));
    let exponential = json!({ "name": "e", "exponentialHistogram": { "aggregationTemporality": 2,
        "dataPoints": [coarse, point("1", &json!({ "scale": 0 })), coarse, coarse] } });
    let partial = json_of(&send(&served, &of(&exponential)))["partialSuccess"].clone();
    assert_eq!(partial["rejectedDataPoints"], "3", "{partial}");
    assert!(partial["errorMessage"].as_str().unwrap().contains("scale -5"), "{partial}");
    assert_eq!(served.rows("SELECT count(*) FROM prom_histograms WHERE metric = 'e'"), [["1"]]);
    assert!(served.get("/metrics").text().contains("atsdb_otlp_points_rejected_total 6\n"));

    let send = |kind: &str, body: &[u8]| served.0.send("POST", "/v1/metrics", &[("Content-Type", kind)], body).status;
    assert_eq!(send("application/json", b"{"), 400);
    assert_eq!(send("application/json", b"[]"), 400);
    assert_eq!(send("application/x-protobuf", b"\x0a\x7f"), 400);
    assert_eq!(send("text/plain", b"{}"), 415);
    assert_eq!(send("application/x-protobuf", b""), 200);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let gauge = json!({ "name": "g", "gauge": { "dataPoints": [point("5000000", &json!({ "asDouble": 1.5 }))] } });
    gzip.write_all(of(&gauge).to_string().as_bytes()).unwrap();
    let headers = [("Content-Type", "application/json; charset=utf-8"), ("Content-Encoding", "gzip")];
    assert_eq!(served.0.send("POST", "/api/v1/otlp/v1/metrics", &headers, gzip.finish().unwrap()).status, 200);
    assert_eq!(served.rows("SELECT CAST(value AS TEXT) FROM prom_samples WHERE metric = 'g'"), [["1.5"]]);
}

#[test]
fn the_sdk_for_python_exports_here() {
    let Some(python) = clients().map(|folder| folder.join("python/bin/python")).filter(|path| path.exists()) else {
        eprintln!("skipped: the Python clients are not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/otlp_client.py");
    let served = Served::start();
    let url = format!("http://{}/v1/metrics", served.0.address);
    let output = Command::new(python).arg(script).arg(url).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if stdout.contains("no opentelemetry") {
        eprintln!("skipped: opentelemetry-exporter-otlp-proto-http is not installed: .ci/clients FOLDER");
        return;
    }
    assert!(output.status.success() && stdout.trim_end().ends_with("done"), "{stdout}\n{stderr}");
    let mut rows = served
        .rows("SELECT DISTINCT series, CAST(value AS TEXT) FROM prom_samples WHERE metric <> 'target_info' ORDER BY 1");
    let expected = [
        ["door_opened_total{job=\"house\",room=\"hall\"}", "3"],
        ["latency_seconds_bucket{job=\"house\",le=\"+Inf\"}", "2"],
        ["latency_seconds_bucket{job=\"house\",le=\"0.1\"}", "1"],
        ["latency_seconds_bucket{job=\"house\",le=\"1\"}", "2"],
        ["latency_seconds_count{job=\"house\"}", "2"],
        ["latency_seconds_sum{job=\"house\"}", "0.75"],
        ["room_temperature_celsius{job=\"house\",room=\"hall\"}", "21.5"],
    ];
    let mut expected: Vec<Vec<String>> = expected.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
    expected.sort();
    rows.sort();
    assert_eq!(rows, expected);
}
