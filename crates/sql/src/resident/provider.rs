//! A snapshot of a table in memory, as DataFusion sees it.

use super::lookup::Lookup;
use super::scan::ResidentScan;
use crate::scan::row_numbers::RowNumbers;
use async_trait::async_trait;
use atsdb_codec::arrow_schema;
use atsdb_core::{Result as AtsdbResult, Table};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_engine::ReadSnapshot;
use atsdb_resident::TableState;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// One table of one snapshot, with its columns spelled as in the statement.
#[derive(Debug)]
pub(crate) struct ResidentTable {
    state: Arc<TableState>,
    schema: SchemaRef,
}

impl ResidentTable {
    pub(crate) fn new(snapshot: &ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> AtsdbResult<Self> {
        let declared = arrow_schema(&table.definition);
        let respelled = |name: &String| spellings.spell(name).to_owned();
        let fields: Vec<_> =
            declared.fields().iter().map(|field| field.as_ref().clone().with_name(respelled(field.name()))).collect();
        Ok(Self { state: snapshot.resident(table)?, schema: Arc::new(Schema::new(fields)) })
    }

    /// The table with two more columns for each row's location: its part, and its number in the part.
    pub(crate) fn numbered(snapshot: &ReadSnapshot, table: &Table, spellings: &SharedSpellings) -> AtsdbResult<Self> {
        let plain = Self::new(snapshot, table, spellings)?;
        let fields: Vec<_> = plain.schema.fields().iter().cloned().chain(RowNumbers::fields().map(Arc::new)).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), ..plain })
    }
}

#[async_trait]
impl TableProvider for ResidentTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// The number of rows, for the order of joins.
    fn statistics(&self) -> Option<Statistics> {
        Some(Statistics {
            num_rows: Precision::Inexact(self.state.row_count()),
            ..Statistics::new_unknown(&self.schema)
        })
    }

    /// An index finds candidate rows; DataFusion filters them.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match Lookup::can_use(filter, &self.state) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
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
        let lookup = Lookup::of(filters, &self.state).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema = Arc::new(self.schema.project(&columns)?);
        // A limit that a filter above has yet to apply must not stop the scan early.
        let limit = limit.filter(|_| filters.is_empty());
        let partition_count = match limit {
            Some(_) => 1,
            None => state.config().target_partitions().max(1),
        };
        let scan = ResidentScan::new(Arc::clone(&self.state), columns, schema, lookup, partition_count, limit);
        Ok(Arc::new(scan))
    }
}
