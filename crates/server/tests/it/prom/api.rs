//! The API that Grafana's data source uses.

use super::client::{Served, json as json_of};
use super::message::{request_v1, series_v1};
use serde_json::json;

/// A server with two counters over ten minutes, and a gauge that ends after five.
fn served() -> Served {
    let served = Served::start();
    let counter = |code: &str, step: f64| {
        let samples: Vec<(i64, f64)> = (0..=40).map(|place| (place * 15_000, place as f64 * step)).collect();
        series_v1(&[("__name__", "requests_total"), ("code", code), ("job", "web")], &samples)
    };
    let gauge: Vec<(i64, f64)> = (0..=20).map(|place| (place * 15_000, 20.0 + place as f64)).collect();
    let gauge = series_v1(&[("__name__", "temperature"), ("room", "b\"1")], &gauge);
    let reply = served.write(&request_v1(&[counter("200", 15.0), counter("500", 1.5), gauge]).snappy());
    assert_eq!(reply.status, 204, "{}", reply.text());
    served
}

#[test]
fn queries_are_answered_as_prometheus_does() {
    let served = served();
    let json = json_of(&served.get("/api/v1/query?query=round(sum(rate(requests_total%5B5m%5D)),0.1)&time=600"));
    let vector = json!({"status": "success", "data": {"resultType": "vector",
        "result": [{"metric": {}, "value": [600, "1.1"]}]}});
    assert_eq!(json, vector);
    let json = json_of(&served.form("/api/v1/query", "query=1%2B1&time=1970-01-01T00:00:01.5Z"));
    assert_eq!(json["data"], json!({"resultType": "scalar", "result": [1.5, "2"]}));
    let json = json_of(&served.form("/api/v1/query", "query=temperature[45s]&time=60"));
    let points = json!([[30, "22"], [45, "23"], [60, "24"]]);
    assert_eq!(
        json["data"]["result"],
        json!([{"metric": {"__name__": "temperature", "room": "b\"1"}, "values": points}])
    );

    let form = "query=requests_total{code=\"500\"} > 50&start=540&end=600&step=30";
    let json = json_of(&served.form("/api/v1/query_range", &form.replace(' ', "+")));
    let series = json!({"metric": {"__name__": "requests_total", "code": "500", "job": "web"},
        "values": [[540, "54"], [570, "57"], [600, "60"]]});
    assert_eq!(json["data"], json!({"resultType": "matrix", "result": [series]}));
    let json = json_of(&served.form("/api/v1/query", "query=rate(temperature[5m])&time=300"));
    assert!(json["infos"][0].as_str().unwrap().contains("might not be a counter"), "{json}");
    let json = json_of(&served.form("/api/v1/query", "query=requests_total&time=600&limit=1"));
    assert_eq!(json["data"]["result"].as_array().unwrap().len(), 1);
    assert_eq!(json["warnings"], json!(["results truncated due to limit"]));
    assert_eq!(json_of(&served.get("/api/v1/query?query=nothing"))["data"]["result"], json!([]));
}

#[test]
fn errors_are_those_of_prometheus() {
    let served = served();
    for (path, status, kind, message) in [
        ("query?query=sum(", 400, "bad_data", "invalid parameter \"query\": 1:5: parse error: unexpected end of input"),
        ("query?query=", 400, "bad_data", "no expression found in input"),
        ("query?query=up&time=now", 400, "bad_data", "invalid parameter \"time\": cannot parse \"now\""),
        ("query_range?query=up&start=0&end=10&step=0", 400, "bad_data", "zero or negative query resolution step"),
        ("query_range?query=up&start=10&end=0&step=1", 400, "bad_data", "end timestamp must not be before start"),
        ("query_range?query=up&start=0&end=20000&step=1", 400, "bad_data", "11,000 points"),
        ("query_range?query=up[5m]&start=0&end=20&step=1", 422, "execution", "invalid expression type"),
        (
            "query?query=requests_total%2Bon(job)requests_total&time=600",
            422,
            "execution",
            "many-to-many matching not allowed",
        ),
        ("series", 400, "bad_data", "no match[] parameter provided"),
        ("series?match[]=%7B%7D", 400, "bad_data", "at least one non-empty matcher"),
    ] {
        let reply = served.get(&format!("/api/v1/{path}"));
        let json = json_of(&reply);
        assert_eq!((reply.status, json["status"].as_str()), (status, Some("error")), "{path}: {json}");
        assert_eq!(json["errorType"], kind, "{path}: {json}");
        assert!(json["error"].as_str().unwrap().contains(message), "{path}: {json}");
    }
}

#[test]
fn series_and_labels_are_those_of_the_range() {
    let served = served();
    let json = json_of(&served.form("/api/v1/series", "match[]=temperature&match[]=%7Bcode%3D~%222..%22%7D"));
    let series = json!([{"__name__": "requests_total", "code": "200", "job": "web"},
        {"__name__": "temperature", "room": "b\"1"}]);
    assert_eq!(json["data"], series);
    assert_eq!(json_of(&served.get("/api/v1/labels"))["data"], json!(["__name__", "code", "job", "room"]));
    let json = json_of(&served.get("/api/v1/labels?start=400&end=600"));
    assert_eq!(json["data"], json!(["__name__", "code", "job"]), "the gauge ended before");
    let json = json_of(&served.get("/api/v1/label/__name__/values"));
    assert_eq!(json["data"], json!(["requests_total", "temperature"]));
    let json = json_of(&served.get("/api/v1/label/code/values?match[]=requests_total%7Bcode!%3D%22200%22%7D"));
    assert_eq!(json["data"], json!(["500"]));
    assert_eq!(json_of(&served.get("/api/v1/label/none/values"))["data"], json!([]));
}

#[test]
fn the_first_requests_of_grafana_are_answered() {
    let served = Served::start();
    assert_eq!(json_of(&served.get("/api/v1/status/buildinfo"))["data"]["version"], "3.0.0");
    assert_eq!(json_of(&served.get("/api/v1/metadata"))["data"], json!({}));
    assert_eq!(json_of(&served.get("/api/v1/labels"))["data"], json!([]));
    assert_eq!(json_of(&served.get("/api/v1/query?query=1%2B1"))["data"]["result"][1], "2");
    assert_eq!(json_of(&served.get("/api/v1/rules"))["data"], json!({"groups": []}));
    assert_eq!(json_of(&served.get("/api/v1/query_exemplars?query=up"))["data"], json!([]));
}

#[test]
fn sql_joins_samples_with_labels() {
    let served = served();
    let sql = "SELECT l.value AS code, count(*) AS samples, max(s.value) AS last
        FROM prom_samples s JOIN prom_labels l ON l.series = s.series AND l.name = 'code'
        WHERE s.metric = 'requests_total' GROUP BY 1 ORDER BY 1";
    assert_eq!(served.rows(sql), [["200", "41", "600.0"], ["500", "41", "60.0"]]);
}
