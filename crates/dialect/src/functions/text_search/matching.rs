//! The comparison of documents with queries.
//!
//! Conditions have three answers, because a vector without positions does not tell whether a phrase occurs.

use super::query::{Joint, Query, QueryNode, QueryWord};
use super::vector::{Lexeme, Vector};

/// The answer of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    No,
    Maybe,
    Yes,
}

impl Truth {
    fn of(is_true: bool) -> Self {
        if is_true { Self::Yes } else { Self::No }
    }

    fn and(self, other: Self) -> Self {
        self.min(other)
    }

    fn or(self, other: Self) -> Self {
        self.max(other)
    }

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

/// The places of a document where a part of a query occurs, or those where it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Occurrences {
    pub(super) truth: Truth,
    /// Whether it occurs everywhere but at these positions.
    is_negated: bool,
    /// The distance from the first to the last word.
    pub(super) width: u32,
    /// The positions of the last word in ascending order.
    pub(super) positions: Vec<u32>,
}

impl Occurrences {
    pub(super) const NOWHERE: Self = Self { truth: Truth::No, is_negated: false, width: 0, positions: Vec::new() };
    /// The occurrences in a document without positions.
    pub(super) const UNKNOWN: Self = Self { truth: Truth::Maybe, is_negated: false, width: 0, positions: Vec::new() };

    /// The occurrences at these positions, which may be in any order.
    pub(super) fn at(mut positions: Vec<u32>) -> Self {
        positions.sort_unstable();
        positions.dedup();
        Self { truth: Truth::of(!positions.is_empty()), positions, ..Self::NOWHERE }
    }

    fn negated(self) -> Self {
        match self.truth {
            Truth::No => Self { truth: Truth::Yes, is_negated: true, ..self },
            Truth::Maybe => self,
            Truth::Yes if !self.positions.is_empty() => Self { is_negated: !self.is_negated, ..self },
            // It occurs everywhere.
            Truth::Yes if self.is_negated => Self::NOWHERE,
            Truth::Yes => Self::UNKNOWN,
        }
    }

    /// The places where both occur, the second one at a distance after the first one. Without a distance, they occur at
    /// one place.
    fn and(self, other: Self, distance: Option<u32>) -> Self {
        if self.truth == Truth::No || other.truth == Truth::No {
            return Self::NOWHERE;
        }
        if self.truth == Truth::Maybe || other.truth == Truth::Maybe {
            return Self::UNKNOWN;
        }
        let wider = self.width.max(other.width);
        let (width, shifts) = match distance {
            Some(distance) => (distance + self.width + other.width, (distance + other.width, 0)),
            None => (wider, (wider - self.width, wider - other.width)),
        };
        Self::merged(&self, &other, shifts, width, |left, right| left && right)
    }

    /// The places where one or both occur.
    fn or(self, other: Self) -> Self {
        if self.truth == Truth::No && other.truth == Truth::No {
            return Self::NOWHERE;
        }
        if self.truth == Truth::Maybe || other.truth == Truth::Maybe {
            return Self::UNKNOWN;
        }
        let width_of = |of: &Self| if of.truth == Truth::No { 0 } else { of.width };
        let (left, right) = (width_of(&self), width_of(&other));
        let width = left.max(right);
        Self::merged(&self, &other, (width - left, width - right), width, |left, right| left || right)
    }

    /// Joins both. `occurs` says whether the whole occurs where the left one does or does not, and the right one.
    fn merged(
        left: &Self,
        right: &Self,
        (shift_left, shift_right): (u32, u32),
        width: u32,
        occurs: fn(bool, bool) -> bool,
    ) -> Self {
        let is_negated = occurs(left.is_negated, right.is_negated);
        let mut positions = Vec::new();
        let (mut of_left, mut of_right) = (left.positions.iter().peekable(), right.positions.iter().peekable());
        loop {
            let next_left = of_left.peek().map(|at| **at + shift_left);
            let next_right = of_right.peek().map(|at| **at + shift_right);
            let Some(at) = next_left.into_iter().chain(next_right).min() else { break };
            let is_in_left = of_left.next_if(|_| next_left == Some(at)).is_some();
            let is_in_right = of_right.next_if(|_| next_right == Some(at)).is_some();
            // What is negated does not occur at its positions.
            if occurs(is_in_left != left.is_negated, is_in_right != right.is_negated) != is_negated {
                positions.push(at);
            }
        }
        // What occurs everywhere but somewhere occurs.
        let truth = Truth::of(is_negated || !positions.is_empty());
        Self { truth, is_negated, width, positions }
    }
}

/// A document that is compared with a query. It knows about the words of the query.
pub(super) trait Document {
    /// Returns whether the word of a node occurs.
    fn has(&self, node: usize, word: &QueryWord) -> Truth;

    /// The places where the word of a node occurs.
    fn occurrences(&self, node: usize, word: &QueryWord) -> Occurrences;
}

/// The answer of a node, which says whether it occurs, or where.
enum NodeAnswer {
    Truth(Truth),
    Occurrences(Occurrences),
}

impl NodeAnswer {
    fn truth(&self) -> Truth {
        match self {
            Self::Truth(truth) => *truth,
            Self::Occurrences(of) => of.truth,
        }
    }

    fn take(&mut self) -> Occurrences {
        match self {
            Self::Truth(truth) => Occurrences { truth: *truth, ..Occurrences::NOWHERE },
            Self::Occurrences(of) => std::mem::replace(of, Occurrences::NOWHERE),
        }
    }
}

/// Returns whether a document matches a query.
pub(super) fn matches(query: &Query, document: &impl Document) -> bool {
    let nodes = query.nodes();
    let mut answers: Vec<NodeAnswer> = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        let is_phrase = matches!(node, QueryNode::Joined { joint: Joint::Phrase(_), .. });
        let is_in_phrase = query.is_in_phrase(at);
        let answer = if is_in_phrase || is_phrase {
            let found = match node {
                QueryNode::Word(word) => document.occurrences(at, word),
                QueryNode::Not(inner) => answers[*inner].take().negated(),
                QueryNode::Joined { joint, left, right } => {
                    let (left, right) = (answers[*left].take(), answers[*right].take());
                    match joint {
                        Joint::And => left.and(right, None),
                        Joint::Or => left.or(right),
                        Joint::Phrase(distance) => left.and(right, Some(u32::from(*distance))),
                    }
                }
            };
            // A phrase that is not known to occur does not.
            let is_unknown = !is_in_phrase && found.truth == Truth::Maybe;
            NodeAnswer::Occurrences(if is_unknown { Occurrences::NOWHERE } else { found })
        } else {
            NodeAnswer::Truth(match node {
                QueryNode::Word(word) => document.has(at, word),
                QueryNode::Not(inner) => answers[*inner].truth().not(),
                QueryNode::Joined { joint: Joint::Or, left, right } => {
                    answers[*left].truth().or(answers[*right].truth())
                }
                QueryNode::Joined { left, right, .. } => answers[*left].truth().and(answers[*right].truth()),
            })
        };
        answers.push(answer);
    }
    answers.last().is_some_and(|answer| answer.truth() != Truth::No)
}

impl Document for Vector {
    fn has(&self, _: usize, word: &QueryWord) -> Truth {
        let is_found = |lexeme: &Lexeme| {
            lexeme.positions.is_empty() || lexeme.positions.iter().any(|position| word.may_have(position.weight))
        };
        Truth::of(self.found(&word.word, word.is_prefix).iter().any(is_found))
    }

    fn occurrences(&self, _: usize, word: &QueryWord) -> Occurrences {
        let found = self.found(&word.word, word.is_prefix);
        if found.iter().any(|lexeme| lexeme.positions.is_empty()) {
            return Occurrences::UNKNOWN;
        }
        let positions = found.iter().flat_map(|lexeme| &lexeme.positions);
        let wanted = positions.filter(|position| word.may_have(position.weight));
        Occurrences::at(wanted.map(|position| u32::from(position.at)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::query_text::parse;
    use super::*;

    fn is_match(vector: &str, query: &str) -> bool {
        matches(&parse(query).unwrap(), &Vector::parse(vector).unwrap())
    }

    #[test]
    fn words_are_found_by_weights_and_prefixes() {
        for (vector, query) in [
            ("a b:89 ca:23A,64b d:34c", "d:AC & ca"),
            ("a b:89 ca:23A,64b d:34c", "d:AC & c:*B"),
            ("supernova", "super:*"),
            ("a:1", "!b & a"),
            ("wa:1D wb:2A", "w:*D & w:*A"),
            ("wa:1A", "w:*A & !w:*D"),
            ("a b", "a:A"),
        ] {
            assert!(is_match(vector, query), "{vector} @@ {query}");
        }
        for (vector, query) in [
            ("a b:89 ca:23A,64b d:34c", "d:AC & ca:CB & x"),
            ("a b:89 ca:23A,64b d:34c", "d:AC & c:*C"),
            ("a:1", "b | c"),
            ("a:1", ""),
            ("", "a"),
        ] {
            assert!(!is_match(vector, query), "{vector} @@ {query}");
        }
    }

    #[test]
    fn phrases_are_found_by_positions() {
        for (vector, query) in [
            ("1:1,4 2:2 3:3", "1 <-> 2"),
            ("1:1,4 2:2 3:3", "1 <2> 3"),
            ("1:1,4 2:2 3:3", "1 <-> (2 <-> 3)"),
            ("1:1,4 2:2 3:3", "(1 | 2) <-> 3"),
            ("1:1,4 2:2 3:3", "2 <-> !1"),
            ("1:1 2:2", "!3 <-> 2"),
            ("a:1 b:2 c:3", "a <-> (b & !c)"),
            ("a:1 b:2 c:3", "(a | x <-> y) <-> b"),
            ("a:1 b:1", "a <0> b"),
            ("1:1,4 2:2 3:3", "!1 <-> !3"),
            ("1:1,4 2:2 3:3", "(!1 & 2) <-> 3"),
            ("1:1,4 2:2 3:3", "(!1 | 2) <-> 3"),
            ("1:1,4 2:2 3:3", "(!2 | !1) <-> 3"),
        ] {
            assert!(is_match(vector, query), "{vector} @@ {query}");
        }
        for (vector, query) in [
            ("1:1,4 2:2 3:3", "1 <-> 3"),
            ("1:1,4 2:2 3:3", "!1 <-> 2"),
            ("1:1,4 2:2 3:3", "3 <-> !1"),
            ("1:1,4 2:2 3:3", "(!2 & !1) <-> 3"),
            ("1:1,4 2:2 3:3", "(!2 | 1) <-> 3"),
            ("1:1,4 2:2 3:3", "(2 | !1) <-> 2"),
            ("1 2", "1 <-> 2"),
            ("1 2", "!(1 <-> !2) & 3"),
        ] {
            assert!(!is_match(vector, query), "{vector} @@ {query}");
        }
    }
}
