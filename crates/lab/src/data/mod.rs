//! Data on its way to a contestant and back: rows one by one and in batches, digests of what was read, answers.

pub(crate) mod answer;
pub(crate) mod columns;
pub(crate) mod digest;
pub(crate) mod rows;

pub use answer::{Answer, AnswerHash, Cell};
pub use digest::RowDigest;
pub use rows::{Binder, CounterReading, LabRow, Reading, RowSet, RowVisitor, Timed};
