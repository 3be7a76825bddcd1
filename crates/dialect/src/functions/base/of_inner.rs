//! Functions that replace one of DataFusion's, and leave to it what they do not change.

/// The named methods of `ScalarUDFImpl` or `AggregateUDFImpl`, as the function in the field `inner` has them.
macro_rules! of_inner {
    (@ name) => {
        fn name(&self) -> &str {
            self.inner.name()
        }
    };
    (@ aliases) => {
        fn aliases(&self) -> &[String] {
            self.inner.aliases()
        }
    };
    (@ signature) => {
        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.inner.signature()
        }
    };
    (@ coerce_types) => {
        fn coerce_types(
            &self,
            types: &[datafusion::arrow::datatypes::DataType],
        ) -> datafusion::common::Result<Vec<datafusion::arrow::datatypes::DataType>> {
            self.inner.coerce_types(types)
        }
    };
    (@ return_type) => {
        fn return_type(
            &self,
            types: &[datafusion::arrow::datatypes::DataType],
        ) -> datafusion::common::Result<datafusion::arrow::datatypes::DataType> {
            self.inner.return_type(types)
        }
    };
    (@ return_field_from_args) => {
        fn return_field_from_args(
            &self,
            args: datafusion::logical_expr::ReturnFieldArgs<'_>,
        ) -> datafusion::common::Result<datafusion::arrow::datatypes::FieldRef> {
            self.inner.return_field_from_args(args)
        }
    };
    (@ documentation) => {
        fn documentation(&self) -> Option<&datafusion::logical_expr::Documentation> {
            self.inner.documentation()
        }
    };
    ($($method:ident),+) => {
        $(of_inner!(@ $method);)+
    };
}

pub(crate) use of_inner;
