//! Keys: no two rows of a table have the same values in a key's columns.
//!
//! Rows of a table that has keys wait until they are *settled*: compared with each other, with the batch's own earlier
//! rows and with the store's rows. The conflict policy decides which of them become chunks. That is cheap for
//! measurements that arrive in order: a [`SeriesClock`](clock::SeriesClock) shows without a lookup that rows differ
//! from each other, and a [`KeyBounds`](bounds::KeyBounds) shows by the chunks' statistics that the store has none of
//! them, or that they lie beyond all others ([`greatest`]). Only if neither helps, keys are hashed
//! ([`Groups`](groups::Groups)) and chunks are read ([`probe`]). Not owned: the batch and its commit.
//!
//! A key that is added to a table with rows is checked once for all of them ([`added`], [`duplicates`]).

mod added;
pub(crate) mod bounds;
mod clock;
pub(crate) mod conflicting_rows;
mod duplicates;
mod greatest;
pub(crate) mod groups;
pub(crate) mod index;
pub(crate) mod key;
mod key_set;
pub(crate) mod keyed_rows;
pub(crate) mod keyed_tables;
mod merge;
mod probe;
mod recheck;
mod resolve;
mod settle;
mod unread;
