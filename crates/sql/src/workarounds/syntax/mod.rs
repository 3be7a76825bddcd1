//! What is rewritten in a statement's tokens and in its syntax tree, before DataFusion plans it.

pub(super) mod clauses;
pub(super) mod constant_in;
pub(super) mod distinct_from;
mod set_all;
mod using;
mod windows;
