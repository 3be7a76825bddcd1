//! Names as SQL text.

use atsdb_core::TableDefinition;
use datafusion::sql::sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_IDENTIFIER,
    RESERVED_FOR_TABLE_ALIAS,
};

/// The name of a table as SQL text, with its schema unless that is `public`.
pub fn qualified(definition: &TableDefinition) -> String {
    let name = quoted(definition.local_name());
    match &definition.schema {
        Some(schema) => format!("{}.{name}", quoted(schema)),
        None => name,
    }
}

/// A name as SQL text, in double quotes if the parser would not read it as a name without them.
pub fn quoted(name: &str) -> String {
    let mut characters = name.chars();
    let plain = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_');
    if plain && !is_reserved(name) { name.to_owned() } else { always_quoted(name) }
}

/// A name as SQL text, in double quotes.
pub fn always_quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn is_reserved(name: &str) -> bool {
    const BEGIN_A_CONSTRAINT: [Keyword; 9] = [
        Keyword::CONSTRAINT,
        Keyword::PRIMARY,
        Keyword::UNIQUE,
        Keyword::FOREIGN,
        Keyword::CHECK,
        Keyword::INDEX,
        Keyword::KEY,
        Keyword::FULLTEXT,
        Keyword::SPATIAL,
    ];
    const BEGIN_AN_EXPRESSION: [Keyword; 9] = [
        Keyword::CASE,
        Keyword::CAST,
        Keyword::NOT,
        Keyword::NULL,
        Keyword::TRUE,
        Keyword::FALSE,
        Keyword::LIKE,
        Keyword::ALL,
        Keyword::DISTINCT,
    ];
    let Ok(position) = ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()) else {
        return false;
    };
    let keyword = ALL_KEYWORDS_INDEX[position];
    RESERVED_FOR_COLUMN_ALIAS.contains(&keyword)
        || RESERVED_FOR_TABLE_ALIAS.contains(&keyword)
        || RESERVED_FOR_IDENTIFIER.contains(&keyword)
        || BEGIN_A_CONSTRAINT.contains(&keyword)
        || BEGIN_AN_EXPRESSION.contains(&keyword)
}
