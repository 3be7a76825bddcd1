//! Data that is passed to contestants and back: single rows and batches, digests of rows that were read, answers.

pub(crate) mod answer;
pub(crate) mod columns;
pub(crate) mod digest;
pub(crate) mod rows;

pub use answer::{Answer, AnswerHash, Cell};
pub use digest::RowDigest;
pub use rows::{Binder, CounterReading, LabRow, Reading, RowSet, RowVisitor, Timed};
