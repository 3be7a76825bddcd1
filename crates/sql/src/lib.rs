//! SQL over an atsdb engine: scripts, statements and their answers. Parsing and execution are DataFusion's.
//!
//! Owned here: splitting scripts ([`Statements`]), names without case, type names of other databases,
//! `CREATE TABLE` in both directions ([`create_table_sql`]), inserting, the bridge between DataFusion's plans and
//! the engine's scans, and what a query may use ([`SessionOptions`]). Not owned: rows and chunks (`engine`), how
//! answers are printed (`cli`).

mod answer;
mod asof;
mod assign;
mod bounded_functions;
mod catalogue;
mod change;
mod clauses;
mod compare_times;
mod conflict;
mod constant_in;
mod ddl;
mod distinct_from;
mod error;
mod exact_casts;
mod explain;
mod expressions;
mod extension;
mod files;
mod functions;
mod gapfill;
mod given;
mod group_by_index;
mod guard;
mod headings;
mod identifiers;
mod in_lists;
mod insert;
mod insert_run;
mod insert_text;
mod interrupt;
mod latest_first;
mod latest_rows;
mod literal_columns;
mod literal_numbers;
mod load;
mod long_literals;
mod meaning;
mod narrow_maps;
mod overflow;
mod parameter_types;
mod params;
mod parse;
mod plain_results;
mod plain_values;
mod planner;
mod provider;
mod pushdown;
mod refuse;
mod resident;
mod returning;
mod rollup;
mod running_filter;
mod runtime;
mod scan;
mod script;
mod session;
mod show;
mod similar_to;
mod statistics;
mod stoppable;
mod table_options;
mod text_of_index;
mod threads;
mod time_text;
mod type_names;
mod unambiguous_filters;
mod upsert;
mod views;
mod wrong_calls;

pub use answer::{Answer, Rows};
pub use ddl::{create_table_sql, parse_create_table, quoted};
pub use files::{FileReader, FileRequest, FileWriter};
pub use rollup::RefreshReport;
pub use script::{Statement, Statements, is_complete};
pub use session::{InterruptHandle, Session, SessionOptions};
