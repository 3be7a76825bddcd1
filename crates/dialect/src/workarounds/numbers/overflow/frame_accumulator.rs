//! The accumulator of aggregates over sliding frames, which DataFusion's window functions drive.
//!
//! Part of [`overflow`](super).

use super::frame_values::FrameValues;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use std::fmt::Debug;

/// An aggregate that can be computed of the rows of a frame, joined in their order.
pub(super) trait FrameAggregate: Debug + Send + Sync + 'static {
    /// The partial result that is kept for a row, or for adjacent rows joined.
    type Part: Copy + Debug + Send + Sync + 'static;

    /// The parts of some rows, one for each row without a NULL in any argument.
    fn parts(arguments: &[ArrayRef]) -> impl Iterator<Item = Self::Part>;

    /// Joins a part with one that entered later.
    fn join(first: Self::Part, next: Self::Part) -> Self::Part;

    /// The aggregate's value for a frame.
    fn value(&self, frame: &FrameValues<Self::Part>) -> ScalarValue;
}

#[derive(Debug)]
pub(super) struct FrameAccumulator<A: FrameAggregate> {
    aggregate: A,
    parts: FrameValues<A::Part>,
}

impl<A: FrameAggregate> FrameAccumulator<A> {
    pub(super) fn new(aggregate: A) -> Self {
        Self { aggregate, parts: FrameValues::new(A::join) }
    }
}

impl<A: FrameAggregate> Accumulator for FrameAccumulator<A> {
    fn update_batch(&mut self, arguments: &[ArrayRef]) -> Result<()> {
        for part in A::parts(arguments) {
            self.parts.enter(part);
        }
        Ok(())
    }

    /// The rows that leave are those that entered first.
    fn retract_batch(&mut self, arguments: &[ArrayRef]) -> Result<()> {
        let nulls = NullBuffer::union_many(arguments.iter().map(|argument| argument.nulls()));
        let null_count = nulls.map_or(0, |nulls| nulls.null_count());
        self.parts.leave(arguments[0].len() - null_count);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.aggregate.value(&self.parts))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.parts.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no partial state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a frame has no partial state")
    }
}
