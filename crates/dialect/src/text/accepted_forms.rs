//! Descriptions of the values that each type accepts, for hints in errors about values.

/// Returns a hint that describes the values of the type with this SQL name. `None` for types whose values have no form
/// of their own, such as TEXT, and for arrays.
pub fn accepted_form(sql_name: &str) -> Option<&'static str> {
    if sql_name.ends_with("[]") {
        return None;
    }
    let (name, _) = sql_name.split_once('(').unwrap_or((sql_name, ""));
    Some(match name {
        "BOOLEAN" => "write true or false",
        "TINYINT" => "a TINYINT is a whole number from -128 to 127",
        "SMALLINT" => "a SMALLINT is a whole number from -32768 to 32767",
        "INT" => "an INT is a whole number from -2147483648 to 2147483647",
        "BIGINT" => "a BIGINT is a whole number from -9223372036854775808 to 9223372036854775807",
        "TINYINT UNSIGNED" => "a TINYINT UNSIGNED is a whole number from 0 to 255",
        "SMALLINT UNSIGNED" => "a SMALLINT UNSIGNED is a whole number from 0 to 65535",
        "INT UNSIGNED" => "an INT UNSIGNED is a whole number from 0 to 4294967295",
        "BIGINT UNSIGNED" => "a BIGINT UNSIGNED is a whole number from 0 to 18446744073709551615",
        "REAL" | "DOUBLE" => "write a number such as 1.5 or 2e-3, or 'NaN' or 'Infinity'",
        "DECIMAL" => "write a number such as 12.5, with no more digits than the type has",
        "TIMESTAMP" => "write a time as '2024-03-01 12:00:00', or a date as '2024-03-01'",
        "DATE" => "write a date as '2024-03-01'",
        "TIME" => "write a time of day as '12:30:00'",
        "INTERVAL" => "write an interval as '5 minutes' or '1 day 12:30'",
        "UUID" => "write a UUID as 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::accepted_form;
    use atsdb_core::{ColumnType, TimeUnit};

    #[test]
    fn a_type_with_digits_has_the_form_of_the_type() {
        let form = |column_type: ColumnType| accepted_form(&column_type.sql_name());
        assert_eq!(form(ColumnType::Timestamp(TimeUnit::Second)), accepted_form("TIMESTAMP"));
        assert_eq!(form(ColumnType::Decimal { precision: 8, scale: 2 }), accepted_form("DECIMAL"));
        assert!(accepted_form("TIMESTAMP").is_some() && accepted_form("DECIMAL").is_some());
        assert_eq!([form(ColumnType::Text), accepted_form("INT[]")], [None, None]);
    }
}
