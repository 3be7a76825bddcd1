//! Seeded data: the same rows from the same seed, on every machine.
//!
//! Owned here: the random numbers, the rows, and how much information they hold. Not owned: what is measured on
//! them (`workloads`), how a contestant stores them (`contestants`).

pub mod entropy;
pub mod groups;
pub mod hits;
pub mod hosts;
pub mod keys;
pub mod pinger;
pub mod random;
pub mod series;
pub mod words;
