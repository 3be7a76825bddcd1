//! The storage engines.

use strum::IntoStaticStr;

/// A storage engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub(super) enum Engine {
    #[strum(serialize = "InnoDB")]
    Innodb,
    #[strum(serialize = "MyISAM")]
    Myisam,
    Aria,
    #[strum(serialize = "MEMORY")]
    Memory,
    #[strum(serialize = "CSV")]
    Csv,
    #[strum(serialize = "ROCKSDB")]
    Rocksdb,
}

impl Engine {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }
}
