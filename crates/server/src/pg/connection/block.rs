//! The state of a session's transaction.

use crate::pg::wire::outgoing::TransactionStatus;

/// The state of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    None,
    /// A transaction over the statements of one message, or up to a Sync.
    Implicit,
    /// A transaction between BEGIN and COMMIT.
    Explicit,
    /// A transaction between BEGIN and COMMIT in which a statement has failed.
    Failed,
}

impl Block {
    pub(super) fn status(self) -> TransactionStatus {
        match self {
            Self::None | Self::Implicit => TransactionStatus::Idle,
            Self::Explicit => TransactionStatus::Open,
            Self::Failed => TransactionStatus::Failed,
        }
    }
}
