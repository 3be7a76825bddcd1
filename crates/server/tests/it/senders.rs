//! Programs that send measurements, unchanged: telemetrygen, Telegraf and TSBS. `.ci/clients FOLDER senders` builds
//! them.

use crate::client::rows;
use crate::programs::clients;
use crate::support::Served;
use atsdb_server::ServerOptions;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A program in the folder of clients, or else one that is installed.
fn program(name: &str) -> Option<PathBuf> {
    let own = clients().map(|folder| folder.join(name)).filter(|path| path.exists());
    let path = own.unwrap_or_else(|| name.into());
    if Command::new(&path).arg("--help").output().is_err() {
        eprintln!("skipped: {name} is not installed: .ci/clients FOLDER senders, then ATSDB_CLIENTS=FOLDER");
        return None;
    }
    Some(path)
}

/// Runs a program, and requires success.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    output
}

/// Generates one hour of CPU usage of four hosts, or questions about it, into a file.
fn generate(program: &Path, folder: &TempDir, format: &str, arguments: &[&str]) -> PathBuf {
    let file = folder.path().join(format!("{format}{}", arguments.join("")));
    let common = ["--use-case=cpu-only", "--seed=1", "--scale=4", "--timestamp-start=2024-01-01T00:00:00Z"];
    let mut command = Command::new(program);
    command.args(common).arg(format!("--format={format}")).args(arguments);
    fs::write(&file, run(&mut command).stdout).unwrap();
    file
}

const HOUR: [&str; 2] = ["--timestamp-end=2024-01-01T01:00:00Z", "--log-interval=60s"];

#[test]
fn tsbs_loads_line_protocol() {
    let (Some(data), Some(load)) = (program("tsbs_generate_data"), program("tsbs_load_influx")) else { return };
    let (served, folder) = (Served::new(), tempfile::tempdir().unwrap());
    let file = format!("--file={}", generate(&data, &folder, "influx", &HOUR).display());
    let address = format!("--urls=http://{}", served.server.http_address().unwrap());
    run(Command::new(load).args(["--batch-size=50", "--workers=2", &address, &file]));
    let query = "SELECT count(*), count(DISTINCT hostname), CAST(max(time) AS TEXT), sum(usage_user) FROM cpu";
    let expected = "240 | 4 | 2024-01-01 00:59:00 | 12666";
    assert_eq!(rows(&served.database, query), [expected]);
}

#[test]
fn tsbs_loads_by_copy_and_asks() {
    let (Some(data), Some(load)) = (program("tsbs_generate_data"), program("tsbs_load_timescaledb")) else { return };
    let (Some(queries), Some(ask)) = (program("tsbs_generate_queries"), program("tsbs_run_queries_timescaledb")) else {
        return;
    };
    let (served, folder) = (Served::new(), tempfile::tempdir().unwrap());
    let port = format!("--port={}", served.pg().port());
    let place = [port.as_str(), "--user=me", "--db-name=air"];
    // Without hypertables, which only TimescaleDB has; the database is there.
    let options = ["--host=127.0.0.1", "--admin-db-name=air", "--do-create-db=false", "--use-hypertable=false"];
    let file = format!("--file={}", generate(&data, &folder, "timescaledb", &HOUR).display());
    run(Command::new(load).args(place).args(options).args(["--batch-size=50", "--workers=2", &file]));
    let query = "SELECT count(*), count(DISTINCT hostname), sum(usage_user) FROM cpu JOIN tags ON tags_id = id";
    assert_eq!(rows(&served.database, query), ["240 | 4 | 12666.0"]);

    // What PostgreSQL answers to the same questions, with a function `time_bucket`.
    for (kind, expected) in [
        ("single-groupby-1-1-1", "\"results\": []"),
        ("cpu-max-all-1", "\"results\": ["),
        ("double-groupby-1", "\"mean_usage_user\": 55.7796610169491"),
        ("high-cpu-1", "\"results\": []"),
        ("lastpoint", "\"usage_system\": 98,\n      \"usage_user\": 60"),
        ("groupby-orderby-limit", "\"minute\": \"2024-01-01T00:56:00Z\""),
    ] {
        let kind = format!("--query-type={kind}");
        let arguments = ["--timestamp-end=2024-01-01T12:00:01Z", "--queries=1", &kind];
        let file = format!("--file={}", generate(&queries, &folder, "timescaledb", &arguments).display());
        let output = run(Command::new(&ask).args(place).args(["--hosts=127.0.0.1", "--print-responses", &file]));
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.contains(expected), "{kind}: {answer}");
    }
}

#[test]
fn telegraf_writes_as_to_both_versions_of_influxdb() {
    let Some(program) = program("telegraf") else { return };
    let (served, folder) = (Served::new(), tempfile::tempdir().unwrap());
    let lines = folder.path().join("lines");
    // Two lines of one series and time become one row.
    let of_table = |table: &str| {
        format!("{table},room=hall busy=1.5 1700000000000000000\n{table},room=hall count=3i 1700000000000000000\n")
    };
    fs::write(&lines, of_table("one") + &of_table("two")).unwrap();
    let address = served.server.http_address().unwrap();
    let config = format!(
        "[agent]\nomit_hostname = true\n\
         [[inputs.file]]\nfiles = [\"{}\"]\ndata_format = \"influx\"\n\
         [[outputs.influxdb]]\nurls = [\"http://{address}\"]\ndatabase = \"air\"\nnamepass = [\"one\"]\n\
         [[outputs.influxdb_v2]]\nurls = [\"http://{address}\"]\norganization = \"home\"\nbucket = \"air\"\n\
         token = \"none\"\nnamepass = [\"two\"]\n",
        lines.display()
    );
    let file = folder.path().join("telegraf.conf");
    fs::write(&file, config).unwrap();
    run(Command::new(program).arg("--config").arg(&file).arg("--once"));
    for table in ["one", "two"] {
        let query = format!("SELECT room, busy, count, CAST(time AS TEXT) FROM {table}");
        assert_eq!(rows(&served.database, &query), ["hall | 1.5 | 3 | 2023-11-14 22:13:20"]);
    }
}

#[test]
fn telemetrygen_exports_every_kind_of_metric() {
    let Some(program) = program("telemetrygen") else { return };
    let served =
        Served::with_options(&[], ServerOptions { grpc: Some("127.0.0.1:0".to_owned()), ..ServerOptions::default() });
    let (grpc, http) = (served.server.grpc_address().unwrap(), served.server.http_address().unwrap());
    for kind in ["Sum", "Gauge", "Histogram", "ExponentialHistogram"] {
        for (name, address, options) in [
            ("grpc", grpc, ["--otlp-insecure"].as_slice()),
            ("http", http, ["--otlp-insecure", "--otlp-http"].as_slice()),
        ] {
            let mut command = Command::new(&program);
            command.args(["metrics", "--metrics=3", "--rate=0", "--metric-type", kind]).args(options);
            command.arg(format!("--otlp-endpoint={address}")).arg(format!("--otlp-metric-name={name}.{kind}"));
            run(command.args(["--telemetry-attributes", "room=\"hall\""]));
        }
    }
    let expected: Vec<String> = ["grpc", "http"]
        .iter()
        .flat_map(|name| {
            ["Gauge", "Histogram_count", "Histogram_sum", "Sum_total"]
                .map(|kind| format!("{name}_{kind}{{job=\"telemetrygen\",room=\"hall\"}}"))
        })
        .collect();
    let query =
        "SELECT DISTINCT series FROM prom_samples WHERE series LIKE '%room%' AND metric NOT LIKE '%bucket' ORDER BY 1";
    assert_eq!(rows(&served.database, query), expected);
    let query = "SELECT DISTINCT series FROM prom_histograms ORDER BY 1";
    let expected =
        ["grpc", "http"].map(|name| format!("{name}_ExponentialHistogram{{job=\"telemetrygen\",room=\"hall\"}}"));
    assert_eq!(rows(&served.database, query), expected);
}
