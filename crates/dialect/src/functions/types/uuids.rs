//! UUIDs, which are texts in one form: `CAST(x AS UUID)` and `CAST(x AS UUID[])`.

use crate::functions::base::plain::{Plain, Returns};
use crate::functions::base::text_types::TextType;
use atsdb_core::{array_text, uuid_text};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![uuid_of(), uuids_of()]
}

/// `CAST(x AS UUID)`.
pub fn uuid_of() -> ScalarUDF {
    Plain::variadic("uuid_of", DataType::Utf8, uuids).returning(Returns::Declared(TextType::Uuid)).udf()
}

/// `CAST(x AS UUID[])`.
pub fn uuids_of() -> ScalarUDF {
    Plain::variadic("uuids_of", DataType::new_list(DataType::Utf8, true), uuid_arrays).udf()
}

fn uuids(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [texts] = args else { return exec_err!("one value becomes a UUID") };
    let texts = cast(texts, &DataType::Utf8)?;
    let uuids = texts.as_string::<i32>().iter().map(|text| match text {
        Some(text) => match uuid_text::canonical(text) {
            Some(uuid) => Ok(Some(uuid)),
            None => exec_err!("'{text:.60}' is not a valid UUID"),
        },
        None => Ok(None),
    });
    Ok(Arc::new(uuids.collect::<Result<StringArray>>()?))
}

fn uuid_arrays(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [arrays] = args else { return exec_err!("one value becomes an array of UUIDs") };
    let arrays = match arrays.data_type() {
        DataType::List(_) => arrays.as_list::<i32>().clone(),
        _ => arrays_of_text(cast(arrays, &DataType::Utf8)?.as_string::<i32>())?,
    };
    let elements = uuids(&[Arc::clone(arrays.values())])?;
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    Ok(Arc::new(ListArray::try_new(field, arrays.offsets().clone(), elements, arrays.nulls().cloned())?))
}

fn arrays_of_text(texts: &StringArray) -> Result<ListArray> {
    let mut arrays = ListBuilder::new(StringBuilder::new());
    for text in texts {
        match text.map(|text| (text, array_text::parse(text))) {
            Some((_, Ok(elements))) => arrays.append_value(elements),
            Some((text, Err(error))) => return exec_err!("{}", error.message(text)),
            None => arrays.append_null(),
        }
    }
    Ok(arrays.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_one_form_of_each_uuid() {
        const UUID: &str = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        let texts = StringArray::from(vec![
            Some("{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,NULL,\"{a0eebc999c0b4ef8bb6d6bb9bd380a11}\"}"),
            Some("{}"),
            None,
        ]);
        let arrays = uuid_arrays(&[Arc::new(texts)]).unwrap();
        let expected: Vec<Option<Vec<Option<&str>>>> =
            vec![Some(vec![Some(UUID), None, Some(UUID)]), Some(Vec::new()), None];
        let found = arrays.as_list::<i32>().iter().map(|array| {
            array.map(|array| array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>())
        });
        let expected = expected
            .into_iter()
            .map(|array| array.map(|array| array.into_iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()));
        assert!(found.eq(expected));
        let again = uuid_arrays(&[Arc::clone(&arrays)]).unwrap();
        assert_eq!(&again, &arrays);
        assert!(uuid_arrays(&[Arc::new(StringArray::from(vec!["{x}"]))]).is_err());
    }
}
