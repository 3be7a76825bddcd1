//! Mutates everything that atsdb reads. It must answer or refuse, and never panic.
//!
//! Owned here: the targets, one for each thing that parses bytes ([`targets`]), the mutations, and the loop that runs
//! them. Everything depends on a seed, so a failure can be repeated. No tool except cargo is needed. Not owned: the
//! correctness of answers, which the tests of each crate check.

mod mutate;
mod run;
mod target;
mod targets;

pub use run::{Failure, Limit, fuzz};
pub use target::Target;

/// All of them.
pub fn targets() -> Vec<Target> {
    targets::all()
}
