//! PostgreSQL's dialect for DataFusion: what turns the text of a statement into a plan with PostgreSQL's answers, and
//! the functions that the plan calls.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `parse` | from a statement's text to its syntax tree |
//! | `workarounds` | code that exists only because DataFusion answers wrongly or has a limit |
//! | `operators` | steps of a plan that DataFusion lacks: joining by time, filling gaps, first rows of partitions |
//! | `functions` | SQL functions that DataFusion lacks, or computes differently |
//! | `text` | scripts, identifiers, parameters, literals, errors |
//!
//! Only the crate `sql` uses it. Not owned: the tables of a store, and how statements are executed (`sql`).

pub mod functions;
pub mod operators;
pub mod parse;
pub mod text;
pub mod workarounds;
