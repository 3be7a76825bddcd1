//! Literals, words that stand for values, and the types of both.

pub(super) mod instants;
pub(super) mod integers;
pub(super) mod intervals;
pub(super) mod session_words;
pub(super) mod times;
pub(super) mod typed_rows;
pub(super) mod types_of_text;
