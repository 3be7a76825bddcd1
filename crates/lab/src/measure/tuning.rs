//! Whose settings a contestant runs with.

use serde::{Deserialize, Serialize};

/// Whose settings a contestant runs with, apart from those that durability decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuning {
    /// The system's defaults.
    Defaults,
    /// What an experienced user would set on this machine.
    #[default]
    Tuned,
}

impl Tuning {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Tuned => "tuned",
        }
    }
}
