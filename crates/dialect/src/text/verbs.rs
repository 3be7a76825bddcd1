//! The words that statements begin with.

use VerbKind::{Change, Definition, Query, Transaction};
use atsdb_core::name::nearest_name;

/// The effect of statements that begin with a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbKind {
    /// They only read, or set what holds anyway.
    Query,
    /// They begin or end a transaction or a savepoint.
    Transaction,
    /// They add, change or remove rows, or compute rows that are stored.
    Change,
    /// They create, alter, drop, maintain or comment on tables, views, indexes and rollups.
    Definition,
}

/// The verbs and what they do. `WITH` and `FROM` may introduce a change.
const VERBS: [(&str, VerbKind); 36] = [
    ("SELECT", Query),
    ("INSERT", Change),
    ("UPDATE", Change),
    ("DELETE", Change),
    ("MERGE", Change),
    ("WITH", Query),
    ("VALUES", Query),
    ("FROM", Query),
    ("TABLE", Query),
    ("EXPLAIN", Query),
    ("SHOW", Query),
    ("DESCRIBE", Query),
    ("DESC", Query),
    ("SUMMARIZE", Query),
    ("SET", Query),
    ("PRAGMA", Query),
    ("BEGIN", Transaction),
    ("START", Transaction),
    ("COMMIT", Transaction),
    ("END", Transaction),
    ("ROLLBACK", Transaction),
    ("SAVEPOINT", Transaction),
    ("RELEASE", Transaction),
    ("REPLACE", Change),
    ("TRUNCATE", Change),
    ("COPY", Change),
    ("LOAD", Change),
    ("CHECKPOINT", Change),
    ("REFRESH", Change),
    ("CREATE", Definition),
    ("DROP", Definition),
    ("ALTER", Definition),
    ("ANALYZE", Definition),
    ("ANALYSE", Definition),
    ("VACUUM", Definition),
    ("COMMENT", Definition),
];

/// The first word of a statement in upper case; empty if it begins with something else, such as `(`.
pub fn verb_of(statement: &str) -> String {
    statement.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
}

/// Returns the effect of statements that begin with a verb, given in upper case; `None` if no statement begins with it.
pub fn verb_kind(verb: &str) -> Option<VerbKind> {
    VERBS.iter().find(|(known, _)| *known == verb).map(|(_, kind)| *kind)
}

/// The verb that a word may have been meant to be.
pub fn nearest_verb(word: &str) -> Option<&'static str> {
    nearest_name(word, VERBS.map(|(verb, _)| verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_is_listed_once() {
        for (position, (verb, kind)) in VERBS.iter().enumerate() {
            assert_eq!(verb_of(&format!("{} x", verb.to_ascii_lowercase())), *verb);
            assert_eq!(verb_kind(verb), Some(*kind));
            assert!(VERBS[..position].iter().all(|(other, _)| other != verb), "{verb}");
        }
        assert_eq!(verb_of("(SELECT 1)"), "");
        assert_eq!((verb_kind(""), verb_kind("SELCT")), (None, None));
    }
}
