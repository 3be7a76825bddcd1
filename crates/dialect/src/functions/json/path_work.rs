//! The limits of the work for SQL/JSON paths, in steps: items that are visited or listed, and pairs that are compared.
//! Nothing stops a call before it has seen all of its documents, so that they have a limit together, too.

use super::path_failures::PathFailure;
use std::cell::Cell;

/// The maximum number of steps for one document.
const DOCUMENT_STEPS_MAX: usize = 10_000_000;

/// The maximum number of steps for all documents of a call, which take seconds.
const CALL_STEPS_MAX: usize = 200_000_000;

/// The number of steps that count for making a value, which needs memory.
pub(super) const STEPS_OF_VALUE: usize = 8;

/// The number of steps that count for listing an item, which needs memory: some tens of bytes.
pub(super) const STEPS_OF_ITEM: usize = 4;

/// The number of bytes that are read or copied in a step.
pub(super) const BYTES_OF_STEP: usize = 16;

/// The number of steps that remain for all documents of a call together.
#[derive(Debug)]
pub(super) struct CallSteps(Cell<usize>);

impl CallSteps {
    pub(super) fn new() -> Self {
        Self(Cell::new(CALL_STEPS_MAX))
    }
}

/// The number of steps that remain for one document, which also count against those of its call.
#[derive(Debug)]
pub(super) struct DocumentSteps<'a> {
    left: Cell<usize>,
    call: &'a CallSteps,
}

impl<'a> DocumentSteps<'a> {
    pub(super) fn of(call: &'a CallSteps) -> Self {
        Self { left: Cell::new(DOCUMENT_STEPS_MAX), call }
    }

    pub(super) fn charge(&self, steps: usize) -> Result<(), PathFailure> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.ok_or_else(|| PathFailure::too_much_work(DOCUMENT_STEPS_MAX, "a document"))?);
        let left = self.call.0.get().checked_sub(steps);
        self.call.0.set(left.ok_or_else(|| PathFailure::too_much_work(CALL_STEPS_MAX, "some documents"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_and_a_call_have_limits() {
        let call = CallSteps::new();
        let first = DocumentSteps::of(&call);
        assert!(first.charge(DOCUMENT_STEPS_MAX).is_ok());
        assert!(first.charge(1).is_err());
        for _ in 1..CALL_STEPS_MAX / DOCUMENT_STEPS_MAX {
            assert!(DocumentSteps::of(&call).charge(DOCUMENT_STEPS_MAX).is_ok());
        }
        assert!(DocumentSteps::of(&call).charge(1).is_err());
    }
}
