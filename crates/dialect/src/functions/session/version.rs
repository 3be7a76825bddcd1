//! `version()`: the version of PostgreSQL whose SQL this is, and the program's own.

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The PostgreSQL version that is reported to clients.
pub const POSTGRES_VERSION: &str = "15.0";

/// Returns the result of `version()`. Clients read the number after the first word.
pub fn version_text() -> String {
    format!("PostgreSQL {POSTGRES_VERSION} (atsdb {})", env!("CARGO_PKG_VERSION"))
}

pub(super) fn function() -> ScalarUDF {
    Plain::new("version", &[&[]], DataType::Utf8, version).udf()
}

fn version(_: &[ArrayRef]) -> Result<ArrayRef> {
    Ok(Arc::new(StringArray::from(vec![version_text()])))
}
