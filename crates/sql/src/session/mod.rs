//! Sessions. A session executes statements over an engine, each on one consistent snapshot. Owned here: dispatching
//! statements, transactions and savepoints, definitions of tables, views, indexes and rollups, and the files that
//! statements name. Not owned: how rows are written (`write`), and how queries run (`run`).

mod append;
mod at_once;
mod change;
mod checkpoint;
mod checks;
mod copy;
mod definitions;
mod dependents;
mod enumerations;
mod execute;
pub(crate) mod files;
mod insert_literals;
mod insert_on_conflict;
mod insert_runs;
mod load;
mod materialized;
mod open_transaction;
pub(crate) mod parameter_value;
pub(crate) mod prepare;
pub(crate) mod present_state;
mod references;
mod rollups;
mod savepoint;
mod schemas;
mod sequences;
mod set_constraints;
pub(crate) mod shared_snapshot;
mod show;
mod skipped;
pub(crate) mod state;
mod store;
mod summarize;
mod templates;
mod transaction;
mod unkept;
mod view_names;
mod views;
mod with_changes;
