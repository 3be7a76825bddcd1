//! `make simulate SECONDS=...`: runs as many histories as wanted.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use atsdb_simulator::{Limit, Setting, are_there, simulate};
use std::process::ExitCode;
use std::time::Duration;

const USE: &str = "use: atsdb-simulator memory|sqlite|split|postgres|mariadb[-sql]|all seconds|count NUMBER [SEED]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let settings: Vec<Setting> =
        Setting::all().into_iter().filter(|s| name == "all" || s.to_string() == name).collect();
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
    let (Some(limit), Some(seed), false) = (limit, seed, settings.is_empty()) else {
        eprintln!("{USE}");
        return ExitCode::from(1);
    };
    for setting in settings {
        if !are_there(setting.store) {
            continue;
        }
        println!("{setting}: from seed {seed} on");
        match simulate(setting, seed, limit) {
            Ok(count) => println!("{setting}: {count} histories, each as promised"),
            Err(failure) => {
                eprintln!("{failure}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
