//! PostgreSQL's dialect for DataFusion: the text of a statement, its syntax tree, what makes plans answer as PostgreSQL
//! does, and the functions and steps that plans have.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `parse` | from a statement's text to its syntax tree |
//! | `workarounds` | code that exists only because DataFusion answers wrongly or has a limit |
//! | `operators` | steps of a plan that DataFusion lacks: joining by time, filling gaps, sharing rows, first rows |
//! | `functions` | SQL functions that DataFusion lacks, or computes differently |
//! | `text` | scripts, identifiers, parameters, literals, errors |
//!
//! Only the crate `sql` uses it, and the tests of SQL are there. Not owned: the plan of a statement over the tables of
//! a store, and how it is executed (`sql`).

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "its docs are for those who work on it, and lead to private modules, too"
)]

pub mod functions;
pub mod operators;
pub mod parse;
pub mod text;
pub mod workarounds;
