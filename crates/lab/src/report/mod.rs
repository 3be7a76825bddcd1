//! The results of a run: as JSON, as text for a terminal, as a page, compared with an earlier run, and as advice.

mod advice;
mod comparison;
mod grid;
mod page;
mod published;
mod results;
mod terminal;

pub use advice::{Advice, Winner};
pub use comparison::{ComparedFigure, Verdict};
pub use results::{
    BrokenRun, ContestantReport, MeasureReport, MeasureResult, REPORT_FORMAT, Report, Settings, WorkloadReport,
};
