//! The SQLite store: the contract of stores, and what only files promise.

mod conformance;
mod crash;
mod damage;
mod disk;
mod files;
mod flips;
mod log;
mod processes;
mod rolling;
mod split;
mod split_files;
mod support;
