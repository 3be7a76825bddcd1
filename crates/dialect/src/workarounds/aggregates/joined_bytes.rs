//! `string_agg` of bytes, whose result is bytes, as in PostgreSQL. DataFusion takes the bytes for a text. They are
//! collected as `array_agg` collects them, in the order of their `ORDER BY`, and are joined in the end.
//!
//! No upstream issue known.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err, not_impl_err, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::sync::Arc;

/// Replaces `string_agg`.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().aggregate_functions().get("string_agg") {
        let signature = Signature::user_defined(Volatility::Immutable);
        context.register_udaf(AggregateUDF::new_from_impl(JoinedBytes { inner: Arc::clone(inner), signature }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JoinedBytes {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for JoinedBytes {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [bytes, delimiter] if bytes.is_binary() => {
                match delimiter.is_binary() || delimiter.is_string() || delimiter.is_null() {
                    true => Ok(vec![DataType::Binary; 2]),
                    false => plan_err!("string_agg of bytes takes bytes as its delimiter, not {delimiter}"),
                }
            }
            _ => {
                let field = |(at, of): (usize, &DataType)| Arc::new(Field::new(format!("{at}"), of.clone(), true));
                let fields: Vec<FieldRef> = types.iter().enumerate().map(field).collect();
                let fields = fields_with_udf(&fields, self.inner.as_ref())?;
                Ok(fields.iter().map(|field| field.data_type().clone()).collect())
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(bytes) if bytes.is_binary() => Ok(DataType::Binary),
            _ => self.inner.return_type(types),
        }
    }

    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        match are_bytes(args) {
            true => Ok(Arc::new(Field::new(self.name(), DataType::Binary, true))),
            false => self.inner.return_field(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match are_bytes(args.input_fields) {
            true => array_agg_udaf().state_fields(args),
            false => self.inner.state_fields(args),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if !are_bytes(args.expr_fields) {
            return self.inner.accumulator(args);
        }
        let delimiter = delimiter(&args)?;
        let collected = array_agg_udaf().accumulator(AccumulatorArgs {
            return_field: Arc::new(Field::new("values", DataType::new_list(DataType::Binary, true), true)),
            exprs: &args.exprs[..1],
            expr_fields: &args.expr_fields[..1],
            ..args
        })?;
        Ok(Box::new(CollectedBytes { collected, delimiter }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match are_bytes(args.expr_fields) {
            true => self.accumulator(args),
            false => self.inner.create_sliding_accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !are_bytes(args.expr_fields) && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    /// The values are sorted here, whatever order the rows have.
    fn with_beneficial_ordering(self: Arc<Self>, _: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }
}

fn are_bytes(fields: &[FieldRef]) -> bool {
    fields.first().is_some_and(|values| values.data_type().is_binary())
}

/// The bytes between two values. NULL is none.
fn delimiter(args: &AccumulatorArgs<'_>) -> Result<Vec<u8>> {
    let no_rows = RecordBatch::new_empty(Arc::new(Schema::empty()));
    match args.exprs.get(1).map(|delimiter| delimiter.evaluate(&no_rows)) {
        Some(Ok(ColumnarValue::Scalar(ScalarValue::Binary(delimiter)))) => Ok(delimiter.unwrap_or_default()),
        _ => not_impl_err!("string_agg of bytes with a delimiter that is not constant"),
    }
}

/// The values of one group, as `array_agg` collects them.
#[derive(Debug)]
struct CollectedBytes {
    collected: Box<dyn Accumulator>,
    delimiter: Vec<u8>,
}

impl Accumulator for CollectedBytes {
    /// The values, the delimiter, and what they are ordered by.
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [bytes, _, order @ ..] = values else { return internal_err!("string_agg without a delimiter") };
        let collected: Vec<ArrayRef> = std::iter::once(bytes).chain(order).cloned().collect();
        self.collected.update_batch(&collected)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.collected.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.collected.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let ScalarValue::List(list) = self.collected.evaluate()? else {
            return internal_err!("array_agg returns a list");
        };
        let values: Vec<&[u8]> = list.values().as_binary::<i32>().iter().flatten().collect();
        Ok(ScalarValue::Binary((!values.is_empty()).then(|| values.join(self.delimiter.as_slice()))))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.collected.size() + self.delimiter.capacity()
    }
}
