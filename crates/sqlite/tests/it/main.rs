//! The SQLite store: the contract of stores, and what only a file promises.

mod conformance;
mod crash;
mod damage;
mod disk;
mod files;
mod log;
mod processes;
mod rolling;
mod support;
