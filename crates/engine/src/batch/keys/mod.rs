//! Keys: no two rows of a table have the same values in a key's columns.
//!
//! Rows of a table that has keys wait until they are *settled*: compared with each other, with the batch's own earlier
//! rows and with what the store has; what the policy leaves goes on its way into chunks. Three things make that cheap
//! for measurements that come in order: a [`SeriesClock`](clock::SeriesClock) tells without a look that rows differ from each other, a
//! [`Scope`](scope::Scope) tells by the chunks' statistics that the store can have none of them, and only where neither helps are
//! keys hashed ([`Groups`](groups::Groups)) and chunks read ([`probe`]). Not owned: the batch, and the guard with which it commits.

mod again;
mod clock;
mod groups;
pub(crate) mod holders;
pub(crate) mod index;
pub(crate) mod key;
mod key_set;
pub(crate) mod keyed_rows;
pub(crate) mod keyed_tables;
mod probe;
mod resolve;
mod scope;
mod settle;
mod unread;
