//! The words of a statement, one after the other, for statements that are read without the parser. Errors have
//! PostgreSQL's messages.

use super::statement_error::StatementError;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// A name or a key word, in lower case.
    Name(String),
    /// A name in double quotes, unchanged.
    Quoted(String),
    /// A text in quotes.
    Text(String),
    /// A number, or a parameter with its `$`.
    Number(String),
    /// Any other character.
    Symbol(char),
}

/// The words of a text, without its comments.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    text: &'a str,
    /// The byte at which the last word begins.
    start: usize,
    at: usize,
}

impl<'a> Words<'a> {
    /// The words of a text, from its start.
    pub fn new(text: &'a str) -> Self {
        Self { text, start: 0, at: 0 }
    }

    /// The text that is not read yet.
    pub fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start()
    }

    /// The last word as it is written.
    pub(super) fn written(&self) -> &'a str {
        self.text.get(self.start..self.at).unwrap_or_default()
    }

    /// The next word if it is this key word.
    pub fn accept(&mut self, key: &str) -> bool {
        let mut ahead = self.clone();
        let found = matches!(ahead.next(), Some(Word::Name(name)) if name == key);
        if found {
            *self = ahead;
        }
        found
    }

    /// The next word if it is this symbol.
    pub fn accept_symbol(&mut self, symbol: char) -> bool {
        let mut ahead = self.clone();
        let found = ahead.next() == Some(Word::Symbol(symbol));
        if found {
            *self = ahead;
        }
        found
    }

    /// The next word, which stays the next one.
    pub fn peek(&self) -> Option<Word> {
        self.clone().next()
    }

    /// A name, quoted or not.
    pub fn name(&mut self) -> Result<String, StatementError> {
        match self.next() {
            Some(Word::Name(name) | Word::Quoted(name)) => Ok(name),
            other => Err(self.unexpected(other)),
        }
    }

    /// Checks that nothing but a semicolon is left.
    pub fn end(mut self) -> Result<(), StatementError> {
        self.accept_symbol(';');
        match self.next() {
            None => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// The error for a word that may not follow here; `None` is the end of the text.
    pub fn unexpected(&self, word: Option<Word>) -> StatementError {
        let shown = match word {
            None => return StatementError::syntax("syntax error at end of input"),
            Some(Word::Name(text) | Word::Quoted(text) | Word::Text(text) | Word::Number(text)) => text,
            Some(Word::Symbol(symbol)) => symbol.to_string(),
        };
        let written = Some(self.written()).filter(|written| written.eq_ignore_ascii_case(&shown));
        StatementError::syntax(format!("syntax error at or near \"{}\"", written.unwrap_or(&shown)))
    }

    /// Skips spaces and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("--") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                self.at += comment_length(trimmed);
            } else {
                return;
            }
        }
    }

    /// A text that ends with a quote; a doubled quote in it is a quote.
    fn quoted(&mut self, quote: char) -> String {
        let mut out = String::new();
        let mut rest = self.text[self.at..].char_indices().skip(1).peekable();
        while let Some((at, letter)) = rest.next() {
            if letter != quote {
                out.push(letter);
            } else if rest.next_if(|(_, next)| *next == quote).is_some() {
                out.push(quote);
            } else {
                self.at += at + letter.len_utf8();
                return out;
            }
        }
        self.at = self.text.len();
        out
    }

    /// A text with backslashes, from its quote on.
    fn escaped(&mut self) -> String {
        let mut out = String::new();
        let mut rest = self.text[self.at..].char_indices().skip(1).peekable();
        while let Some((at, letter)) = rest.next() {
            match letter {
                '\\' => match rest.next().map(|(_, letter)| letter) {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r') => out.push('\r'),
                    Some('b') => out.push('\u{8}'),
                    Some('f') => out.push('\u{c}'),
                    Some('x') => {
                        let mut value = 0;
                        for _ in 0..2 {
                            let Some((_, digit)) = rest.next_if(|(_, digit)| digit.is_ascii_hexdigit()) else { break };
                            value = value * 16 + digit.to_digit(16).unwrap_or(0);
                        }
                        out.extend(char::from_u32(value));
                    }
                    Some(other) => out.push(other),
                    None => break,
                },
                '\'' if rest.next_if(|(_, next)| *next == '\'').is_some() => out.push('\''),
                '\'' => {
                    self.at += at + 1;
                    return out;
                }
                other => out.push(other),
            }
        }
        self.at = self.text.len();
        out
    }
}

/// The first words of a statement in upper case, at most `count`: those before anything that is not a word without
/// quotes. Comments are skipped.
pub fn leading_words(text: &str, count: usize) -> Vec<String> {
    let name = |word: Word| match word {
        Word::Name(name) => Some(name.to_uppercase()),
        _ => None,
    };
    Words::new(text).map_while(name).take(count).collect()
}

/// Returns whether a character beyond ASCII may be in a name without quotes. As in PostgreSQL, each one may but blanks.
pub fn is_of_names(character: char) -> bool {
    !character.is_ascii() && !character.is_whitespace()
}

/// The length of the tag with which a text in dollar quotes begins: `$$` or `$name$`.
fn dollar_quote(text: &str) -> Option<usize> {
    let tag = text.strip_prefix('$')?;
    let length = tag.find('$')?;
    let is_name = tag[..length].chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    (is_name && !tag.starts_with(|first: char| first.is_ascii_digit())).then_some(length + 2)
}

fn comment_length(text: &str) -> usize {
    let (bytes, mut at, mut depth) = (text.as_bytes(), 2, 1_usize);
    while at < bytes.len() && depth > 0 {
        (at, depth) = match &bytes[at..] {
            [b'*', b'/', ..] => (at + 2, depth - 1),
            [b'/', b'*', ..] => (at + 2, depth + 1),
            _ => (at + 1, depth),
        };
    }
    // The last character may have several bytes.
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.skip();
        self.start = self.at;
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let length_of = |is_part: fn(char) -> bool| rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        Some(match first {
            '\'' => Word::Text(self.quoted('\'')),
            '"' => Word::Quoted(self.quoted('"')),
            'e' | 'E' if rest[1..].starts_with('\'') => {
                self.at += 1;
                Word::Text(self.escaped())
            }
            '$' if let Some(length) = dollar_quote(rest) => {
                let (tag, body) = rest.split_at(length);
                let end = body.find(tag).unwrap_or(body.len());
                self.at += (2 * length + end).min(rest.len());
                Word::Text(body[..end].to_owned())
            }
            '$' | '0'..='9' => {
                let length = 1 + rest[1..]
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.')
                    .unwrap_or(rest.len() - 1);
                self.at += length;
                Word::Number(rest[..length].to_owned())
            }
            letter if letter.is_ascii_alphabetic() || letter == '_' || is_of_names(letter) => {
                let length = length_of(|letter| {
                    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$') || is_of_names(letter)
                });
                self.at += length;
                Word::Name(rest[..length].to_lowercase())
            }
            symbol => {
                self.at += symbol.len_utf8();
                Word::Symbol(symbol)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_beyond_ascii_may_be_in_a_name() {
        let words: Vec<Word> = Words::new("Größe_1 → °C$€\u{a0}x²").collect();
        assert_eq!(words, ["größe_1", "→", "°c$€", "x²"].map(|name| Word::Name(name.into())));
    }

    #[test]
    fn words_are_found_between_comments() {
        let words: Vec<Word> =
            Words::new("/* a /* b */ é*/ SET -- x\n \"A\"\"b\" = 'it''s', E'a\\tb\\'' $1 1.5;").collect();
        let expected = [
            Word::Name("set".into()),
            Word::Quoted("A\"b".into()),
            Word::Symbol('='),
            Word::Text("it's".into()),
            Word::Symbol(','),
            Word::Text("a\tb'".into()),
            Word::Number("$1".into()),
            Word::Number("1.5".into()),
            Word::Symbol(';'),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn the_first_words_are_found_between_comments() {
        for (text, words) in [
            ("ALTER/**/Schema a", vec!["ALTER", "SCHEMA", "A"]),
            ("-- x\nalter -- y\n schema\n\"a\"", vec!["ALTER", "SCHEMA"]),
            ("create /* a /* b */ c */ temp sequence s", vec!["CREATE", "TEMP", "SEQUENCE"]),
            ("ALTER TABLE [t] ADD x INT", vec!["ALTER", "TABLE"]),
            ("(SELECT 1)", vec![]),
        ] {
            assert_eq!(leading_words(text, 3), words, "{text}");
        }
    }

    #[test]
    fn nothing_that_is_not_closed_hangs_or_panics() {
        for text in ["/* é", "'é", "\"é", "e'\\", "e'\\x", "-- é", "$", "é", "/*/"] {
            assert!(Words::new(text).count() <= 2, "{text}");
        }
    }
}
