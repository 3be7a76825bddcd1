//! Rows of a file that a query reads from where their reader has put them, because they are too many for the memory.

use crate::dml::files::StoredRows;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use atsdb_core::Error;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;
use std::sync::Arc;

/// The rows as a table.
#[derive(Debug)]
pub(crate) struct StoredTable {
    /// The columns as the query names them.
    pub(crate) schema: SchemaRef,
    pub(crate) rows: Arc<dyn StoredRows>,
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema = Arc::new(self.schema.project(&columns)?);
        let reading = StoredColumns { rows: Arc::clone(&self.rows), schema: Arc::clone(&schema), columns };
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(reading)], None, [], false, limit)?))
    }
}

/// Some of the columns, in one partition: the rows keep their order.
#[derive(Debug)]
struct StoredColumns {
    rows: Arc<dyn StoredRows>,
    schema: SchemaRef,
    columns: Vec<usize>,
}

impl PartitionStream for StoredColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        // Without a column, a batch would not say how many rows it has.
        let columns = if self.columns.is_empty() { &[0][..] } else { &self.columns };
        let failed = |error: Error| DataFusionError::External(Box::new(error));
        let named = move |batch: RecordBatch| -> Result<RecordBatch> {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let arrays = batch.columns()[..schema.fields().len()].to_vec();
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?)
        };
        let batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send> = match self.rows.read(columns) {
            Ok(batches) => Box::new(batches.map(move |batch| batch.map_err(failed).and_then(&named))),
            Err(error) => Box::new(std::iter::once(Err(failed(error)))),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(batches)))
    }
}
