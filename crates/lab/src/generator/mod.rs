//! Seeded data: the same rows from the same seed, on every machine.
//!
//! Owned here: the random numbers, the rows, and how much information they hold. Not owned: the measurements
//! (`workloads`), how a contestant stores the rows (`contestants`).

pub mod entropy;
pub mod groups;
pub mod hits;
pub mod hosts;
pub mod keys;
pub mod pinger;
pub mod random;
pub mod series;
pub mod words;
