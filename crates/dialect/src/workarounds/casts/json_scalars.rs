//! Numbers and booleans of JSON, which PostgreSQL casts from `jsonb` to numbers and booleans. Any other value is an
//! error.
//!
//! Part of [`postgres`](super::postgres). DataFusion 55.2 has no type for JSON. Waits for
//! [#7845](https://github.com/apache/datafusion/issues/7845).

use crate::functions::types::type_names::name_of;
use atsdb_core::json_text::kind;
use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};

/// Returns whether JSON can be cast to a type.
pub(super) fn is_of_json(target: &DataType) -> bool {
    target.is_numeric() || *target == DataType::Boolean
}

/// The texts of the values that are numbers, or booleans if the target is one. Another value is an error, or NULL if
/// the options say so.
pub(super) fn scalar_texts(
    documents: &StringArray,
    target: &DataType,
    options: &CastOptions<'_>,
) -> Result<StringArray> {
    let wanted = if *target == DataType::Boolean { "boolean" } else { "number" };
    let mut texts = Vec::with_capacity(documents.len());
    for document in documents {
        texts.push(match document.map(|json| (json, kind(json))) {
            None => None,
            Some((json, kind)) if kind == wanted => Some(json.trim()),
            Some(_) if options.safe => None,
            Some((_, kind)) => {
                let kind = if kind == "number" { "numeric" } else { kind };
                return exec_err!("cannot cast jsonb {kind} to type {}", name_of(target));
            }
        });
    }
    Ok(texts.into_iter().collect())
}
