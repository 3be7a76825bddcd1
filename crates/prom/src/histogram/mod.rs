//! Native histograms: what a sample of one is, whether it is valid, and calculating with it.
//!
//! Bucket boundaries grow exponentially: bucket `i` of schema `s` ends at `2^(i / 2^s)`, inclusively, and begins where
//! the bucket before it ends. Observations near zero are in the zero bucket. A histogram of the schema
//! [`CUSTOM_SCHEMA`] has its own boundaries instead.
//!
//! Not owned: how histograms are stored or sent, and the evaluation of expressions.

mod arithmetic;
mod bounds;
mod check;
mod parts;
mod sample;
mod statistics;
mod text;
mod trim;

pub use bounds::Bucket;
pub use parts::{AdditionRemarks, Incompatible};
pub(crate) use parts::{Count, HistogramParts};
pub use sample::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint, SAMPLE_BYTES, Span};
pub(crate) use statistics::NanObservations;
pub(crate) use trim::Trim;
