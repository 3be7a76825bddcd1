//! `normalize(text, form)`: texts in a normal form of Unicode (Unicode Standard Annex 15).

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    vec![Plain::new("normalize", &[&[TEXT, TEXT]], TEXT, normalize).udf()]
}

fn normalize(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (texts, forms) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let normal = texts.iter().zip(forms).map(|(text, form)| text.zip(form).map(|(text, form)| normal(text, form)));
    Ok(Arc::new(normal.map(Option::transpose).collect::<Result<StringArray>>()?))
}

fn normal(text: &str, form: &str) -> Result<String> {
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => return exec_err!("invalid normalization form: {form}"),
    })
}
