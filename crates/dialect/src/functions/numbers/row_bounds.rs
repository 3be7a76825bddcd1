//! `row_bound(count, 'LIMIT')`: a number of rows that is computed, as in `LIMIT (SELECT 1)`. It must not be negative.

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{Expr, ScalarUDF, lit};
use std::sync::Arc;

pub(super) fn function() -> ScalarUDF {
    Plain::new("row_bound", &[&[DataType::Int64, DataType::Utf8]], DataType::Int64, checked).udf()
}

/// The number of rows of a `LIMIT` or an `OFFSET`; `count` is a `BIGINT`.
pub(crate) fn row_bound(count: Expr, clause: &str) -> Expr {
    function().call(vec![count, lit(clause)])
}

fn checked(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [counts, clauses] = args else { return exec_err!("row_bound takes 2 arguments") };
    if counts.as_primitive::<Int64Type>().iter().flatten().any(|count| count < 0) {
        let clause = clauses.as_string::<i32>().iter().flatten().next().unwrap_or("LIMIT");
        return exec_err!("{clause} must not be negative");
    }
    Ok(Arc::clone(counts))
}
