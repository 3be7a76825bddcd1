//! A relation of the catalogue as DataFusion sees it. Its rows are computed while they are read.

use super::relation::{ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource, ViewColumns, name_of};
use super::schemas::SCHEMAS;
use async_trait::async_trait;
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result as CoreResult, Table, View};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_engine::ReadSnapshot;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;
use std::fmt;
use std::sync::Arc;

/// A relation over a statement's snapshot, with its columns spelled as in the statement.
pub(crate) struct CatalogueTable {
    relation: &'static Relation,
    snapshot: ReadSnapshot,
    schema: SchemaRef,
    describe_view: DescribeView,
}

/// Plans a view's query over a snapshot and returns its columns; `None` if that fails.
pub(crate) type DescribeView = fn(&View, &SessionState, &ReadSnapshot) -> Option<SchemaRef>;

impl CatalogueTable {
    pub(crate) fn new(
        relation: &'static Relation,
        snapshot: ReadSnapshot,
        spellings: &SharedSpellings,
        describe_view: DescribeView,
    ) -> Self {
        let field = |(name, kind): &(&'static str, ColumnKind)| {
            Field::new(spellings.spell(name.as_ref()), kind.data_type(), true)
        };
        let schema = Arc::new(Schema::new(relation.columns.iter().map(field).collect::<Vec<_>>()));
        Self { relation, snapshot, schema, describe_view }
    }
}

impl fmt::Debug for CatalogueTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogueTable").field("relation", &self.relation.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for CatalogueTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match table_names(filter, self.relation) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.cloned().unwrap_or_else(|| (0..self.relation.columns.len()).collect());
        let names: Vec<Vec<String>> = filters.iter().filter_map(|filter| table_names(filter, self.relation)).collect();
        let is_asked = |table: &&Table| {
            let (name, local) = (name_of(table), table.definition.local_name());
            names.iter().all(|names| names.iter().any(|other| same_name(other, &name) || same_name(other, local)))
        };
        let tables: Vec<Table> = match self.relation.source {
            RelationSource::Schemas(_) | RelationSource::Engine(_) => Vec::new(),
            _ => self.snapshot.tables().iter().filter(is_asked).cloned().collect(),
        };
        let view_columns = match state.as_any().downcast_ref::<SessionState>() {
            Some(state) if self.relation.lists_columns() => {
                let columns = |table: &Table| {
                    let view = table.definition.view.as_ref()?;
                    Some((table.id, (self.describe_view)(view, state, &self.snapshot.seen_by(table))?))
                };
                tables.iter().filter_map(columns).collect()
            }
            _ => ViewColumns::default(),
        };
        let schema = Arc::new(self.schema.project(&columns)?);
        let partition = RelationPartition {
            relation: self.relation,
            snapshot: self.snapshot.clone(),
            schema: Arc::clone(&schema),
            columns,
            tables,
            view_columns: Arc::new(view_columns),
        };
        let limit = limit.filter(|_| filters.is_empty());
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(partition)], None, [], false, limit)?))
    }
}

/// The tables that a condition selects, if it is a condition on their names.
fn table_names(filter: &Expr, relation: &Relation) -> Option<Vec<String>> {
    let (RelationSource::Tables(column, _) | RelationSource::TablesAndCatalogue(column, ..)) = relation.source else {
        return None;
    };
    let is_name = |expr: &Expr| matches!(expr, Expr::Column(other) if other.name.eq_ignore_ascii_case(column));
    let text = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text.clone()),
        _ => None,
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_name(left) => Some(vec![text(right)?]),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_name(right) => Some(vec![text(left)?]),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let mut names = table_names(left, relation)?;
            names.extend(table_names(right, relation)?);
            Some(names)
        }
        Expr::InList(InList { expr, list, negated: false }) if is_name(expr) => list.iter().map(text).collect(),
        _ => None,
    }
}

/// The single partition of a relation.
struct RelationPartition {
    relation: &'static Relation,
    snapshot: ReadSnapshot,
    schema: SchemaRef,
    columns: Vec<usize>,
    tables: Vec<Table>,
    view_columns: Arc<ViewColumns>,
}

impl fmt::Debug for RelationPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} tables", self.relation.name, self.tables.len())
    }
}

impl PartitionStream for RelationPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let partition = Arc::new(Self {
            relation: self.relation,
            snapshot: self.snapshot.clone(),
            schema: Arc::clone(&self.schema),
            columns: self.columns.clone(),
            tables: self.tables.clone(),
            view_columns: Arc::clone(&self.view_columns),
        });
        // One batch for each table, and one for the rows after them.
        let batches = (0..=self.tables.len())
            .map(move |step| partition.batch(step).map_err(|error| DataFusionError::External(Box::new(error))));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(batches)))
    }
}

impl RelationPartition {
    fn batch(&self, step: usize) -> CoreResult<RecordBatch> {
        let mut rows = RelationBuilder::default();
        let names = self.columns.iter().map(|position| self.relation.columns[*position].0).collect();
        match (&self.relation.source, self.tables.get(step)) {
            (RelationSource::Tables(_, fill) | RelationSource::TablesAndCatalogue(_, fill, _), Some(table)) => {
                fill(&RelationRequest::new(&self.snapshot, names, &self.view_columns), table, &mut rows)?;
            }
            (RelationSource::TablesAndCatalogue(_, _, fill), None) => fill(SCHEMAS, &mut rows),
            (RelationSource::Schemas(fill), None) => fill(&self.snapshot, SCHEMAS, &mut rows),
            (RelationSource::Engine(fill), None) => fill(&self.snapshot, &mut rows),
            _ => {}
        }
        let array = |position: &usize| rows.array(*position, self.relation.columns[*position].1);
        let arrays = self.columns.iter().map(array).collect::<CoreResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(Error::from)
    }
}
