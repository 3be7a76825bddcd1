//! Measures how much a server stores, or sends as answers, per second of its processor time.
//!
//! ```sh
//! cargo run --release -p atsdb-server --example server_speed -- lines [LINES] [CONNECTIONS] [LINES_PER_REQUEST]
//! cargo run --release -p atsdb-server --example server_speed -- samples [SAMPLES] [CONNECTIONS]
//! cargo run --release -p atsdb-server --example server_speed -- copy [ROWS]
//! cargo run --release -p atsdb-server --example server_speed -- answer [ROWS]
//! ```
//!
//! The server is a process of its own, with an SQLite file and durability full.

#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

mod answer;
mod copy;
mod lines;
mod samples;
mod served;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(default, |text| text.parse().unwrap());
    match arguments.first().map(String::as_str) {
        Some("serve") => served::serve(&arguments[1]),
        Some("lines") => lines::run(number(1, 1_000_000), number(2, 4), number(3, 10_000)),
        Some("samples") => samples::run(number(1, 2_000_000), number(2, 4)),
        Some("copy") => copy::run(number(1, 2_000_000)),
        Some("answer") => answer::run(number(1, 1_000_000)),
        _ => println!("name what to measure: lines, samples, copy or answer"),
    }
}
