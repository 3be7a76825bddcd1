//! An answer that the store has given before the connection handles the message.

use atsdb::sql::{Answer, Prepared};

/// The answer of the store to the message that is handled next.
pub(super) enum AnswerAtOnce {
    Prepared(Prepared),
    Executed(Answer),
}
