//! Drivers and exporters in Python.

use super::client::served;
use crate::programs::clients;
use crate::support::Served;
use atsdb_server::{Role, TlsOptions};
use std::path::Path;
use std::process::Command;

const USERS: [(&str, Role, &str); 3] =
    [("reader", Role::Read, "r-pass"), ("writer", Role::Write, "w-pass"), ("boss", Role::Admin, "b-pass")];

/// Runs a script of the clients. Returns `false` if it is skipped.
fn python(script: &str, arguments: &[String]) -> bool {
    output(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script), arguments).is_some()
}

/// The output of a script, which must succeed. Returns `None` if it is skipped.
fn output(script: &Path, arguments: &[String]) -> Option<String> {
    let Some(python) = clients().map(|folder| folder.join("python/bin/python")).filter(|path| path.exists()) else {
        eprintln!("skipped: the Python clients are not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return None;
    };
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if stdout.starts_with("no ") {
        eprintln!("skipped: {} is not installed: .ci/clients FOLDER", stdout.trim());
        return None;
    }
    assert!(output.status.success() && stdout.trim_end().ends_with("done"), "{stdout}\n{stderr}");
    Some(stdout.into_owned())
}

fn url(served: &Served, scheme: &str) -> String {
    format!("{scheme}://localhost:{}", served.server.grpc_address().unwrap().port())
}

#[test]
fn adbc() {
    let served = served(&[]);
    python("flight_sql_client.py", &[url(&served, "grpc")]);
}

#[test]
fn adbc_with_users() {
    let served = served(&USERS);
    python("flight_access.py", &[url(&served, "grpc")]);
}

#[test]
fn adbc_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tls) = crate::access_tls::certificate(folder.path(), &crate::access_tls::ELLIPTIC) else { return };
    let certificate = tls.certificate.display().to_string();
    let served = served_with_tls(tls);
    python("flight_access.py", &[url(&served, "grpc+tls"), certificate]);
}

fn served_with_tls(tls: TlsOptions) -> Served {
    let options = atsdb_server::ServerOptions { tls: Some(tls), ..atsdb_server::ServerOptions::default() };
    super::client::served_with(&USERS, options)
}

/// The blocks of a language in the page about Flight SQL.
fn blocks(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flight-sql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.collect()
}

#[test]
fn the_example_of_the_documentation_runs() {
    let served = served(&[]);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("example.py");
    let missing =
        "try:\n    import adbc_driver_flightsql\nexcept ImportError:\n    print('no driver')\n    raise SystemExit";
    let example = blocks("python").replace("grpc://localhost:8815", &url(&served, "grpc"));
    let expected = blocks("output");
    assert!(!example.is_empty() && !expected.is_empty());
    std::fs::write(&script, format!("{missing}\n{example}\nprint('done')\n")).unwrap();
    if let Some(stdout) = output(&script, &[]) {
        assert_eq!(stdout, format!("{expected}done\n"));
    }
}

#[test]
fn the_sdk_of_opentelemetry_exports_over_grpc() {
    let served = served(&[]);
    let address = format!("127.0.0.1:{}", served.server.grpc_address().unwrap().port());
    if !python("otlp_grpc_client.py", &[address]) {
        return;
    }
    let rows = served.rows("SELECT DISTINCT series FROM prom_samples WHERE metric = 'door_opened_total' ORDER BY 1");
    for room in ["attic", "hall"] {
        let series = format!("door_opened_total{{job=\"house\",room=\"{room}\"}}");
        assert!(rows.contains(&format!("| {series}")), "{rows}");
    }
    let rows = served.rows(
        "SELECT CAST(count(DISTINCT series) AS TEXT) AS n FROM prom_samples WHERE metric = 'latency_seconds_bucket'",
    );
    assert!(rows.contains("| 6 |"), "{rows}");
}
