//! Simple scalar functions, which need nothing but a computation for each row.

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};

/// The computation of a function. Its arguments have equal lengths and the declared types.
pub(super) type Compute = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// A function.
#[derive(Debug)]
pub(super) struct Plain {
    name: &'static str,
    signature: Signature,
    result: DataType,
    compute: Compute,
}

impl Plain {
    /// A function that accepts arguments with any of these lists of types.
    pub(super) fn new(name: &'static str, takes: &[&[DataType]], result: DataType, compute: Compute) -> Self {
        let signatures = takes.iter().map(|types| TypeSignature::Exact(types.to_vec())).collect();
        Self { name, signature: Signature::one_of(signatures, Volatility::Immutable), result, compute }
    }

    /// A function that accepts any number of arguments of any types.
    pub(super) fn variadic(name: &'static str, result: DataType, compute: Compute) -> Self {
        Self { name, signature: Signature::variadic_any(Volatility::Immutable), result, compute }
    }

    pub(super) fn udf(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(self)
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let found = (self.compute)(&arrays)?;
        match is_constant && found.len() == 1 {
            true => ScalarValue::try_from_array(&found, 0).map(ColumnarValue::Scalar),
            false => Ok(ColumnarValue::Array(found)),
        }
    }
}
