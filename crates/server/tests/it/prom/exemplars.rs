//! Exemplars: written, queried, and in SQL.

use super::client::{Served, json as json_of};
use super::message::{Message, exemplar_v1, histogram, request_v1, sample, series_v1};
use serde_json::json;

/// A series with one sample and exemplars.
fn with_exemplars(name: &str, exemplars: &[Message]) -> Message {
    let series = series_v1(&[("__name__", name), ("job", "x")], &[(1_000, 1.0)]);
    exemplars.iter().fold(series, |series, exemplar| series.bytes(3, &exemplar.0))
}

fn stored(served: &Served) -> Vec<Vec<String>> {
    served.rows("SELECT metric, CAST(value AS TEXT), labels FROM prom_exemplars ORDER BY series, time, labels")
}

#[test]
fn exemplars_become_rows_once_in_any_order() {
    let served = Served::start();
    assert_eq!(served.write(&request_v1(&[with_exemplars("m", &[])]).snappy()).status, 204);
    let sql = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'prom_exemplars'";
    assert_eq!(served.rows(sql), [["0"]], "only the first exemplar makes the table");

    let trace = |id: &str, value: f64, time: i64| exemplar_v1(("trace_id", id), value, time);
    let exemplars = [
        trace("late", 0.5, 9_000),
        trace("early", f64::NAN, 2_000),
        trace("b", 7.0, 3_000),
        trace("a", 7.0, 3_000),
        trace("b", 7.0, 3_000),
        Message::default().double(2, 1.0).varint(3, 1_000),
    ];
    let request = request_v1(&[with_exemplars("m", &exemplars)]).snappy();
    for _ in 0..2 {
        assert_eq!(served.write(&request).status, 204);
    }
    let expected = [
        ["m", "1", "{}"],
        ["m", "NaN", r#"{"trace_id":"early"}"#],
        ["m", "7", r#"{"trace_id":"a"}"#],
        ["m", "7", r#"{"trace_id":"b"}"#],
        ["m", "0.5", r#"{"trace_id":"late"}"#],
    ];
    assert_eq!(stored(&served), expected);
    let sql = "SELECT series FROM prom_exemplars WHERE CAST(labels AS JSON) ->> 'trace_id' = 'late'";
    assert_eq!(served.rows(sql), [["m{job=\"x\"}"]]);
    assert!(served.get("/metrics").text().contains("atsdb_prom_exemplars_stored_total 12\n"));
}

#[test]
fn version_2_says_how_many_exemplars_were_written() {
    let served = Served::start();
    let symbols = ["", "__name__", "latency", "trace_id", "t1"].iter();
    let request = symbols.fold(Message::default(), |request, symbol| request.bytes(4, symbol.as_bytes()));
    let exemplar = |labels: &[u64]| Message::default().packed(1, labels).double(2, 0.25).varint(3, 1_500).0;
    let good = Message::default().packed(1, &[1, 2]).bytes(3, &histogram(1_000).0).bytes(4, &exemplar(&[3, 4]));
    let alone = Message::default().packed(1, &[1, 2]).bytes(4, &exemplar(&[]));
    let nameless = Message::default().packed(1, &[3, 4]).bytes(2, &sample(1, 1.0).0).bytes(4, &exemplar(&[3, 4]));
    let all = request.clone().bytes(5, &good.0).bytes(5, &alone.0).bytes(5, &nameless.0);
    let reply = served.write_v2(&all.snappy());
    assert_eq!(reply.status, 400, "{}", reply.text());
    for (what, count) in [("samples", "0"), ("histograms", "1"), ("exemplars", "2")] {
        assert_eq!(reply.header(&format!("x-prometheus-remote-write-{what}-written")), Some(count), "{what}");
    }
    assert_eq!(stored(&served), [["latency", "0.25", r#"{"trace_id":"t1"}"#], ["latency", "0.25", "{}"]]);
    assert!(served.get("/metrics").text().contains("atsdb_prom_exemplars_dropped_total 1\n"));

    for (labels, message) in [(&[3][..], "an exemplar has an odd number"), (&[3, 99][..], "symbol 99")] {
        let series = Message::default().packed(1, &[1, 2]).bytes(4, &exemplar(labels));
        let reply = served.write_v2(&request.clone().bytes(5, &series.0).snappy());
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains(message), "{}", reply.text());
    }
}

#[test]
fn query_exemplars_answers_as_prometheus_does() {
    let served = Served::start();
    let first = [exemplar_v1(("id", "abc"), 10.0, 2_000), exemplar_v1(("id", "abc2"), 10.0, 4_053)];
    let second = with_exemplars("other", &[exemplar_v1(("id", "lul"), -1.5, 4_000)]);
    assert_eq!(served.write(&request_v1(&[second, with_exemplars("m", &first)]).snappy()).status, 204);
    let labels = |name: &str| json!({ "__name__": name, "job": "x" });
    let abc = json!({ "labels": { "id": "abc" }, "value": "10", "timestamp": 2 });
    let abc2 = json!({ "labels": { "id": "abc2" }, "value": "10", "timestamp": 4.053 });
    let lul = json!({ "labels": { "id": "lul" }, "value": "-1.5", "timestamp": 4 });
    let found = |form: &str| json_of(&served.form("/api/v1/query_exemplars", form))["data"].clone();
    let both = json!([
        { "seriesLabels": labels("m"), "exemplars": [abc, abc2] },
        { "seriesLabels": labels("other"), "exemplars": [lul] }
    ]);
    assert_eq!(found("query=rate(m[5m])/other{job=\"x\"}"), both);
    assert_eq!(found("query={job=\"x\"}-m"), both, "each series once");
    let range = "query={job=\"x\"}&start=4.01&end=4.1";
    assert_eq!(found(range), json!([{ "seriesLabels": labels("m"), "exemplars": [abc2] }]));
    assert_eq!(found("query=nothing"), json!([]));
    assert_eq!(found("query=1"), json!([]));
    let got = json_of(&served.get("/api/v1/query_exemplars?query=other&start=0&end=4"));
    assert_eq!(got, json!({ "status": "success", "data": [{ "seriesLabels": labels("other"), "exemplars": [lul] }] }));
    for (form, message) in [("query=sum(", "unexpected end of input"), ("query=m&start=2&end=1", "must not be before")]
    {
        let reply = served.form("/api/v1/query_exemplars", form);
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains(message), "{}", reply.text());
    }

    served.0.database.sql("UPDATE prom_exemplars SET labels = 'spoiled' WHERE metric = 'm'").unwrap();
    let reply = served.get("/api/v1/query_exemplars?query=m");
    assert!(reply.text().contains("which are not valid"), "{}", reply.text());
}

#[test]
fn a_foreign_table_of_that_name_is_left_alone() {
    let served = Served::start();
    served.0.database.sql("CREATE TABLE prom_exemplars (a INT)").unwrap();
    assert_eq!(served.write(&request_v1(&[with_exemplars("m", &[])]).snappy()).status, 204);
    let reply = served.write(&request_v1(&[with_exemplars("m", &[exemplar_v1(("a", "b"), 1.0, 1)])]).snappy());
    assert_eq!(reply.status, 500, "Prometheus sends again: {}", reply.text());
    assert!(reply.text().contains("rename it"), "{}", reply.text());
}

#[test]
fn exemplars_of_opentelemetry_belong_to_their_buckets() {
    let served = Served::start();
    let exemplar = |value: f64, id: &str| json!({ "timeUnixNano": "1500000000", "asDouble": value, "traceId": id });
    let exemplars =
        [exemplar(2.5, "0AF7651916CD43DD8448EB211C80319C"), exemplar(0.5, "00000000000000000000000000000000")];
    let point = json!({ "timeUnixNano": "2000000000", "count": "2", "bucketCounts": ["1", "0", "1"],
        "explicitBounds": [0.5, 2], "exemplars": exemplars });
    let histogram = json!({ "name": "h", "histogram": { "aggregationTemporality": 2, "dataPoints": [point] } });
    let point = json!({ "timeUnixNano": "2000000000", "asInt": "3", "exemplars": [{ "asInt": "3", "spanId": "00F067AA",
        "filteredAttributes": [{ "key": "user.id", "value": { "intValue": "7" } }] }] });
    let sum =
        json!({ "name": "s", "sum": { "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [point] } });
    let body = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [histogram, sum] }] }] });
    let headers = [("Content-Type", "application/json")];
    let reply = served.0.send("POST", "/v1/metrics", &headers, body.to_string());
    assert_eq!((reply.status, reply.text()), (200, "{}"));
    let sql = "SELECT series, CAST(value AS TEXT), labels, CAST(extract(epoch FROM time) * 1000 AS BIGINT)
        FROM prom_exemplars ORDER BY metric, value";
    let expected = [
        ["h_bucket{le=\"0.5\"}", "0.5", "{}", "1500"],
        ["h_bucket{le=\"+Inf\"}", "2.5", r#"{"trace_id":"0af7651916cd43dd8448eb211c80319c"}"#, "1500"],
        ["s_total", "3", r#"{"span_id":"00f067aa","user.id":"7"}"#, "2000"],
    ];
    assert_eq!(served.rows(sql), expected, "one without a time has that of its point");
}
