//! InfluxDB's own clients, and programs that write line protocol.

use crate::client::{TestServer, server};
use crate::programs::{installed, scripts};
use std::process::Command;

/// Runs a client with the server's address, and requires success. Returns `false` if it cannot be started.
fn run(server: &TestServer, mut command: Command) -> bool {
    let Ok(output) = command.arg(server.address.to_string()).output() else {
        eprintln!("skipped: {command:?} cannot be started");
        return false;
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.trim_end().ends_with("done"), "{command:?}\n{stdout}\n{stderr}");
    true
}

#[test]
fn clients_for_python() {
    let Some(python) = installed("python/bin/python", "a Python with its clients") else { return };
    let server = server();
    let mut command = Command::new(python);
    command.arg(scripts().join("influx_client.py"));
    if !run(&server, command) {
        return;
    }
    let rooms = server.rows("SELECT CAST(time AS TEXT), floor, heat, open, n, note FROM room ORDER BY floor");
    let expected = [
        "2024-01-01 00:00:00 | 2 | 20.0 | NULL | NULL | NULL",
        "2024-01-01 00:00:00 | 3 | 19.5 | NULL | NULL | NULL",
        "2024-01-01 00:00:00 | first, left | 21.5 | true | 3 | a \"b\" \\ c",
    ];
    assert_eq!(rooms, expected);
    assert_eq!(server.rows("SELECT count(*), count(DISTINCT host), sum(v) FROM batched"), ["1000 | 10 | 499500"]);
    assert_eq!(
        server.rows("SELECT host, v, w, x FROM old ORDER BY host"),
        ["a b | 1 | 0.5 | ü", "c | 2 | NULL | NULL"]
    );
}

#[test]
fn clients_for_node() {
    let Some(modules) = installed("node/node_modules", "a Node.js with its clients") else { return };
    let server = server();
    let mut command = Command::new("node");
    command.arg(scripts().join("node_influx.js")).env("NODE_PATH", modules);
    if run(&server, command) {
        let query = "SELECT count(*), min(host), sum(v), sum(n), bool_and(up), min(note), min(site) FROM node";
        assert_eq!(server.rows(query), ["250 | h 0 | 31125.0 | 31125 | true | a \"b\" | north"]);
        assert_eq!(
            server.rows("SELECT CAST(time AS TEXT), host, v, s FROM old_node"),
            ["2024-01-01 00:00:00 | a | 1.5 | x"]
        );
    }
}

#[test]
fn the_client_for_go() {
    let Some(program) = installed("influx-go", "InfluxDB's client for Go") else { return };
    let server = server();
    if run(&server, Command::new(program)) {
        let query = "SELECT count(*), sum(v), sum(n), max(u), bool_and(up), min(note) FROM go WHERE host <> 'alone'";
        assert_eq!(server.rows(query), ["250 | 31125.0 | 31125 | 9223372036854775808 | true | a \"b\""]);
        assert_eq!(server.rows("SELECT v FROM go WHERE host = 'alone'"), ["1.0"]);
    }
}
