//! A series of constants in FROM, made batch by batch.

use super::steps::{Steps, type_of_times};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use std::sync::Arc;

pub(super) fn register(context: &SessionContext, name: &str, includes_end: bool) {
    if let Ok(function) = context.table_function(name) {
        context.register_udtf(name, Arc::new(SeriesTable { inner: Arc::clone(function.function()), includes_end }));
    }
}

#[derive(Debug)]
struct SeriesTable {
    inner: Arc<dyn TableFunctionImpl>,
    includes_end: bool,
}

impl TableFunctionImpl for SeriesTable {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let literals = args.exprs().iter().map(Expr::as_literal).collect::<Option<Vec<_>>>();
        match literals.as_deref() {
            Some([from, to, step]) if is_time(from) || is_time(to) => self.times([*from, *to], step),
            Some(numbers) => {
                // DataFusion knows no other integers.
                let exprs = numbers.iter().map(|number| Expr::Literal(wide((*number).clone()), None));
                self.inner.call_with_args(TableFunctionArgs::new(&exprs.collect::<Vec<_>>(), args.session()))
            }
            None => self.inner.call_with_args(args),
        }
    }
}

impl SeriesTable {
    fn times(&self, bounds: [&ScalarValue; 2], step: &ScalarValue) -> Result<Arc<dyn TableProvider>> {
        let is_step = step.is_null() || matches!(step, ScalarValue::IntervalMonthDayNano(_));
        if !is_step || bounds.iter().any(|bound| !bound.is_null() && !is_time(bound)) {
            return plan_err!("a series of times has an interval as its step: INTERVAL '1 hour'");
        }
        let types = [bounds[0].data_type(), bounds[1].data_type(), DataType::Interval(IntervalUnit::MonthDayNano)];
        // A bound or step that is NULL leaves nothing.
        let of = type_of_times(&types).unwrap_or(DataType::Timestamp(TimeUnit::Microsecond, None));
        let count = |bound: &ScalarValue| -> Result<Option<i64>> {
            match bound.cast_to(&of)?.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(count) => Ok(count),
                other => plan_err!("{other} is not a time"),
            }
        };
        let steps = match (count(bounds[0])?, count(bounds[1])?, step) {
            (Some(from), Some(to), ScalarValue::IntervalMonthDayNano(Some(step))) => {
                Some(Steps::new(&of, [from, to], *step, self.includes_end)?)
            }
            _ => None,
        };
        let schema = Arc::new(Schema::new(vec![Field::new("value", of, false)]));
        let stream: Arc<dyn PartitionStream> = Arc::new(SeriesStream { schema: Arc::clone(&schema), steps });
        Ok(Arc::new(StreamingTable::try_new(schema, vec![stream])?))
    }
}

/// An integer as a BIGINT.
fn wide(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Int8(number) => ScalarValue::Int64(number.map(i64::from)),
        ScalarValue::Int16(number) => ScalarValue::Int64(number.map(i64::from)),
        ScalarValue::Int32(number) => ScalarValue::Int64(number.map(i64::from)),
        other => other,
    }
}

fn is_time(value: &ScalarValue) -> bool {
    matches!(value.data_type(), DataType::Timestamp(..) | DataType::Date32)
}

/// The rows of a series.
#[derive(Debug)]
struct SeriesStream {
    schema: SchemaRef,
    /// `None` if there are none.
    steps: Option<Steps>,
}

impl PartitionStream for SeriesStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = SeriesBatches {
            schema: Arc::clone(&self.schema),
            steps: self.steps.clone(),
            row_count: context.session_config().batch_size().max(1),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches)))
    }
}

struct SeriesBatches {
    schema: SchemaRef,
    steps: Option<Steps>,
    /// The number of rows of a batch.
    row_count: usize,
}

impl SeriesBatches {
    fn batch(&self, times: Vec<i64>) -> Result<RecordBatch> {
        let times: ArrayRef = Arc::new(Int64Array::from(times));
        let times = cast(&times, self.schema.field(0).data_type())?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), vec![times])?)
    }
}

impl Iterator for SeriesBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let times = self.steps.as_mut()?.take(self.row_count).collect::<Result<Vec<i64>>>();
        match times {
            Ok(times) if times.is_empty() => None,
            Ok(times) => Some(self.batch(times)),
            Err(error) => {
                self.steps = None;
                Some(Err(error))
            }
        }
    }
}
