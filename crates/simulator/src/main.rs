//! `make simulate SECONDS=...`: as many histories as one likes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use atsdb_simulator::{Limit, StoreKind, simulate};
use std::process::ExitCode;
use std::time::Duration;

const USE: &str = "use: atsdb-simulator memory|sqlite|split|all seconds|count NUMBER [SEED]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stores = match arguments.first().map(String::as_str) {
        Some("memory") => vec![StoreKind::Memory],
        Some("sqlite") => vec![StoreKind::Sqlite],
        Some("split") => vec![StoreKind::Split],
        Some("all") => vec![StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split],
        _ => Vec::new(),
    };
    let number = |position: usize| arguments.get(position).and_then(|text| text.parse::<u64>().ok());
    let limit = match (arguments.get(1).map(String::as_str), number(2)) {
        (Some("seconds"), Some(seconds)) => Some(Limit::Time(Duration::from_secs(seconds))),
        (Some("count"), Some(count)) => Some(Limit::Count(count)),
        _ => None,
    };
    let seed = match arguments.get(3) {
        Some(_) => number(3),
        None => Some(u64::from(std::process::id()) << 32),
    };
    let (Some(limit), Some(seed), false) = (limit, seed, stores.is_empty()) else {
        eprintln!("{USE}");
        return ExitCode::from(1);
    };
    for store in stores {
        println!("{store:?}: from seed {seed} on");
        match simulate(store, seed, limit) {
            Ok(count) => println!("{store:?}: {count} histories, each as promised"),
            Err(failure) => {
                eprintln!("{failure}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
