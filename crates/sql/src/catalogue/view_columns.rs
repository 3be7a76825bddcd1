//! The columns of views: what planning their queries says.

use crate::headings::Headings;
use crate::identifiers::SharedSpellings;
use crate::parse::parse_over;
use crate::planner::logical_plan;
use crate::rollup::Focus;
use crate::script::Place;
use atsdb_core::{Table, TableId};
use atsdb_engine::ReadSnapshot;
use datafusion::arrow::datatypes::DataType;
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::collections::HashMap;
use std::sync::Arc;

/// One column of a view.
#[derive(Debug, Clone)]
pub(super) struct ViewColumn {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) nullable: bool,
}

pub(super) type ViewColumns = HashMap<TableId, Vec<ViewColumn>>;

/// The columns of those that are views. A view whose query fails now, as a table of it is gone, has none.
pub(super) fn view_columns(tables: &[Table], state: &SessionState, snapshot: &ReadSnapshot) -> ViewColumns {
    let columns = |table: &Table| {
        let view = table.definition.view.as_ref()?;
        Some((table.id, columns_of(&view.query, state, snapshot)?))
    };
    tables.iter().filter_map(columns).collect()
}

fn columns_of(query: &str, state: &SessionState, snapshot: &ReadSnapshot) -> Option<Vec<ViewColumn>> {
    let (mut statement, spellings) = parse_over(query, Place::START, &[], snapshot.tables()).ok()?;
    let headings = match &mut statement {
        Ast::Query(query) => Headings::take(query, &spellings),
        _ => return None,
    };
    let plan =
        logical_plan(statement, state, snapshot, &SharedSpellings::new(spellings), &Focus::default(), None).ok()?;
    let schema = headings.apply(&Arc::clone(plan.schema().inner()));
    let column = |field: &Arc<datafusion::arrow::datatypes::Field>| ViewColumn {
        name: field.name().clone(),
        data_type: field.data_type().clone(),
        nullable: field.is_nullable(),
    };
    Some(schema.fields().iter().map(column).collect())
}
