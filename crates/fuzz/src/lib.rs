//! Whatever atsdb reads, mutated: it answers or refuses, and never panics.
//!
//! Owned here: the targets, one for each thing that parses bytes ([`targets`]), the mutations, and the loop that runs
//! them. Everything follows from a seed, so that a failure comes again. No tool but cargo is needed. Not owned: what
//! an answer must be, which the tests of each crate say.

mod mutate;
mod run;
mod targets;

pub use run::{Failure, Limit, fuzz};

/// One thing that parses bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// How many inputs a test runs.
    pub test_count: u64,
    /// The inputs that are mutated: well-formed ones.
    corpus: fn() -> Vec<Vec<u8>>,
    /// Makes checksums right again after a mutation, so that what they guard is reached.
    reseal: fn(&mut [u8]),
    /// Reads one input. It panics where a promise is broken.
    read: fn(&[u8]),
}

impl Target {
    /// Reads one input. It panics where a promise is broken.
    pub fn read(&self, input: &[u8]) {
        (self.read)(input);
    }
}

/// All of them.
pub fn targets() -> Vec<Target> {
    targets::all()
}
