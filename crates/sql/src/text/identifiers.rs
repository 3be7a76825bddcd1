//! Identifiers: compared without case, shown as they were declared. DataFusion compares names exactly. So each name of
//! a statement gets one spelling, in its tokens and in the schemas of its tables: as the first of the tables in the
//! statement declares it, or else as the statement first writes it. The column names of the outermost SELECT are kept
//! separately, for the answer's schema.

use atsdb_core::Table;
use atsdb_core::name::name_key;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use std::collections::HashMap;
use std::sync::Arc;

/// The spelling of every name in one statement.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    of_key: HashMap<String, String>,
    /// The text as written at positions where the spelling differs.
    written: HashMap<Location, String>,
}

impl Spellings {
    /// Collects the names of a statement and of the tables it mentions, and respells its tokens.
    pub(crate) fn unify(tokens: &mut [TokenWithSpan], tables: &[Table]) -> Self {
        let mut spellings = Self::default();
        // Of two tables with the same name, the first one is meant.
        let tables_by_key: HashMap<String, &Table> =
            tables.iter().rev().map(|table| (name_key(&table.definition.name), table)).collect();
        let keys: Vec<Option<String>> = tokens.iter().map(|token| key_of(&token.token)).collect();
        for table in keys.iter().flatten().filter_map(|key| tables_by_key.get(key)) {
            spellings.declare(&table.definition.name);
            table.definition.columns.iter().for_each(|column| spellings.declare(&column.name));
        }
        for (token, key) in tokens.iter_mut().zip(keys) {
            let (Token::Word(word), Some(key)) = (&mut token.token, key) else { continue };
            let spelling = spellings.of_key.entry(key).or_insert_with(|| word.value.clone());
            if *spelling != word.value {
                let written = std::mem::replace(&mut word.value, spelling.clone());
                spellings.written.insert(token.span.start, written);
            }
        }
        spellings
    }

    fn declare(&mut self, name: &str) {
        self.of_key.entry(name_key(name)).or_insert_with(|| name.to_owned());
    }

    /// The spelling of a name.
    pub(crate) fn spell<'a>(&'a self, name: &'a str) -> &'a str {
        self.of_key.get(&name_key(name)).map_or(name, String::as_str)
    }

    /// The text of the statement at a position, as written.
    pub(crate) fn as_written<'a>(&'a self, value: &'a str, location: Location) -> &'a str {
        self.written.get(&location).map_or(value, String::as_str)
    }

    /// Finds a table by name, compared without case.
    pub(crate) fn find<'a>(tables: &'a [Table], name: &str) -> Option<&'a Table> {
        tables.iter().find(|table| atsdb_core::name::same_name(&table.definition.name, name))
    }
}

/// The spellings of one statement, shared by all parts of its planning.
pub(crate) type SharedSpellings = Arc<Spellings>;

fn key_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(name_key(&word.value)),
        _ => None,
    }
}
