//! InfluxDB line protocol: the bytes of a request become Arrow batches, one for each table.
//!
//! ```text
//! measurement,tag=value,tag=value field=1.5,other=7i,text="a" 1700000000000000000
//! ```
//!
//! Written from the published specification. A measurement is a table, a tag is a column of text that belongs to the
//! key, a field is another column. A line that cannot be read, or that does not fit its table, is refused with its
//! number, and the others are kept. Not owned: tables are created and rows are stored by the caller; gzip and HTTP.

mod column;
mod error;
mod field_type;
mod parser;
mod precision;
mod scan;
mod series;
mod table;
mod tag;
mod value;

pub use error::LineError;
pub use parser::{LineOptions, LineParser};
pub use precision::Precision;
pub use scan::{first_lines, whole_lines};
pub use table::{TIME_COLUMN, TableBlock};
