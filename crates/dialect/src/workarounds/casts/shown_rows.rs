//! Rows among the columns of an answer, shown as PostgreSQL does: `(1,a)`, and arrays of them, `{"(1,a)"}`. DataFusion
//! has structs for them and for `struct(1, 'a')`, which it shows in a form of its own.
//!
//! Part of [`row_texts`](super::row_texts). No upstream issue known.

use super::row_texts::texts_of;
use crate::functions::base::plain::Plain;
use crate::text::tree_walk::visit_expressions;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Column, Result, TableReference};
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, LogicalPlanBuilder, ScalarUDF};
use datafusion::sql::sqlparser::ast::{Expr, Statement};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Returns whether a statement makes structs, which stay structs in the answer.
pub fn has_structs(statement: &Statement) -> bool {
    let found = visit_expressions(statement, |expr| match expr {
        Expr::Struct { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Adds a step to the plan of a statement that writes the rows among its columns as texts, if there are any.
pub fn show_rows(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !plan.schema().fields().iter().any(|field| shown(field.data_type()).is_some()) {
        return Ok(plan);
    }
    let column = |(qualifier, field): (Option<&TableReference>, &Arc<Field>)| {
        let column = Planned::Column(Column::new(qualifier.cloned(), field.name()));
        match shown(field.data_type()) {
            Some(texts) => texts.call(vec![column]).alias_qualified(qualifier.cloned(), field.name()),
            None => column,
        }
    };
    let columns: Vec<Planned> = plan.schema().iter().map(column).collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// The function that writes rows, or arrays of rows, as texts; `None` for values of other types.
pub(crate) fn shown(data_type: &DataType) -> Option<ScalarUDF> {
    match data_type {
        DataType::Struct(fields) if is_row(fields) => {
            Some(Plain::variadic("shown_row", DataType::Utf8, rows_as_texts).udf())
        }
        DataType::List(element) if matches!(element.data_type(), DataType::Struct(fields) if is_row(fields)) => {
            let texts = DataType::new_list(DataType::Utf8, true);
            Some(Plain::variadic("shown_rows", texts, arrays_as_texts).udf())
        }
        _ => None,
    }
}

/// Returns whether the fields have the names that those of `ROW(...)` get.
fn is_row(fields: &Fields) -> bool {
    fields.iter().enumerate().all(|(position, field)| *field.name() == format!("c{position}"))
}

fn rows_as_texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    texts_of(&args[0])
}

fn arrays_as_texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let lists = args[0].as_list::<i32>();
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let texts = texts_of(lists.values())?;
    Ok(Arc::new(ListArray::try_new(field, lists.offsets().clone(), texts, lists.nulls().cloned())?))
}
