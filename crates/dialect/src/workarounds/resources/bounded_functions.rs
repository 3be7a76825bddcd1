//! Functions whose result length is given by a number: refused if the result would not fit into memory.
//!
//! `repeat('x', 1000000000)` allocates its result in one piece, for a whole batch of rows, before any limit or
//! cancellation can act. So the length is computed from the arguments first. The functions themselves are DataFusion's.
//!
//! DataFusion 55.2 makes such a result without asking for memory. Waits for
//! [#5415](https://github.com/apache/datafusion/issues/5415).

use crate::functions::base::answers::are_constant;
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// The smallest size of a list's item.
const ITEM_BYTES: i128 = 8;

/// Divides the memory limit into the largest size of one result, because several results may exist at once.
const SHARE: usize = 4;

/// Replaces these functions by bounded ones.
pub(crate) fn bound_functions(context: &SessionContext, memory_bytes: usize) {
    let state = context.state();
    for (name, length) in [
        ("repeat", Length::Repeated),
        ("lpad", Length::Units(1, 1)),
        ("rpad", Length::Units(1, 1)),
        ("array_repeat", Length::Items(1)),
        ("array_resize", Length::Units(1, ITEM_BYTES)),
        ("range", Length::Steps),
        ("generate_series", Length::Steps),
    ] {
        if let Some(inner) = state.scalar_functions().get(name) {
            let bounded = Bounded { inner: Arc::clone(inner), length, bytes_max: memory_bytes / SHARE };
            context.register_udf(ScalarUDF::new_from_impl(bounded));
        }
    }
}

/// How the length of a result follows from the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Length {
    /// The first argument, repeated as often as the second says.
    Repeated,
    /// The argument at this index, times a unit of this many bytes.
    Units(usize, i128),
    /// The argument at this index, times the size of the first argument.
    Items(usize),
    /// The elements from the first argument to the second in steps of the third, if they are integers.
    Steps,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    length: Length,
    bytes_max: usize,
}

impl ScalarUDFImpl for Bounded {
    of_inner!(name, aliases, signature, coerce_types, return_type, return_field_from_args, documentation);

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.bytes(&args).is_some_and(|bytes| bytes > self.bytes_max as i128) {
            let message = format!("the result of {} is too long", self.name());
            return Err(DataFusionError::ResourcesExhausted(message));
        }
        self.inner.invoke_with_args(args)
    }
}

impl Bounded {
    /// The size of all results together; `None` for types of arguments that it does not know.
    fn bytes(&self, args: &ScalarFunctionArgs) -> Option<i128> {
        let integers = |place: usize| Integers::of(args.args.get(place)?);
        let row_count = match are_constant(&args.args) {
            true => 1,
            false => args.number_rows,
        };
        let sum = |of_row: &dyn Fn(usize) -> i128| (0..row_count).map(|row| of_row(row).max(0)).sum::<i128>();
        Some(match self.length {
            Length::Repeated => {
                let (texts, counts) = (Integers::lengths(args.args.first()?)?, integers(1)?);
                sum(&|row| texts.at(row) * counts.at(row).max(0))
            }
            Length::Units(place, unit_bytes) => {
                let counts = integers(place)?;
                sum(&|row| counts.at(row) * unit_bytes)
            }
            Length::Items(place) => {
                let counts = integers(place)?;
                let item_bytes = match args.args.first()? {
                    ColumnarValue::Scalar(value) => value.size() as i128,
                    ColumnarValue::Array(array) => (array.get_array_memory_size() / array.len().max(1)) as i128,
                };
                sum(&|row| counts.at(row) * item_bytes.max(ITEM_BYTES))
            }
            Length::Steps => {
                let from = if args.args.len() > 1 { integers(0)? } else { Integers::One(0) };
                let to = integers(usize::from(args.args.len() > 1))?;
                let step = if args.args.len() > 2 { integers(2)? } else { Integers::One(1) };
                sum(&|row| match step.at(row) {
                    0 => 0,
                    step => (to.at(row) - from.at(row)) / step * ITEM_BYTES,
                })
            }
        })
    }
}

/// An integer argument; NULL counts as 0.
enum Integers {
    One(i128),
    Many(Int64Array),
}

impl Integers {
    fn of(value: &ColumnarValue) -> Option<Self> {
        if !value.data_type().is_integer() {
            return None;
        }
        let array = first_or_all(value)?;
        Self::of_array(value, &cast(&array, &DataType::Int64).ok()?)
    }

    /// The lengths of texts, in bytes.
    fn lengths(value: &ColumnarValue) -> Option<Self> {
        let lengths = length(first_or_all(value)?.as_ref()).ok()?;
        Self::of_array(value, &cast(&lengths, &DataType::Int64).ok()?)
    }

    fn of_array(value: &ColumnarValue, array: &ArrayRef) -> Option<Self> {
        let array = array.as_primitive_opt::<Int64Type>()?;
        Some(match value {
            ColumnarValue::Scalar(_) => Self::One(if array.is_null(0) { 0 } else { i128::from(array.value(0)) }),
            ColumnarValue::Array(_) => Self::Many(array.clone()),
        })
    }

    fn at(&self, row: usize) -> i128 {
        match self {
            Self::One(value) => *value,
            Self::Many(array) if array.is_valid(row) => i128::from(array.value(row)),
            Self::Many(_) => 0,
        }
    }
}

fn first_or_all(value: &ColumnarValue) -> Option<ArrayRef> {
    match value {
        ColumnarValue::Scalar(value) => value.to_array().ok(),
        ColumnarValue::Array(array) => Some(Arc::clone(array)),
    }
}
