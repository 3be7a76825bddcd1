//! Two functions for scalar subqueries. `single_value` returns the value of the only row: two rows are an error, no row
//! is NULL. `nullable` marks a value as possibly NULL.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

const NULLABLE: &str = "nullable";

/// Calls `single_value` with an expression.
pub(super) fn single_value(of: Expr) -> Expr {
    let function = AggregateUDF::new_from_impl(SingleValue { signature: Signature::any(1, Volatility::Immutable) });
    Expr::AggregateFunction(AggregateFunction::new_udf(Arc::new(function), vec![of], false, None, vec![], None))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleValue {
    signature: Signature,
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        "single_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let value = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Single { value, count: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![
            Arc::new(Field::new(format!("{}[value]", args.name), args.return_field.data_type().clone(), true)),
            Arc::new(Field::new(format!("{}[count]", args.name), DataType::Int64, true)),
        ])
    }
}

#[derive(Debug)]
struct Single {
    value: ScalarValue,
    count: i64,
}

impl Single {
    fn add(&mut self, values: &ArrayRef, row: usize, count: i64) -> Result<()> {
        self.count += count;
        if self.count > 1 {
            return exec_err!("more than one row returned by a subquery used as an expression");
        }
        if count > 0 {
            self.value = ScalarValue::try_from_array(values, row)?;
        }
        Ok(())
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values[0].len() {
            0 => Ok(()),
            rows => self.add(&values[0], 0, rows as i64),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let counts = states[1].as_primitive::<Int64Type>();
        (0..counts.len()).try_for_each(|row| self.add(&states[0], row, counts.value(row)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::from(self.count)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }
}

/// Marks an expression as possibly NULL.
pub(super) fn nullable(of: Expr) -> Expr {
    // Volatile: otherwise a constant would be folded, and would not be nullable any more.
    let function = Nullable { signature: Signature::any(1, Volatility::Volatile) };
    ScalarUDF::new_from_impl(function).call(vec![of])
}

/// Returns whether an expression, apart from its parts, has another value each time that it is computed.
pub(super) fn changes(expr: &Expr) -> bool {
    expr.is_volatile_node() && !matches!(expr, Expr::ScalarFunction(call) if call.func.name() == NULLABLE)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &str {
        NULLABLE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), args.arg_fields[0].data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}
