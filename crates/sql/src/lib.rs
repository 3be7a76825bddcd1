//! SQL over an atsdb engine: scripts, statements and their answers. Parsing and execution are DataFusion's.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `session` | the facade: a [`Session`], dispatching statements, transactions, definitions, files |
//! | `write` | writing rows into a batch of the engine: inserting, changing, `ON CONFLICT`, `RETURNING` |
//! | `check` | the conditions of CHECK constraints: compiling them, and testing rows |
//! | `rollup` | checking the queries of rollups, and computing their stale buckets |
//! | `run` | DataFusion's context, the threads of queries, their limits, and their rows |
//! | `plan` | from a syntax tree to a logical plan over one snapshot: names, views, rollups |
//! | `dml` | the syntax and meaning of `INSERT`, `UPDATE`, `DELETE`, `COPY` and `LOAD DATA` |
//! | `catalogue` | tables about tables: `atsdb` and `information_schema` |
//! | `resident` | reading tables in memory |
//! | `scan` | reading tables of the store: filtering, ordering and counting by the engine for a plan |
//! | `ddl` | declarations between text and definition, both ways |
//!
//! Not owned: parsing, functions, and what makes DataFusion answer as PostgreSQL does (`dialect`), rows and chunks
//! (`engine`), how answers are printed (`cli`).

mod catalogue;
mod check;
mod ddl;
mod dml;
mod plan;
mod resident;
mod rollup;
mod run;
mod scan;
mod session;
mod write;

pub use atsdb_dialect::functions::base::text_types::{AddressType, RangeType};
pub use atsdb_dialect::functions::numbers::sizes::pretty_size;
pub use atsdb_dialect::functions::session::lock_table::{HeldLock, LockKey, LockMode};
pub use atsdb_dialect::functions::session::version::{POSTGRES_VERSION, version_text};
pub use atsdb_dialect::functions::texts::expressions::TextPattern;
pub use atsdb_dialect::functions::texts::strings::identifier;
pub use atsdb_dialect::parse::statement::{items_of_answer, parse_answer};
pub use atsdb_dialect::parse::with_clause::CHANGES_AFTER_WITH;
pub use atsdb_dialect::text::after_with::word_after_with;
pub use atsdb_dialect::text::file_functions::names as file_functions;
pub use atsdb_dialect::text::numbered_text::NumberedText;
pub use atsdb_dialect::text::quoted_names::{qualified, quoted};
pub use atsdb_dialect::text::result_names::ResultName;
pub use atsdb_dialect::text::script::{Statement, Statements, is_complete};
pub use atsdb_dialect::text::select_into::is_select_into;
pub use atsdb_dialect::text::sequence_names::is_of_sequences;
pub use atsdb_dialect::text::skipped::SkipNotice;
pub use atsdb_dialect::text::sqlstate::{PERMISSION_DENIED, sqlstate_of};
pub use atsdb_dialect::text::statement_error::StatementError;
pub use atsdb_dialect::text::table_names::{TEMPORARY_SCHEMA, exact_name};
pub use atsdb_dialect::text::time_text::{has_form_of_time, parse_date, parse_time};
pub use atsdb_dialect::text::tree_walk;
pub use atsdb_dialect::text::verbs::{VerbKind, nearest_verb, verb_kind, verb_of};
pub use atsdb_dialect::text::without_literals::without_literals;
pub use atsdb_dialect::text::words::{Word, Words};
pub use atsdb_dialect::text::zone::{ZoneAtInstant, is_time_zone, zone_abbreviations, zones_at};
pub use atsdb_dialect::workarounds::average as integer_average;
pub use atsdb_temporary::TemporarySpace;
pub use catalogue::relation::{CATALOG, name_of as name_in_catalogue, schema_of as schema_in_catalogue};
pub use check::compiler::compile_conditions_of;
pub use ddl::create_table::parse_create_table;
pub use ddl::enumerations::create_type_sql;
pub use ddl::identity::counters_sql;
pub use ddl::options::is_storage_parameter;
pub use ddl::print::{create_table_sql, unvalidated_sql};
pub use ddl::references::foreign_key_sql;
pub use dml::copy::options::{CopyColumns, CopyFormat, CopyHeader, CopyLayout, CopyOptions};
pub use dml::copy::statement::{CopySource, CopyStatement, CopyTarget};
pub use dml::files::{FileLayout, FileReader, FileRequest, FileRows, FileTable, FileTableRequest, StoredRows};
pub use plan::parameter_types::TextForm;
pub use rollup::refresh::RefreshReport;
pub use run::answer::{Answer, AnswerRows};
pub use run::durations::{batch_with_durations, with_durations};
pub use run::function_examples::FunctionExample;
pub use run::function_kind::FunctionKind;
pub use run::function_list::{FunctionInfo, function_names, functions};
pub use run::kept_memory::KeptMemory;
pub use run::options::SessionOptions;
pub use run::parsed_answers::ParsedAnswers;
pub use run::permission::Permission;
pub use run::statement_waits::StatementWaits;
pub use session::files::{FileWriter, WriteTarget};
pub use session::parameter_value::ParameterValue;
pub use session::prepare::Prepared;
pub use session::present_state::PresentState;
pub use session::shared_snapshot::TransactionSnapshot;
pub use session::state::{InterruptHandle, Session};
