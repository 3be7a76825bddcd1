//! Texts of a declared length: the casts to `char(n)`, to `varchar(n)` and to arrays of them, and what a plan needs for
//! values of a `char(n)`. These are texts without spaces at the end, and [get the spaces](padded_char) where they
//! count.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::strictly;
use crate::functions::base::plain::Plain;
use crate::functions::base::text_types::TextType;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The function that a cast to `char(n)` is: of a text and `n`.
pub const CHAR: &str = "char_text";

/// The function that a cast to `varchar(n)` is: of a text and `n`.
pub const VARCHAR: &str = "varchar_text";

/// The function that says that a text is a value of a `char(n)`.
pub const DECLARED: &str = "declared_char";

/// The function that adds the spaces at the end.
pub const PADDED: &str = "padded_char";

/// The maximum size of the values of one batch with their spaces, because they are made in one piece.
const PADDED_BYTES_MAX: usize = 1 << 28;

/// The functions of `char(n)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CharCall {
    /// Cuts a text to the length that the second argument is.
    Cast,
    /// Removes spaces at the end.
    Declare,
    /// Adds spaces at the end.
    Pad,
}

/// The function that returns a text as a value of a `char(n)`. It cuts nothing but spaces.
pub fn declared_char(characters: Option<u32>) -> ScalarUDF {
    function(CharCall::Declare, characters)
}

/// The function that returns a value of a `char(n)` as a text with spaces up to its length.
pub fn padded_char(characters: u32) -> ScalarUDF {
    function(CharCall::Pad, Some(characters))
}

/// A constant text without the spaces at its end; `None` if it has none.
pub fn trimmed(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        ScalarValue::Utf8(Some(text)) if text.ends_with(' ') => Some(ScalarValue::from(text.trim_end_matches(' '))),
        ScalarValue::Utf8View(Some(text)) if text.ends_with(' ') => {
            Some(ScalarValue::Utf8View(Some(text.trim_end_matches(' ').to_owned())))
        }
        ScalarValue::Dictionary(key, value) => Some(ScalarValue::Dictionary(key.clone(), Box::new(trimmed(value)?))),
        _ => None,
    }
}

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        function(CharCall::Cast, None),
        Plain::variadic(VARCHAR, DataType::Utf8, varchar_texts).udf(),
        Plain::variadic("cut_elements", lists_of_texts(), cut_elements).udf(),
    ]
}

fn function(call: CharCall, characters: Option<u32>) -> ScalarUDF {
    let signature = Signature::variadic_any(Volatility::Immutable);
    ScalarUDF::new_from_impl(CharFunction { call, characters, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CharFunction {
    call: CharCall,
    /// The length of the values; `None` if the second argument has it, or if values have several ones.
    characters: Option<u32>,
    signature: Signature,
}

impl ScalarUDFImpl for CharFunction {
    fn name(&self) -> &'static str {
        match self.call {
            CharCall::Cast => CHAR,
            CharCall::Declare => DECLARED,
            CharCall::Pad => PADDED,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let characters = match self.call {
            CharCall::Cast => args.scalar_arguments.get(1).copied().flatten().and_then(characters_of),
            CharCall::Declare => self.characters,
            CharCall::Pad => return Ok(Arc::new(Field::new(self.name(), DataType::Utf8, true))),
        };
        Ok(Arc::new(TextType::Char(characters).field(self.name())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let found = match (self.call, arrays.as_slice()) {
            (CharCall::Cast, [texts, lengths]) => cut_texts(texts, lengths, true)?,
            (CharCall::Declare, [texts]) => changed(texts, &|text| text.trim_end_matches(' ').into())?,
            (CharCall::Pad, [texts]) => padded(texts, self.characters.unwrap_or_default() as usize)?,
            (_, arrays) => return exec_err!("{} of {} values", self.name(), arrays.len()),
        };
        answer(is_constant && found.len() == 1, found)
    }
}

fn characters_of(length: &ScalarValue) -> Option<u32> {
    match length.cast_to(&DataType::UInt32) {
        Ok(ScalarValue::UInt32(characters)) => characters,
        _ => None,
    }
}

fn varchar_texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [texts, lengths] = args else { return exec_err!("{VARCHAR} takes 2 arguments") };
    cut_texts(texts, lengths, false)
}

/// Texts, cut to the length that is the same in all rows. Those of a `char(n)` lose the spaces at their end, too.
fn cut_texts(texts: &ArrayRef, lengths: &ArrayRef, is_char: bool) -> Result<ArrayRef> {
    let length = length_in(lengths)?;
    changed(texts, &|text| {
        let cut = cut(text, length);
        if is_char { cut.trim_end_matches(' ').into() } else { cut.into() }
    })
}

fn lists_of_texts() -> DataType {
    DataType::new_list(DataType::Utf8, true)
}

/// Arrays whose texts have at most this many characters, and no spaces at the end if the third argument says so. The
/// second and the third argument are constants.
fn cut_elements(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [arrays, lengths, are_trimmed] = args else { return exec_err!("cut_elements takes 3 arguments") };
    let arrays = strictly(arrays, &lists_of_texts())?;
    let arrays = arrays.as_list::<i32>();
    let is_trimmed = are_trimmed.as_boolean().iter().flatten().next().unwrap_or_default();
    let elements = cut_texts(arrays.values(), lengths, is_trimmed)?;
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let (offsets, nulls) = (arrays.offsets().clone(), arrays.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(field, offsets, elements, nulls)?))
}

/// Values of a `char(n)` with spaces up to `n` characters.
fn padded(texts: &ArrayRef, characters: usize) -> Result<ArrayRef> {
    if texts.len().saturating_mul(characters) > PADDED_BYTES_MAX {
        let message = format!("values of the type character({characters}) are too long with the spaces at their end");
        return Err(DataFusionError::ResourcesExhausted(message));
    }
    changed(texts, &|text| {
        let missing = characters.saturating_sub(text.chars().count());
        format!("{text}{}", " ".repeat(missing)).into()
    })
}

/// The length that is the same in all rows.
fn length_in(lengths: &ArrayRef) -> Result<usize> {
    let lengths = cast(lengths, &DataType::Int64)?;
    let length = lengths.as_primitive::<Int64Type>().iter().flatten().next().unwrap_or_default();
    Ok(usize::try_from(length).unwrap_or_default())
}

/// The first characters of a text.
fn cut(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Texts, each of them changed. Those of a dictionary are changed once.
fn changed(texts: &ArrayRef, change: &dyn Fn(&str) -> Cow<'_, str>) -> Result<ArrayRef> {
    if let Some(dictionary) = texts.as_any_dictionary_opt() {
        let values = changed(dictionary.values(), change)?;
        return Ok(take(&values, dictionary.keys(), None)?);
    }
    let texts = cast(texts, &DataType::Utf8)?;
    Ok(Arc::new(texts.as_string::<i32>().iter().map(|text| text.map(change)).collect::<StringArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::DictionaryArray;
    use datafusion::arrow::datatypes::UInt8Type;

    #[test]
    fn texts_of_dictionaries_are_changed_like_others() {
        let texts = [Some("äb  "), None, Some("xyz"), Some("")];
        let plain: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let mapped: ArrayRef = Arc::new(texts.into_iter().collect::<DictionaryArray<UInt8Type>>());
        for array in [plain, mapped] {
            let cut = changed(&array, &|text| cut(text, 2).into()).unwrap();
            assert_eq!(cut.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("äb"), None, Some("xy"), Some("")]);
        }
    }

    #[test]
    fn spaces_count_characters_and_fit_into_memory() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("ä"), None, Some("abc")]));
        let short = padded(&texts, 3).unwrap();
        assert_eq!(short.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("ä  "), None, Some("abc")]);
        let long = padded(&texts, 100_000).unwrap();
        assert_eq!(long.as_string::<i32>().value(2).len(), 100_000);
        let many: ArrayRef = Arc::new(StringArray::from(vec!["a"; 1_000]));
        assert!(padded(&many, 1_000_000).is_err());
    }
}
