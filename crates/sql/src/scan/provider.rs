//! A table of one snapshot as DataFusion sees it.

use super::operator::AtsdbScan;
use super::pushdown::{Pushdown, is_exact, predicates};
use super::row_numbers::RowNumbers;
use async_trait::async_trait;
use atsdb_codec::{arrow_schema, stored_type};
use atsdb_core::{Table, TableDefinition, TimeRange};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_engine::{ReadSnapshot, ScanRequest, SharedTable};
use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// One table of one snapshot, with its columns spelled as in the statement.
#[derive(Debug)]
pub(crate) struct SnapshotTable {
    /// `None` in a cached plan.
    snapshot: Option<ReadSnapshot>,
    table: SharedTable,
    schema: SchemaRef,
    /// The mapped columns whose indices follow the declared columns, by position in the table.
    indices: Vec<usize>,
    /// Whether its rows have their locations.
    is_numbered: bool,
    /// The position of a mapped column, if only the latest rows for each of its values are needed.
    latest_by: Option<usize>,
    /// The time range of the rows that are read.
    within: TimeRange,
}

impl SnapshotTable {
    pub(crate) fn new(snapshot: ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> Self {
        let respelled = |field: &FieldRef| match spellings.spell(field.name()) {
            name if name == field.name() => Arc::clone(field),
            name => Arc::new(field.as_ref().clone().with_name(name)),
        };
        let fields: Vec<FieldRef> = arrow_schema(&table.definition).fields().iter().map(respelled).collect();
        Self {
            table: snapshot.shared_table(table),
            snapshot: Some(snapshot),
            schema: Arc::new(Schema::new(fields)),
            indices: Vec::new(),
            latest_by: None,
            is_numbered: false,
            within: TimeRange::ALL,
        }
    }

    /// The same table, with only the rows in a time range.
    pub(crate) fn within(self, within: TimeRange) -> Self {
        Self { within, ..self }
    }

    /// The same table, with two more columns for each row's location.
    pub(crate) fn numbered(snapshot: ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> Self {
        let plain = Self::new(snapshot, table, spellings);
        let declared = plain.schema.fields().iter().cloned();
        let fields: Vec<_> = declared.chain(RowNumbers::fields().map(Arc::new)).collect();
        Self { schema: Arc::new(Schema::new(fields)), is_numbered: true, ..plain }
    }

    pub(crate) fn definition(&self) -> &TableDefinition {
        &self.table.definition
    }

    /// The same table, reading only rows that include the latest ones for each value of a column. `None` if this was
    /// set already, or if the column is not mapped.
    pub(crate) fn latest_by(&self, column: usize) -> Option<Self> {
        self.definition().time_column()?;
        self.definition().columns.get(column)?.map?;
        let (snapshot, table, schema) = (self.snapshot.clone(), self.table.clone(), Arc::clone(&self.schema));
        let may = self.latest_by.is_none() && !self.is_numbered && self.indices.is_empty();
        let (within, latest_by) = (self.within, Some(column));
        may.then_some(Self { snapshot, table, schema, indices: Vec::new(), is_numbered: false, latest_by, within })
    }

    /// The same table with one more column at the end: the indices of a mapped column. `None` if the column is not
    /// mapped, or if this is not an ordinary scan.
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

    /// The snapshot and its table.
    pub(crate) fn source(&self) -> (Option<&ReadSnapshot>, &SharedTable) {
        (self.snapshot.as_ref(), &self.table)
    }

    /// The same table with the same definition in another snapshot, or in none.
    pub(crate) fn over(&self, snapshot: Option<ReadSnapshot>) -> Self {
        let (table, schema, indices) = (self.table.clone(), Arc::clone(&self.schema), self.indices.clone());
        let (is_numbered, latest_by, within) = (self.is_numbered, self.latest_by, self.within);
        Self { snapshot, table, schema, indices, is_numbered, latest_by, within }
    }

    /// An upper bound of the number of rows for some filters, and of the distinct values of some columns, by position;
    /// from statistics only. `None` if they cannot be had.
    pub(crate) fn counts(&self, filters: &[Expr], columns: &[usize]) -> Option<TableCounts> {
        let definition = &self.table.definition;
        let Pushdown { range, predicates } = Pushdown::of(filters, definition);
        let columns: Vec<Option<usize>> =
            columns.iter().map(|at| Some(*at).filter(|at| *at < definition.columns.len())).collect();
        let read = columns.iter().flatten().copied().collect();
        let request = ScanRequest { columns: read, range: range.intersect(&self.within), predicates, use_cache: true };
        let scan = self.snapshot.as_ref()?.scan(&self.table, &request).ok()?;
        let rows = scan.row_count_max();
        let is_key = |at: usize| {
            let id = definition.columns[at].id;
            definition.unique.iter().any(|unique| unique.columns.as_slice() == [id])
        };
        let distinct = columns.into_iter().map(|at| match at? {
            at if is_key(at) => Some(rows),
            at => scan.distinct_max(at).map(|count| count.min(rows)),
        });
        Some(TableCounts { rows, distinct: distinct.collect() })
    }

    /// Returns whether a plan that reads it may be cached. The rows that are read from a rollup and its source depend
    /// on which buckets are stale, and a materialized view without rows is refused each time.
    pub(crate) fn may_be_kept(&self) -> bool {
        let definition = &self.table.definition;
        let is_known = definition.rollup.is_none() && !definition.is_unpopulated();
        self.within == TimeRange::ALL && !self.is_numbered && is_known
    }

    /// Returns true if it reads all rows of the table and no others.
    pub(crate) fn is_whole(&self) -> bool {
        self.may_be_kept() && self.latest_by.is_none()
    }

    /// Returns whether it returns exactly the table's rows and columns.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_whole() && self.indices.is_empty()
    }
}

/// The numbers of rows and of distinct values of a table.
pub(crate) struct TableCounts {
    pub(crate) rows: u64,
    /// The number of distinct values of each requested column; `None` if it is not known.
    pub(crate) distinct: Vec<Option<u64>>,
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
        // With only a limit, the first chunks suffice, and the answer is the same each time. With a filter in between,
        // all threads search for rows, and the rows that they find first differ.
        let partition_count = match limit {
            Some(_) => 1,
            None => state.config().target_partitions().clamp(1, scan.chunks().len().max(1)),
        };
        let scan = AtsdbScan::new(scan, request, schema, partition_count, limit);
        Ok(Arc::new(match (self.latest_by, numbers) {
            (Some(column), _) => scan.latest_by(column),
            (None, Some(numbers)) => scan.numbered(numbers),
            (None, None) => scan,
        }))
    }
}
