//! A function that returns the strings for indices of a mapped column, for plans that work on indices.

use atsdb_codec::{logical_field, logical_type};
use atsdb_core::Column;
use atsdb_engine::{ReadSnapshot, SharedTable};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The function, for one column of one snapshot. It cannot be called by name.
#[derive(Debug)]
pub(crate) struct TextOfIndex {
    /// `None` in a cached plan.
    snapshot: Option<ReadSnapshot>,
    table: SharedTable,
    column: Column,
    signature: Signature,
}

impl TextOfIndex {
    pub(crate) fn new(snapshot: Option<ReadSnapshot>, table: SharedTable, column: &Column) -> Self {
        let signature = Signature::any(1, Volatility::Stable);
        Self { snapshot, table, column: column.clone(), signature }
    }

    /// Returns this function over another snapshot, or over none.
    pub(crate) fn over(&self, snapshot: Option<ReadSnapshot>) -> Self {
        Self::new(snapshot, self.table.clone(), &self.column)
    }
}

impl PartialEq for TextOfIndex {
    fn eq(&self, other: &Self) -> bool {
        // All functions in a plan use the same snapshot.
        (self.table.id, self.table.version, self.column.id) == (other.table.id, other.table.version, other.column.id)
    }
}

impl Eq for TextOfIndex {}

impl Hash for TextOfIndex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.table.id, self.column.id).hash(state);
    }
}

impl ScalarUDFImpl for TextOfIndex {
    fn name(&self) -> &str {
        "text_of_index"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(logical_type(&self.column))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(logical_field(&self.column).with_name(self.name()).with_nullable(is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [indices] = arrays.as_slice() else {
            return Err(DataFusionError::Internal("text_of_index takes one argument".to_owned()));
        };
        let snapshot = self.snapshot.as_ref();
        let snapshot = snapshot.ok_or_else(|| DataFusionError::Internal("a plan without a snapshot".to_owned()))?;
        let strings = snapshot.strings(&self.table, &self.column, indices);
        strings.map(ColumnarValue::Array).map_err(|error| DataFusionError::External(Box::new(error)))
    }
}
