//! The locations of a change's pages before its commit.

/// The locations of the pages of one change.
#[derive(Debug, Default)]
pub(crate) struct PlacedPages {
    /// The payload numbers of the chunks that the change adds; `None` for those stored in the catalogue.
    pub(crate) add: Vec<Option<i64>>,
    /// The block that each amendment wrote; `None` unless the chunk is in a page file.
    pub(crate) amend: Vec<Option<AmendedBlock>>,
}

impl PlacedPages {
    /// Returns the payload number of the chunk at this position.
    pub(crate) fn payload(&self, position: usize) -> Option<i64> {
        self.add.get(position).copied().flatten()
    }

    /// Returns the block of the amendment at this position.
    pub(crate) fn amended_block(&self, position: usize) -> Option<&AmendedBlock> {
        self.amend.get(position)?.as_ref()
    }
}

/// A block with a chunk's pages and those of an amendment.
#[derive(Debug)]
pub(crate) struct AmendedBlock {
    /// The payload number that the pages were read from. If it has changed since, they were relocated.
    pub(crate) base: i64,
    /// The payload number of the new block; `None` if the chunk already has pages with these numbers.
    pub(crate) payload: Option<i64>,
}
