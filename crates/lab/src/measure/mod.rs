//! Measurements: units and figures, latencies of single operations, durability tiers, tuned or default settings.

pub(crate) mod clock;
mod figure;
mod latency;
mod tier;
mod tuning;

pub use figure::{CurvePoint, Figure, Measure, Spread, Unit};
pub use latency::{Latencies, Stopwatch};
pub use tier::Tier;
pub use tuning::Tuning;
