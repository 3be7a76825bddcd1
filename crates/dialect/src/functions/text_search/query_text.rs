//! Reading queries: their text form, and texts whose words are normalized by a dictionary.

use super::characters::is_blank;
use super::query::{DISTANCE_MAX, Joint, NEGATION, Query, QueryNode, QueryWord};
use super::vector::{WORD_BYTES_MAX, Weight};
use super::words::{TextForm, WordReader, is_operator};
use atsdb_core::{Error, Result};

/// The greatest number of nodes of a query.
const NODES_MAX: usize = 20_000;

/// The marks of a word of a query: the weights that it may have, and whether it is the beginning of a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordMarks {
    pub(super) weights: u8,
    pub(super) is_prefix: bool,
}

/// A node of a query that is built.
#[derive(Debug)]
enum BuiltNode {
    /// A word that is not looked for. It keeps its place in phrases.
    Stop,
    Kept(QueryNode),
}

/// Builds a query from its words and operators. An operator comes after its operands.
#[derive(Debug, Default)]
pub(super) struct QueryBuilder {
    nodes: Vec<BuiltNode>,
    /// The nodes that are no operands yet.
    operands: Vec<usize>,
}

impl QueryBuilder {
    pub(super) fn push_word(&mut self, word: &str, marks: WordMarks) -> Result<()> {
        if word.len() > WORD_BYTES_MAX {
            let error = Error::invalid(format!("word is too long in tsquery: \"{word:.60}\""));
            return Err(error.with_hint(format!("words have at most {WORD_BYTES_MAX} bytes")));
        }
        let WordMarks { weights, is_prefix } = marks;
        self.push(BuiltNode::Kept(QueryNode::Word(QueryWord { word: word.to_owned(), weights, is_prefix })))
    }

    pub(super) fn push_stop(&mut self) -> Result<()> {
        self.push(BuiltNode::Stop)
    }

    /// Joins the last two operands. Without them, nothing is joined.
    pub(super) fn push_joint(&mut self, joint: Joint) -> Result<()> {
        let (Some(right), Some(left)) = (self.operands.pop(), self.operands.pop()) else { return Ok(()) };
        self.push(BuiltNode::Kept(QueryNode::Joined { joint, left, right }))
    }

    fn push_negation(&mut self) -> Result<()> {
        let Some(inner) = self.operands.pop() else { return Ok(()) };
        self.push(BuiltNode::Kept(QueryNode::Not(inner)))
    }

    fn push(&mut self, node: BuiltNode) -> Result<()> {
        if self.nodes.len() == NODES_MAX {
            let error = Error::invalid(format!("tsquery has more than {NODES_MAX} words and operators"));
            return Err(error.with_hint("look for fewer words"));
        }
        self.operands.push(self.nodes.len());
        self.nodes.push(node);
        Ok(())
    }

    /// The query without the words that are not looked for. Phrases around them become wider.
    fn finish(self) -> Query {
        let mut kept = Vec::with_capacity(self.nodes.len());
        let mut places: Vec<KeptNode> = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            let place = match node {
                BuiltNode::Stop => KeptNode::default(),
                BuiltNode::Kept(QueryNode::Word(word)) => {
                    kept.push(QueryNode::Word(word));
                    KeptNode { at: Some(kept.len() - 1), ..KeptNode::default() }
                }
                BuiltNode::Kept(QueryNode::Not(inner)) => {
                    let inner = places[inner];
                    let at = inner.at.map(|inner| {
                        kept.push(QueryNode::Not(inner));
                        kept.len() - 1
                    });
                    KeptNode { at, ..inner }
                }
                BuiltNode::Kept(QueryNode::Joined { joint, left, right }) => {
                    KeptNode::joined(&mut kept, joint, places[left], places[right])
                }
            };
            places.push(place);
        }
        Query::of(kept)
    }
}

/// A node among those that are kept, and how much wider the phrases around it become on its sides.
#[derive(Debug, Clone, Copy, Default)]
struct KeptNode {
    at: Option<usize>,
    before: u32,
    after: u32,
}

impl KeptNode {
    fn joined(kept: &mut Vec<QueryNode>, joint: Joint, left: Self, right: Self) -> Self {
        let own = if let Joint::Phrase(distance) = joint { Some(u32::from(distance)) } else { None };
        match (left.at, right.at) {
            (None, None) => {
                let width = match own {
                    Some(own) => left.before.saturating_add(own).saturating_add(right.before),
                    None => left.before.max(right.before),
                };
                Self { at: None, before: width, after: width }
            }
            (None, Some(_)) => match own {
                Some(own) => Self { before: left.before.saturating_add(own).saturating_add(right.before), ..right },
                None => right,
            },
            (Some(_), None) => match own {
                Some(own) => Self { after: left.after.saturating_add(own).saturating_add(right.after), ..left },
                None => left,
            },
            (Some(at_left), Some(at_right)) => {
                let (joint, before, after) = match own {
                    Some(own) => {
                        let distance = own.saturating_add(left.after).saturating_add(right.before);
                        let distance = u16::try_from(distance).map_or(DISTANCE_MAX, |of| of.min(DISTANCE_MAX));
                        (Joint::Phrase(distance), left.before, right.after)
                    }
                    None => (joint, 0, 0),
                };
                kept.push(QueryNode::Joined { joint, left: at_left, right: at_right });
                Self { at: Some(kept.len() - 1), before, after }
            }
        }
    }
}

/// An operator whose last operand has not been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenOperator {
    Bracket,
    Not,
    Joint(Joint),
}

impl OpenOperator {
    fn tightness(self) -> u8 {
        match self {
            Self::Bracket => 0,
            Self::Not => NEGATION,
            Self::Joint(joint) => joint.tightness(),
        }
    }
}

/// A function that adds a word to a query: it may normalize the word, and may make several words of it, or none.
pub(super) type TakeWord<'a> = dyn FnMut(&mut QueryBuilder, &str, WordMarks) -> Result<()> + 'a;

/// Reads the text form of a query.
pub(super) fn parse(text: &str) -> Result<Query> {
    parse_with(text, TextForm::Query, &mut |builder, word, marks| builder.push_word(word, marks))
}

/// Builds a query whose only word is a whole text.
pub(super) fn of_plain_text(text: &str, take: &mut TakeWord<'_>) -> Result<Query> {
    let mut builder = QueryBuilder::default();
    if !text.is_empty() {
        take(&mut builder, text, WordMarks::default())?;
    }
    Ok(builder.finish())
}

/// Reads a query whose words are taken by a function.
pub(super) fn parse_with(text: &str, form: TextForm, take: &mut TakeWord<'_>) -> Result<Query> {
    let mut parser =
        QueryParser { reader: WordReader::new(text, form), builder: QueryBuilder::default(), open: Vec::new() };
    if form == TextForm::Web {
        parser.read_web(take)?
    } else {
        parser.read(take)?
    }
    parser.close_to(0)?;
    Ok(parser.builder.finish())
}

struct QueryParser<'a> {
    reader: WordReader<'a>,
    builder: QueryBuilder,
    open: Vec<OpenOperator>,
}

impl QueryParser<'_> {
    fn read(&mut self, take: &mut TakeWord<'_>) -> Result<()> {
        let mut is_first = true;
        loop {
            // An operand.
            self.reader.skip_blanks();
            match self.reader.peek() {
                None if is_first => return Ok(()),
                None => {
                    let message = format!("no operand in tsquery: {}", self.reader.shown());
                    return Err(Error::invalid(message).with_hint("write a word after the operator"));
                }
                Some('!') => self.open_operator('!', OpenOperator::Not),
                Some('(') => self.open_operator('(', OpenOperator::Bracket),
                Some(':') => return Err(self.reader.wrong_syntax()),
                Some(_) => {
                    let word = self.reader.word()?;
                    let marks = self.marks();
                    take(&mut self.builder, &word, marks)?;
                    match self.joint()? {
                        Some(joint) => self.push_operator(OpenOperator::Joint(joint))?,
                        None => return Ok(()),
                    }
                }
            }
            is_first = false;
        }
    }

    fn open_operator(&mut self, letter: char, operator: OpenOperator) {
        self.reader.skip(letter.len_utf8());
        self.open.push(operator);
    }

    /// The operator after an operand; `None` at the end.
    fn joint(&mut self) -> Result<Option<Joint>> {
        loop {
            self.reader.skip_blanks();
            match self.reader.peek() {
                Some(')') => {
                    self.reader.next();
                    self.close_to(1)?;
                    if self.open.pop() != Some(OpenOperator::Bracket) {
                        return Err(self.reader.wrong_syntax());
                    }
                }
                None if self.open.contains(&OpenOperator::Bracket) => return Err(self.reader.wrong_syntax()),
                None => return Ok(None),
                Some('&') => {
                    self.reader.next();
                    return Ok(Some(Joint::And));
                }
                Some('|') => {
                    self.reader.next();
                    return Ok(Some(Joint::Or));
                }
                Some(_) => return self.phrase().map(|distance| Some(Joint::Phrase(distance))),
            }
        }
    }

    /// The distance in `<->` or `<2>`.
    fn phrase(&mut self) -> Result<u16> {
        let wrong = || self.reader.wrong_syntax();
        let Some((inner, _)) = self.reader.rest().strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
            return Err(wrong());
        };
        let distance = match inner {
            "-" => 1,
            digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                // Only a number that is too great cannot be read.
                let distance = digits.parse().unwrap_or(u16::MAX);
                distance_of(i64::from(distance))?
            }
            _ => return Err(wrong()),
        };
        self.reader.skip(inner.len() + 2);
        Ok(distance)
    }

    /// The marks after a word.
    fn marks(&mut self) -> WordMarks {
        let mut marks = WordMarks::default();
        if self.reader.peek() != Some(':') {
            return marks;
        }
        self.reader.next();
        while let Some(letter) = self.reader.peek() {
            match Weight::of_letter(letter) {
                Some(weight) => marks.weights |= weight.bit(),
                None if letter == '*' => marks.is_prefix = true,
                None => break,
            }
            self.reader.next();
        }
        marks
    }

    /// Opens an operator after those before it that bind at least as tight.
    fn push_operator(&mut self, operator: OpenOperator) -> Result<()> {
        self.close_to(operator.tightness())?;
        self.open.push(operator);
        Ok(())
    }

    /// Ends the last operators that bind at least as tight. No bracket is ended unless everything is.
    fn close_to(&mut self, tightness: u8) -> Result<()> {
        while let Some(operator) = self.open.pop_if(|operator| operator.tightness() >= tightness) {
            match operator {
                OpenOperator::Bracket => {}
                OpenOperator::Not => self.builder.push_negation()?,
                OpenOperator::Joint(joint) => self.builder.push_joint(joint)?,
            }
        }
        Ok(())
    }

    /// Reads words, phrases in double quotation marks, `or` and `-`. What is none of these is skipped.
    fn read_web(&mut self, take: &mut TakeWord<'_>) -> Result<()> {
        let mut is_first = true;
        loop {
            // An operand.
            match self.reader.peek() {
                None if is_first => return Ok(()),
                None => return self.builder.push_stop(),
                Some('-') => {
                    self.open_operator('-', OpenOperator::Not);
                    is_first = false;
                    continue;
                }
                Some('"') => {
                    self.reader.next();
                    let rest = self.reader.rest();
                    let phrase = rest.split('"').next().unwrap_or_default();
                    self.reader.skip(if phrase.len() == rest.len() { rest.len() } else { phrase.len() + 1 });
                    take(&mut self.builder, phrase, WordMarks::default())?;
                }
                Some(letter) if is_operator(letter) => {
                    self.reader.next();
                    is_first = false;
                    continue;
                }
                Some(letter) if is_blank(letter) => {
                    self.reader.next();
                    continue;
                }
                Some(_) => {
                    let word = self.reader.word()?;
                    take(&mut self.builder, &word, WordMarks::default())?;
                }
            }
            is_first = false;
            self.reader.skip_blanks();
            if self.reader.peek().is_none() {
                return Ok(());
            }
            let joint = if self.skip_or() { Joint::Or } else { Joint::And };
            self.push_operator(OpenOperator::Joint(joint))?;
        }
    }

    /// Skips the word `or` between two operands.
    fn skip_or(&mut self) -> bool {
        let rest = self.reader.rest();
        let Some((or, after)) = rest.split_at_checked(2).filter(|(or, _)| or.eq_ignore_ascii_case("or")) else {
            return false;
        };
        let is_part = |letter: char| matches!(letter, '-' | '_') || letter.is_alphanumeric();
        let mut letters = after.chars();
        // What comes right after it only ends it.
        let is_whole = letters.next().is_some_and(|letter| !is_part(letter));
        let is_operator = is_whole && letters.any(|letter| !is_blank(letter));
        if is_operator {
            self.reader.skip(or.len());
        }
        is_operator
    }
}

/// A distance between two words, which has limits.
pub(super) fn distance_of(distance: i64) -> Result<u16> {
    u16::try_from(distance).ok().filter(|distance| *distance <= DISTANCE_MAX).ok_or_else(|| {
        let limits = format!("between zero and {DISTANCE_MAX} inclusive");
        let error = Error::invalid(format!("distance in phrase operator must be an integer value {limits}"));
        error.with_hint("join words that are further apart by &")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_have_one_text() {
        for (written, text) in [
            ("", ""),
            (" 1 ", "'1'"),
            ("'1 2'", "'1 2'"),
            ("!1|2&3", "!'1' | '2' & '3'"),
            ("!(1|2)&3", "!( '1' | '2' ) & '3'"),
            ("1|(2|(4|(5|6)))", "'1' | '2' | '4' | '5' | '6'"),
            ("!!!b", "!!!'b'"),
            ("a <-> (b <-> c) <2> d", "'a' <-> ( 'b' <-> 'c' ) <2> 'd'"),
            ("a & !b <-> c", "'a' & !'b' <-> 'c'"),
            ("a:*bca & 'it''s':D | x:", "'a':*ABC & 'it''s':D | 'x'"),
            ("a<->b<0>c", "'a' <-> 'b' <0> 'c'"),
        ] {
            let query = parse(written).unwrap();
            assert_eq!(query.text(), text, "{written}");
            assert_eq!(parse(text).unwrap().text(), text, "{written}");
        }
        for wrong in ["a b", "a &", "!", "(", "(a", "a)", "()", "a <b", "a<-1>b", "a <16385> b", ":a", "a & :b", "''"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn deep_queries_take_no_stack() {
        let deep = format!("{}a{}", "!(".repeat(9_000), ")".repeat(9_000));
        assert_eq!(parse(&deep).unwrap().text().len(), 9_000 + 3);
        assert_eq!(parse(&vec!["a"; 9_000].join("&")).unwrap().nodes().len(), 17_999);
        assert!(parse(&vec!["a"; 11_000].join("&")).is_err());
    }
}
