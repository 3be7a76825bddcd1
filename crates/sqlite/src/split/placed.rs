//! Where the pages of a change were put before its commit.

/// Where the pages of one change were put.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// The payload numbers of the chunks it adds; none: they are to lie in the catalogue.
    pub(crate) add: Vec<Option<i64>>,
    /// What its amendments found in page files.
    pub(crate) amend: Vec<Option<Enlarged>>,
}

impl Placed {
    /// The payload number of the chunk at that position.
    pub(crate) fn payload(&self, position: usize) -> Option<i64> {
        self.add.get(position).copied().flatten()
    }

    /// What the amendment at that position found.
    pub(crate) fn enlarged(&self, position: usize) -> Option<&Enlarged> {
        self.amend.get(position)?.as_ref()
    }
}

/// A chunk's pages with those of an amendment, in another block.
#[derive(Debug)]
pub(crate) struct Enlarged {
    /// The payload number they were read from; if it is another by now, they were moved meanwhile.
    pub(crate) base: i64,
    /// Where they are now with the new ones; `None` if it has pages of these numbers already.
    pub(crate) payload: Option<i64>,
}
