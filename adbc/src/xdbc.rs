//! The numbers that ODBC and JDBC have for types.

/// The numbers of a type.
pub(crate) struct XdbcType {
    pub(crate) data_type: i16,
    pub(crate) sql_data_type: i16,
    /// For a date, a time or a timestamp: which of them it is.
    pub(crate) datetime_sub: Option<i16>,
}

impl XdbcType {
    /// The numbers of the type that `information_schema` calls this.
    pub(crate) fn of(sql_name: &str) -> Option<Self> {
        let plain = |data_type| Some(Self { data_type, sql_data_type: data_type, datetime_sub: None });
        match sql_name.trim_end_matches(" UNSIGNED") {
            "BOOLEAN" => plain(16),
            "TINYINT" => plain(-6),
            "SMALLINT" => plain(5),
            "INT" => plain(4),
            "BIGINT" => plain(-5),
            "REAL" => plain(7),
            "DOUBLE" => plain(8),
            // Read as text, UUIDs and JSON documents, too.
            "TEXT" | "UUID" | "JSON" => plain(12),
            name if name.starts_with("VARCHAR(") => plain(12),
            name if name.starts_with("CHAR(") => plain(1),
            "BLOB" => plain(-3),
            "DATE" => Some(Self { data_type: 91, sql_data_type: 9, datetime_sub: Some(1) }),
            "TIME" => Some(Self { data_type: 92, sql_data_type: 9, datetime_sub: Some(2) }),
            name if name.ends_with("[]") || name == "ARRAY" => plain(2003),
            name if name.starts_with("DECIMAL") => plain(3),
            name if name.starts_with("TIMESTAMP") => {
                Some(Self { data_type: 93, sql_data_type: 9, datetime_sub: Some(3) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_numbers_of_odbc_and_jdbc() {
        let number = |name| XdbcType::of(name).map(|xdbc| xdbc.data_type);
        let known = [
            ("INT UNSIGNED", 4),
            ("DECIMAL(12, 2)", 3),
            ("TIME", 92),
            ("TIMESTAMP(3)", 93),
            ("UUID", 12),
            ("VARCHAR(20)", 12),
            ("CHAR(3)", 1),
            ("ARRAY", 2003),
        ];
        for (name, wanted) in known {
            assert_eq!(number(name), Some(wanted), "{name}");
        }
        assert_eq!(number("INTERVAL"), None);
        assert_eq!(XdbcType::of("TIME").and_then(|xdbc| xdbc.datetime_sub), Some(2));
    }
}
