//! What is measured: units and figures, how long single operations took, what commits survive, whose settings were
//! used.

pub(crate) mod clock;
mod figure;
mod latency;
mod tier;
mod tuning;

pub use figure::{CurvePoint, Figure, Measure, Spread, Unit};
pub use latency::{Latencies, Stopwatch};
pub use tier::Tier;
pub use tuning::Tuning;
