//! The lab's promises: the same data from the same seed, checked answers, reports of a known shape.

mod pinger;
mod run;
mod series;
