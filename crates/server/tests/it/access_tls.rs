//! TLS, with certificates that openssl makes: both protocols, channel binding, reloading a certificate, public
//! addresses.

use crate::support::Served;
use atsdb::OpenOptions;
use atsdb_server::{Listening, Role, Server, ServerOptions, TlsOptions, UserStore};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const USERS: [(&str, Role, &str); 2] = [("reader", Role::Read, "r-pass"), ("boss", Role::Admin, "b-pass")];

/// Creates a certificate and its key in a folder. Returns `None` without openssl.
pub(crate) fn certificate(folder: &Path, key: &[&str]) -> Option<TlsOptions> {
    let tls = TlsOptions { certificate: folder.join("air.crt"), key: folder.join("air.key") };
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-newkey"]).args(key);
    openssl.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout"]);
    let made = openssl.arg(&tls.key).arg("-out").arg(&tls.certificate).output();
    let Ok(made) = made else {
        eprintln!("skipped: there is no openssl");
        return None;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(tls)
}

pub(crate) const ELLIPTIC: [&str; 3] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

fn served(key: &[&str]) -> Option<(Served, TlsOptions, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let tls = certificate(folder.path(), key)?;
    Some((Served::with_users(&USERS, Some(tls.clone())), tls, folder))
}

/// Returns curl's output and exit code, or `None` without curl.
fn curl(served: &Served, tls: &TlsOptions, arguments: &[&str], path: &str) -> Option<(String, Option<i32>)> {
    let url = format!("https://localhost:{}{path}", served.server.http_address().unwrap().port());
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-4", "--cacert"]).arg(&tls.certificate).args(arguments).arg(&url);
    let Ok(output) = curl.output() else {
        eprintln!("skipped: there is no curl");
        return None;
    };
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()))
}

#[test]
fn psql_binds_its_password_to_the_certificate() {
    for key in [&ELLIPTIC[..], &["rsa:2048"], &["rsa:2048", "-sha384"], &["rsa:2048", "-sha512"]] {
        let Some((served, tls, _folder)) = served(key) else { return };
        let verified = format!("sslmode=verify-full sslrootcert={}", tls.certificate.display());
        for keywords in [
            "sslmode=require",
            "sslmode=require channel_binding=require",
            "sslmode=require channel_binding=disable",
            &verified,
        ] {
            let place = format!("user=reader {keywords}");
            let Some(found) = served.psql_as(&place.replace("verify-full", "verify-ca"), "r-pass", "SHOW ssl") else {
                return;
            };
            assert_eq!(found.trim(), "on", "{key:?} {keywords}");
            let wrong = served.psql_as(&place.replace("verify-full", "verify-ca"), "wrong", "SHOW ssl").unwrap();
            assert!(wrong.contains("password authentication failed"), "{keywords}: {wrong}");
        }
        let plain = served.psql_as("user=boss sslmode=disable", "b-pass", "SHOW ssl").unwrap();
        assert_eq!(plain.trim(), "off", "this machine may do without");
        let unbound =
            served.psql_as("user=boss sslmode=disable channel_binding=require", "b-pass", "SELECT 1").unwrap();
        assert!(unbound.contains("channel binding"), "{unbound}");
    }
}

#[test]
fn a_certificate_without_a_hash_binds_nothing() {
    let Some((served, ..)) = served(&["ed25519"]) else { return };
    let Some(found) = served.psql_as("user=boss sslmode=require channel_binding=disable", "b-pass", "SHOW ssl") else {
        return;
    };
    assert_eq!(found.trim(), "on");
    let bound = served.psql_as("user=boss sslmode=require channel_binding=require", "b-pass", "SHOW ssl").unwrap();
    assert!(bound.contains("channel binding"), "{bound}");
}

#[test]
fn http_is_encrypted_and_follows_another_certificate() {
    let Some((served, tls, folder)) = served(&ELLIPTIC) else { return };
    let Some((health, code)) = curl(&served, &tls, &[], "/health") else { return };
    assert!(health.contains("\"status\":\"pass\"") && code == Some(0), "{health}");
    let (refused, _) = curl(&served, &tls, &["-o", "/dev/null", "-w", "%{http_code}"], "/metrics").unwrap();
    assert_eq!(refused, "401");
    let query = ["-u", "boss:b-pass", "-d", "SELECT 1 AS one"];
    assert_eq!(curl(&served, &tls, &query, "/api/sql").unwrap().0, "[\n{\"one\":1}\n]\n");
    // The key does not fit: the server keeps the previous certificate.
    let other = tempfile::tempdir().unwrap();
    let second = certificate(other.path(), &["rsa:2048"]).unwrap();
    std::fs::copy(&second.certificate, &tls.certificate).unwrap();
    let first = folder.path().join("first.crt");
    assert!(served.server.reloader().reload().is_err());
    std::fs::copy(&second.key, &tls.key).unwrap();
    assert_ne!(curl(&served, &second, &[], "/health").unwrap().1, Some(0), "the old certificate is still shown");
    served.server.reloader().reload().unwrap();
    assert_eq!(curl(&served, &second, &[], "/health").unwrap().1, Some(0));
    let bound = served.psql_as("user=boss sslmode=require channel_binding=require", "b-pass", "SHOW ssl");
    assert!(bound.is_none_or(|found| found.trim() == "on"));
    assert!(!first.exists());
    // Requests without TLS get no answer.
    let plain = Command::new("curl")
        .args(["-sS", &format!("http://{}/health", served.server.http_address().unwrap())])
        .output()
        .unwrap();
    assert!(!plain.status.success());
}

#[test]
fn addresses_outside_need_users_and_tls() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tls) = certificate(folder.path(), &ELLIPTIC) else { return };
    let any = Some("0.0.0.0:0".to_owned());
    let listen = |tls: Option<TlsOptions>| {
        Listening::open(ServerOptions { pg: any.clone(), http: any.clone(), tls, ..ServerOptions::default() })
    };
    let error = listen(None).unwrap_err().to_string();
    assert!(error.contains("there is no TLS") && error.contains("--tls-cert"), "{error}");
    let database = OpenOptions::new().open("memory:").unwrap();
    let error = Server::start(database.clone(), listen(Some(tls.clone())).unwrap()).unwrap_err().to_string();
    assert!(error.contains("has no users") && error.contains("atsdb user add"), "{error}");
    let users = UserStore::new(database.clone());
    users.add("boss", Role::Admin, Some("b-pass")).unwrap();
    let server = Server::start(database, listen(Some(tls.clone())).unwrap()).unwrap();
    let served = Served::of(server, folder);
    let Some(found) = served.psql_as("user=boss sslmode=require", "b-pass", "SELECT 1") else { return };
    assert_eq!(found.trim(), "1");
    let plain = served.psql_as("user=boss sslmode=disable", "b-pass", "SELECT 1").unwrap();
    assert!(plain.contains("only connections with TLS"), "{plain}");
    // Dropping the last user does not open the server to everyone.
    users.drop("boss").unwrap();
    served.server.reloader().reload().unwrap();
    let found = served.psql_as("user=boss sslmode=require", "b-pass", "SELECT 1").unwrap();
    assert!(found.contains("password authentication failed"), "{found}");
    let (refused, _) = curl(&served, &tls, &["-o", "/dev/null", "-w", "%{http_code}"], "/metrics").unwrap();
    assert_eq!(refused, "401");
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tls) = certificate(folder.path(), &ELLIPTIC) else { return };
    let open = |tls: TlsOptions| {
        let options = ServerOptions { pg: None, http: None, tls: Some(tls), ..ServerOptions::default() };
        Listening::open(options).unwrap_err().to_string()
    };
    let missing = folder.path().join("missing.crt");
    assert!(open(TlsOptions { certificate: missing, ..tls.clone() }).contains("missing.crt"));
    let empty = folder.path().join("empty.crt");
    std::fs::write(&empty, "").unwrap();
    assert!(open(TlsOptions { certificate: empty.clone(), ..tls.clone() }).contains("empty.crt"));
    assert!(open(TlsOptions { key: empty, ..tls.clone() }).contains("empty.crt"));
    assert!(open(TlsOptions { key: tls.certificate.clone(), ..tls }).contains("air.crt"));
}

#[test]
fn clients_in_other_languages() {
    let clients = std::env::var_os("ATSDB_CLIENTS").map(std::path::PathBuf::from);
    let Some(clients) = clients.filter(|folder| folder.is_dir()) else {
        eprintln!("skipped: the clients are not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let Some((served, tls, _folder)) = served(&ELLIPTIC) else { return };
    served.create_tables();
    let well = |mut command: Command| {
        let output = command.output().unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && stdout.trim_end().ends_with("done"), "{command:?}\n{stdout}\n{stderr}");
    };
    let port = served.pg().port().to_string();
    if clients.join("python/bin/python").exists() {
        let mut python = Command::new(clients.join("python/bin/python"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/access.py");
        python.arg(script).arg(&port).arg(&tls.certificate);
        well(python);
        assert_eq!(served.count("sensors"), 3);
        served.database.sql("DELETE FROM sensors WHERE id = 9").unwrap();
    }
    if clients.join("pgx").exists() {
        let url = format!("postgresql://boss:b-pass@127.0.0.1:{port}/air?sslmode=require");
        let mut pgx = Command::new(clients.join("pgx"));
        pgx.arg(&url).env("DATABASE_URL", &url);
        well(pgx);
        assert_eq!(served.count("sensors"), 2 + 1 + 1_000);
    }
}
