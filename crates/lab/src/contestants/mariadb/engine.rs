//! The storage engines.

/// A storage engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Innodb,
    Myisam,
    Aria,
    Memory,
    Csv,
    Rocksdb,
}

impl Engine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Innodb => "InnoDB",
            Self::Myisam => "MyISAM",
            Self::Aria => "Aria",
            Self::Memory => "MEMORY",
            Self::Csv => "CSV",
            Self::Rocksdb => "ROCKSDB",
        }
    }
}
