//! `btrim`, `ltrim` and `rtrim` of bytes remove bytes, as in PostgreSQL. DataFusion takes the bytes for a text.
//!
//! No upstream issue known.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// Replaces the functions.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, ends) in [("btrim", Ends::Both), ("ltrim", Ends::Left), ("rtrim", Ends::Right)] {
        if let Some(inner) = state.scalar_functions().get(name) {
            let (inner, signature) = (Arc::clone(inner), Signature::user_defined(Volatility::Immutable));
            context.register_udf(ScalarUDF::new_from_impl(Trimmed { inner, ends, signature }));
        }
    }
}

/// The ends at which bytes are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ends {
    Left,
    Right,
    Both,
}

impl Ends {
    /// The bytes without those at the ends that are among the removed ones.
    fn trimmed<'a>(self, mut bytes: &'a [u8], removed: &[u8]) -> &'a [u8] {
        while let [first, rest @ ..] = bytes
            && self != Self::Right
            && removed.contains(first)
        {
            bytes = rest;
        }
        while let [rest @ .., last] = bytes
            && self != Self::Left
            && removed.contains(last)
        {
            bytes = rest;
        }
        bytes
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Trimmed {
    inner: Arc<ScalarUDF>,
    ends: Ends,
    signature: Signature,
}

impl ScalarUDFImpl for Trimmed {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [bytes, removed]
                if bytes.is_binary() && (removed.is_binary() || removed.is_string() || removed.is_null()) =>
            {
                Ok(vec![DataType::Binary; 2])
            }
            [bytes, ..] if bytes.is_binary() => {
                plan_err!("{} takes bytes and the bytes that are removed: 2 arguments", self.name())
            }
            _ => {
                let field = |(at, of): (usize, &DataType)| Field::new(format!("{at}"), of.clone(), true);
                let fields: Vec<FieldRef> = types.iter().enumerate().map(|of| Arc::new(field(of))).collect();
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if *args.return_type() != DataType::Binary {
            return self.inner.invoke_with_args(args);
        }
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [values, removed] = arrays.as_slice() else { return plan_err!("{} takes 2 arguments", self.name()) };
        let rows = values.as_binary::<i32>().iter().zip(removed.as_binary::<i32>());
        let trimmed = rows.map(|(bytes, removed)| Some(self.ends.trimmed(bytes?, removed?)));
        let trimmed: ArrayRef = Arc::new(trimmed.collect::<BinaryArray>());
        match is_constant {
            true => ScalarValue::try_from_array(&trimmed, 0).map(ColumnarValue::Scalar),
            false => Ok(ColumnarValue::Array(trimmed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_removed_at_the_ends() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x90];
        for (ends, expected) in [(Ends::Both, &bytes[1..4]), (Ends::Left, &bytes[1..]), (Ends::Right, &bytes[..4])] {
            assert_eq!(ends.trimmed(&bytes, &[0x90, 0x12]), expected);
            assert_eq!(ends.trimmed(&bytes, &[]), bytes);
            assert!(ends.trimmed(&[], &[1]).is_empty());
        }
        assert!(Ends::Both.trimmed(&[1, 1], &[1]).is_empty());
    }
}
