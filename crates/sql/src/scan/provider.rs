//! A table of one snapshot as DataFusion sees it.

use super::operator::AtsdbScan;
use super::pushdown::{Pushdown, is_exact, predicates};
use super::row_numbers::RowNumbers;
use crate::text::identifiers::SharedSpellings;
use async_trait::async_trait;
use atsdb_codec::{arrow_schema, stored_type};
use atsdb_core::{Table, TableDefinition, TimeRange};
use atsdb_engine::{ReadSnapshot, ScanRequest};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// One table of one snapshot, its columns spelled as the statement spells them.
#[derive(Debug)]
pub(crate) struct SnapshotTable {
    /// None in a plan that is kept.
    snapshot: Option<ReadSnapshot>,
    table: Table,
    schema: SchemaRef,
    /// The mapped columns whose indices follow the declared columns, by position in the table.
    indices: Vec<usize>,
    /// Whether its rows tell their places.
    is_numbered: bool,
    /// The mapped column of whose every value only the latest rows are wanted, by position.
    latest_by: Option<usize>,
    /// Only rows of these times are there.
    within: TimeRange,
}

impl SnapshotTable {
    pub(crate) fn new(snapshot: ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> Self {
        let declared = arrow_schema(&table.definition);
        let respelled = |name: &String| spellings.spell(name).to_owned();
        let fields: Vec<_> =
            declared.fields().iter().map(|field| field.as_ref().clone().with_name(respelled(field.name()))).collect();
        Self {
            snapshot: Some(snapshot),
            table: table.clone(),
            schema: Arc::new(Schema::new(fields)),
            indices: Vec::new(),
            latest_by: None,
            is_numbered: false,
            within: TimeRange::ALL,
        }
    }

    /// The same, of which only the rows of some times are there.
    pub(crate) fn within(self, within: TimeRange) -> Self {
        Self { within, ..self }
    }

    /// The same, with two more columns that tell each row's place.
    pub(crate) fn numbered(snapshot: ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> Self {
        let plain = Self::new(snapshot, table, spellings);
        let declared = plain.schema.fields().iter().cloned();
        let fields: Vec<_> = declared.chain(RowNumbers::fields().map(Arc::new)).collect();
        Self { schema: Arc::new(Schema::new(fields)), is_numbered: true, ..plain }
    }

    pub(crate) fn definition(&self) -> &TableDefinition {
        &self.table.definition
    }

    /// The same, from which only rows are read among which the latest ones for each value of a column are. `None` if it
    /// is so already, or the column is not mapped.
    pub(crate) fn latest_by(&self, column: usize) -> Option<Self> {
        self.definition().time_column()?;
        self.definition().columns.get(column)?.map?;
        let (snapshot, table, schema) = (self.snapshot.clone(), self.table.clone(), Arc::clone(&self.schema));
        let may = self.latest_by.is_none() && !self.is_numbered && self.indices.is_empty();
        let (within, latest_by) = (self.within, Some(column));
        may.then_some(Self { snapshot, table, schema, indices: Vec::new(), is_numbered: false, latest_by, within })
    }

    /// The same with one more column, the last: the indices of a mapped column. `None` if the column is not mapped, or
    /// the rows are not those of an ordinary scan.
    pub(crate) fn with_index(&self, column: usize) -> Option<Self> {
        let declared = self.definition().columns.get(column)?;
        declared.map?;
        let name = format!("index of {}", self.schema.field(column).name());
        if self.is_numbered || self.latest_by.is_some() || self.schema.index_of(&name).is_ok() {
            return None;
        }
        let field = Field::new(name, stored_type(declared), declared.nullable);
        let fields: Vec<_> = self.schema.fields().iter().cloned().chain([Arc::new(field)]).collect();
        Some(Self {
            snapshot: self.snapshot.clone(),
            table: self.table.clone(),
            schema: Arc::new(Schema::new(fields)),
            indices: self.indices.iter().copied().chain([column]).collect(),
            is_numbered: false,
            latest_by: None,
            within: self.within,
        })
    }

    /// The snapshot and the table in it.
    pub(crate) fn source(&self) -> (Option<&ReadSnapshot>, &Table) {
        (self.snapshot.as_ref(), &self.table)
    }

    /// The same table, defined as it is, in another snapshot, or in none.
    pub(crate) fn over(&self, snapshot: Option<ReadSnapshot>) -> Self {
        let (table, schema, indices) = (self.table.clone(), Arc::clone(&self.schema), self.indices.clone());
        let (is_numbered, latest_by, within) = (self.is_numbered, self.latest_by, self.within);
        Self { snapshot, table, schema, indices, is_numbered, latest_by, within }
    }

    /// Whether a plan may be kept that reads it. What is read of a rollup and its source depends on what is stale.
    pub(crate) fn may_be_kept(&self) -> bool {
        self.within == TimeRange::ALL && !self.is_numbered && self.table.definition.rollup.is_none()
    }

    /// Whether it gives the table's rows and columns and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        self.may_be_kept() && self.latest_by.is_none() && self.indices.is_empty()
    }
}

#[async_trait]
impl TableProvider for SnapshotTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let definition = &self.table.definition;
        let support = |filter: &&Expr| match predicates(filter, definition) {
            Some(_) if is_exact(filter, definition) => TableProviderFilterPushDown::Exact,
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
        let definition = &self.table.definition;
        let Pushdown { range, predicates } = Pushdown::of(filters, definition);
        let mut columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema = Arc::new(self.schema.project(&columns)?);
        let numbers = self.is_numbered.then(|| RowNumbers::take(&mut columns, definition.columns.len()));
        let as_indices: Vec<bool> = columns.iter().map(|column| *column >= definition.columns.len()).collect();
        columns.iter_mut().for_each(|column| {
            if let Some(index) = column.checked_sub(definition.columns.len()) {
                *column = self.indices[index];
            }
        });
        let range = range.intersect(&self.within);
        let request = ScanRequest { columns, range, predicates, use_cache: true };
        let snapshot = self.snapshot.as_ref().ok_or_else(|| internal_datafusion_err!("a plan over no snapshot"))?;
        let scan = snapshot.scan(&self.table, &request).and_then(|scan| match self.indices.is_empty() {
            true => Ok(scan),
            false => scan.with_indices(as_indices),
        });
        let scan = scan.map_err(|error| DataFusionError::External(Box::new(error)))?;
        // A limit that a filter above has yet to apply must not stop the scan early.
        let limit = limit.filter(|_| filters.iter().all(|filter| is_exact(filter, definition)));
        // Under a limit that is all that is asked the first chunks suffice, and the answer is the same each time. Where
        // a filter stands between, all threads look for rows: which they find first differs.
        let partition_count = match limit {
            Some(_) => 1,
            None => state.config().target_partitions().clamp(1, scan.chunks().len().max(1)),
        };
        let scan = AtsdbScan::new(scan, &self.table, request, schema, partition_count, limit);
        Ok(Arc::new(match (self.latest_by, numbers) {
            (Some(column), _) => scan.latest_by(column),
            (None, Some(numbers)) => scan.numbered(numbers),
            (None, None) => scan,
        }))
    }
}
