//! `make fuzz TARGET=... SECONDS=...`: runs one target, or all, for as long as wanted.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use atsdb_fuzz::{Limit, fuzz, targets};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const USE: &str = "use: atsdb-fuzz TARGET|all SECONDS [SEED] | atsdb-fuzz TARGET --input FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = targets();
    let name = arguments.first().map_or("", String::as_str);
    let chosen: Vec<_> = all.iter().filter(|target| name == "all" || target.name == name).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|target| target.name).collect();
        eprintln!("{USE}\ntargets: {}", names.join(", "));
        return ExitCode::from(1);
    }
    if let [_, flag, path] = arguments.as_slice()
        && flag == "--input"
    {
        let Ok(input) = std::fs::read(path) else {
            eprintln!("cannot read {path}");
            return ExitCode::from(1);
        };
        chosen.iter().for_each(|target| target.read(&input));
        println!("read or refused");
        return ExitCode::SUCCESS;
    }
    let number =
        |position: usize, default: u64| arguments.get(position).map_or(Some(default), |text| text.parse().ok());
    let (Some(seconds), Some(seed)) = (number(1, 60), number(2, std::process::id().into())) else {
        eprintln!("{USE}");
        return ExitCode::from(1);
    };
    for target in chosen {
        println!("{}: seed {seed}", target.name);
        match fuzz(target, seed, Limit::Time(Duration::from_secs(seconds)), Path::new("target/fuzz")) {
            Ok(count) => println!("{}: {count} inputs, each read or refused", target.name),
            Err(failure) => {
                let (name, path) = (failure.target, failure.path.display());
                eprintln!("{name}: input {} of seed {seed}: {}", failure.number, failure.message);
                eprintln!("again: atsdb-fuzz {name} --input {path}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
