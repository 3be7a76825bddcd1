//! Characters and bytes as numbers and texts: `chr`, `to_hex`, `convert_from`, `convert_to`, and `encode` and `decode`
//! with the format `escape`, with formats in capital letters, and with blanks in what is decoded.

use crate::functions::base::answers::answer;
use crate::functions::base::arguments::text_of;
use crate::functions::base::of_inner::of_inner;
use crate::functions::base::plain::Plain;
use crate::text::bytes_text::bytes_of;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int32Type, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::fmt::Write;
use std::sync::Arc;

const TEXT: DataType = DataType::Utf8;
const BYTES: DataType = DataType::Binary;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let integers: [&[DataType]; 3] = [&[DataType::Int32], &[DataType::Int64], &[DataType::UInt64]];
    vec![
        Plain::new("chr", &[&[DataType::Int64]], TEXT, chr).udf(),
        Plain::new("to_hex", &integers, TEXT, to_hex).udf(),
        Plain::new("convert_from", &[&[BYTES, TEXT]], TEXT, convert_from).udf(),
        Plain::new("convert_to", &[&[TEXT, TEXT]], BYTES, convert_to).udf(),
    ]
}

/// Replaces DataFusion's `encode` and `decode`.
pub(super) fn register(context: &SessionContext) {
    for (name, is_encoding) in [("encode", true), ("decode", false)] {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            // A text is not read as bytes before it is decoded.
            let signature = match is_encoding {
                true => inner.signature().clone(),
                false => Signature::exact(vec![TEXT; 2], Volatility::Immutable),
            };
            let function = Escaping { inner: Arc::clone(inner), is_encoding, signature };
            context.register_udf(ScalarUDF::new_from_impl(function));
        }
    }
}

fn chr(args: &[ArrayRef]) -> Result<ArrayRef> {
    let letters = args[0].as_primitive::<Int64Type>().iter().map(|code| match code {
        None => Ok(None),
        Some(0) => exec_err!("chr: a text cannot contain the null character"),
        Some(code) => match u32::try_from(code).ok().and_then(char::from_u32) {
            Some(letter) => Ok(Some(letter.to_string())),
            None => exec_err!("chr: there is no character {code}"),
        },
    });
    Ok(Arc::new(letters.collect::<Result<StringArray>>()?))
}

/// The digits of an integer. A negative one is written with the bits of its type.
fn to_hex(args: &[ArrayRef]) -> Result<ArrayRef> {
    let integers = &args[0];
    let digits: StringArray = match integers.data_type() {
        DataType::Int32 => {
            integers.as_primitive::<Int32Type>().iter().map(|value| value.map(|value| format!("{value:x}"))).collect()
        }
        DataType::UInt64 => {
            integers.as_primitive::<UInt64Type>().iter().map(|value| value.map(|value| format!("{value:x}"))).collect()
        }
        _ => integers.as_primitive::<Int64Type>().iter().map(|value| value.map(|value| format!("{value:x}"))).collect(),
    };
    Ok(Arc::new(digits))
}

/// Fails for encodings other than UTF-8.
fn check_encoding(function: &str, encodings: &ArrayRef) -> Result<()> {
    let is_known = |name: &str| matches!(name.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode");
    match encodings.as_string::<i32>().iter().flatten().find(|name| !is_known(name)) {
        Some(name) => exec_err!("{function}: the encoding '{name:.30}' is not supported: write 'UTF8'"),
        None => Ok(()),
    }
}

fn convert_from(args: &[ArrayRef]) -> Result<ArrayRef> {
    check_encoding("convert_from", &args[1])?;
    let pairs = args[0].as_binary::<i32>().iter().zip(args[1].as_string::<i32>());
    let texts = pairs.map(|(bytes, encoding)| match bytes.zip(encoding) {
        None => Ok(None),
        Some((bytes, _)) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Some(text)),
            _ => exec_err!("convert_from: the bytes are no text in UTF8"),
        },
    });
    Ok(Arc::new(texts.collect::<Result<StringArray>>()?))
}

fn convert_to(args: &[ArrayRef]) -> Result<ArrayRef> {
    check_encoding("convert_to", &args[1])?;
    let pairs = args[0].as_string::<i32>().iter().zip(args[1].as_string::<i32>());
    let bytes = pairs.map(|(text, encoding)| text.zip(encoding).map(|(text, _)| text.as_bytes()));
    Ok(Arc::new(bytes.collect::<BinaryArray>()))
}

/// `encode` or `decode`, with the formats and the blanks that PostgreSQL takes.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Escaping {
    inner: Arc<ScalarUDF>,
    is_encoding: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Escaping {
    of_inner!(name, aliases, return_type, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(value) = args.args.first_mut().filter(|value| value.data_type().is_string()) {
            *value = value.cast_to(&BYTES, None)?;
        }
        let [values, ColumnarValue::Scalar(format)] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let Some(format) = text_of(format).map(|format| format.to_ascii_lowercase()) else {
            return self.inner.invoke_with_args(args);
        };
        let is_scalar = matches!(values, ColumnarValue::Scalar(_));
        if matches!(format.as_str(), "base64" | "base64pad" | "hex") {
            let values = if self.is_encoding { values.clone() } else { digits_of(values, format != "hex")? };
            args.args = vec![values, ColumnarValue::Scalar(ScalarValue::from(format))];
            return self.inner.invoke_with_args(args);
        }
        if format != "escape" {
            return exec_err!("unrecognized encoding: \"{format:.30}\"");
        }
        let values = cast(&values.to_array(1)?, &BYTES)?;
        let values = values.as_binary::<i32>();
        let converted: ArrayRef = match self.is_encoding {
            true => Arc::new(values.iter().map(|value| value.map(escaped)).collect::<StringArray>()),
            false => {
                let bytes = values.iter().map(|value| value.map(unescaped).transpose());
                Arc::new(bytes.collect::<Result<BinaryArray>>()?)
            }
        };
        let converted = cast(&converted, args.return_type())?;
        answer(is_scalar, converted)
    }
}

/// Bytes without blanks and ends of lines, which `base64` and `hex` may have between their digits. The last digit of
/// `base64` loses the bits that belong to no byte, which DataFusion refuses.
fn digits_of(values: &ColumnarValue, is_base64: bool) -> Result<ColumnarValue> {
    let is_scalar = matches!(values, ColumnarValue::Scalar(_));
    let values = cast(&values.to_array(1)?, &BYTES)?;
    let is_digit = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let digits = |value: &[u8]| {
        let mut digits = value.iter().copied().filter(is_digit).collect::<Vec<u8>>();
        if is_base64 {
            clear_last_bits(&mut digits);
        }
        digits
    };
    let values = values.as_binary::<i32>().iter().map(|value| value.map(digits)).collect::<BinaryArray>();
    answer(is_scalar, Arc::new(values))
}

/// Clears the bits of the last digit of `base64` behind the last whole byte.
fn clear_last_bits(digits: &mut [u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let count = digits.iter().take_while(|digit| **digit != b'=').count();
    let step = match count % 4 {
        2 => 16,
        3 => 4,
        _ => return,
    };
    if let Some(last) = digits.get_mut(count - 1)
        && let Some(value) = DIGITS.iter().position(|digit| digit == last)
    {
        *last = DIGITS[value - value % step];
    }
}

/// Bytes as text: those that are no ASCII character in octal digits, and backslashes twice.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            0 | 0x80.. => {
                // Writing to a String does not fail.
                let _ = write!(text, "\\{byte:03o}");
            }
            b'\\' => text.push_str("\\\\"),
            byte => text.push(char::from(*byte)),
        }
    }
    text
}

fn unescaped(text: &[u8]) -> Result<Vec<u8>> {
    let text = String::from_utf8_lossy(text);
    match bytes_of(&text) {
        Ok(bytes) if !text.starts_with("\\x") => Ok(bytes),
        _ => exec_err!("decode: '{text:.40}' is not in the format escape: write \\\\ for a backslash"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bits_behind_the_last_byte_are_cleared() {
        for (digits, expected) in
            [("MTIz/A+=", "MTIz/A8="), ("/x==", "/w=="), ("MTIz", "MTIz"), ("", ""), ("A", "A"), ("A?==", "A?==")]
        {
            let mut cleared = digits.as_bytes().to_vec();
            clear_last_bits(&mut cleared);
            assert_eq!(cleared, expected.as_bytes());
        }
    }

    #[test]
    fn bytes_have_escapes() {
        assert_eq!(escaped(b"a\\\0\xffz\n"), "a\\\\\\000\\377z\n");
        assert_eq!(unescaped(b"a\\\\\\000\\377z").unwrap(), b"a\\\0\xffz");
        assert!(unescaped(b"\\x00").is_err() && unescaped(b"\\").is_err());
    }
}
