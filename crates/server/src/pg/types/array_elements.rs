//! The elements of arrays in binary, and the error for texts that are no arrays.

use super::known;
use crate::pg::error::PgError;
use crate::pg::wire::fields::Fields;
use atsdb::array_text::ArrayTextError;

/// The elements of an array in binary, which have this type, and nothing after them.
pub(in crate::pg) fn array_elements(bytes: &[u8], expected: u32) -> Result<Elements<'_>, PgError> {
    let mut fields = Fields::new(bytes);
    let (sent, elements) = elements_of(&mut fields)?;
    if same_in_binary(sent) != same_in_binary(expected) {
        let name = |id: u32| known::sql_name(id).unwrap_or_else(|| "???".to_owned());
        let (found, wanted) = (name(sent), name(expected));
        let message =
            format!("binary data has array element type {sent} ({found}) instead of expected {expected} ({wanted})");
        return Err(PgError::error("42804", message));
    }
    fields.end()?;
    Ok(elements)
}

/// Returns one type for all types that a column does not distinguish and whose values have the same bytes.
fn same_in_binary(type_id: u32) -> u32 {
    match type_id {
        known::VARCHAR | known::BPCHAR | known::NAME => known::TEXT,
        known::TIMESTAMP => known::TIMESTAMPTZ,
        other => other,
    }
}

/// The elements of an array in binary; `None` is NULL.
pub(in crate::pg) type Elements<'a> = Vec<Option<&'a [u8]>>;

/// The type of an array's elements, and the elements.
pub(super) fn elements_of<'a>(fields: &mut Fields<'a>) -> Result<(u32, Elements<'a>), PgError> {
    let (dimensions, _has_nulls, sent) = (fields.i32()?, fields.i32()?, fields.u32()?);
    let count = match dimensions {
        0 => 0,
        1 => {
            let count = fields.i32()?;
            fields.i32()?;
            count
        }
        _ => return Err(PgError::not_supported("an array of several dimensions")),
    };
    // Each item takes at least four bytes.
    if usize::try_from(count).map_or(true, |count| count > fields.rest().len() / 4) {
        return Err(PgError::protocol("an array is shorter than it says"));
    }
    let elements = (0..count).map(|_| fields.value()).collect::<Result<_, PgError>>()?;
    Ok((sent, elements))
}

/// The error for a text that is not an array of one dimension with positions from 1.
pub(in crate::pg) fn malformed_array(text: &str, error: ArrayTextError) -> PgError {
    let code = match error {
        ArrayTextError::Malformed => "22P02",
        ArrayTextError::Dimensions | ArrayTextError::Positions => "0A000",
    };
    PgError::error(code, error.message(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_elements_of_the_expected_type() {
        let of =
            |element: u32| [1, 0, element, 1, 1, 8, 0, 7].iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        let bytes = of(known::INT8);
        assert_eq!(array_elements(&bytes, known::INT8).unwrap(), [Some(&[0, 0, 0, 0, 0, 0, 0, 7][..])]);
        let error = array_elements(&of(known::FLOAT8), known::INT8).unwrap_err();
        assert_eq!(error.code, "42804");
        let expected = "binary data has array element type 701 (double precision) instead of expected 20 (bigint)";
        assert_eq!(error.message, expected);
        assert!(array_elements(&of(known::VARCHAR), known::TEXT).is_ok(), "their bytes are the same");
    }
}
