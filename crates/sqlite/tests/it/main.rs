//! The SQLite store: the contract of stores, and the promises that only files make.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod conformance;
mod crash;
mod creation;
mod damage;
mod disk;
mod faults;
mod files;
mod flips;
mod full_disk;
mod history;
mod log;
mod lost_files;
mod numbers;
mod power_cut;
mod processes;
mod replay;
mod rolling;
mod split;
mod split_files;
mod support;
