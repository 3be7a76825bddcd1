//! Identifiers: compared without case, shown as they were declared. DataFusion compares names exactly. So each name of
//! a statement gets one spelling, in its tokens and in the schemas of its tables: as the first of the tables in the
//! statement declares it, or else as the statement first writes it. The column names of the outermost SELECT are kept
//! separately, for the answer's schema.

use super::table_names::{Scope, TableName};
use atsdb_core::Table;
use atsdb_core::name::name_key;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The column that `WITH ORDINALITY` adds, however these words are written.
const ORDINALITY: &str = "ordinality";

/// The spelling of every name in one statement.
#[derive(Debug, Default)]
pub struct Spellings {
    of_key: HashMap<String, String>,
    /// The text as written at positions where the spelling differs.
    written: HashMap<Location, String>,
}

impl Spellings {
    /// Collects the names of a statement and of the tables it mentions, and respells its tokens.
    pub fn unify(tokens: &mut [TokenWithSpan], scope: Scope<'_>) -> Self {
        let mut spellings = Self::default();
        let keys: Vec<Option<String>> = tokens.iter().map(|token| key_of(&token.token)).collect();
        for table in named_tables(tokens, &keys, scope) {
            table.definition.schema.iter().for_each(|schema| spellings.declare(schema));
            spellings.declare(table.definition.local_name());
            table.definition.columns.iter().for_each(|column| spellings.declare(&column.name));
        }
        let words = || keys.iter().flatten();
        if words().zip(words().skip(1)).any(|(first, second)| first == "with" && second == ORDINALITY) {
            spellings.declare(ORDINALITY);
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
    pub fn spell<'a>(&'a self, name: &'a str) -> &'a str {
        self.of_key.get(&name_key(name)).map_or(name, String::as_str)
    }

    /// The text of the statement at a position, as written.
    pub fn as_written<'a>(&'a self, value: &'a str, location: Location) -> &'a str {
        self.written.get(&location).map_or(value, String::as_str)
    }
}

/// The tables that the words of a statement may mean: first those with a schema before them, then the others.
fn named_tables<'a>(tokens: &[TokenWithSpan], keys: &[Option<String>], scope: Scope<'a>) -> Vec<&'a Table> {
    let names: HashSet<String> = scope.tables.iter().map(|table| name_key(table.definition.local_name())).collect();
    let (mut seen, mut qualified, mut others) = (HashSet::new(), Vec::new(), Vec::new());
    let mut before = [None, None];
    for (at, token) in tokens.iter().enumerate() {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        if let Some(key) = keys[at].as_ref().filter(|key| names.contains(*key)) {
            let is_after_point = before[1].is_some_and(|last: usize| tokens[last].token == Token::Period);
            let schema = before[0].filter(|_| is_after_point).and_then(|first: usize| keys[first].as_deref());
            if seen.insert((schema, key)) {
                let found = scope.find(&TableName::of_parts(schema, key));
                if schema.is_some() { &mut qualified } else { &mut others }.extend(found);
            }
        }
        before = [before[1], Some(at)];
    }
    qualified.into_iter().chain(others).collect()
}

/// The spellings of one statement, shared by all parts of its planning.
pub type SharedSpellings = Arc<Spellings>;

fn key_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(name_key(&word.value)),
        _ => None,
    }
}
