//! Queries, the values of the type `tsquery`: words joined by operators.
//!
//! A query is a list of nodes, not a tree of boxes: however deep it is, nothing that works on it recurses.

use super::vector::Weight;
use super::words::write_quoted;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The greatest distance between two words of a phrase.
pub(super) const DISTANCE_MAX: u16 = 16_384;

/// A word that a query looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryWord {
    pub(super) word: String,
    /// The bits of the weights that it may have; 0 for any.
    pub(super) weights: u8,
    /// Whether longer words that begin with it are found, too.
    pub(super) is_prefix: bool,
}

impl QueryWord {
    /// Returns whether it finds a word of a document.
    pub(super) fn finds(&self, word: &str) -> bool {
        if self.is_prefix { word.starts_with(&self.word) } else { word == self.word }
    }

    /// Returns whether it finds words of a weight.
    pub(super) fn may_have(&self, weight: Weight) -> bool {
        self.weights == 0 || self.weights & weight.bit() != 0
    }
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
    /// The second operand follows the first one at this distance.
    Phrase(u16),
}

/// A part of a query. Operands are named by their positions in its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryNode {
    Word(QueryWord),
    Not(usize),
    Joined { joint: Joint, left: usize, right: usize },
}

/// A query. The operands of a node stand before it, and the last node is the whole query. A query without nodes finds
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    nodes: Vec<QueryNode>,
    /// For each node, whether it is an operand of a phrase, at any depth.
    are_in_phrases: Vec<bool>,
}

impl Query {
    /// The query with these nodes.
    pub(super) fn of(nodes: Vec<QueryNode>) -> Self {
        Self { are_in_phrases: nodes_in_phrases(&nodes), nodes }
    }

    pub(super) fn nodes(&self) -> &[QueryNode] {
        &self.nodes
    }

    /// Returns whether a node is an operand of a phrase, at any depth.
    pub(super) fn is_in_phrase(&self, node: usize) -> bool {
        self.are_in_phrases[node]
    }

    /// The words that the query looks for, with the positions of their nodes.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &QueryWord)> {
        self.nodes.iter().enumerate().filter_map(|(at, node)| match node {
            QueryNode::Word(word) => Some((at, word)),
            _ => None,
        })
    }

    /// Returns both queries with an operator between them. If one has no nodes, returns the other.
    pub(super) fn joined(&self, joint: Joint, right: &Self) -> Self {
        let (Some(left_root), Some(right_root)) = (self.nodes.len().checked_sub(1), right.nodes.len().checked_sub(1))
        else {
            return if self.nodes.is_empty() { right.clone() } else { self.clone() };
        };
        let shift = self.nodes.len();
        let mut nodes = self.nodes.clone();
        nodes.extend(right.nodes.iter().map(|node| match node {
            QueryNode::Word(word) => QueryNode::Word(word.clone()),
            QueryNode::Not(inner) => QueryNode::Not(inner + shift),
            QueryNode::Joined { joint, left, right } => {
                QueryNode::Joined { joint: *joint, left: left + shift, right: right + shift }
            }
        }));
        nodes.push(QueryNode::Joined { joint, left: left_root, right: right_root + shift });
        Self::of(nodes)
    }

    /// The query that finds what this one does not.
    pub(super) fn negated(&self) -> Self {
        let mut nodes = self.nodes.clone();
        if let Some(root) = nodes.len().checked_sub(1) {
            nodes.push(QueryNode::Not(root));
        }
        Self::of(nodes)
    }

    /// Returns whether all words of another query are words of this one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        let words: BTreeSet<&str> = self.words().map(|(_, word)| word.word.as_str()).collect();
        other.words().all(|(_, word)| words.contains(word.word.as_str()))
    }

    /// The text of the part that an index could look for: what is negated is left out. `T` stands for everything.
    pub(super) fn indexable(&self) -> String {
        let mut kept: Vec<QueryNode> = Vec::with_capacity(self.nodes.len());
        let mut place: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let node = match node {
                QueryNode::Word(word) => Some(QueryNode::Word(word.clone())),
                QueryNode::Not(_) => None,
                QueryNode::Joined { joint, left, right } => match (place[*left], place[*right]) {
                    (Some(left), Some(right)) => Some(QueryNode::Joined { joint: *joint, left, right }),
                    (one, other) => {
                        place.push(if *joint == Joint::Or { None } else { one.or(other) });
                        continue;
                    }
                },
            };
            place.push(node.map(|node| {
                kept.push(node);
                kept.len() - 1
            }));
        }
        match place.last() {
            None => String::new(),
            Some(None) => "T".to_owned(),
            Some(Some(root)) => text_of(&kept, *root),
        }
    }

    /// The text form.
    pub(super) fn text(&self) -> String {
        self.nodes.len().checked_sub(1).map_or_else(String::new, |root| text_of(&self.nodes, root))
    }
}

fn nodes_in_phrases(nodes: &[QueryNode]) -> Vec<bool> {
    let mut are_inside = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        match node {
            QueryNode::Word(_) => {}
            QueryNode::Not(inner) => are_inside[*inner] = are_inside[at],
            QueryNode::Joined { joint, left, right } => {
                let is_inside = are_inside[at] || matches!(joint, Joint::Phrase(_));
                are_inside[*left] = is_inside;
                are_inside[*right] = is_inside;
            }
        }
    }
    are_inside
}

/// The tightness with which a negation binds.
pub(super) const NEGATION: u8 = 4;

impl Joint {
    /// The tightness with which the operator binds. Tighter operators take their operands first.
    pub(super) fn tightness(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Phrase(_) => 3,
        }
    }
}

/// A part of a query that is still to be written.
enum Unwritten {
    /// A node whose parent binds this tight, and whether it is the right operand of a phrase.
    Node(usize, u8, bool),
    Joint(Joint),
    Close,
}

fn text_of(nodes: &[QueryNode], root: usize) -> String {
    let mut text = String::new();
    let mut rest = vec![Unwritten::Node(root, 0, false)];
    while let Some(next) = rest.pop() {
        match next {
            Unwritten::Joint(Joint::And) => text.push_str(" & "),
            Unwritten::Joint(Joint::Or) => text.push_str(" | "),
            Unwritten::Joint(Joint::Phrase(1)) => text.push_str(" <-> "),
            Unwritten::Joint(Joint::Phrase(distance)) => {
                // Writing to a text cannot fail.
                let _ = write!(text, " <{distance}> ");
            }
            Unwritten::Close => text.push_str(" )"),
            Unwritten::Node(at, outer, is_last_of_phrase) => match &nodes[at] {
                QueryNode::Word(word) => write_word(&mut text, word),
                QueryNode::Not(inner) => {
                    text.push('!');
                    rest.push(Unwritten::Node(*inner, NEGATION, false));
                }
                QueryNode::Joined { joint, left, right } => {
                    let tightness = joint.tightness();
                    let is_phrase = matches!(joint, Joint::Phrase(_));
                    if tightness < outer || (is_phrase && is_last_of_phrase) {
                        text.push_str("( ");
                        rest.push(Unwritten::Close);
                    }
                    rest.push(Unwritten::Node(*right, tightness, is_phrase));
                    rest.push(Unwritten::Joint(*joint));
                    rest.push(Unwritten::Node(*left, tightness, false));
                }
            },
        }
    }
    text
}

fn write_word(text: &mut String, word: &QueryWord) {
    write_quoted(text, &word.word);
    if word.is_prefix || word.weights != 0 {
        text.push(':');
    }
    if word.is_prefix {
        text.push('*');
    }
    for weight in Weight::ALL.into_iter().rev() {
        if word.weights & weight.bit() != 0 {
            text.push(weight.letter());
        }
    }
}
