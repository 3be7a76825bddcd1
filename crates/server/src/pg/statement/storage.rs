//! PostgreSQL's storage parameters in definitions of tables, which are accepted and ignored.

use atsdb::sql::{Word, Words, is_storage_parameter};

/// The storage parameters in a `CREATE TABLE` or `ALTER TABLE`.
pub(in crate::pg) fn ignored_parameters(text: &str) -> Vec<String> {
    let mut words = Words::new(text);
    if !(words.accept("create") || words.accept("alter")) {
        return Vec::new();
    }
    let words: Vec<Word> = words.collect();
    let found = words.windows(2).filter_map(|pair| match pair {
        [Word::Name(name), Word::Symbol('=')] if is_storage_parameter(name) => Some(name.clone()),
        _ => None,
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_parameters_are_found_where_tables_are_defined() {
        let found = |text| ignored_parameters(text).join(" ");
        let both = "create table t (a int) with (fillfactor=90, slice = 'day', autovacuum_enabled = false)";
        assert_eq!(found(both), "fillfactor autovacuum_enabled");
        assert_eq!(found("ALTER TABLE t SET (FillFactor = 70)"), "fillfactor");
        assert_eq!(found("CREATE TABLE t (fillfactor INT)"), "");
        assert_eq!(found("UPDATE t SET fillfactor = 70"), "");
    }
}
