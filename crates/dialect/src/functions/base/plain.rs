//! Simple scalar functions, which need only a computation for each row.

use super::answers::{answer, are_constant};
use super::text_types::TextType;
use atsdb_codec::json_list_field;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The computation of a function. Its arguments have equal lengths and the declared types.
pub type Compute = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// The type of the texts that a function returns.
#[derive(Debug, Clone)]
pub enum Returns {
    /// Texts, or values of another type of DataFusion.
    Plain,
    /// Texts with a type of their own.
    Declared(TextType),
    /// JSON in the form of the first argument.
    JsonOfFirst,
    /// Lists of JSON.
    JsonLists,
}

/// A function.
#[derive(Debug)]
pub struct Plain {
    name: &'static str,
    signature: Signature,
    result: DataType,
    returns: Returns,
    compute: Compute,
}

impl Plain {
    /// A function that accepts arguments with any of these lists of types.
    pub fn new(name: &'static str, takes: &[&[DataType]], result: DataType, compute: Compute) -> Self {
        let signatures = takes.iter().map(|types| TypeSignature::Exact(types.to_vec())).collect();
        let signature = Signature::one_of(signatures, Volatility::Immutable);
        Self { name, signature, result, returns: Returns::Plain, compute }
    }

    /// A function that accepts any number of arguments of any types.
    pub fn variadic(name: &'static str, result: DataType, compute: Compute) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { name, signature, result, returns: Returns::Plain, compute }
    }

    /// Accepts a call without arguments, too. The computation then returns one row.
    pub fn or_without_arguments(self) -> Self {
        let takes = vec![TypeSignature::Nullary, self.signature.type_signature.clone()];
        Self { signature: Signature::one_of(takes, Volatility::Immutable), ..self }
    }

    /// Sets the type of the texts that the function returns.
    pub fn returning(self, returns: Returns) -> Self {
        Self { returns, ..self }
    }

    /// Returns the function as DataFusion registers it.
    pub fn udf(self) -> ScalarUDF {
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

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let of = match &self.returns {
            Returns::Plain => return Ok(Arc::new(Field::new(self.name, self.result.clone(), true))),
            Returns::JsonLists => {
                return Ok(Arc::new(json_list_field(Field::new(self.name, self.result.clone(), true))));
            }
            Returns::Declared(of) => of.clone(),
            Returns::JsonOfFirst => {
                let first = args.arg_fields.first().and_then(|field| TextType::of(field));
                first.filter(|of| of.is_json()).unwrap_or(TextType::Json)
            }
        };
        Ok(Arc::new(of.field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let found = (self.compute)(&arrays)?;
        answer(is_constant && found.len() == 1, found)
    }
}
