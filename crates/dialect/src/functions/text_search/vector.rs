//! Vectors, the values of the type `tsvector`: the words of a document, sorted, each once, with its positions.

use super::characters::is_blank;
use super::words::{TextForm, WordReader, write_quoted};
use atsdb_core::{Error, Result};
use std::cmp::Reverse;
use std::fmt::Write;

/// The greatest position. Later words have it, too.
pub(super) const POSITION_MAX: u16 = 16_383;
/// The number of positions that a word may have.
const POSITIONS_MAX: usize = 256;
/// The greatest length of a word in bytes.
pub(super) const WORD_BYTES_MAX: usize = 2_046;
/// The greatest length of all words of a vector in bytes, with their positions.
const VECTOR_BYTES_MAX: usize = (1 << 20) - 1;

/// The weight of a word at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Weight {
    D,
    C,
    B,
    A,
}

impl Weight {
    pub(super) const ALL: [Self; 4] = [Self::D, Self::C, Self::B, Self::A];

    /// The weight with a letter, in either case.
    pub(super) fn of_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|weight| weight.letter() == letter.to_ascii_uppercase())
    }

    pub(super) fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
        }
    }

    /// The position of the weight in the order of PostgreSQL: D is 0.
    pub(super) fn index(self) -> usize {
        match self {
            Self::D => 0,
            Self::C => 1,
            Self::B => 2,
            Self::A => 3,
        }
    }

    /// The bit of the weight in a set of weights.
    pub(super) fn bit(self) -> u8 {
        1 << self.index()
    }
}

/// The position of a word in a document, counted from 1, with its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) at: u16,
    pub(super) weight: Weight,
}

/// A word and its positions in ascending order. There are none if only the word matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) word: String,
    pub(super) positions: Vec<Position>,
}

/// The words of a document, sorted by their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Vector {
    lexemes: Vec<Lexeme>,
}

impl Vector {
    /// The vector of words in any order. Words that are equal become one.
    pub(super) fn of(mut lexemes: Vec<Lexeme>) -> Result<Self> {
        lexemes.sort_by(|left, right| left.word.cmp(&right.word));
        let mut merged: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            if lexeme.word.len() > WORD_BYTES_MAX {
                let bytes = lexeme.word.len();
                let message = format!("word is too long ({bytes} bytes, max {WORD_BYTES_MAX} bytes)");
                return Err(Error::invalid(message).with_hint("leave the word out"));
            }
            match merged.last_mut() {
                Some(last) if last.word == lexeme.word => last.positions.extend(lexeme.positions),
                _ => merged.push(lexeme),
            }
        }
        let mut bytes = 0_usize;
        for lexeme in &mut merged {
            let positions = &mut lexeme.positions;
            positions.sort_by_key(|position| (position.at, Reverse(position.weight)));
            positions.dedup_by_key(|position| position.at);
            positions.truncate(POSITIONS_MAX);
            bytes += lexeme.word.len() + positions.len() * size_of::<u16>();
        }
        if bytes > VECTOR_BYTES_MAX {
            let message = format!("string is too long for tsvector ({bytes} bytes, max {VECTOR_BYTES_MAX} bytes)");
            return Err(Error::invalid(message).with_hint("search parts of the text: left(x, 100000)"));
        }
        Ok(Self { lexemes: merged })
    }

    /// Reads the text form.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut reader = WordReader::new(text, TextForm::Vector);
        let mut lexemes = Vec::new();
        loop {
            reader.skip_blanks();
            if reader.peek().is_none() {
                return Self::of(lexemes);
            }
            let word = reader.word()?;
            let positions = if reader.peek() == Some(':') { positions(&mut reader)? } else { Vec::new() };
            lexemes.push(Lexeme { word, positions });
        }
    }

    /// The text form.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for lexeme in &self.lexemes {
            if !text.is_empty() {
                text.push(' ');
            }
            write_quoted(&mut text, &lexeme.word);
            for (count, position) in lexeme.positions.iter().enumerate() {
                text.push(if count == 0 { ':' } else { ',' });
                // Writing to a text cannot fail.
                let _ = write!(text, "{}", position.at);
                if position.weight != Weight::D {
                    text.push(position.weight.letter());
                }
            }
        }
        text
    }

    pub(super) fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    /// The lexeme of a word, or those that begin with it.
    pub(super) fn found(&self, word: &str, is_prefix: bool) -> &[Lexeme] {
        let first = self.lexemes.partition_point(|lexeme| lexeme.word.as_str() < word);
        let rest = self.lexemes.get(first..).unwrap_or_default();
        let is_found = |lexeme: &&Lexeme| {
            if is_prefix { lexeme.word.starts_with(word) } else { lexeme.word == word }
        };
        let count = rest.iter().take_while(is_found).count();
        &rest[..count]
    }

    /// The words without their positions.
    pub(super) fn strip(&self) -> Self {
        let of = |lexeme: &Lexeme| Lexeme { word: lexeme.word.clone(), positions: Vec::new() };
        Self { lexemes: self.lexemes.iter().map(of).collect() }
    }

    /// Sets the weight of all positions, or of those of some words, which are sorted.
    pub(super) fn with_weight(&self, weight: Weight, words: Option<&[String]>) -> Self {
        let mut changed = self.clone();
        for lexeme in &mut changed.lexemes {
            if words.is_none_or(|words| words.binary_search(&lexeme.word).is_ok()) {
                for position in &mut lexeme.positions {
                    position.weight = weight;
                }
            }
        }
        changed
    }

    /// The words with positions of some weights, which are a set of bits.
    pub(super) fn filter(&self, weights: u8) -> Self {
        let mut kept = self.clone();
        for lexeme in &mut kept.lexemes {
            lexeme.positions.retain(|position| weights & position.weight.bit() != 0);
        }
        kept.lexemes.retain(|lexeme| !lexeme.positions.is_empty());
        kept
    }

    /// The vector without some words, which are sorted.
    pub(super) fn without(&self, words: &[String]) -> Self {
        let mut kept = self.clone();
        kept.lexemes.retain(|lexeme| words.binary_search(&lexeme.word).is_err());
        kept
    }

    /// Returns the vector of a document that is this one followed by another.
    pub(super) fn concat(&self, next: &Self) -> Result<Self> {
        let positions = self.lexemes.iter().flat_map(|lexeme| &lexeme.positions);
        let last = positions.map(|position| position.at).max().unwrap_or(0);
        let mut lexemes = self.lexemes.clone();
        lexemes.extend(next.lexemes.iter().cloned().map(|mut lexeme| {
            for position in &mut lexeme.positions {
                position.at = position.at.saturating_add(last).min(POSITION_MAX);
            }
            lexeme
        }));
        Self::of(lexemes)
    }
}

/// Reads the positions after a word, which begin with a colon.
fn positions(reader: &mut WordReader<'_>) -> Result<Vec<Position>> {
    let mut positions = Vec::new();
    loop {
        // The colon, or the comma between two positions.
        reader.next();
        let rest = reader.rest();
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(reader.wrong_syntax());
        }
        // Only a number that is too great cannot be read.
        let at = rest[..count].parse::<u16>().unwrap_or(POSITION_MAX).min(POSITION_MAX);
        if at == 0 {
            let message = format!("wrong position info in tsvector: {}", reader.shown());
            return Err(Error::invalid(message).with_hint("positions begin with 1"));
        }
        reader.skip(count);
        let mut weight = Weight::D;
        let is_last = loop {
            let Some(letter) = reader.peek().filter(|letter| !is_blank(*letter)) else { break true };
            if letter == ',' {
                break false;
            }
            let given = if letter == '*' { Some(Weight::A) } else { Weight::of_letter(letter) };
            match given {
                Some(given) if weight == Weight::D => weight = given,
                None if letter.is_ascii_digit() => {}
                _ => return Err(reader.wrong_syntax()),
            }
            reader.next();
        };
        positions.push(Position { at, weight });
        if is_last {
            return Ok(positions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> String {
        Vector::parse(text).unwrap().text()
    }

    #[test]
    fn vectors_have_one_text() {
        for (written, text) in [
            ("", ""),
            (" 1 ", "'1'"),
            ("'1 2'", "'1 2'"),
            ("a:3A b:2a 'ba'asd", "'a':3A 'asd' 'b':2A 'ba'"),
            ("'w':4A,3B,2C,1D,5 a:8", "'a':8 'w':1,2C,3B,4A,5"),
            ("a b c a a:1 a:1A,16384", "'a':1A,16383 'b' 'c'"),
            (r"'\\as' ab\c ab\\c AB\\\c ab\\\\c", r"'AB\\c' '\\as' 'ab\\\\c' 'ab\\c' 'abc'"),
            ("a''b '''c' é:1", "'''c' 'a''''b' 'é':1"),
        ] {
            assert_eq!(text_of(written), text, "{written}");
            assert_eq!(text_of(text), text, "{written}");
        }
        for wrong in ["''", "'a", "a:", "a:0", "a:x", "a:1AB", r"a\", "a:1,", "a:1;"] {
            assert!(Vector::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_word_has_a_limited_number_of_positions() {
        let positions: Vec<String> = (1..=300).map(|at| at.to_string()).collect();
        let vector = Vector::parse(&format!("a:{}", positions.join(","))).unwrap();
        assert_eq!(vector.lexemes()[0].positions.len(), POSITIONS_MAX);
        assert!(Vector::parse(&"a".repeat(WORD_BYTES_MAX)).is_ok());
        assert!(Vector::parse(&"a".repeat(WORD_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn documents_are_joined_by_moving_positions() {
        let (left, right) = (Vector::parse("a:1A b:3").unwrap(), Vector::parse("a:1,2B c").unwrap());
        assert_eq!(left.concat(&right).unwrap().text(), "'a':1A,4,5B 'b':3 'c'");
        assert_eq!(left.filter(Weight::A.bit()).text(), "'a':1A");
        assert_eq!(right.with_weight(Weight::C, Some(&["a".to_owned()])).text(), "'a':1C,2C 'c'");
    }
}
