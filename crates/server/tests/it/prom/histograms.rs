//! Native histograms: written, read back, queried, and in SQL.

use super::client::{Served, json as json_of};
use super::message::{Message, histogram, request_v1, series_v1, with_histograms};
use serde_json::json;

const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;

/// The series `latency{job="x"}` with histograms.
fn latency(histograms: &[Message]) -> Message {
    with_histograms(series_v1(&[("__name__", "latency"), ("job", "x")], &[]), histograms)
}

fn stale(time: i64) -> Message {
    Message::default().double(3, f64::from_bits(STALE_BITS)).varint(15, time as u64)
}

fn table_count(served: &Served) -> Vec<Vec<String>> {
    served.rows("SELECT count(*) FROM information_schema.tables WHERE table_name = 'prom_histograms'")
}

#[test]
fn histograms_become_rows_in_the_commit_of_the_samples() {
    let served = Served::start();
    let up = series_v1(&[("__name__", "up")], &[(1_000, 1.0)]);
    assert_eq!(served.write(&request_v1(std::slice::from_ref(&up)).snappy()).status, 204);
    assert_eq!(table_count(&served), [["0"]], "only the first histogram makes the table");

    let float = Message::default().double(2, 1.5).double(3, -0.5).signed(4, -53).varint(14, 3).varint(15, 2_000);
    let span = Message::default().signed(1, 1).varint(2, 1);
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let float = float.bytes(11, &span.0).bytes(13, &doubles(&[1.5])).bytes(16, &doubles(&[0.5, 1.0]));
    let request = request_v1(&[up, latency(&[float, histogram(1_000)])]).snappy();
    for _ in 0..2 {
        assert_eq!(served.write(&request).status, 204);
    }
    let columns = "metric, series, schema, count, sum, zero_threshold, zero_count, reset_hint";
    let rows = served.rows(&format!("SELECT {columns} FROM prom_histograms ORDER BY time"));
    let series = "latency{job=\"x\"}";
    let expected = [
        ["latency", series, "0", "10.0", "18.5", "0.001", "2.0", "unknown"],
        ["latency", series, "-53", "1.5", "-0.5", "0.0", "0.0", "gauge"],
    ];
    assert_eq!(rows, expected);
    let side = |side: &str| format!("{side}_offsets, {side}_lengths, {side}_counts");
    let sql =
        format!("SELECT {}, {}, custom_bounds FROM prom_histograms ORDER BY time", side("positive"), side("negative"));
    let expected = [
        ["[0]", "[2]", "[1.0, 3.0]", "[1]", "[1]", "[4.0]", "[]"],
        ["[1]", "[1]", "[1.5]", "[]", "[]", "[]", "[0.5, 1.0]"],
    ];
    assert_eq!(served.rows(&sql), expected);
    let labels = served.rows("SELECT name, value FROM prom_labels WHERE series LIKE 'latency%' ORDER BY name");
    assert_eq!(labels, [["__name__", "latency"], ["job", "x"]]);
    assert_eq!(served.rows("SELECT DISTINCT metric FROM prom_samples"), [["up"]]);

    // A histogram that is sent again replaces the first one.
    let again = Message::default().varint(1, 0).varint(15, 1_000);
    assert_eq!(served.write(&request_v1(&[latency(&[again])]).snappy()).status, 204);
    let counts = served.rows("SELECT count FROM prom_histograms ORDER BY time");
    assert_eq!(counts, [["0.0"], ["1.5"]]);
}

#[test]
fn queries_find_histograms_until_they_are_stale() {
    let served = Served::start();
    let up = series_v1(&[("__name__", "up"), ("job", "x")], &[(60_000, 1.0)]);
    let request = request_v1(&[latency(&[histogram(60_000), histogram(90_000), stale(120_000)]), up]);
    assert_eq!(served.write(&request.snappy()).status, 204);
    let bits = served.rows("SELECT CAST(sum AS TEXT) FROM prom_histograms ORDER BY time DESC LIMIT 1");
    assert_eq!(bits, [["NaN"]]);

    let metric = json!({ "__name__": "latency", "job": "x" });
    let buckets = json!([[1, "-2", "-1", "4"], [3, "-0.001", "0.001", "2"], [0, "0.5", "1", "1"], [0, "1", "2", "3"]]);
    let value = json!({ "count": "10", "sum": "18.5", "buckets": buckets });
    let found = json_of(&served.get("/api/v1/query?query=latency&time=100"));
    assert_eq!(found["data"]["result"], json!([{ "metric": metric, "histogram": [100, value] }]), "{found}");
    assert_eq!(json_of(&served.get("/api/v1/query?query=latency&time=130"))["data"]["result"], json!([]));
    let found = json_of(&served.get("/api/v1/query?query=histogram_count(latency)&time=100"));
    assert_eq!(found["data"]["result"][0]["value"], json!([100, "10"]), "{found}");
    let found = json_of(&served.get("/api/v1/query_range?query=latency&start=60&end=150&step=30"));
    let expected = json!([{ "metric": metric, "histograms": [[60, value], [90, value]] }]);
    assert_eq!(found["data"]["result"], expected, "{found}");
    let found = json_of(&served.get("/api/v1/query?query=%7Bjob=%22x%22%7D&time=60"));
    let names: Vec<&str> = found["data"]["result"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["metric"]["__name__"].as_str())
        .collect();
    assert_eq!(names.len(), 2, "numbers and histograms: {found}");

    let series = json_of(&served.get("/api/v1/series?match[]=latency"));
    assert_eq!(series["data"], json!([metric]));
    assert_eq!(json_of(&served.get("/api/v1/labels?match[]=latency"))["data"], json!(["__name__", "job"]));
    let names = json_of(&served.get("/api/v1/label/__name__/values"));
    assert_eq!(names["data"], json!(["latency", "up"]));
    let names = json_of(&served.get("/api/v1/label/__name__/values?start=80&end=100"));
    assert_eq!(names["data"], json!(["latency"]), "of the range");

    // Both tables have numbers of their own for the same series.
    let request = request_v1(&[latency(&[histogram(200_000)]), series_v1(&[("__name__", "b")], &[(200_000, 2.0)])]);
    for table in ["prom_samples", "prom_histograms", "prom_labels", "prom_metadata"] {
        served.0.database.sql(&format!("DROP TABLE {table}")).unwrap();
    }
    assert_eq!(served.write(&request.snappy()).status, 204);
    let names = json_of(&served.get("/api/v1/label/__name__/values"));
    assert_eq!(names["data"], json!(["b", "latency"]));
    let labels = served.rows("SELECT name, value FROM prom_labels WHERE series LIKE 'latency%' ORDER BY name");
    assert_eq!(labels, [["__name__", "latency"], ["job", "x"]]);
}

#[test]
fn remote_read_returns_histograms_bit_for_bit() {
    let served = Served::start();
    let request = request_v1(&[latency(&[histogram(1_000), stale(2_000)])]);
    assert_eq!(served.write(&request.snappy()).status, 204);
    let matcher = Message::default().bytes(2, b"__name__").bytes(3, b"latency");
    let query = Message::default().varint(1, 0).varint(2, 5_000).bytes(3, &matcher.0);
    let reply = served.0.send("POST", "/api/v1/read", &[], Message::default().bytes(1, &query.0).snappy());
    assert_eq!(reply.status, 200);
    let plain = snap::raw::Decoder::new().decompress_vec(&reply.body).unwrap();
    // The counts are floating-point numbers.
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let span = |offset, length| Message::default().signed(1, offset).varint(2, length).0;
    let head = |count, sum, threshold, zero_count| {
        Message::default().double(2, count).double(3, sum).signed(4, 0).double(5, threshold).double(7, zero_count)
    };
    let first = head(10.0, 18.5, 0.001, 2.0).bytes(8, &span(1, 1)).bytes(10, &doubles(&[4.0]));
    let first = first.bytes(11, &span(0, 2)).bytes(13, &doubles(&[1.0, 3.0])).varint(14, 0).varint(15, 1_000);
    let second = head(0.0, f64::from_bits(STALE_BITS), 0.0, 0.0).varint(14, 0).varint(15, 2_000);
    let series = latency(&[first, second]);
    assert_eq!(plain, Message::default().bytes(1, &Message::default().bytes(1, &series.0).0).0);
}

#[test]
fn histograms_that_can_never_be_stored_are_left_out_and_reported() {
    let served = Served::start();
    let wrong = Message::default().varint(1, 5);
    // One bucket that claims to be four thousand million.
    let hostile = Message::default().double(2, 1.0).bytes(11, &Message::default().varint(2, u32::MAX.into()).0);
    let request = request_v1(&[latency(&[wrong.clone(), histogram(1_000), hostile])]);
    let reply = served.write(&request.snappy());
    assert_eq!(reply.status, 400);
    let text = reply.text();
    assert!(text.contains("observation count is 5") && text.contains("histograms that were not stored: 2"), "{text}");
    assert_eq!(served.rows("SELECT count(*) FROM prom_histograms"), [["1"]]);

    let symbols = ["", "__name__", "latency"].iter();
    let request = symbols.fold(Message::default(), |request, symbol| request.bytes(4, symbol.as_bytes()));
    let series = Message::default().packed(1, &[1, 2]).bytes(3, &histogram(2_000).0).bytes(3, &wrong.0);
    let reply = served.write_v2(&request.bytes(5, &series.0).snappy());
    assert_eq!(reply.status, 400);
    assert_eq!(reply.header("x-prometheus-remote-write-histograms-written"), Some("1"));
    assert_eq!(reply.header("x-prometheus-remote-write-samples-written"), Some("0"));
    let metrics = served.get("/metrics");
    let metrics = metrics.text();
    assert!(metrics.contains("atsdb_prom_histograms_stored_total 2\n"), "{metrics}");
    assert!(metrics.contains("atsdb_prom_histograms_dropped_total 3\n"), "{metrics}");
}

#[test]
fn a_foreign_table_of_that_name_is_left_alone() {
    let served = Served::start();
    served.0.database.sql("CREATE TABLE prom_histograms (a INT)").unwrap();
    let up = series_v1(&[("__name__", "up")], &[(1, 1.0)]);
    assert_eq!(served.write(&request_v1(&[up]).snappy()).status, 204, "samples need no such table");
    let reply = served.write(&request_v1(&[latency(&[histogram(1_000)])]).snappy());
    assert_eq!(reply.status, 500, "Prometheus sends again: {}", reply.text());
    assert!(reply.text().contains("rename it"), "{}", reply.text());
}

#[test]
fn a_histogram_that_sql_spoiled_is_reported() {
    let served = Served::start();
    assert_eq!(served.write(&request_v1(&[latency(&[histogram(1_000)])]).snappy()).status, 204);
    served.0.database.sql("UPDATE prom_histograms SET positive_lengths = ARRAY[7]").unwrap();
    let reply = served.get("/api/v1/query?query=latency&time=2");
    let json = json_of(&reply);
    assert_eq!(json["status"], "error", "{json}");
    assert!(json["error"].as_str().unwrap().contains("not valid: positive side: spans need 7 buckets"), "{json}");
}

#[test]
fn exponential_histograms_of_opentelemetry_are_stored() {
    let served = Served::start();
    let point = json!({ "timeUnixNano": "60000000000", "count": "7", "sum": 9.5, "scale": 0, "zeroCount": "1",
        "positive": { "offset": 0, "bucketCounts": ["2", "0", "0", "0", "4"] } });
    let metric = json!({ "name": "request.duration", "unit": "s",
        "exponentialHistogram": { "aggregationTemporality": 2, "dataPoints": [point] } });
    let body = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [metric] }] }] });
    let headers = [("Content-Type", "application/json")];
    let reply = served.0.send("POST", "/v1/metrics", &headers, body.to_string());
    assert_eq!((reply.status, reply.text()), (200, "{}"));
    let found = json_of(&served.get("/api/v1/query?query=request_duration_seconds&time=60"));
    let buckets = json!([[3, "-1e-128", "1e-128", "1"], [0, "1", "2", "2"], [0, "16", "32", "4"]]);
    let value = json!({ "count": "7", "sum": "9.5", "buckets": buckets });
    let expected = json!([{ "metric": { "__name__": "request_duration_seconds" }, "histogram": [60, value] }]);
    assert_eq!(found["data"]["result"], expected, "{found}");
    let metadata = json_of(&served.get("/api/v1/metadata?metric=request_duration_seconds"));
    assert_eq!(metadata["data"]["request_duration_seconds"][0]["type"], "histogram");
}
