//! Tests and tools for every atsdb store.
//!
//! Owned here: one conformance suite ([`store_conformance`]), with a case for each sentence of the contract
//! [`atsdb_core::Store`], and the sample data it works on ([`sample`]). Not owned: guarantees of a single store (its
//! file, its processes), which its own tests check. Servers that tests need are started here ([`server`]), and the
//! guarantees of all stores on servers are tested here too ([`on_server`]). There are also disks that fill up
//! ([`disk`]), disks that lose data that was not synced ([`lying_disk`]), and stores that fail ([`faulty`]).

pub mod clock;
pub mod disk;
pub mod faulty;
pub mod lying_disk;
pub mod on_server;
pub mod sample;
pub mod server;
mod store;

pub use store::{Case, OpenStore, cases, one_chunk, store_conformance};

/// The seed of tests that generate their input: `ATSDB_TEST_SEED`, or else 1. It is printed, and shown when a test
/// fails.
///
/// # Panics
/// The variable is not a number.
#[expect(clippy::print_stderr, reason = "a failure must show its seed")]
pub fn seed() -> u64 {
    let seed = std::env::var("ATSDB_TEST_SEED").map_or(1, |text| text.parse().expect("ATSDB_TEST_SEED is a number"));
    eprintln!("ATSDB_TEST_SEED={seed}");
    seed
}

/// Reports that a test, or a part of it, is skipped here.
#[expect(clippy::print_stderr, reason = "a test that is skipped has to say so")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
