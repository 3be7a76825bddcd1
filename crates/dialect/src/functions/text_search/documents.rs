//! Documents and queries from plain text, by a configuration.

use super::dictionaries::Configuration;
use super::excerpt::Looks;
use super::matching::matches;
use super::query::{Joint, Query};
use super::query_text::{QueryBuilder, WordMarks, of_plain_text, parse_with};
use super::vector::{Lexeme, Position, Vector, Weight};
use super::words::TextForm;
use atsdb_core::Result;
use std::borrow::Cow;

/// The number of positions of a word in a document that are kept.
const POSITIONS_MAX: usize = 255;

/// The size of a query that each word of a text is compared with, and that any vector is compared with.
const COMPARED_NODES_MAX: usize = 64;

/// The way in which a text is read as a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum QueryStyle {
    /// A text with operators.
    Operators,
    /// All words, anywhere.
    Plain,
    /// All words, one after another.
    Phrase,
    /// A text in the form that search engines on the web accept.
    Web,
}

/// The vector of a text.
pub(super) fn to_vector(configuration: Configuration, text: &str) -> Result<Vector> {
    Vector::of(lexemes(configuration.words(text)))
}

/// Returns whether a vector matches a query.
pub(super) fn vector_matches(vector: &Vector, query: &Query) -> Result<bool> {
    if query.nodes().len() > COMPARED_NODES_MAX {
        let mut looks = Looks::of("@@");
        for (_, word) in query.words() {
            let found = vector.found(&word.word, word.is_prefix);
            looks.count(found.iter().map(|lexeme| 1 + lexeme.positions.len()).sum())?;
        }
    }
    Ok(matches(query, vector))
}

/// Returns whether a text matches a query. Only words of the query are collected, unless it has many.
pub(super) fn text_matches(configuration: Configuration, text: &str, query: &Query) -> Result<bool> {
    let has_many = query.nodes().len() > COMPARED_NODES_MAX;
    let is_wanted = |found: &str| has_many || query.words().any(|(_, word)| word.finds(found));
    let wanted = configuration.words(text).filter(|(_, word)| is_wanted(word));
    vector_matches(&Vector::of(lexemes(wanted))?, query)
}

fn lexemes<'a>(words: impl Iterator<Item = (u16, Cow<'a, str>)>) -> Vec<Lexeme> {
    let mut words: Vec<(Cow<'a, str>, u16)> = words.map(|(at, word)| (word, at)).collect();
    words.sort_unstable();
    let mut lexemes: Vec<Lexeme> = Vec::new();
    for (word, at) in words {
        let position = Position { at, weight: Weight::D };
        match lexemes.last_mut() {
            Some(last) if last.word == word => {
                if last.positions.len() < POSITIONS_MAX {
                    last.positions.push(position);
                }
            }
            _ => lexemes.push(Lexeme { word: word.into_owned(), positions: vec![position] }),
        }
    }
    lexemes
}

/// The query that a text is read as.
pub(super) fn to_query(configuration: Configuration, text: &str, style: QueryStyle) -> Result<Query> {
    let joint = if style == QueryStyle::Plain { Joint::And } else { Joint::Phrase(1) };
    let mut take = |builder: &mut QueryBuilder, text: &str, marks: WordMarks| {
        push_words(builder, configuration, text, marks, joint)
    };
    match style {
        QueryStyle::Operators => parse_with(text, TextForm::Query, &mut take),
        QueryStyle::Web => parse_with(text, TextForm::Web, &mut take),
        QueryStyle::Plain | QueryStyle::Phrase => of_plain_text(text, &mut take),
    }
}

/// Pushes the words of a part of a query as one operand. Words between them that are left out keep their places.
fn push_words(
    builder: &mut QueryBuilder,
    configuration: Configuration,
    text: &str,
    marks: WordMarks,
    joint: Joint,
) -> Result<()> {
    let mut last = None;
    for (at, word) in configuration.words(text) {
        for _ in last.map_or(at, |last| last + 1)..at {
            builder.push_stop()?;
            builder.push_joint(joint)?;
        }
        builder.push_word(&word, marks)?;
        if last.is_some() {
            builder.push_joint(joint)?;
        }
        last = Some(at);
    }
    if last.is_none() { builder.push_stop() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Configuration::{English, Simple};

    fn query(text: &str, style: QueryStyle) -> String {
        to_query(English, text, style).unwrap().text()
    }

    #[test]
    fn documents_become_vectors() {
        let text = "The Fat Rats ate the cat's 12.5 mice at http://a.com/x";
        let vector = to_vector(English, text).unwrap().text();
        assert_eq!(vector, "'/x':13 '12.5':8 'a.com':12 'a.com/x':11 'ate':4 'cat':6 'fat':2 'mice':9 'rat':3");
        assert_eq!(to_vector(Simple, "b B a").unwrap().text(), "'a':3 'b':1,2");
        let many = to_vector(Simple, &"a ".repeat(300)).unwrap();
        assert_eq!(many.lexemes()[0].positions.len(), POSITIONS_MAX);
    }

    #[test]
    fn texts_become_queries() {
        for (text, style, expected) in [
            ("The & Fat & Rats", QueryStyle::Operators, "'fat' & 'rat'"),
            ("Fat | rats:AB & !the", QueryStyle::Operators, "'fat' | 'rat':AB"),
            ("super:*", QueryStyle::Operators, "'super':*"),
            ("pg_class <-> x", QueryStyle::Operators, "'pg' <-> 'class' <-> 'x'"),
            ("1 <-> the <-> 2", QueryStyle::Operators, "'1' <2> '2'"),
            ("The Fat Rats", QueryStyle::Plain, "'fat' & 'rat'"),
            ("The Cat and Rats", QueryStyle::Phrase, "'cat' <2> 'rat'"),
            ("the", QueryStyle::Plain, ""),
            ("\"supernovae stars\" -crab", QueryStyle::Web, "'supernova' <-> 'star' & !'crab'"),
            ("sad cat or fat rat", QueryStyle::Web, "'sad' & 'cat' | 'fat' & 'rat'"),
            ("a or", QueryStyle::Web, ""),
            ("x \"a_b c\" ! ( or", QueryStyle::Web, "'x' & 'b' <-> 'c'"),
        ] {
            assert_eq!(query(text, style), expected, "{text}");
        }
    }

    #[test]
    fn a_text_matches_as_its_vector_does() {
        let text = "connection to db-1.example.com:5432 timed out after 30s";
        for words in ["connection timeout", "connections", "\"timed out\"", "out -after", "db-1.example.com:5432"] {
            let query = to_query(English, words, QueryStyle::Web).unwrap();
            let expected = matches(&query, &to_vector(English, text).unwrap());
            assert_eq!(text_matches(English, text, &query).unwrap(), expected, "{words}");
        }
    }

    #[test]
    fn long_queries_look_at_a_limited_number_of_positions() {
        let positions = (1..=250).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
        let words: Vec<String> = (0..200).map(|number| format!("a{number}:{positions}")).collect();
        let vector = Vector::parse(&words.join(" ")).unwrap();
        let query = |count: usize| to_query(Simple, &vec!["a:*"; count].join(" <-> "), QueryStyle::Operators).unwrap();
        assert!(vector_matches(&vector, &query(33)).unwrap());
        let error = vector_matches(&vector, &query(1_100)).unwrap_err();
        assert!(error.message().contains("@@ has too many words to compare"));
    }
}
