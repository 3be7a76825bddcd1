//! Several processes on one folder, killed while they write.

use crate::support::{found, keep, open, places};
use atsdb_testkit::clock::wait_until;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const BYTES_MAX: u64 = 2 << 20;
const SIZES: [u32; 3] = [50_000, 500, 9_000];

#[test]
fn processes_that_are_killed_leave_right_pages_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::one_of_many", "--exact", "--nocapture", "--test-threads=1"]);
        command.env("ATSDB_TEST_CACHE", folder.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    let places = places(&SIZES);
    let (cache, _) = open(folder.path(), BYTES_MAX);
    let mut others: Vec<_> = (0..3).map(|_| start()).collect();
    let mut hits = 0;
    for round in 0..12 {
        std::thread::sleep(Duration::from_millis(60));
        // The first round waits until another process has written, even on a slow machine.
        if round == 0 {
            wait_until("another process has written", || {
                assert!(others[0].try_wait().unwrap().is_none(), "it ended by itself");
                hits += (0..100).flat_map(|number| found(&cache, number, &places)).filter(|found| *found).count();
                hits > 0
            });
        }
        let other = &mut others[round % 3];
        other.kill().unwrap();
        other.wait().unwrap();
        for number in 0..100 {
            hits += found(&cache, number, &places).iter().filter(|found| **found).count();
        }
        assert!(cache.stats().bytes <= BYTES_MAX + BYTES_MAX / 4, "{}", cache.stats().bytes);
        others[round % 3] = start();
    }
    assert!(hits > 0, "nobody wrote");
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    for number in 0..100 {
        keep(&cache, number % 10, &places);
    }
    cache.flush();
    assert_eq!(found(&cache, 9, &places), [true; 3]);
}

/// The work of such a process. Does nothing when it runs as an ordinary test.
#[test]
fn one_of_many() {
    let Some(folder) = std::env::var_os("ATSDB_TEST_CACHE").map(PathBuf::from) else { return };
    let places = places(&SIZES);
    let (cache, _) = open(&folder, BYTES_MAX);
    for step in u64::from(std::process::id()).. {
        let number = step * 37 % 100;
        found(&cache, number, &places);
        keep(&cache, number, &places[..1 + step as usize % 3]);
    }
}
