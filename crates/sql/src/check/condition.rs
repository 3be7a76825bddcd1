//! A compiled condition: the expressions of its plan, evaluated over rows by the caller's thread.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb_core::{Error, Result};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_engine::RowCondition;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use std::sync::Arc;

/// The number of rows that are evaluated at a time.
const ROWS_MAX: usize = 8_192;

/// A condition over the columns that it names.
pub(crate) struct Condition {
    /// The names of the columns that the rows have.
    names: Vec<String>,
    /// The columns that the first step reads.
    inputs: SchemaRef,
    /// Each computes columns from those of the one before it, the last one the condition.
    steps: Vec<ConditionStep>,
}

struct ConditionStep {
    /// The columns that it reads.
    schema: SchemaRef,
    columns: Vec<Arc<dyn PhysicalExpr>>,
}

impl Condition {
    /// The condition that a plan over columns with these names computes.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, names: Vec<String>) -> Result<Self> {
        let mut steps = Vec::new();
        let mut plan = plan;
        loop {
            if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
                let columns = projection.expr().iter().map(|column| Arc::clone(&column.expr)).collect();
                steps.push(ConditionStep { schema: nullable(&projection.input().schema()), columns });
                plan = projection.input();
                continue;
            }
            match plan.children().as_slice() {
                [] => break,
                // It only lets other queries work in between.
                [input] if plan.name() == "CooperativeExec" => plan = *input,
                _ => return Err(Error::internal(format!("{} in the plan of a condition", plan.name()))),
            }
        }
        steps.reverse();
        Ok(Self { names, inputs: nullable(&plan.schema()), steps })
    }

    /// The values of the condition for some rows.
    fn evaluate(&self, columns: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
        let input = |field: &Arc<Field>| {
            let position = self.names.iter().position(|name| name == field.name());
            let array = position.and_then(|position| columns.get(position)).map(ArrayRef::clone);
            array.ok_or_else(|| Error::internal(format!("a condition reads {}, which it does not name", field.name())))
        };
        let mut arrays = self.inputs.fields().iter().map(input).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        for step in &self.steps {
            let rows = RecordBatch::try_new_with_options(Arc::clone(&step.schema), arrays, &options)?;
            let value = |expr: &Arc<dyn PhysicalExpr>| {
                let value = expr.evaluate(&rows).and_then(|value| value.into_array(row_count));
                value.map_err(from_datafusion)
            };
            arrays = step.columns.iter().map(value).collect::<Result<Vec<_>>>()?;
        }
        match arrays.as_slice() {
            [condition] => Ok(ArrayRef::clone(condition)),
            _ => Err(Error::internal("a condition has several values")),
        }
    }
}

impl RowCondition for Condition {
    fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>> {
        for start in (0..row_count).step_by(ROWS_MAX) {
            let length = ROWS_MAX.min(row_count - start);
            let slices: Vec<ArrayRef> = columns.iter().map(|array| array.slice(start, length)).collect();
            let values = self.evaluate(&slices, length)?;
            if values.data_type().is_null() {
                continue;
            }
            let Some(values) = values.as_boolean_opt() else {
                return Err(Error::internal("a condition is neither true nor false"));
            };
            if values.false_count() == 0 {
                continue;
            }
            if let Some(row) = (0..length).find(|row| values.is_valid(*row) && !values.value(*row)) {
                return Ok(Some(start + row));
            }
        }
        Ok(None)
    }
}

/// The same columns. A plan may declare that one has no NULL although it can have one.
fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
