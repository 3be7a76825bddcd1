//! Durability tiers: the failures that the commits of a contestant really survive, which may differ from the requested
//! tier.

use atsdb::Durability;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::IntoStaticStr;

/// The failures that an acknowledged commit survives, the safest tier first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Tier {
    /// A power cut.
    Full,
    /// A crash of the program. A power cut may lose the last commits, but the data stays consistent.
    Normal,
    /// A crash of the program. A power cut may lose everything.
    Off,
    /// Nothing: the data is in memory and ends with the process that holds it.
    None,
}

impl Tier {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl From<Durability> for Tier {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Full => Self::Full,
            Durability::Normal => Self::Normal,
            Durability::Off => Self::Off,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
