//! The length that a type of texts declares.

use datafusion::sql::sqlparser::ast::{CharacterLength, DataType};

/// The length of `char`.
const ONE_CHARACTER: CharacterLength = CharacterLength::IntegerLength { length: 1, unit: None };

/// The length of a type of texts, and whether it counts no spaces at the end, as a `char(n)` does.
pub fn declared_length(data_type: &DataType) -> Option<(u64, bool)> {
    let (length, is_padded) = match data_type {
        DataType::Varchar(length) | DataType::Nvarchar(length) => ((*length)?, false),
        DataType::CharVarying(length) | DataType::CharacterVarying(length) => ((*length)?, false),
        DataType::Char(length) | DataType::Character(length) => (length.unwrap_or(ONE_CHARACTER), true),
        DataType::Custom(name, arguments) if name.to_string().eq_ignore_ascii_case("bpchar") => {
            let [length] = arguments.as_slice() else { return None };
            return Some((length.parse().ok()?, true));
        }
        _ => return None,
    };
    match length {
        CharacterLength::IntegerLength { length, .. } => Some((length, is_padded)),
        CharacterLength::Max => None,
    }
}
