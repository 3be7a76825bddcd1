//! The messages between the process that runs the lab and the one that runs a contestant: a [`Job`] on the child's
//! standard input, and one [`Event`] in each line of its standard output. Both are JSON; a line that is not an event is
//! skipped.

use crate::advise::AdviseInput;
use crate::failure::Failure;
use crate::measure::{Figure, Tier, Tuning};
use crate::server::ServerAddress;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first argument of a program that is to call [`run_child`](crate::run_child).
pub const CHILD_ARGUMENT: &str = "lab-child";
/// The environment variable that is always set for a child.
pub const CHILD_VARIABLE: &str = "ATSDB_LAB_CHILD";
/// Its value for a child that runs a job.
pub const CHILD_RUN: &str = "run";
/// Its value for a child that ends at once, because its start is measured.
pub const CHILD_START: &str = "start";

/// One contestant's run of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The workload's name.
    pub workload: String,
    /// The contestant's name.
    pub contestant: String,
    /// The number of rows.
    pub rows: u64,
    /// The seed of the random numbers.
    pub seed: u64,
    /// `full`, `normal` or `off`.
    pub durability: String,
    /// Tuned or default settings.
    pub tuning: Tuning,
    /// An empty folder.
    pub directory: PathBuf,
    /// The prefix of the names of its databases on the server.
    pub database_prefix: String,
    /// The server, if the contestant requests one.
    pub server: Option<ServerAddress>,
    /// The file for advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<AdviseInput>,
    /// The command that starts this program and ends it at once.
    pub start_command: Vec<String>,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The contestant opened its workspace with these settings.
    Opened {
        /// The settings, as `name = value`.
        settings: Vec<String>,
        /// The real durability of its commits.
        tier: Tier,
    },
    /// Something to show while waiting.
    Progress {
        /// The contestant's present activity.
        text: String,
    },
    /// A measure has a figure.
    Measured {
        /// Which measure.
        measure: String,
        /// The figure.
        figure: Box<Figure>,
    },
    /// The contestant cannot do it.
    Skipped {
        /// Which measure.
        measure: String,
        /// The reason.
        reason: String,
    },
    /// The contestant failed.
    Failed {
        /// Which measure.
        measure: String,
        /// The failure.
        reason: String,
    },
    /// The run ended; with a reason if it ended early.
    Ended {
        /// The reason why it ended early.
        reason: Option<String>,
    },
}

const MARK: &str = "atsdb-lab ";

impl Event {
    /// The line of this event, without its end.
    ///
    /// # Errors
    ///
    /// The event cannot be written as JSON.
    pub fn to_line(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map(|json| format!("{MARK}{json}")).map_err(Failure::broken)
    }

    /// The event of a line, if the line has one. Text before its mark is skipped.
    pub fn of_line(line: &str) -> Option<Self> {
        let start = line.find(MARK)? + MARK.len();
        serde_json::from_str(&line[start..]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_its_line_and_noise_is_skipped() {
        let figure = Figure { memory_peak_bytes: Some(7), ..Figure::of(1.5) };
        let event = Event::Measured { measure: "count".to_owned(), figure: Box::new(figure) };
        let line = event.to_line().expect("a line");
        assert_eq!(Event::of_line(&format!("test child ... {line}\n")), Some(event));
        assert_eq!(Event::of_line("running 1 test"), None);
    }
}
