//! Views: replaces a view that a statement names by its query.

use atsdb_core::name::name_key;
use atsdb_core::{Result, Table, TableId, View};
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::parse::statement::{RELATIONS_MAX, parse_over};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::Scope;
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum nesting depth of views.
const DEPTH_MAX: usize = 20;

/// The nested views that are being expanded, and the number of tables found in them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Expansion {
    within: Vec<(TableId, String)>,
    relation_count: Arc<AtomicUsize>,
}

impl Expansion {
    /// Counts a table of a view. The statement's own tables were counted when it was parsed; the same limit applies to
    /// those of views.
    pub(crate) fn count_one(&self) -> Result<()> {
        let Some((_, view)) = self.within.last() else { return Ok(()) };
        match self.relation_count.fetch_add(1, Ordering::Relaxed) {
            0..RELATIONS_MAX => Ok(()),
            _ => Err(sql_error(format!("with view {view}, the statement reads more than {RELATIONS_MAX} tables"))
                .with_hint("turn a view into a table: CREATE TABLE ... AS SELECT")),
        }
    }

    fn enter(&self, table: &Table) -> Result<Self> {
        if self.within.iter().any(|(id, _)| *id == table.id) {
            return Err(
                sql_error(format!("view {} reads itself", table.definition.name)).with_hint("DROP VIEW one of them")
            );
        }
        if self.within.len() >= DEPTH_MAX {
            return Err(sql_error(format!("views are nested deeper than {DEPTH_MAX} levels"))
                .with_hint("turn one into a table: CREATE TABLE ... AS SELECT"));
        }
        let mut inner = self.clone();
        inner.within.push((table.id, name_key(&table.definition.name)));
        Ok(inner)
    }
}

/// The plan of a view's query, with columns spelled as in the statement. `plan` plans a nested statement.
pub(crate) fn view_plan(
    table: &Table,
    view: &View,
    tables: &[Table],
    spellings: &SharedSpellings,
    expansion: &Expansion,
    plan: impl FnOnce(Ast, &SharedSpellings, Expansion) -> datafusion::common::Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let expansion = expansion.enter(table)?;
    let expand = || {
        let (mut statement, inner) =
            parse_over(&view.query, SourcePosition::START, &Parameters::none(), Scope::in_public(tables))?;
        let inner = SharedSpellings::new(inner);
        let headings = match &mut statement {
            Ast::Query(query) => Headings::take(query, &inner),
            _ => return Err(sql_error("it is not a query")),
        };
        let plan = plan(statement, &inner, expansion).map_err(from_datafusion)?;
        if plan.schema().fields().is_empty() {
            return Err(sql_error("it has no columns").with_hint("drop it, and create it with some"));
        }
        let schema = headings.apply(&Arc::new(plan.schema().as_arrow().clone()));
        let columns = plan.schema().iter().map(Column::from).zip(schema.fields());
        let columns: Vec<Expr> =
            columns.map(|(column, field)| Expr::Column(column).alias(spellings.spell(field.name()))).collect();
        let renamed = LogicalPlanBuilder::from(plan).project(columns).and_then(LogicalPlanBuilder::build);
        renamed.map_err(from_datafusion)
    };
    expand().map_err(|error| error.context(format_args!("view {}", table.definition.name)))
}
