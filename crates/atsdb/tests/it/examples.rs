//! The example programs, run as a newcomer runs them: the output of each is what its code and the pages say.

use crate::support::open_quiet;
use atsdb_testkit::server::{self, ServerKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of an example, which cargo builds with the tests. `None`, with a message on stderr, if it was not built:
/// `cargo test --test it` builds this test alone.
fn example(name: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let path = test.parent()?.parent()?.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        atsdb_testkit::skipped(&format!("{} was not built: cargo build --release --examples", path.display()));
        return None;
    }
    Some(path)
}

/// Runs a program in a folder. Returns its exit code and the lines of its output.
fn run(program: &Path, folder: &Path, arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("ATSDB_CACHE_DIR", folder.join("cache"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.is_empty(), "{arguments:?}: {stderr}");
    let lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    (output.status.code(), lines)
}

#[test]
fn rows_are_ingested_queried_and_moved() {
    let (Some(ingest), Some(query), Some(mover)) = (example("ingest"), example("query"), example("move_to_server"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The second run sends the same batches again.
    for _ in 0..2 {
        assert_eq!(run(&ingest, folder, &["air.db"]), (Some(0), vec!["air.db: 1200 readings".to_owned()]));
    }

    let (code, lines) = run(&query, folder, &["air.db"]);
    let first = "200 readings in ten minutes, batteries at 100 % or more, no temperature from {\"sensor 7\"}";
    assert_eq!((code, lines[0].as_str(), lines.len()), (Some(0), first, 4));
    for (line, sensor) in lines[1..].iter().zip(["sensor 0", "sensor 1", "sensor 10"]) {
        let values: Vec<&str> = line.split(" | ").collect();
        assert_eq!((values[0], values.len()), (sensor, 3), "{line}");
        assert!(values[2].starts_with("2026-01-01T00:59:00"), "{line}");
        assert!((values[1].parse::<f64>().unwrap() - 20.45).abs() < 1e-9, "{line}");
    }

    let (code, lines) = run(&mover, folder, &["air.db"]);
    assert_eq!((code, lines[0].starts_with("two URLs are needed")), (Some(1), true));
    // Sealed rows stay as they are while the store is open, so the number of chunks is known.
    open_quiet(&folder.join("air.db")).unwrap().engine().recompress(None).unwrap();
    let servers = [ServerKind::Postgres, ServerKind::Mariadb].into_iter().filter_map(server::shared);
    for target in ["copy.db".to_owned()].into_iter().chain(servers.map(server::TestServer::database)) {
        for moved in ["1 chunks moved, 0 were there already", "0 chunks moved, 1 were there already"] {
            let (code, lines) = run(&mover, folder, &["air.db", &target]);
            assert_eq!((code, lines[0].as_str()), (Some(0), moved), "{target}");
            // A server may have settings that are worth a warning.
            assert_eq!(lines.last().unwrap(), "1200 rows on both sides", "{target}");
        }
    }
}
