//! The lab: published experiments, run side by side on all installed systems, with checked answers.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `run` | running workloads on contestants, each pair in a separate process |
//! | `report` | the results of a run: as JSON, in a terminal, as a page, beside an earlier run, as advice |
//! | `workloads` | the published experiments, a file each |
//! | `contestants` | the systems that run them, a file or folder each |
//! | `workload` | the contract of a workload, the bench it measures with, the events of a run |
//! | `advise` | measuring a file of the user |
//! | `contestant` | the contract of a contestant, and the dialects of SQL |
//! | `server` | the servers that contestants run on |
//! | `generator` | seeded data |
//! | `measure` | units, figures, latencies, tiers, tuning |
//! | `data` | input rows, digests and answers |
//! | `process` | what the system reports about this machine and its processes |
//! | `failure` | why a measurement has no figure |
//!
//! Not owned: the command line, which shows progress, writes files, and calls [`run_child`] when the lab starts the
//! program as a child.
//!
//! A measurement is honest when it can be repeated and could have failed. So data is generated from a seed, rows that
//! are read back are compared with those that were written, and answers are compared between contestants. Every figure
//! has its durability tier, and a measure that a contestant cannot run is shown with the reason.

mod advise;
pub mod contestant;
pub mod contestants;
mod data;
mod failure;
pub mod generator;
mod measure;
mod process;
mod report;
mod run;
pub mod server;
pub mod workload;
pub mod workloads;

pub use advise::AdviseInput;
pub use data::{
    Answer, AnswerHash, Binder, Cell, CounterReading, LabRow, Reading, RowDigest, RowSet, RowVisitor, Timed,
};
pub use failure::Failure;
pub use measure::{CurvePoint, Figure, Latencies, Measure, Spread, Stopwatch, Tier, Tuning, Unit};
pub use process::Machine;
pub use report::{
    Advice, BrokenRun, ComparedFigure, ContestantReport, MeasureReport, MeasureResult, REPORT_FORMAT, Report, Settings,
    Verdict, Winner, WorkloadReport,
};
pub use run::{Listing, Progress, RunOptions, list, remove_abandoned, run, run_child};
pub use workload::{
    Bench, CHILD_ARGUMENT, CHILD_RUN, CHILD_START, CHILD_VARIABLE, Event, Fact, Job, PublishedRatio, RunBound,
    Workload, milliseconds, per_second,
};
