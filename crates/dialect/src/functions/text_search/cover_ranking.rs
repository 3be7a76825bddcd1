//! Ranks by covers: a document ranks by how close the words of the query are to each other (`ts_rank_cd`). A cover is a
//! part of the document that matches the query, and does not without its first or its last word.

use super::excerpt::{Excerpt, Looks};
use super::query::Query;
use super::ranking::{BELOW_ONE, BY_DISTANCE, BY_LENGTH, BY_LOG_LENGTH, BY_LOG_WORDS, BY_WORDS, length, real};
use super::vector::{Position, Vector, Weight};
use atsdb_core::Result;
use std::collections::BTreeMap;
use std::f64::consts::LN_2;

/// A word of the document that the query looks for.
struct FoundWord {
    position: Position,
    /// The nodes of the query that look for it.
    nodes: Vec<usize>,
}

/// Returns the words of a document that a query looks for, by position and weight. Words without positions are skipped.
fn found_words(vector: &Vector, query: &Query, looks: &mut Looks) -> Result<Vec<FoundWord>> {
    let mut found: BTreeMap<(u16, Weight, &str), FoundWord> = BTreeMap::new();
    for (node, word) in query.words() {
        for lexeme in vector.found(&word.word, word.is_prefix) {
            for position in &lexeme.positions {
                if word.may_have(position.weight) {
                    looks.count_kept(1)?;
                    let key = (position.at, position.weight, lexeme.word.as_str());
                    let of = found.entry(key).or_insert(FoundWord { position: *position, nodes: Vec::new() });
                    of.nodes.push(node);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Finds the covers of a document, one after another.
struct Covers<'a> {
    words: &'a [FoundWord],
    excerpt: Excerpt<'a>,
    /// The first word that the next cover may have.
    from: usize,
    looks: Looks,
}

impl Covers<'_> {
    /// The first and the last word of the next cover.
    fn next_cover(&mut self) -> Result<Option<(usize, usize)>> {
        loop {
            self.excerpt.clear();
            let Some(last) = self.first_match(self.from..self.words.len())? else {
                return Ok(None);
            };
            self.excerpt.clear();
            if let Some(first) = self.first_match((self.from..last + 1).rev())? {
                self.from = first + 1;
                return Ok(Some((first, last)));
            }
            self.from += 1;
        }
    }

    /// The first word with which those before it match the query.
    fn first_match(&mut self, words: impl Iterator<Item = usize>) -> Result<Option<usize>> {
        for at in words {
            let word = &self.words[at];
            for node in &word.nodes {
                self.excerpt.add(*node, u32::from(word.position.at));
            }
            if self.excerpt.matches(&mut self.looks)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

/// The rank by how close the words are.
pub(super) fn rank_by_covers(weights: &[f32; 4], vector: &Vector, query: &Query, method: i32) -> Result<f32> {
    let mut looks = Looks::of("ts_rank_cd");
    let words = found_words(vector, query, &mut looks)?;
    let mut covers = Covers { words: &words, excerpt: Excerpt::of(query), from: 0, looks };
    let weight_of = |word: &FoundWord| 1.0 / f64::from(weights[word.position.weight.index()]);
    let (mut rank, mut count, mut closeness, mut middle_before) = (0.0, 0_u32, 0.0, 0.0);
    while let Some((first, last)) = covers.next_cover()? {
        let inside = &words[first..=last];
        covers.looks.count(inside.len())?;
        let of_weights = inside.len() as f64 / inside.iter().map(weight_of).sum::<f64>();
        let (begin, end) = (words[first].position.at, words[last].position.at);
        // Several words may have the greatest position. Then the others are taken to be half of them.
        let distance = usize::from(end - begin);
        let others = distance.checked_sub(last - first).unwrap_or((last - first) / 2);
        rank += of_weights / (1 + others) as f64;
        let middle = f64::from(u32::from(begin) + u32::from(end)) / 2.0;
        if count > 0 && middle > middle_before {
            closeness += 1.0 / (middle - middle_before);
        }
        middle_before = middle;
        count += 1;
    }
    if count == 0 {
        return Ok(0.0);
    }
    let (length, different) = (length(vector) as f64, vector.lexemes().len() as f64);
    if method & BY_LOG_LENGTH != 0 {
        rank /= (length + 1.0).ln();
    }
    if method & BY_LENGTH != 0 {
        rank /= length;
    }
    if method & BY_DISTANCE != 0 && closeness > 0.0 {
        rank /= f64::from(count) / closeness;
    }
    if method & BY_WORDS != 0 {
        rank /= different;
    }
    if method & BY_LOG_WORDS != 0 {
        rank /= (different + 1.0).ln() / LN_2;
    }
    if method & BELOW_ONE != 0 {
        rank /= rank + 1.0;
    }
    Ok(real(rank))
}

#[cfg(test)]
mod tests {
    use super::super::query_text::parse;
    use super::super::ranking::DEFAULT_WEIGHTS;
    use super::*;

    fn rank_of(vector: &str, query: &str) -> f32 {
        let (vector, query) = (Vector::parse(vector).unwrap(), parse(query).unwrap());
        rank_by_covers(&DEFAULT_WEIGHTS, &vector, &query, 0).unwrap()
    }

    #[test]
    fn covers_rank_by_their_length() {
        assert_eq!(rank_of("a:1 s:2C d g", "a | s"), 0.3);
        assert_eq!(rank_of("a:1 s:2D sb:2A g", "a <-> s:*"), 0.1);
        assert_eq!(rank_of("a:1,9 b:5 c:2", "a & b"), 0.05);
        assert_eq!(rank_of("a b", "a & b"), 0.0);
    }
}
