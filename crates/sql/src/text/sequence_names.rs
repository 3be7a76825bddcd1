//! Names of the sequences of identity columns, as PostgreSQL gives them: `TABLE_COLUMN_seq`. There are no other
//! sequences, and these have no name of their own: they follow the names of the table and the column.

use atsdb_core::Table;
use atsdb_core::name::same_name;

/// The schemas that a name may say.
const SCHEMAS: [&str; 3] = ["public", "main", "pg_temp"];

/// The name of the sequence of a column.
pub(crate) fn sequence_name(table: &str, column: &str) -> String {
    format!("{table}_{column}_seq")
}

/// The same with its schema, as a text that [`find_sequence`] reads.
pub(crate) fn qualified_sequence_name(table: &str, column: &str) -> String {
    let name = sequence_name(table, column);
    let mut characters = name.chars();
    let is_start = |first: char| first.is_ascii_lowercase() || first == '_';
    let is_part = |part: char| part.is_ascii_lowercase() || part.is_ascii_digit() || part == '_';
    match characters.next().is_some_and(is_start) && characters.all(is_part) {
        true => format!("public.{name}"),
        false => format!("public.\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The table and the position of the identity column whose sequence has this name.
pub(crate) fn find_sequence<'a>(tables: &'a [Table], text: &str) -> Option<(&'a Table, usize)> {
    let name = last_part(text)?;
    let owns = |(table, (position, _)): &(&Table, (usize, _))| {
        let definition = &table.definition;
        same_name(&sequence_name(&definition.name, &definition.columns[*position].name), &name)
    };
    let mut all = tables.iter().flat_map(|table| table.definition.identities().map(move |identity| (table, identity)));
    all.find(owns).map(|(table, (position, _))| (table, position))
}

/// The name in a text that may also name a schema. A part may be in double quotes.
pub(crate) fn last_part(text: &str) -> Option<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let (mut quoted, mut characters) = (false, text.trim().chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                parts.last_mut()?.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            other => parts.last_mut()?.push(other),
        }
    }
    match parts.as_slice() {
        _ if quoted => None,
        [name] => Some(name.clone()),
        [schema, name] if SCHEMAS.iter().any(|known| known.eq_ignore_ascii_case(schema)) => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, Identity, TableDefinition, TableId};

    fn numbered(name: &str, column: &str) -> Table {
        let mut definition = TableDefinition::new(name).with_column(column, ColumnType::Int64, None);
        definition.columns[0].nullable = false;
        definition.columns[0].identity = Some(Identity::by_default());
        Table::new(TableId(1), definition)
    }

    #[test]
    fn a_sequence_is_found_by_every_spelling_of_its_name() {
        let tables = [numbered("t", "id"), numbered("A \"b\"", "No")];
        for text in ["t_id_seq", "public.t_id_seq", "\"t_id_seq\"", "T_ID_SEQ", "main.\"t_id_seq\""] {
            assert_eq!(find_sequence(&tables, text).unwrap().0.definition.name, "t", "{text}");
        }
        let name = qualified_sequence_name("A \"b\"", "No");
        assert_eq!(name, "public.\"A \"\"b\"\"_No_seq\"");
        assert_eq!(find_sequence(&tables, &name).unwrap().0.definition.name, "A \"b\"");
        for text in ["t", "other.t_id_seq", "\"t_id_seq", "", "a.b.t_id_seq"] {
            assert!(find_sequence(&tables, text).is_none(), "{text}");
        }
    }
}
