//! A part of a document that is compared with a query, and how much may be compared.

use super::matching::{Document, Occurrences, Truth, matches};
use super::query::{Joint, Query, QueryNode, QueryWord};
use atsdb_core::{Error, Result};

/// The maximum number of words and operators that are examined for one document.
const LOOKS_MAX: usize = 50_000_000;

/// The number of looks that a kept word counts for, because it takes memory.
const LOOKS_OF_KEPT_WORD: usize = 50;

/// The number of words and operators that a function has examined for one document. Without a limit, a long query and a
/// long document take hours.
#[derive(Debug)]
pub(super) struct Looks {
    function: &'static str,
    count: usize,
}

impl Looks {
    pub(super) fn of(function: &'static str) -> Self {
        Self { function, count: 0 }
    }

    /// Counts words and operators that are examined. It is an error if they are too many.
    pub(super) fn count(&mut self, looks: usize) -> Result<()> {
        self.count = self.count.saturating_add(looks);
        if self.count <= LOOKS_MAX {
            return Ok(());
        }
        let error = Error::invalid(format!("{} has too many words to compare", self.function));
        Err(error.with_hint("look for fewer words, or in a part of the text: left(x, 10000)"))
    }

    /// Counts words that are kept.
    pub(super) fn count_kept(&mut self, words: usize) -> Result<()> {
        self.count(words.saturating_mul(LOOKS_OF_KEPT_WORD))
    }
}

/// A part of a document, as far as a query finds words in it.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    query: &'a Query,
    /// The positions of each node's word.
    positions: Vec<Vec<u32>>,
    /// The number of all positions.
    count: usize,
    /// Whether the query has phrases, which depend on positions.
    has_phrases: bool,
}

impl<'a> Excerpt<'a> {
    /// The excerpt without words.
    pub(super) fn of(query: &'a Query) -> Self {
        let is_phrase = |node: &QueryNode| matches!(node, QueryNode::Joined { joint: Joint::Phrase(_), .. });
        let positions = vec![Vec::new(); query.nodes().len()];
        Self { query, positions, count: 0, has_phrases: query.nodes().iter().any(is_phrase) }
    }

    pub(super) fn clear(&mut self) {
        self.positions.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    /// Adds the word at a position, which a node found.
    pub(super) fn add(&mut self, node: usize, position: u32) {
        self.positions[node].push(position);
        self.count += 1;
    }

    /// Returns whether the excerpt matches the query.
    pub(super) fn matches(&self, looks: &mut Looks) -> Result<bool> {
        let at_positions = if self.has_phrases { self.count } else { 0 };
        looks.count(self.positions.len() + at_positions)?;
        Ok(matches(self.query, self))
    }
}

impl Document for Excerpt<'_> {
    fn has(&self, node: usize, _: &QueryWord) -> Truth {
        if self.positions[node].is_empty() { Truth::No } else { Truth::Yes }
    }

    fn occurrences(&self, node: usize, _: &QueryWord) -> Occurrences {
        Occurrences::at(self.positions[node].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::query_text::parse;
    use super::*;

    /// The error of comparing ever longer excerpts of a document that consists of the first word of a query.
    fn compared(query: &str, words: u32) -> Result<()> {
        let query = parse(query).unwrap();
        let (mut excerpt, mut looks) = (Excerpt::of(&query), Looks::of("ts_headline"));
        (0..words).try_for_each(|at| {
            excerpt.add(0, at);
            excerpt.matches(&mut looks).map(|is_match| assert!(!is_match))
        })
    }

    #[test]
    fn phrases_are_looked_for_at_a_limited_number_of_positions() {
        assert!(compared("a & b", 20_000).is_ok());
        assert!(compared("a <-> b", 2_000).is_ok());
        let error = compared("a <-> b", 20_000).unwrap_err();
        assert!(error.message().contains("ts_headline has too many words to compare"));
    }
}
