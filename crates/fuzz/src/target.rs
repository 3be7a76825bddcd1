//! The definition of a target.

/// A parser of bytes to be tested.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The number of inputs in a test.
    pub test_count: u64,
    /// Well-formed inputs, which are mutated.
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Corrects checksums after a mutation, so that the code behind the check is reached.
    pub(crate) reseal: fn(&mut [u8]),
    /// Reads one input. Panics if a promise is broken.
    pub(crate) read: fn(&[u8]),
}

impl Target {
    /// Reads one input. Panics if a promise is broken.
    pub fn read(&self, input: &[u8]) {
        (self.read)(input);
    }
}
