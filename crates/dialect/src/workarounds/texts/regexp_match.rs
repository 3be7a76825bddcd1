//! `regexp_match` of a pattern with a group that takes no part in the match: its element is NULL, as in PostgreSQL.
//! DataFusion leaves it out, so that the groups behind it have other positions.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use crate::functions::texts::expressions::ExpressionsOfRows;
use datafusion::arrow::array::{Array, AsArray, ListBuilder, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces DataFusion's `regexp_match`.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("regexp_match") {
        context.register_udf(ScalarUDF::new_from_impl(RegexpMatch { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpMatch {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RegexpMatch {
    of_inner!(name, signature, return_type, documentation);

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.return_type().is_null() {
            return self.inner.invoke_with_args(args);
        }
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let columns = arrays.iter().map(|array| cast(array, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
        let mut expressions = ExpressionsOfRows::default();
        let mut matches = ListBuilder::new(StringBuilder::new());
        for row in 0..columns[0].len() {
            let value = |at: usize| {
                let column = columns[at].as_string::<i32>();
                column.is_valid(row).then(|| column.value(row))
            };
            let flags = if columns.len() > 2 { value(2) } else { Some("") };
            let (Some(text), Some(pattern), Some(flags)) = (value(0), value(1), flags) else {
                matches.append_null();
                continue;
            };
            if flags.contains('g') {
                return exec_err!("regexp_match() does not support the \"global\" option");
            }
            let expression = expressions.of(pattern, flags)?;
            let Some(groups) = expression.groups_from(text, 0)? else {
                matches.append_null();
                continue;
            };
            for part in groups.parts() {
                matches.values().append_option(part.map(|part| &text[part]));
            }
            matches.append(true);
        }
        let matches = cast(&matches.finish(), args.return_type())?;
        answer(is_constant, matches)
    }
}
