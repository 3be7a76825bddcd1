//! Filters that operators publish while they run, such as "later than the tenth-latest row so far". Chunks that cannot
//! contain a row of the answer are skipped with them.

use super::statistics::exact_scalar;
use atsdb_core::{ColumnType, TableDefinition};
use atsdb_engine::ScanChunk;
use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use std::collections::HashSet;
use std::sync::Arc;

/// Returns whether a filter changes while the query runs.
pub(crate) fn is_running(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}

/// Running filters over the columns of a scan, and their last state.
pub(crate) struct RunningFilter {
    filter: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    generation: Option<u64>,
    predicate: Option<PruningPredicate>,
}

impl RunningFilter {
    /// `None` without filters.
    pub(crate) fn new(filters: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Option<Self> {
        if filters.is_empty() {
            return None;
        }
        let filter = conjunction(filters.to_vec());
        Some(Self { filter, schema: Arc::clone(schema), generation: None, predicate: None })
    }

    /// Returns whether a chunk can have a row that passes. `columns` are the positions of the schema's columns in the
    /// table.
    pub(crate) fn can_match(
        &mut self,
        chunk: &ScanChunk,
        definition: &TableDefinition,
        columns: &[usize],
    ) -> Result<bool> {
        let generation = snapshot_generation(&self.filter);
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            // A filter that cannot be evaluated from bounds skips nothing.
            self.predicate = PruningPredicateBuilder::new()
                .with_file_schema(Arc::clone(&self.schema))
                .try_build(Arc::clone(&self.filter))
                .ok();
        }
        let Some(predicate) = self.predicate.as_ref().filter(|predicate| !predicate.always_true()) else {
            return Ok(true);
        };
        let bounds = ChunkBounds { chunk, definition, columns, schema: &self.schema };
        Ok(predicate.prune(&bounds)?.into_iter().any(|can_match| can_match))
    }
}

struct ChunkBounds<'a> {
    chunk: &'a ScanChunk,
    definition: &'a TableDefinition,
    columns: &'a [usize],
    schema: &'a SchemaRef,
}

impl ChunkBounds<'_> {
    fn column(&self, name: &str) -> Option<(usize, &atsdb_core::Column)> {
        let at = self.schema.index_of(name).ok()?;
        let column = self.definition.columns.get(*self.columns.get(at)?)?;
        column.map.is_none().then_some((at, column))
    }

    fn bound(
        &self,
        name: &str,
        pick: impl Fn(&atsdb_core::ColumnStatistics) -> Option<atsdb_core::Bound>,
    ) -> Option<ArrayRef> {
        let (at, column) = self.column(name)?;
        let bound = pick(&self.chunk.descriptor.page(column.id)?.statistics)?;
        // Bounds of floats do not include NaN, which is last in a sort.
        let exact: ScalarValue = exact_scalar(bound, self.schema.field(at).data_type())
            .filter(|_| !matches!(column.column_type, ColumnType::Float32 | ColumnType::Float64))?;
        exact.to_array().ok()
    }
}

impl PruningStatistics for ChunkBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(&column.name, |statistics| statistics.min.clone())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(&column.name, |statistics| statistics.max.clone())
    }

    fn num_containers(&self) -> usize {
        1
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let (_, column) = self.column(&column.name)?;
        let null_count = self.chunk.descriptor.page(column.id)?.statistics.null_count;
        Some(Arc::new(UInt64Array::from(vec![u64::from(null_count)])))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from(vec![u64::from(self.chunk.entry.row_count)])))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
