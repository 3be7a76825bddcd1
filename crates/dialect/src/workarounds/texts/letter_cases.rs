//! `upper`, `lower` and `initcap` replace each letter by one letter, as in PostgreSQL: `upper('ß')` is `ß`, and
//! `lower('ΑΣ')` is `ασ`. DataFusion uses Rust's rules for whole texts, by which a letter may become several, and the
//! last letter of a word another one than inside it. Of a range, `upper` and `lower` are its bounds.
//!
//! No upstream issue known.

use crate::functions::base::of_inner::of_inner;
use crate::functions::ranges::functions::bound_function;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces the functions.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    let functions = [("upper", LetterCase::Upper), ("lower", LetterCase::Lower), ("initcap", LetterCase::Initial)];
    for (name, case) in functions {
        if let Some(inner) = state.scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(Cased { inner: Arc::clone(inner), case }));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LetterCase {
    Upper,
    Lower,
    /// The first letter of each word is upper, the others are lower.
    Initial,
}

impl LetterCase {
    fn of(self, text: &str) -> String {
        match self {
            Self::Upper => text.chars().map(upper).collect(),
            Self::Lower => text.chars().map(lower).collect(),
            Self::Initial => {
                let mut is_inside = false;
                let cased = |letter: char| {
                    let cased = if is_inside { lower(letter) } else { upper(letter) };
                    is_inside = letter.is_alphanumeric();
                    cased
                };
                text.chars().map(cased).collect()
            }
        }
    }
}

/// The upper letter, which is one: that of Unicode's simple mapping.
fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    if let (Some(only), None) = (upper.next(), upper.next()) {
        return only;
    }
    // Greek letters with an iota below have an upper letter, but become two by the full mapping.
    let distance = match letter {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => 0,
    };
    char::from_u32(u32::from(letter) + distance).unwrap_or(letter)
}

/// The lower letter. The full mapping gives several to one letter alone, and begins with that of the simple mapping.
fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Cased {
    inner: Arc<ScalarUDF>,
    case: LetterCase,
}

impl Cased {
    /// The texts in this case; `None` for those that DataFusion's function is right for.
    fn cased(&self, array: &ArrayRef) -> Result<Option<ArrayRef>> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            return Ok(self.cased(dictionary.values())?.map(|values| dictionary.with_values(values)));
        }
        let is_ascii = match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().is_ascii(),
            DataType::LargeUtf8 => array.as_string::<i64>().is_ascii(),
            DataType::Utf8View => array.as_string_view().is_ascii(),
            _ => true,
        };
        if is_ascii {
            return Ok(None);
        }
        let texts = cast(array, &DataType::Utf8)?;
        let cased = texts.as_string::<i32>().iter().map(|text| text.map(|text| self.case.of(text)));
        let cased: ArrayRef = Arc::new(cased.collect::<StringArray>());
        Ok(Some(cast(&cased, array.data_type())?))
    }
}

impl ScalarUDFImpl for Cased {
    of_inner!(name, aliases, signature, coerce_types, return_type, documentation);

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match bound_function(self.name(), args.arg_fields, None) {
            Some(bound) => bound.return_field_from_args(args),
            None => self.inner.return_field_from_args(args),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(bound) = bound_function(self.name(), &args.arg_fields, None) {
            return bound.invoke_with_args(args);
        }
        let cased = match args.args.first() {
            Some(ColumnarValue::Array(array)) => self.cased(array)?.map(ColumnarValue::Array),
            Some(ColumnarValue::Scalar(value)) => match self.cased(&value.to_array()?)? {
                Some(cased) => Some(ColumnarValue::Scalar(ScalarValue::try_from_array(&cased, 0)?)),
                None => None,
            },
            None => None,
        };
        match cased {
            Some(cased) => Ok(cased),
            None => self.inner.invoke_with_args(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_becomes_one() {
        for (case, text, expected) in [
            (LetterCase::Upper, "straße ŉ ü", "STRAßE ŉ Ü"),
            (LetterCase::Upper, "\u{1f80}\u{1fb3}\u{1fb7}", "\u{1f88}\u{1fbc}\u{1fb7}"),
            (LetterCase::Lower, "ΑΣ \u{130}", "ασ i"),
            (LetterCase::Initial, "ÉCOLE-normale ßa 1ab", "École-Normale ßa 1ab"),
        ] {
            assert_eq!(case.of(text), expected, "{text}");
        }
    }
}
