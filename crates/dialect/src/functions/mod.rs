//! The SQL functions that atsdb has in addition to DataFusion's, and those that it computes differently.
//!
//! One folder for each kind of function. From the top; each imports only folders below it:
//!
//! | folder | what it owns |
//! |---|---|
//! | `aggregates` | aggregates: first and last values, series of points, histograms, percentiles |
//! | `bucketing` | cutting time into buckets: `time_bucket` and `date_bin` |
//! | `formatting` | PostgreSQL's patterns: `to_char`, `to_number`, `to_date`, `to_timestamp` |
//! | `types` | which type a value has: declared types, their names, UUIDs, dimensions and parts of arrays |
//! | `addresses` | network addresses: `inet` and `cidr` |
//! | `ranges` | ranges of numbers, dates and times: `int4range`, `tstzrange` and others |
//! | `text_search` | full-text search: `tsvector` and `tsquery` |
//! | `json` | reading, building and changing JSON |
//! | `texts` | texts and bytes, regular expressions |
//! | `numbers` | numbers |
//! | `session` | functions whose answers depend on the session or the server: locks, sequences, names, versions |
//! | `times` | times, time zones and intervals, and PostgreSQL's patterns for them |
//! | `base` | what functions are made of: their arguments, simple functions, functions over DataFusion's |
//!
//! Not owned: filling gaps, which is done by a plan step (`operators`), functions that only correct an answer of
//! DataFusion's (`workarounds`), and the list of functions with its notes and examples (`run` of the crate `sql`).

pub(crate) mod addresses;
mod aggregates;
pub mod base;
pub mod bucketing;
mod formatting;
pub mod json;
pub mod numbers;
pub(crate) mod ranges;
pub mod session;
pub(crate) mod text_search;
pub mod texts;
pub mod times;
pub mod types;

pub use base::arguments::{place_arguments, place_named_arguments};

use datafusion::prelude::SessionContext;

/// Functions that no statement can use: of unions, a type that no column has, and of files that DataFusion reads.
const UNUSABLE: [&str; 4] = ["file_row_index", "input_file_name", "union_extract", "union_tag"];

/// Registers all of them.
pub fn register(context: &SessionContext) {
    for name in UNUSABLE {
        context.deregister_udf(name);
    }
    aggregates::register(context);
    bucketing::register(context);
    formatting::register(context);
    types::register(context);
    addresses::register(context);
    ranges::register(context);
    text_search::register(context);
    json::register(context);
    texts::register(context);
    numbers::register(context);
    session::register(context);
    times::register(context);
}
