//! Tuned or default settings of a contestant.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The settings of a contestant, apart from those that durability determines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Tuning {
    /// The system's defaults.
    Defaults,
    /// The settings that an experienced user would choose on this machine.
    #[default]
    Tuned,
}

impl Tuning {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
