//! A real Prometheus that writes to the server and reads back.

use super::client::Served;
use atsdb_testkit::server::listening;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(300), "{what}: not within five minutes");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_real_prometheus_writes_here_and_reads_back() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        eprintln!("skipped: there is no prometheus (apt-get install prometheus)");
        return;
    }
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let to = served.0.address;
    let file = folder.path().join("prometheus.yml");
    let start = |port: u16| {
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: self\n    static_configs:\n      \
             - targets: ['127.0.0.1:{port}']\nremote_write:\n  - url: http://{to}/api/v1/write\n    \
             queue_config:\n      batch_send_deadline: 200ms\n\
             remote_read:\n  - url: http://{to}/api/v1/read\n    read_recent: true\n"
        );
        fs::write(&file, config).unwrap();
        let data = folder.path().join(format!("data-{}", fs::read_dir(folder.path()).unwrap().count()));
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", data.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.unwrap()
    };
    let (port, first) = listening("Prometheus", start);
    let first = Killed(first);
    let there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'prom_samples'";
    wait_for("a table", || served.rows(there) == [["1"]]);
    // On a busy machine it may fail to read its own metrics in time: its `up` is then 0.
    let count = "SELECT count(*) FROM prom_samples WHERE metric = 'up' AND value = 1";
    wait_for("samples", || served.rows(count)[0][0].parse::<u64>().unwrap() >= 3);
    drop(first);
    let series = format!("up{{instance=\"127.0.0.1:{port}\",job=\"self\"}}");
    let rows = served.rows("SELECT DISTINCT series FROM prom_samples WHERE metric = 'up'");
    assert_eq!(rows, [[series]]);
    assert!(served.rows("SELECT DISTINCT metric FROM prom_samples").len() > 100);

    // A new Prometheus without data of its own sees the samples that the first one wrote.
    let before = served.rows(count)[0][0].parse::<u64>().unwrap();
    let _second = Killed(start(port));
    let ask = |path: &str| -> Option<serde_json::Value> {
        let url = format!("http://127.0.0.1:{port}{path}");
        let output = Command::new("curl").args(["-sS", "-G", &url]).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    };
    wait_for("samples read back", || {
        let Some(json) = ask("/api/v1/query?query=count_over_time(up%5B10m%5D)") else { return false };
        let found = json["data"]["result"][0]["value"][1].as_str().and_then(|text| text.parse::<u64>().ok());
        found.is_some_and(|found| found >= before)
    });
}
