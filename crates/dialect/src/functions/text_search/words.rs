//! The words in the text forms of vectors and queries: plain, or between quotation marks. After a backslash any
//! character is part of the word.

use super::characters::is_blank;
use atsdb_core::{Error, Result};

/// The kind of value that a text is the form of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    Vector,
    Query,
    /// A query as search engines on the web have it, in which only double quotation marks have a meaning.
    Web,
}

impl TextForm {
    /// Returns whether a character ends a plain word.
    fn ends_word(self, letter: char) -> bool {
        is_blank(letter)
            || letter == ':'
            || match self {
                Self::Vector => false,
                Self::Query => is_operator(letter),
                Self::Web => is_operator(letter) || letter == '"',
            }
    }
}

/// Returns whether a character belongs to an operator of queries.
pub(super) fn is_operator(letter: char) -> bool {
    matches!(letter, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Reads a text from its beginning.
#[derive(Debug)]
pub(super) struct WordReader<'a> {
    text: &'a str,
    at: usize,
    form: TextForm,
}

impl<'a> WordReader<'a> {
    pub(super) fn new(text: &'a str, form: TextForm) -> Self {
        Self { text, at: 0, form }
    }

    /// The part of the text that has not been read.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
    }

    /// Reads the next word. It is an error if none follows.
    pub(super) fn word(&mut self) -> Result<String> {
        if self.form != TextForm::Web && self.peek() == Some('\'') {
            self.next();
            return self.quoted();
        }
        if self.form != TextForm::Vector && self.peek().is_some_and(is_operator) {
            return Err(self.wrong_syntax());
        }
        let mut word = String::new();
        // The first character of a word may be a colon.
        while let Some(letter) = self.peek() {
            if !word.is_empty() && self.form.ends_word(letter) {
                break;
            }
            self.next();
            word.push(if letter == '\\' && self.form != TextForm::Web { self.escaped()? } else { letter });
        }
        Ok(word)
    }

    /// The rest of a word between quotation marks.
    fn quoted(&mut self) -> Result<String> {
        let mut word = String::new();
        loop {
            match self.next() {
                Some('\'') if self.peek() == Some('\'') => {
                    self.next();
                    word.push('\'');
                }
                Some('\'') if !word.is_empty() => return Ok(word),
                Some('\\') => word.push(self.escaped()?),
                Some('\'') | None => return Err(self.wrong_syntax()),
                Some(letter) => word.push(letter),
            }
        }
    }

    fn escaped(&mut self) -> Result<char> {
        self.next().ok_or_else(|| {
            Error::invalid(format!("there is no escaped character: {}", self.shown()))
                .with_hint("write \\\\ for one \\")
        })
    }

    pub(super) fn wrong_syntax(&self) -> Error {
        let (of, hint) = match self.form {
            TextForm::Vector => {
                ("tsvector", "write words with their positions, as in 'cat:3 dog:1A,2', or to_tsvector")
            }
            _ => ("tsquery", "write words and operators, as in 'cat & !dog', or use plainto_tsquery for plain text"),
        };
        Error::invalid(format!("syntax error in {of}: {}", self.shown())).with_hint(hint)
    }

    /// The text in messages.
    pub(super) fn shown(&self) -> String {
        format!("\"{:.200}\"", self.text)
    }
}

/// Writes a word between quotation marks.
pub(super) fn write_quoted(text: &mut String, word: &str) {
    text.push('\'');
    for letter in word.chars() {
        if matches!(letter, '\'' | '\\') {
            text.push(letter);
        }
        text.push(letter);
    }
    text.push('\'');
}
