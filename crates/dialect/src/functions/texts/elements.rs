//! Texts in arrays, which `string_agg` joins if each row has a delimiter.

use crate::functions::base::arguments::strictly;
use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![Plain::variadic("join_delimited", DataType::Utf8, join_delimited).udf()]
}

/// The values of each array, joined by the delimiters before them; that before the first is left out. An element is the
/// number of the delimiter's bytes, a colon, the delimiter and the value. NULLs are left out.
fn join_delimited(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [arrays] = args else { return exec_err!("join_delimited takes 1 argument") };
    let arrays = strictly(arrays, &DataType::new_list(DataType::Utf8, true))?;
    let joined = arrays.as_list::<i32>().iter().map(|elements| {
        let elements = elements?;
        let mut joined: Option<String> = None;
        for element in elements.as_string::<i32>().iter().flatten() {
            let (length, rest) = element.split_once(':')?;
            let (delimiter, value) = rest.split_at_checked(length.parse().ok()?)?;
            match &mut joined {
                Some(joined) => {
                    joined.push_str(delimiter);
                    joined.push_str(value);
                }
                None => joined = Some(value.to_owned()),
            }
        }
        joined
    });
    Ok(Arc::new(joined.collect::<StringArray>()))
}
