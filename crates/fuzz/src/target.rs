//! The definition of a target.

/// One thing that parses bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// How many inputs a test runs.
    pub test_count: u64,
    /// The inputs that are mutated: well-formed ones.
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Makes checksums right again after a mutation, so that what they guard is reached.
    pub(crate) reseal: fn(&mut [u8]),
    /// Reads one input. It panics where a promise is broken.
    pub(crate) read: fn(&[u8]),
}

impl Target {
    /// Reads one input. It panics where a promise is broken.
    pub fn read(&self, input: &[u8]) {
        (self.read)(input);
    }
}
