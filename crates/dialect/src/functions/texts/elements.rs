//! Texts in arrays, which a cast to `varchar(n)[]` cuts, and which `string_agg` joins if each row has a delimiter.

use crate::functions::base::arguments::strictly;
use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::variadic("cut_elements", texts(), cut_elements).udf(),
        Plain::variadic("join_delimited", DataType::Utf8, join_delimited).udf(),
    ]
}

fn texts() -> DataType {
    DataType::new_list(DataType::Utf8, true)
}

/// Arrays whose texts have at most this many characters, and no spaces at the end if the third argument says so. The
/// second and the third argument are constants.
fn cut_elements(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [arrays, lengths, are_trimmed] = args else { return exec_err!("cut_elements takes 3 arguments") };
    let arrays = strictly(arrays, &texts())?;
    let arrays = arrays.as_list::<i32>();
    let lengths = strictly(lengths, &DataType::Int64)?;
    let length = lengths.as_primitive::<Int64Type>().iter().flatten().next().unwrap_or_default();
    let length = usize::try_from(length).unwrap_or_default();
    let is_trimmed = are_trimmed.as_boolean().iter().flatten().next().unwrap_or_default();
    let cut = |text: &str| {
        let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
        if is_trimmed { text[..end].trim_end_matches(' ').to_owned() } else { text[..end].to_owned() }
    };
    let elements = arrays.values().as_string::<i32>().iter().map(|text| text.map(cut)).collect::<StringArray>();
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let (offsets, nulls) = (arrays.offsets().clone(), arrays.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::new(elements), nulls)?))
}

/// The values of each array, joined by the delimiters before them; that before the first is left out. An element is the
/// number of the delimiter's bytes, a colon, the delimiter and the value. NULLs are left out.
fn join_delimited(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [arrays] = args else { return exec_err!("join_delimited takes 1 argument") };
    let arrays = strictly(arrays, &texts())?;
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
