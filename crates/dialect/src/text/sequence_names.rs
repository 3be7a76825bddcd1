//! Names of sequences. Those of identity columns have no name of their own: they follow the names of the table and the
//! column, as PostgreSQL gives them: `TABLE_COLUMN_seq`, in the schema of the table.

use super::table_names::{NamedSchema, Scope, TEMPORARY_SCHEMA, TableName};
use atsdb_core::name::same_name;
use atsdb_core::{PUBLIC_SCHEMA, QualifiedName, Table};

/// The functions whose first argument is the name of a sequence.
const FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// Returns whether the first argument of the function with this name is the name of a sequence.
pub fn is_of_sequences(function: &str) -> bool {
    FUNCTIONS.iter().any(|known| function.eq_ignore_ascii_case(known))
}

/// The name of the sequence of a column.
pub fn sequence_name(table: &str, column: &str) -> String {
    format!("{table}_{column}_seq")
}

/// The text that [`find_sequence`] reads for a sequence of its own.
pub fn sequence_text(name: &QualifiedName) -> String {
    format!("{}.{}", quoted(name.schema.as_deref().unwrap_or(PUBLIC_SCHEMA)), quoted(&name.name))
}

/// The same with its schema, as a text that [`find_sequence`] reads.
pub fn qualified_sequence_name(table: &Table, column: &str) -> String {
    let TableName { schema, name } = TableName::of_table(table);
    let schema = match &schema {
        NamedSchema::Other(schema) => schema.as_str(),
        NamedSchema::Temporary => TEMPORARY_SCHEMA,
        NamedSchema::Public | NamedSchema::Unsaid => PUBLIC_SCHEMA,
    };
    format!("{}.{}", quoted(schema), quoted(&sequence_name(&name, column)))
}

/// A name, in quotes if PostgreSQL would not read it as it is.
fn quoted(name: &str) -> String {
    let mut characters = name.chars();
    let is_start = |first: char| first.is_ascii_lowercase() || first == '_';
    let is_part = |part: char| part.is_ascii_lowercase() || part.is_ascii_digit() || part == '_';
    match characters.next().is_some_and(is_start) && characters.all(is_part) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The sequence with this name, or the table and the position of the identity column whose sequence has it.
pub fn find_sequence<'a>(scope: Scope<'a>, text: &str) -> Option<(&'a Table, usize)> {
    let name = name_in(text)?;
    let in_schema = |schema: NamedSchema| {
        let tables = scope.tables.iter().filter(|table| schema.has(table));
        let mut all = tables.flat_map(|table| table.definition.identities().map(move |identity| (table, identity)));
        all.find_map(|(table, (position, _))| {
            let definition = &table.definition;
            let own = match definition.sequence {
                true => definition.local_name().to_owned(),
                false => sequence_name(definition.local_name(), &definition.columns[position].name),
            };
            same_name(&own, &name.name).then_some((table, position))
        })
    };
    name.schemas(scope.path).into_iter().find_map(in_schema)
}

/// The name in a text that may also name a schema. A part may be in double quotes.
pub fn name_in(text: &str) -> Option<TableName> {
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
        [name] => Some(TableName::unsaid(name)),
        [schema, name] => Some(TableName::of_parts(Some(schema), name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, Identity, SearchPath, TableDefinition, TableId};

    fn numbered(name: &str, column: &str) -> Table {
        numbered_in(None, name, column)
    }

    fn numbered_in(schema: Option<&str>, name: &str, column: &str) -> Table {
        let mut definition = TableDefinition::new_in(schema, name).with_column(column, ColumnType::Int64, None);
        definition.columns[0].nullable = false;
        definition.columns[0].identity = Some(Identity::by_default());
        Table::new(TableId(1), definition)
    }

    #[test]
    fn a_sequence_is_found_by_every_spelling_of_its_name() {
        let tables = [numbered("t", "id"), numbered("A \"b\"", "No"), numbered_in(Some("s"), "t", "id")];
        let find = |text: &str| find_sequence(Scope::in_public(&tables), text);
        for text in ["t_id_seq", "public.t_id_seq", "\"t_id_seq\"", "T_ID_SEQ", "main.\"t_id_seq\""] {
            assert_eq!(find(text).unwrap().0.definition.name, "t", "{text}");
        }
        let name = qualified_sequence_name(&tables[1], "No");
        assert_eq!(name, "public.\"A \"\"b\"\"_No_seq\"");
        assert_eq!(find(&name).unwrap().0.definition.name, "A \"b\"");
        for text in ["t", "other.t_id_seq", "\"t_id_seq", "", "a.b.t_id_seq"] {
            assert!(find(text).is_none(), "{text}");
        }
        assert_eq!(qualified_sequence_name(&tables[2], "id"), "s.t_id_seq");
        assert_eq!(find("s.t_id_seq").unwrap().0.definition.name, "s.t");
        let path = SearchPath::parse("s, public").unwrap();
        let found = find_sequence(Scope { tables: &tables, path: &path }, "t_id_seq");
        assert_eq!(found.unwrap().0.definition.name, "s.t");
    }
}
