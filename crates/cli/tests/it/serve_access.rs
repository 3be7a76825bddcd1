//! `atsdb serve` with users and TLS: changes by `atsdb user` take effect, and SIGHUP reloads the certificate.

#![allow(clippy::print_stderr, reason = "a test that is skipped has to say so")]

use crate::support::Case;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The file with what the server logs.
const LOG: &str = "serve.log";

struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(case: &Case, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "air.db", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"], arguments].concat();
        // As with `nohup`: the server must handle SIGHUP even if it was started with SIGHUP ignored.
        let mut command = case.command_ignoring("HUP", &arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(case.path(LOG)).unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http"))).unwrap();
        Self { child, url }
    }

    /// Returns the status of a request, or `None` without curl.
    fn status(&self, case: &Case, arguments: &[&str]) -> Option<String> {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}"]).args(arguments).current_dir(case.path(""));
        let Ok(output) = curl.arg(format!("{}/metrics", self.url)).output() else {
            eprintln!("skipped: there is no curl");
            return None;
        };
        Some(String::from_utf8(output.stdout).unwrap())
    }

    fn follows(&self, case: &Case, arguments: &[&str], status: &str) {
        let begun = Instant::now();
        while self.status(case, arguments).as_deref() != Some(status) {
            assert!(begun.elapsed() < Duration::from_secs(300), "{arguments:?} is not answered with {status}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn hang_up(&self) {
        assert!(Command::new("kill").arg("-HUP").arg(self.child.id().to_string()).status().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_to_users_take_effect_in_a_running_server() {
    let case = Case::new();
    case.run(&["user", "add", "air.db", "anna", "--role", "read", "--no-password"]).well();
    let token = case.run(&["user", "token", "air.db", "anna"]).well().text();
    let header = format!("Authorization: Bearer {}", token.trim_end());
    let served = Served::start(&case, &[]);
    let Some(anonymous) = served.status(&case, &[]) else { return };
    assert_eq!(anonymous, "401");
    assert_eq!(served.status(&case, &["-H", &header]).unwrap(), "200");
    case.run(&["user", "revoke", "air.db", "anna"]).well();
    served.follows(&case, &["-H", &header], "401");
    case.run_with(&["user", "password", "air.db", "anna"], "secret\n").well();
    served.hang_up();
    served.follows(&case, &["-u", "anna:secret"], "200");
    case.run(&["user", "drop", "air.db", "anna"]).well();
    // Without any user, local connections need no login again.
    served.follows(&case, &[], "200");
}

/// Creates `air.crt` and `air.key`, and a copy of the certificate. Returns false without openssl.
fn certificate(case: &Case, copy: &str) -> bool {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-keyout", "air.key", "-out", "air.crt"])
        .current_dir(case.path(""))
        .output();
    let Ok(made) = made else {
        eprintln!("skipped: there is no openssl");
        return false;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::copy(case.path("air.crt"), case.path(copy)).unwrap();
    true
}

#[test]
fn sighup_swaps_the_certificate() {
    let case = Case::new();
    if !certificate(&case, "first.crt") {
        return;
    }
    case.run_with(&["user", "add", "air.db", "anna", "--role", "admin"], "secret\n").well();
    let served = Served::start(&case, &["--tls-cert", "air.crt", "--tls-key", "air.key", "--log-level", "error"]);
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let with = |copy: &'static str| ["--cacert", copy, "-u", "anna:secret"];
    let Some(status) = served.status(&case, &with("first.crt")) else { return };
    assert_eq!(status, "200");
    assert!(certificate(&case, "second.crt"));
    assert_eq!(served.status(&case, &with("second.crt")).unwrap(), "000");
    served.hang_up();
    served.follows(&case, &with("second.crt"), "200");
    assert_eq!(served.status(&case, &with("first.crt")).unwrap(), "000");
    // A certificate that cannot be read changes nothing, and the server keeps running.
    case.write("air.crt", "nonsense");
    served.hang_up();
    let begun = Instant::now();
    while !case.read(LOG).contains("reload failed") {
        assert!(begun.elapsed() < Duration::from_secs(300), "nothing was reloaded");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(served.status(&case, &with("second.crt")).unwrap(), "200");
}

#[test]
fn other_machines_need_users_and_tls() {
    let case = Case::new();
    if !certificate(&case, "first.crt") {
        return;
    }
    let outside = ["serve", "air.db", "--pg", "off", "--http", "0.0.0.0:0"];
    case.run(&outside).failed(1, &["--http 0.0.0.0:0", "without users and TLS", "--tls-cert"]);
    let with_tls = [&outside[..], &["--tls-cert", "air.crt", "--tls-key", "air.key"]].concat();
    case.run(&with_tls).failed(2, &["air.db"]);
    assert!(!case.names().contains(&"air.db".to_owned()), "no store is created to say that it has no users");
    case.run(&["sql", "air.db", "CREATE TABLE a (b INT)"]).well();
    case.run(&with_tls).failed(1, &["the store has no users", "atsdb user add"]);
    case.run(&["serve", "air.db", "--tls-cert", "air.crt"]).failed(1, &["--tls-key"]);
    case.run(&["serve", "air.db", "--tls-cert", "air.crt", "--tls-key", "nothing"])
        .failed(1, &["cannot read nothing: No such file", "hint: check the path"]);
    case.run(&["serve", "air.db", "--tls-cert", "air.db", "--tls-key", "air.key"])
        .failed(1, &["air.db: no certificate", "hint: --tls-cert names a PEM file"]);
}
