//! Stored tables behind temporary ones of the same name. Queries name them with their schema, `public.t`; other
//! statements look tables up by the last part of their name alone, so there such a name is refused.

use super::state::Session;
use crate::text::errors::sql_error;
use crate::text::words::{Word, Words};
use atsdb_core::Result;
use atsdb_core::name::same_name;
use atsdb_engine::TemporaryTables;

/// The schemas of stored tables.
const STORED: [&str; 2] = ["public", "main"];

/// The names that a statement changes stand at its beginning.
const NAMES_WITHIN_BYTES: usize = 64 << 10;

impl Session {
    /// Refuses a statement that is no query and names a stored table that a temporary one hides.
    pub(super) fn refuse_hidden(&self, text: &str) -> Result<()> {
        if !self.has_temporary() {
            return Ok(());
        }
        let mut end = text.len().min(NAMES_WITHIN_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let names = stored_names(&text[..end]);
        if names.is_empty() {
            return Ok(());
        }
        let tables = self.tables()?;
        let mut temporary = tables.iter().filter(|table| TemporaryTables::contain(table));
        let is_named = |name: &str| names.iter().any(|named| same_name(named, name));
        match temporary.find(|table| is_named(&table.definition.name)) {
            None => Ok(()),
            Some(table) => {
                let name = &table.definition.name;
                Err(sql_error(format!("the temporary table {name} hides the stored one in this session"))
                    .with_hint(format!("DROP TABLE {name} drops the temporary table, or use another session")))
            }
        }
    }
}

/// The names behind `public.` and `main.`.
fn stored_names(text: &str) -> Vec<String> {
    let may_name =
        |schema: &&str| text.as_bytes().windows(schema.len()).any(|part| part.eq_ignore_ascii_case(schema.as_bytes()));
    if !STORED.iter().any(may_name) {
        return Vec::new();
    }
    let words: Vec<Word> = Words::new(text).collect();
    let named = words.windows(3).filter_map(|words| match words {
        [Word::Name(schema) | Word::Quoted(schema), Word::Symbol('.'), Word::Name(name) | Word::Quoted(name)] => {
            STORED.iter().any(|stored| stored.eq_ignore_ascii_case(schema)).then(|| name.clone())
        }
        _ => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_schema_of_stored_tables_are_found() {
        assert_eq!(stored_names("DELETE FROM Public . t USING main.\"U\", x.y WHERE 'public.z' = a"), ["t", "U"]);
        assert!(stored_names("INSERT INTO t VALUES (1)").is_empty());
    }
}
