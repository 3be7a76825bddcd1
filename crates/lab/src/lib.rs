//! The lab: published experiments, run side by side on the systems that are there, with checked answers.
//!
//! Owned here: the workloads ([`workload`], [`workloads`]), the contestants ([`contestant`], [`contestants`]), the
//! seeded data ([`generator`]), running them ([`run()`]) and what comes of it ([`Report`]). Not owned: the command line,
//! which shows progress, writes files, and calls [`run_child`] when the lab starts the program as a child.
//!
//! A measurement is honest when it can be repeated and could have failed: data comes from a seed, what is read back
//! is compared with what was written, answers are compared between contestants, every figure carries its durability
//! tier, and what a contestant cannot do is shown with the reason.

mod advise;
mod answer;
mod bench;
mod child;
mod columns;
mod compare;
pub mod contestant;
pub mod contestants;
mod dialect;
mod digest;
mod event;
mod failure;
pub mod generator;
mod html;
mod latency;
mod measure;
mod process;
mod published;
mod report;
pub mod rows;
mod run;
mod scratch;
pub mod server;
mod spelling;
mod table;
mod tier;
pub mod workload;
pub mod workloads;

pub use advise::{Advice, AdviseInput, Winner};
pub use answer::{Answer, AnswerHash, Cell};
pub use bench::{Bench, milliseconds, per_second};
pub use child::{CHILD_ARGUMENT, CHILD_RUN, CHILD_START, CHILD_VARIABLE, run_child};
pub use compare::{Compared, Verdict};
pub use digest::RowDigest;
pub use event::{Event, Job};
pub use failure::Failure;
pub use latency::{Latencies, Stopwatch};
pub use measure::{CurvePoint, Figure, Measure, Spread, Unit};
pub use process::Machine;
pub use published::Published;
pub use report::{
    Broken, ContestantReport, MeasureReport, MeasureResult, REPORT_FORMAT, Report, Settings, WorkloadReport,
};
pub use run::{Listed, Progress, RunOptions, list, run};
pub use scratch::remove_abandoned;
pub use tier::Tier;
