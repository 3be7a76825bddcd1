//! Reads files into a table definition and Arrow batches: separated values, JSON, sheets of workbooks, Parquet, Arrow
//! IPC and line protocol, plain or compressed; and tables of other databases, whose readers are elsewhere.
//!
//! The result depends on the data alone. First the beginning of every file is sampled and a plan is made. If a later
//! value does not fit the plan, all values are read, and the sink starts over.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `run` | the facade: [`import`], its passes over text files, and the fast path for one column |
//! | `typed` | importing files whose values have types: Parquet, Arrow IPC, line protocol |
//! | `build` | the rows of a table: an Arrow array for each column from the records of a block |
//! | `plan` | the table, and the source of each of its columns in the files |
//! | `observe` | collecting facts from the beginning of files, or from all of them |
//! | `infer` | what facts mean: types, the time, maps, words that are kept, slices |
//! | `input` | files: their bytes, their format, and their blocks of text or batches |
//! | `sheets` | files with parts: the sheets of workbooks as text, and zip archives |
//! | `csv` | separated values: the dialect of a file, and its fields and records |
//! | `json` | JSON documents: where their records are, and the fields of these |
//! | `batches` | Arrow batches: the schema of a table, and formats that are read as batches |
//! | `facts` | facts about the values of a column |
//! | `records` | fields and records: their location in a text, and errors in them |
//! | `options` | what the caller asks for and receives |
//! | `values` | numbers, dates, times and zones as text |
//!
//! Not owned: stores. The caller of [`import`] passes a [`Sink`] and decides what to do with rows that were delivered
//! before an error.

mod batches;
mod build;
mod csv;
mod facts;
mod infer;
mod input;
mod json;
mod observe;
mod options;
mod plan;
mod records;
mod run;
mod sheets;
mod typed;
mod values;

pub use atsdb_core::time_text::DateOrder;
pub use atsdb_temporary::{PositionedFile, TemporarySpace};
pub use input::content::open_content;
pub use input::missing_file::cannot_open;
pub use options::delimiter::parse_delimiter;
pub use options::encoding::Encoding;
pub use options::key::declare_key;
pub use options::report::{Progress, Report, SKIPPED_SHOWN_MAX, Skipped};
pub use options::selection::chosen_columns;
pub use options::{ColumnChoice, Format, Input, Options, Pieces, Sink, UnpivotChoice};
pub use run::single::SingleColumn;
pub use run::{import, typed_table};
pub use values::zones::Zone;
