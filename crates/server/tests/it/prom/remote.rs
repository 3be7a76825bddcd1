//! Remote write and remote read.

use super::client::{Served, json};
use super::message::{Message, histogram, request_v1, sample, series_v1};

const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

#[test]
fn samples_become_rows_and_come_back_bit_for_bit() {
    let served = Served::start();
    let up = [("__name__", "up"), ("instance", "a:1"), ("job", "x")];
    let late = series_v1(&up, &[(2_000, 1.0), (1_000, 0.0), (3_000, STALE)]);
    let down = series_v1(&[("__name__", "down")], &[(1_000, f64::NEG_INFINITY)]);
    let reply = served.write(&request_v1(&[late, down]).snappy());
    assert_eq!((reply.status, reply.text()), (204, ""));
    assert_eq!(reply.header("x-prometheus-remote-write-samples-written"), None, "version 1 says nothing");

    let rows = served.rows("SELECT metric, series, CAST(value AS TEXT) FROM prom_samples ORDER BY 2, time");
    let expected = [["down", "down", "-Infinity"], ["up", "up{instance=\"a:1\",job=\"x\"}", "0"]];
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0][..2], expected[0][..2]);
    assert_eq!(rows[1], expected[1]);
    let labels = served.rows("SELECT name, value FROM prom_labels WHERE series LIKE 'up%' ORDER BY name");
    assert_eq!(labels, [["__name__", "up"], ["instance", "a:1"], ["job", "x"]]);

    let matcher = |kind, name: &str, value: &str| {
        Message::default().varint(1, kind).bytes(2, name.as_bytes()).bytes(3, value.as_bytes()).0
    };
    let query = Message::default()
        .varint(1, 2_000)
        .varint(2, 3_000)
        .bytes(3, &matcher(0, "__name__", "up"))
        .bytes(3, &matcher(3, "job", "y.*"));
    let reply = served.0.send("POST", "/api/v1/read", &[], Message::default().bytes(1, &query.0).snappy());
    assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("snappy")));
    let plain = snap::raw::Decoder::new().decompress_vec(&reply.body).unwrap();
    let series = series_v1(&up, &[(2_000, 1.0), (3_000, STALE)]);
    assert_eq!(plain, Message::default().bytes(1, &Message::default().bytes(1, &series.0).0).0);
}

#[test]
fn a_sample_that_is_sent_again_replaces_the_first() {
    let served = Served::start();
    for value in [1.0, 1.0, 7.0] {
        let series = series_v1(&[("__name__", "m")], &[(5_000, value)]);
        assert_eq!(served.write(&request_v1(&[series]).snappy()).status, 204);
    }
    assert_eq!(served.rows("SELECT count(*), CAST(max(value) AS INT) FROM prom_samples"), [["1", "7"]]);
    assert_eq!(served.rows("SELECT count(*) FROM prom_labels"), [["1"]]);
}

#[test]
fn version_2_says_what_was_written() {
    let served = Served::start();
    let symbols = ["", "__name__", "requests_total", "code", "200", "How many.", "things"];
    let metadata = Message::default().varint(1, 1).varint(3, 5).varint(4, 6);
    let series = Message::default()
        .packed(1, &[1, 2, 3, 4])
        .bytes(2, &sample(1_000, 1.0).0)
        .bytes(2, &sample(2_000, 2.0).0)
        .bytes(3, &histogram(3_000).0)
        .bytes(4, &[])
        .bytes(5, &metadata.0);
    let request = symbols.iter().fold(Message::default(), |request, symbol| request.bytes(4, symbol.as_bytes()));
    let reply = served.write_v2(&request.clone().bytes(5, &series.0).snappy());
    assert_eq!(reply.status, 204, "{}", reply.text());
    for (what, count) in [("samples", "2"), ("histograms", "1"), ("exemplars", "1")] {
        assert_eq!(reply.header(&format!("x-prometheus-remote-write-{what}-written")), Some(count), "{what}");
    }
    assert_eq!(served.rows("SELECT series FROM prom_samples LIMIT 1"), [["requests_total{code=\"200\"}"]]);
    let metadata = json(&served.get("/api/v1/metadata"));
    let about = &metadata["data"]["requests_total"][0];
    assert_eq!((about["type"].as_str(), about["help"].as_str()), (Some("counter"), Some("How many.")));
    let metrics = served.get("/metrics");
    let metrics = metrics.text();
    assert!(metrics.contains("atsdb_prom_samples_stored_total 2\n"), "{metrics}");
    assert!(metrics.contains("atsdb_prom_histograms_stored_total 1\n"), "{metrics}");
    assert!(metrics.contains("atsdb_prom_histograms_dropped_total 0\n"), "{metrics}");
    assert!(metrics.contains("atsdb_prom_exemplars_stored_total 1\n"), "{metrics}");

    let outside = Message::default().packed(1, &[1, 99]);
    let reply = served.write_v2(&request.bytes(5, &outside.0).snappy());
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("symbol 99"), "{}", reply.text());
}

#[test]
fn series_that_can_never_be_stored_are_left_out_and_reported() {
    let served = Served::start();
    let good = |name| series_v1(&[("__name__", name)], &[(1, 1.0)]);
    for (labels, reason) in [
        (&[("job", "x")][..], "no metric name"),
        (&[("__name__", "m"), ("a", "1"), ("a", "2")][..], "occurs twice"),
        (&[("", "x"), ("__name__", "m")][..], "no name"),
    ] {
        let reply = served.write(&request_v1(&[good("a"), series_v1(labels, &[(1, 1.0)]), good("b")]).snappy());
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains(reason), "{}", reply.text());
    }
    assert_eq!(served.rows("SELECT series FROM prom_samples ORDER BY 1"), [["a"], ["b"]]);

    let symbols = ["", "__name__", "c", "job", "x"];
    let request = symbols.iter().fold(Message::default(), |request, symbol| request.bytes(4, symbol.as_bytes()));
    let series = |labels: &[u64]| Message::default().packed(1, labels).bytes(2, &sample(1, 1.0).0);
    let reply = served.write_v2(&request.bytes(5, &series(&[1, 2]).0).bytes(5, &series(&[3, 4]).0).snappy());
    assert_eq!(reply.status, 400);
    assert_eq!(reply.header("x-prometheus-remote-write-samples-written"), Some("1"));
    assert_eq!(served.rows("SELECT count(*) FROM prom_samples WHERE series = 'c'"), [["1"]]);
    assert!(served.get("/metrics").text().contains("atsdb_prom_series_refused_total 4\n"));
}

#[test]
fn an_invalid_request_is_a_4xx_and_stores_nothing() {
    let served = Served::start();
    assert_eq!(served.write(b"no snappy").status, 400);
    assert_eq!(served.write(&Message(vec![0x0a, 0x7f]).snappy()).status, 400);
    // The body claims to be 1 GiB.
    let reply = served.write(&[0x80, 0x80, 0x80, 0x80, 0x04, 0x00]);
    assert_eq!(reply.status, 413, "{}", reply.text());
    let as_json = served.0.send("POST", "/api/v1/write", &[("Content-Type", "application/json")], b"{}".as_slice());
    assert_eq!(as_json.status, 415);
    let zstd = served.0.send("POST", "/api/v1/write", &[("Content-Encoding", "zstd")], b"".as_slice());
    assert_eq!(zstd.status, 415);
    let tables = served.rows("SELECT count(*) FROM information_schema.tables WHERE table_name = 'prom_samples'");
    assert_eq!(tables, [["0"]]);
}

#[test]
fn a_foreign_table_of_that_name_is_left_alone() {
    let served = Served::start();
    served.0.database.sql("CREATE TABLE prom_samples (a INT)").unwrap();
    let series = series_v1(&[("__name__", "m")], &[(1, 1.0)]);
    let reply = served.write(&request_v1(&[series]).snappy());
    assert_eq!(reply.status, 500, "Prometheus sends again: {}", reply.text());
    assert!(reply.text().contains("rename it"), "{}", reply.text());
    assert_eq!(served.rows("SELECT count(*) FROM prom_samples"), [["0"]]);
}

#[test]
fn many_senders_at_once_lose_nothing() {
    let served = Served::start();
    std::thread::scope(|scope| {
        for sender in 0..16 {
            let served = &served;
            scope.spawn(move || {
                for time in 0..20 {
                    let name = format!("m{sender}");
                    let series = series_v1(&[("__name__", &name)], &[(time * 1000, 1.0)]);
                    assert_eq!(served.write(&request_v1(&[series]).snappy()).status, 204);
                }
            });
        }
    });
    let rows = served.rows("SELECT count(*), count(DISTINCT series) FROM prom_samples");
    assert_eq!(rows, [["320", "16"]]);
}

#[test]
fn tables_that_were_dropped_are_made_again_with_all_labels() {
    let served = Served::start();
    let body = request_v1(&[series_v1(&[("__name__", "m"), ("job", "x")], &[(1, 1.0)])]).snappy();
    assert_eq!(served.write(&body).status, 204);
    for table in ["prom_samples", "prom_labels", "prom_metadata"] {
        served.0.database.sql(&format!("DROP TABLE {table}")).unwrap();
    }
    assert_eq!(served.write(&body).status, 204);
    assert_eq!(served.rows("SELECT name, value FROM prom_labels ORDER BY 1"), [["__name__", "m"], ["job", "x"]]);
    let reply = served.get("/api/v1/query?query=m&time=1");
    assert!(reply.text().contains(r#""metric":{"__name__":"m","job":"x"}"#), "{}", reply.text());
}

#[test]
fn known_series_are_stored_under_the_present_definition() {
    let served = Served::start();
    let write = |instance: &str, time| {
        let series = series_v1(&[("__name__", "m"), ("instance", instance)], &[(time, 1.0)]);
        served.write(&request_v1(&[series]).snappy()).status
    };
    let run = |sql: &str| drop(served.0.database.sql(sql).unwrap());
    let rows = |columns: &str| served.rows(&format!("SELECT {columns} FROM prom_samples ORDER BY time"));
    assert_eq!((write("a", 1), write("a", 2)), (204, 204));
    run("ALTER TABLE prom_samples ADD COLUMN note TEXT DEFAULT 'late'");
    assert_eq!(write("a", 3), 204);
    assert_eq!(rows("note"), [["late"], ["late"], ["late"]]);

    // The strings of a series that is refused are in the dictionary, and its labels are not stored.
    run("ALTER TABLE prom_samples ADD CONSTRAINT c CHECK (series NOT LIKE '%\"b\"%')");
    assert_eq!((write("b", 4), write("b", 4)), (400, 400));
    run("ALTER TABLE prom_samples DROP CONSTRAINT c");
    assert_eq!((write("c", 5), write("b", 6), write("a", 7)), (204, 204, 204));
    assert_eq!(rows("series")[3..], [["m{instance=\"c\"}"], ["m{instance=\"b\"}"], ["m{instance=\"a\"}"]]);
    let labels = "SELECT value FROM prom_labels WHERE name = 'instance' ORDER BY 1";
    assert_eq!(served.rows(labels), [["a"], ["b"], ["c"]]);

    // A new table has its strings in another order.
    run("DROP TABLE prom_samples");
    assert_eq!((write("c", 1), write("b", 2), write("a", 3), write("b", 2)), (204, 204, 204, 204));
    assert_eq!(rows("series"), [["m{instance=\"c\"}"], ["m{instance=\"b\"}"], ["m{instance=\"a\"}"]]);
}
