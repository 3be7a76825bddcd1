//! Ranks by words: a document ranks by how often the words of the query occur in it (`ts_rank`).

use super::query::{Joint, Query, QueryNode, QueryWord};
use super::vector::{Lexeme, POSITION_MAX, Position, Vector, Weight};
use atsdb_core::{Error, Result};
use std::f64::consts::LN_2;

/// The weights of D, C, B and A where none are given.
pub(super) const DEFAULT_WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// The maximum number of pairs of positions that are examined for one document.
const PAIRS_MAX: usize = 100_000_000;

/// The position of a word without positions.
const NO_POSITION: [Position; 1] = [Position { at: POSITION_MAX, weight: Weight::D }];

/// Bits of the argument that says how the length of a document counts.
pub(super) const BY_LOG_LENGTH: i32 = 1;
pub(super) const BY_LENGTH: i32 = 2;
pub(super) const BY_DISTANCE: i32 = 4;
pub(super) const BY_WORDS: i32 = 8;
pub(super) const BY_LOG_WORDS: i32 = 16;
pub(super) const BELOW_ONE: i32 = 32;

/// Returns the weights of D, C, B and A from the numbers of an argument. A negative number means the default.
pub(super) fn weights_of(numbers: &[Option<f32>]) -> Result<[f32; 4]> {
    let wrong = |message: &str| {
        Err(Error::invalid(message).with_hint("give the weights of D, C, B and A: '{0.1, 0.2, 0.4, 1}'"))
    };
    let Some(given) = numbers.first_chunk::<4>() else { return wrong("array of weight is too short") };
    let mut weights = DEFAULT_WEIGHTS;
    if numbers.contains(&None) {
        return wrong("array of weight must not contain nulls");
    }
    for (weight, given) in weights.iter_mut().zip(given.iter().flatten()) {
        if *given >= 0.0 {
            *weight = *given;
        }
        if *weight > 1.0 {
            return wrong("weight out of range");
        }
    }
    Ok(weights)
}

/// The nearest number of type `real`.
pub(super) fn real(number: f64) -> f32 {
    number as f32
}

/// The number of words of a document, with repetitions.
pub(super) fn length(vector: &Vector) -> usize {
    vector.lexemes().iter().map(|lexeme| lexeme.positions.len().max(1)).sum()
}

fn positions(lexeme: &Lexeme) -> &[Position] {
    if lexeme.positions.is_empty() { &NO_POSITION } else { &lexeme.positions }
}

/// The different words of a query, sorted. Of words that differ in their marks alone, the last one counts.
fn words_of(query: &Query) -> Vec<&QueryWord> {
    let mut words: Vec<&QueryWord> = query.words().map(|(_, word)| word).collect();
    words.reverse();
    words.sort_by(|left, right| left.word.cmp(&right.word));
    words.dedup_by(|left, right| left.word == right.word);
    words
}

/// The rank by how often the words occur.
pub(super) fn rank(weights: &[f32; 4], vector: &Vector, query: &Query, method: i32) -> Result<f32> {
    if vector.lexemes().is_empty() || query.nodes().is_empty() {
        return Ok(0.0);
    }
    let words = words_of(query);
    let are_together =
        matches!(query.nodes().last(), Some(QueryNode::Joined { joint: Joint::And | Joint::Phrase(_), .. }));
    let mut rank = if are_together && words.len() > 1 {
        rank_together(weights, vector, &words)?
    } else {
        rank_alone(weights, vector, &words)
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let (length, count) = (length(vector) as f64, vector.lexemes().len() as f64);
    if method & BY_LOG_LENGTH != 0 {
        rank = real(f64::from(rank) / ((length + 1.0).ln() / LN_2));
    }
    if method & BY_LENGTH != 0 {
        rank /= real(length);
    }
    if method & BY_WORDS != 0 {
        rank /= real(count);
    }
    if method & BY_LOG_WORDS != 0 {
        rank = real(f64::from(rank) / ((count + 1.0).ln() / LN_2));
    }
    if method & BELOW_ONE != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

/// The rank of words of which any may occur.
fn rank_alone(weights: &[f32; 4], vector: &Vector, words: &[&QueryWord]) -> f32 {
    let mut rank = 0.0_f32;
    for word in words {
        for lexeme in vector.found(&word.word, word.is_prefix) {
            let (mut sum, mut best, mut best_at) = (0.0_f32, -1.0_f32, 0_usize);
            for (at, position) in positions(lexeme).iter().enumerate() {
                let weight = weights[position.weight.index()];
                sum += weight / square(at + 1);
                if weight > best {
                    (best, best_at) = (weight, at);
                }
            }
            rank = real(f64::from(rank) + f64::from(best + sum - best / square(best_at + 1)) / 1.644_934_066_85);
        }
    }
    if words.is_empty() { rank } else { rank / real(words.len() as f64) }
}

fn square(number: usize) -> f32 {
    real((number * number) as f64)
}

/// The rank of words that all must occur, by their distances; negative if no two of them do.
fn rank_together(weights: &[f32; 4], vector: &Vector, words: &[&QueryWord]) -> Result<f32> {
    let mut rank = -1.0_f32;
    let mut pairs = 0_usize;
    let mut before: Vec<&Lexeme> = Vec::new();
    for word in words {
        let mut last = None;
        for lexeme in vector.found(&word.word, word.is_prefix) {
            last = Some(lexeme);
            for other in &before {
                pairs += positions(lexeme).len() * positions(other).len();
                if pairs > PAIRS_MAX {
                    let error = Error::invalid("ts_rank has too many words to compare");
                    return Err(error.with_hint("look for fewer words, or for longer beginnings of words"));
                }
                for one in positions(lexeme) {
                    for two in positions(other) {
                        let is_unknown = lexeme.positions.is_empty() || other.positions.is_empty();
                        let distance = match one.at.abs_diff(two.at) {
                            0 if is_unknown => POSITION_MAX + 1,
                            0 => continue,
                            distance => distance,
                        };
                        let weight = weights[one.weight.index()] * weights[two.weight.index()] * closeness(distance);
                        let found = weight.sqrt();
                        rank = if rank < 0.0 {
                            found
                        } else {
                            real(1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(found)))
                        };
                    }
                }
            }
        }
        before.extend(last);
    }
    Ok(rank)
}

/// The closeness of two words at a distance, from 0 to 1.
fn closeness(distance: u16) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    let exponent = f64::from(distance) / 1.5 - 2.0;
    real(1.0 / (1.005 + 0.05 * exponent.exp()))
}

#[cfg(test)]
mod tests {
    use super::super::query_text::parse;
    use super::*;

    fn rank_of(vector: &str, query: &str, method: i32) -> f32 {
        rank(&DEFAULT_WEIGHTS, &Vector::parse(vector).unwrap(), &parse(query).unwrap(), method).unwrap()
    }

    #[test]
    fn words_rank_by_weight_and_distance() {
        assert_eq!(rank_of("a:1 s:2C d g", "a | s", 0), 0.091189064);
        assert_eq!(rank_of("a:1 sa:2D sb:2A g", "a | s:*", 0), 0.36475626);
        assert_eq!(rank_of("a:1 s:2C d g", "a & s", 0), 0.14015312);
        assert_eq!(rank_of("a:1 s:2C d g", "a & g", 0), 1e-16);
        assert_eq!(rank_of("a:1", "b", 0), 0.0);
    }
}
