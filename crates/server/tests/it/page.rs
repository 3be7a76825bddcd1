//! The web page: its files as they are served, and its behaviour in a browser.

use crate::client::{Reply, TestServer, server};
use crate::support::Served;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/web")
}

fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Reply {
    server.send("GET", path, headers, "")
}

#[test]
fn every_file_is_sent_as_what_it_is() {
    let server = server();
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.text(), std::fs::read_to_string(folder().join("index.html")).unwrap());
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let reply = server.get(&format!("/page/{name}"));
        let media_type = match path.extension().unwrap().to_str().unwrap() {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        };
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(media_type)), "{name}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{name}");
        assert_eq!(reply.body, std::fs::read(&path).unwrap(), "{name}");
        count += 1;
    }
    assert!(count > 15, "{count} files");
    for missing in ["/page/none.js", "/page/", "/page/..%2Fmod.rs", "/page/%2e%2e/mod.rs"] {
        assert_eq!(server.get(missing).status, 404, "{missing}");
    }
}

#[test]
fn the_page_loads_only_its_own_files() {
    let server = server();
    let page = server.get("/");
    let policy = page.header("content-security-policy").unwrap();
    for rule in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // The only allowed address is the XML name of SVG.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("http://") && !text.contains("https://"), "{} names another host", path.display());
        assert!(!text.contains("innerHTML"), "{} makes elements of text", path.display());
    }
    // A page of another origin is refused.
    let foreign = server.send("GET", "/", &[("Origin", "http://evil.example")], "");
    assert_eq!(foreign.status, 403);
}

#[test]
fn a_browser_keeps_the_files_that_are_the_same() {
    let server = server();
    let first = server.get("/page/main.js");
    let tag = first.header("etag").unwrap().to_owned();
    let again = get(&server, "/page/main.js", &[("If-None-Match", &format!("\"other\", W/{tag}"))]);
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())));
    assert_eq!(get(&server, "/page/main.js", &[("If-None-Match", "\"other\"")]).status, 200);
    assert_ne!(server.get("/page/grid.js").header("etag"), Some(tag.as_str()));
    let compressed = get(&server, "/page/main.js", &[("Accept-Encoding", "br, gzip;q=0.8")]);
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(compressed.body.as_slice()).read_to_end(&mut plain).unwrap();
    assert!(plain == first.body && compressed.body.len() * 2 < plain.len());
    for plain in ["identity", "gzip;q=0"] {
        let reply = get(&server, "/page/main.js", &[("Accept-Encoding", plain)]);
        assert_eq!((reply.header("content-encoding"), &reply.body), (None, &first.body), "{plain}");
    }
}

/// Returns the words in a list of the page's `words.js`.
fn functions_of_the_page() -> Vec<String> {
    let text = std::fs::read_to_string(folder().join("words.js")).unwrap();
    let list = text.split_once("FUNCTIONS = new Map(`").unwrap().1.split_once('`').unwrap().0;
    list.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn the_page_completes_functions_and_tables_that_exist() {
    let server = server();
    let names = functions_of_the_page();
    assert!(names.len() > 80, "{} functions", names.len());
    let mut unknown = Vec::new();
    for name in names {
        // Most calls have wrong arguments, which gives another error than an unknown name.
        let is_unknown = |sql: &str| {
            let text = server.post("/api/sql", sql.replace('@', &name)).text().to_lowercase();
            ["no function named", "invalid function", "not found"].iter().any(|part| text.contains(part))
        };
        if ["SELECT @()", "SELECT @() OVER ()", "SELECT * FROM @()"].into_iter().all(is_unknown) {
            unknown.push(name);
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let text = std::fs::read_to_string(folder().join("words.js")).unwrap();
    let catalogue = text.split_once("CATALOGUE = ").unwrap().1.split_once("}).map").unwrap().0;
    let mut count = 0;
    for line in catalogue.lines().filter(|line| line.trim_start().starts_with('"')) {
        let parts: Vec<&str> = line.split('"').collect();
        let columns: Vec<String> = parts[3].split(' ').map(|column| format!("\"{column}\"")).collect();
        let reply = server.post("/api/sql", format!("SELECT {} FROM {}", columns.join(", "), parts[1]));
        assert_eq!(reply.status, 200, "{}: {}", parts[1], reply.text());
        count += 1;
    }
    assert!(count > 8, "{count} tables");
}

#[test]
fn chromium_uses_the_page() {
    let served = Served::with_tables();
    for statement in [
        "CREATE TABLE points (time TIMESTAMP, sensor TEXT, value DOUBLE) WITH (time = 'time', map = 'sensor:u32', key = 'sensor')",
        "INSERT INTO points SELECT TIMESTAMP '2024-01-01' + (i / 5) * INTERVAL '10 seconds', 's' || (i % 5), \
         sin(i / 5 / 900.0 + i % 5) * 10 + (i * 7919 % 1000) / 250.0 FROM generate_series(0, 99999) AS g(i)",
    ] {
        served.database.sql(statement).unwrap();
    }
    assert_eq!(served.count("points"), 100_000);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/page.py");
    let url = format!("http://{}/", served.server.http_address().unwrap());
    let Ok(output) = Command::new("python3").arg(script).arg(url).output() else {
        eprintln!("skipped: there is no python3, which drives the browser");
        return;
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    if let Some(skipped) = stdout.lines().find(|line| line.starts_with("skipped")) {
        eprintln!("{skipped}");
        return;
    }
    assert!(stdout.trim_end().ends_with("done"), "{stdout}\n{stderr}");
    assert_eq!(served.count("readings"), 4, "the row that was inserted on the page");
}
