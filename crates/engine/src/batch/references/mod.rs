//! Foreign keys: each row of a table with one, the *child*, has the key of a row of another table, its *parent*.
//!
//! The check is one of chunks, so that no way into a table passes it by: at the end of a statement, and before the
//! commit, the batch looks up the keys of its new chunks of child tables in their parents ([`children`]), and those
//! that went with the chunks that it has removed from parents in the child tables ([`parents`]). What `ON DELETE` and
//! `ON UPDATE` say happens there ([`actions`]). A key is looked up once, however many rows have it ([`lookup`]).
//! Rows of a parent that are removed and added again with other keys are noted ([`moved`]), and so are those that are
//! deleted beside changed ones ([`deleted`]). The check of a deferred foreign key waits for the end of the transaction
//! ([`postponed`]). Keys that are gone are compared with newer rows after definitions may have changed ([`present`]).
//!
//! Two batches may do both at the same time: one adds a row, the other deletes the row that it refers to. Each sees a
//! state in which that is allowed, so the commit of the later one must be refused ([`recheck`]):
//!
//! - A batch after which a parent lacks keys gives the parent's definition another version. Batches that have looked up
//!   keys in the parent name the version of its definition, and look the keys up again under the new one.
//! - Such a batch also guards the child tables, as rows with keys do: chunks that others have added meanwhile must not
//!   have the keys.
//! - Until a foreign key is committed, others do not know it. A batch that adds one names the parent's chunks that it
//!   has found keys in as chunks that must still exist ([`state::ReferenceChecks`]).
//!
//! Not owned: which parents a foreign key can have (`atsdb_core`), and that the batch relies on the parent's definition
//! (`dependencies`).

mod actions;
mod children;
pub(crate) mod declared;
pub(crate) mod deferral;
mod deleted;
mod lookup;
mod moved;
mod parents;
mod postponed;
mod present;
mod recheck;
mod settle;
pub(crate) mod state;
