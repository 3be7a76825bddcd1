//! The plan for a rollup that a statement names: its stored rows, united with those of stale buckets, which are
//! computed from the rows of its source. Both come from one snapshot, so the answer is the same as that of the rollup's
//! query.

use super::buckets::{at_most, bucketing_of};
use crate::scan::provider::SnapshotTable;
use atsdb_codec::arrow_schema;
use atsdb_core::{Error, Result, Rollup, Table, TableId, TimeRange};
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::Scope;
use atsdb_engine::ReadSnapshot;
use atsdb_engine::times::Times;
use atsdb_engine::times::without;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum number of stale time ranges that are computed separately. Beyond it, the nearest ranges are merged.
const STRETCHES_MAX: usize = 16;

/// The times that a plan covers, by default all, and the definitions of tables that it uses instead of the stored ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanFocus {
    /// The table of which only the rows in this time range are read.
    pub(crate) within: Option<(TableId, TimeRange)>,
    /// Tables and views that are planned with other definitions; nothing is read.
    pub(crate) as_if: Vec<Table>,
    /// The rollup of which only the rows in these time ranges, which are whole buckets, are needed. They are computed.
    pub(crate) computed: Option<(TableId, Arc<[Times]>)>,
}

impl PlanFocus {
    /// A table with the definition to plan with.
    pub(crate) fn seen<'a>(&'a self, table: &'a Table) -> &'a Table {
        self.as_if.iter().find(|other| other.id == table.id).unwrap_or(table)
    }

    /// The tables of a snapshot with the definitions to plan with.
    pub(crate) fn tables<'a>(&self, snapshot: &'a ReadSnapshot) -> Cow<'a, [Table]> {
        match self.as_if.as_slice() {
            [] => Cow::Borrowed(snapshot.tables()),
            _ => snapshot.tables().iter().map(|table| self.seen(table).clone()).collect(),
        }
    }

    /// The times of a table that are read.
    pub(crate) fn range_of(&self, table: TableId) -> TimeRange {
        match self.within {
            Some((focused, range)) if focused == table => range,
            _ => TimeRange::ALL,
        }
    }
}

/// The plan for a rollup's rows, with columns spelled as in the statement. `plan` plans a nested statement.
pub(crate) fn rollup_plan(
    table: &Table,
    rollup: &Rollup,
    snapshot: &ReadSnapshot,
    spellings: &SharedSpellings,
    focus: &PlanFocus,
    plan: impl Fn(Ast, &SharedSpellings, &PlanFocus) -> datafusion::common::Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let inner = || Inner { table, rollup, snapshot, spellings, focus, plan }.plan();
    inner().map_err(|error| error.context(format_args!("rollup {}", table.definition.name)))
}

struct Inner<'a, P> {
    table: &'a Table,
    rollup: &'a Rollup,
    snapshot: &'a ReadSnapshot,
    spellings: &'a SharedSpellings,
    focus: &'a PlanFocus,
    plan: P,
}

impl<P> Inner<'_, P>
where
    P: Fn(Ast, &SharedSpellings, &PlanFocus) -> datafusion::common::Result<LogicalPlan>,
{
    fn plan(&self) -> Result<LogicalPlan> {
        let source = self.snapshot.source_of(self.rollup)?;
        let (stored, computed) = match &self.focus.computed {
            Some((table, times)) if *table == self.table.id => (Vec::new(), times.to_vec()),
            _ => self.split(source)?,
        };
        let mut parts = Vec::new();
        for times in stored {
            parts.push(self.stored(times)?);
        }
        for times in computed {
            parts.push(self.computed(source, times)?);
        }
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| Error::internal("a rollup without times"))?;
        parts
            .try_fold(LogicalPlanBuilder::from(first), LogicalPlanBuilder::union)
            .and_then(LogicalPlanBuilder::build)
            .map_err(atsdb_dialect::text::datafusion_errors::from_datafusion)
    }

    /// The times whose rows are stored, and those whose rows are to be computed.
    fn split(&self, source: &Table) -> Result<(Vec<Times>, Vec<Times>)> {
        let all = (i64::MIN, i64::MAX);
        let stale = self.snapshot.stale_times(self.rollup)?;
        if stale.is_empty() {
            return Ok((vec![all], Vec::new()));
        }
        let query = self.query(source, TimeRange::ALL)?;
        let stale = at_most(bucketing_of(&query, source)?.whole(&stale), STRETCHES_MAX);
        Ok((without(&[all], &stale), stale))
    }

    fn stored(&self, times: Times) -> Result<LogicalPlan> {
        let provider = SnapshotTable::new(self.snapshot.clone(), self.table, self.spellings).within(range_of(times));
        LogicalPlanBuilder::scan(
            TableReference::bare(self.table.definition.name.as_str()),
            provider_as_source(Arc::new(provider)),
            None,
        )
        .and_then(LogicalPlanBuilder::build)
        .map_err(atsdb_dialect::text::datafusion_errors::from_datafusion)
    }

    fn computed(&self, source: &Table, times: Times) -> Result<LogicalPlan> {
        let plan = self.query(source, range_of(times))?;
        let schema = arrow_schema(&self.table.definition);
        if plan.schema().fields().len() != schema.fields().len() {
            return Err(Error::internal("its query has other columns than it"));
        }
        let columns = plan.schema().iter().map(Column::from).zip(schema.fields());
        let columns: Vec<Expr> = columns
            .map(|(column, field)| {
                cast(Expr::Column(column), field.data_type().clone()).alias(self.spellings.spell(field.name()))
            })
            .collect();
        let named = LogicalPlanBuilder::from(plan).project(columns).and_then(LogicalPlanBuilder::build);
        named.map_err(atsdb_dialect::text::datafusion_errors::from_datafusion)
    }

    /// The plan of the rollup's query over the rows of some times.
    fn query(&self, source: &Table, range: TimeRange) -> Result<LogicalPlan> {
        let (mut statement, spellings) =
            parse_over(&self.rollup.query, SourcePosition::START, &Parameters::none(), Scope::of(self.snapshot))?;
        let spellings = SharedSpellings::new(spellings);
        atsdb_dialect::functions::place_named_arguments(&mut statement)?;
        if let Ast::Query(query) = &mut statement {
            atsdb_dialect::parse::headings::Headings::take(query, &spellings);
        }
        let focus = PlanFocus { within: Some((source.id, range)), ..PlanFocus::default() };
        (self.plan)(statement, &spellings, &focus).map_err(atsdb_dialect::text::datafusion_errors::from_datafusion)
    }
}

fn range_of((first, last): Times) -> TimeRange {
    TimeRange { start: Some(first).filter(|first| *first > i64::MIN), end: last.checked_add(1) }
}

/// Refuses to change the rows of a rollup.
pub(crate) fn refuse_change(table: &Table) -> Result<()> {
    match &table.definition.rollup {
        Some(Rollup { table: source, .. }) => {
            let name = &table.definition.name;
            Err(atsdb_dialect::text::errors::sql_error(format!(
                "{name} is a rollup: its rows are computed from {source}"
            ))
            .with_hint(format!("change the rows of {source}")))
        }
        None => Ok(()),
    }
}
