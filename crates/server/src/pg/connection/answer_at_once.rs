//! What the store has answered before the connection handles a message.

use atsdb::sql::{Answer, Prepared};

/// The answer of the store to the message that is handled next.
pub(super) enum AnswerAtOnce {
    Prepared(Prepared),
    Executed(Answer),
}
