//! `lag(x, n, other)` and `lead(x, n, other)` with a distance or a default that differs by row, also with
//! `IGNORE NULLS`. DataFusion takes only constants for both.
//!
//! Waits for [#22082](https://github.com/apache/datafusion/issues/22082) (the default); for the distance no upstream
//! issue is known.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use datafusion::arrow::compute::{cast, interleave};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{LimitEffect, PartitionEvaluator, ReversedUDWF, WindowUDF, WindowUDFImpl};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::expressions::Literal;
use std::sync::Arc;

/// Replaces DataFusion's `lag` and `lead`.
pub(crate) fn register(context: &SessionContext) {
    for (name, direction) in [("lag", -1), ("lead", 1)] {
        if let Some(inner) = context.state().window_functions().get(name) {
            context.register_udwf(WindowUDF::new_from_impl(Shift { inner: Arc::clone(inner), direction }));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shift {
    inner: Arc<WindowUDF>,
    /// The sign of the distance: -1 for `lag`, 1 for `lead`.
    direction: i64,
}

/// Returns whether DataFusion's own function can be used: distance and default are constants, and the distance is not
/// NULL, which it takes for 1.
fn are_constant(args: &[Arc<dyn PhysicalExpr>]) -> bool {
    args.iter().enumerate().skip(1).all(|(place, expr)| {
        expr.downcast_ref::<Literal>().is_some_and(|literal| place > 1 || !literal.value().is_null())
    })
}

impl WindowUDFImpl for Shift {
    of_inner!(name, signature, documentation);

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        match are_constant(args.input_exprs()) {
            true => self.inner.expressions(args),
            false => args.input_exprs().to_vec(),
        }
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        if are_constant(args.input_exprs()) {
            return self.inner.partition_evaluator_factory(args);
        }
        let direction = if args.is_reversed() { -self.direction } else { self.direction };
        Ok(Box::new(Shifted { direction, ignores_nulls: args.ignore_nulls() }))
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::Reversed(Arc::new(WindowUDF::new_from_impl(self.clone())))
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        match are_constant(args) {
            true => self.inner.inner().limit_effect(args),
            false => LimitEffect::Unknown,
        }
    }
}

/// The function over the rows of one partition.
#[derive(Debug)]
struct Shifted {
    direction: i64,
    ignores_nulls: bool,
}

/// The rows of a partition that count for distances.
enum CountedRows {
    All(usize),
    /// The rows without NULL, and the number of them before each row.
    Some {
        rows: Vec<usize>,
        before: Vec<usize>,
    },
}

impl CountedRows {
    fn of(value: &ArrayRef, ignores_nulls: bool) -> Self {
        if !ignores_nulls {
            return Self::All(value.len());
        }
        let nulls = value.logical_nulls();
        let (mut rows, mut before) = (Vec::new(), Vec::with_capacity(value.len()));
        for row in 0..value.len() {
            before.push(rows.len());
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                rows.push(row);
            }
        }
        Self::Some { rows, before }
    }

    /// The row at a distance from another one, forward or backward.
    fn at(&self, row: usize, distance: i128) -> Option<usize> {
        match self {
            Self::All(count) => usize::try_from(row as i128 + distance).ok().filter(|found| found < count),
            Self::Some { .. } if distance == 0 => Some(row),
            Self::Some { rows, before } => {
                // A row without NULL is not at a distance from itself.
                let own = rows.get(before[row]) == Some(&row);
                let first = before[row] as i128 + i128::from(distance > 0 && own);
                let place = if distance > 0 { first + distance - 1 } else { first + distance };
                usize::try_from(place).ok().and_then(|place| rows.get(place).copied())
            }
        }
    }
}

impl PartitionEvaluator for Shifted {
    fn evaluate_all(&mut self, values: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
        let result = match values {
            [value, _, other] if value.data_type().is_null() => other.data_type(),
            _ => values[0].data_type(),
        };
        let value = cast(&values[0], result)?;
        let other = match values.get(2) {
            Some(other) => cast(other, result)?,
            None => new_null_array(result, row_count),
        };
        let nothing = new_null_array(result, 1);
        let distances = cast(&values[1], &DataType::Int64)?;
        let distances = distances.as_primitive::<Int64Type>();
        let counted = CountedRows::of(&value, self.ignores_nulls);
        let places: Vec<(usize, usize)> = (0..row_count)
            .map(|row| {
                if distances.is_null(row) {
                    return (2, 0);
                }
                let distance = i128::from(distances.value(row)) * i128::from(self.direction);
                counted.at(row, distance).map_or((1, row), |found| (0, found))
            })
            .collect();
        Ok(interleave(&[&value, &other, &nothing], &places)?)
    }
}
