//! Methods of functions that cast: of those with the fields `target`, `is_try` and `signature`.
//!
//! Part of [`exact`](super::exact) and [`postgres`](super::postgres).

/// The name, the signature and the type of a function that casts. `TRY_CAST` has the second name, and returns NULL for
/// a value that does not fit.
macro_rules! cast_methods {
    ($name:literal, $name_of_try:literal) => {
        fn name(&self) -> &str {
            if self.is_try { $name_of_try } else { $name }
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            &self.signature
        }

        fn return_type(
            &self,
            _: &[datafusion::arrow::datatypes::DataType],
        ) -> datafusion::common::Result<datafusion::arrow::datatypes::DataType> {
            Ok(self.target.clone())
        }

        fn return_field_from_args(
            &self,
            args: datafusion::logical_expr::ReturnFieldArgs<'_>,
        ) -> datafusion::common::Result<datafusion::arrow::datatypes::FieldRef> {
            let is_nullable = self.is_try || args.arg_fields.iter().any(|field| field.is_nullable());
            let field = datafusion::arrow::datatypes::Field::new(self.name(), self.target.clone(), is_nullable);
            Ok(std::sync::Arc::new(field))
        }

        /// The target type is part of the name: casts of one column to several types are several columns.
        fn schema_name(&self, args: &[datafusion::logical_expr::Expr]) -> datafusion::common::Result<String> {
            Ok(format!("{}({} AS {})", self.name(), args[0].schema_name(), self.target))
        }
    };
}

pub(super) use cast_methods;
