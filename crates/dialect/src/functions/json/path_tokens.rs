//! The tokens of the text of an SQL/JSON path. Errors have PostgreSQL's words, and show where the text is wrong.

use crate::text::errors::sql_error;
use atsdb_core::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathToken {
    End,
    /// A name without quotes, which may be a word of the language.
    Word(String),
    /// A text in quotes.
    Text(String),
    Variable(String),
    Integer(String),
    /// A number with a point or an exponent.
    Number(String),
    Symbol(&'static str),
}

/// All symbols, longer ones before those that they begin with.
const SYMBOLS: [&str; 32] = [
    "&&", "||", "!=", "**", "<=", "==", "<>", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}", "(", ")",
    "|", "&", "=", "@", "#", ",", "*", ":", "-", "+", "/",
];

const HINT: &str = "a path is $ with .key, [0], [*] and ? (@.key > 1)";

/// The error for a text that is wrong where `near` is; at its end if that is empty.
fn wrong(message: &str, near: &str) -> Error {
    let place = if near.is_empty() { "at end".to_owned() } else { format!("at or near \"{near:.60}\"") };
    sql_error(format!("{message} {place} of jsonpath input")).with_hint(HINT)
}

/// The token that is next.
#[derive(Debug)]
pub(super) struct NextToken<'a> {
    tokens: PathTokens<'a>,
    pub(super) token: PathToken,
    /// The text of the token.
    near: &'a str,
}

impl<'a> NextToken<'a> {
    /// The first token of a text.
    pub(super) fn new(text: &'a str) -> Result<Self> {
        let mut next = Self { tokens: PathTokens { rest: text }, token: PathToken::End, near: "" };
        next.advance()?;
        Ok(next)
    }

    pub(super) fn wrong(&self) -> Error {
        wrong("syntax error", self.near)
    }

    pub(super) fn advance(&mut self) -> Result<()> {
        (self.token, self.near) = self.tokens.read()?;
        Ok(())
    }

    /// Takes the next token if it is this symbol.
    pub(super) fn takes(&mut self, symbol: &'static str) -> Result<bool> {
        let is_next = self.token == PathToken::Symbol(symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn expect(&mut self, symbol: &'static str) -> Result<()> {
        if self.takes(symbol)? { Ok(()) } else { Err(self.wrong()) }
    }

    /// Returns whether a word of the language is next.
    pub(super) fn is_word(&self, word: &str) -> bool {
        match &self.token {
            PathToken::Word(name) if matches!(word, "true" | "false" | "null") => name == word,
            PathToken::Word(name) => name.eq_ignore_ascii_case(word),
            _ => false,
        }
    }

    pub(super) fn takes_word(&mut self, word: &str) -> Result<bool> {
        let is_next = self.is_word(word);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.takes_word(word)? { Ok(()) } else { Err(self.wrong()) }
    }

    /// Returns the value that belongs to the next token in a list of symbols; `None` if that token is none of them.
    /// Does not advance.
    pub(super) fn one_of<T: Copy>(&self, symbols: &[(&'static str, T)]) -> Option<T> {
        let PathToken::Symbol(next) = self.token else { return None };
        symbols.iter().find(|(symbol, _)| *symbol == next).map(|(_, meaning)| *meaning)
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let PathToken::Text(text) = &self.token else { return Err(self.wrong()) };
        let text = text.clone();
        self.advance()?;
        Ok(text)
    }
}

/// Reads the tokens of a text.
#[derive(Debug)]
struct PathTokens<'a> {
    rest: &'a str,
}

impl<'a> PathTokens<'a> {
    /// The next token, and its text.
    fn read(&mut self) -> Result<(PathToken, &'a str)> {
        self.skip_blanks()?;
        let start = self.rest;
        let token = self.token()?;
        Ok((token, &start[..start.len() - self.rest.len()]))
    }

    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            self.rest = self.rest.trim_start_matches(is_blank);
            let Some(comment) = self.rest.strip_prefix("/*") else { return Ok(()) };
            let Some((_, rest)) = comment.split_once("*/") else { return Err(wrong("unexpected end of comment", "")) };
            self.rest = rest;
        }
    }

    fn token(&mut self) -> Result<PathToken> {
        let mut letters = self.rest.chars();
        let (Some(first), second) = (letters.next(), letters.next()) else { return Ok(PathToken::End) };
        match (first, second) {
            ('"', _) => self.quoted(1).map(PathToken::Text),
            ('$', Some('"')) => self.quoted(2).map(PathToken::Variable),
            ('$', Some(letter)) if is_of_word(letter) => {
                self.rest = &self.rest[1..];
                Ok(PathToken::Variable(self.head(is_of_word).to_owned()))
            }
            ('0'..='9', _) | ('.', Some('0'..='9')) => self.number(),
            _ => match SYMBOLS.into_iter().find(|symbol| self.rest.starts_with(symbol)) {
                Some(symbol) => {
                    self.rest = &self.rest[symbol.len()..];
                    Ok(PathToken::Symbol(symbol))
                }
                None => self.word().map(PathToken::Word),
            },
        }
    }

    /// Takes the letters that come next and are of a kind.
    fn head(&mut self, is_of: fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter: char| !is_of(letter)).unwrap_or(self.rest.len());
        let (head, rest) = self.rest.split_at(end);
        self.rest = rest;
        head
    }

    fn word(&mut self) -> Result<String> {
        let mut word = String::new();
        loop {
            word.push_str(self.head(is_of_word));
            if !self.rest.starts_with('\\') {
                return Ok(word);
            }
            self.escape(&mut word)?;
        }
    }

    /// A text in quotes, after what opens it.
    fn quoted(&mut self, opening_bytes: usize) -> Result<String> {
        self.rest = &self.rest[opening_bytes..];
        let mut text = String::new();
        loop {
            text.push_str(self.head(|letter| letter != '"' && letter != '\\'));
            if let Some(rest) = self.rest.strip_prefix('"') {
                self.rest = rest;
                return Ok(text);
            }
            if self.rest.is_empty() {
                return Err(wrong("unexpected end of quoted string", ""));
            }
            self.escape(&mut text)?;
        }
    }

    /// Reads what a backslash begins, which is next.
    fn escape(&mut self, text: &mut String) -> Result<()> {
        let Some(letter) = self.rest.chars().nth(1) else { return Err(wrong("unexpected end after backslash", "")) };
        let character = match letter {
            'u' => return self.unicode(text),
            'x' => {
                let code = self.rest.get(2..4).and_then(hexadecimal);
                let Some(code) = code else { return Err(wrong("invalid hex character sequence", &self.rest[..2])) };
                self.rest = &self.rest[4..];
                text.push(character_of(code)?);
                return Ok(());
            }
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            other => other,
        };
        self.rest = &self.rest[1 + letter.len_utf8()..];
        text.push(character);
        Ok(())
    }

    /// Reads `\u0041` or `\u{41}`, and the second half of a pair of surrogates after a first one.
    fn unicode(&mut self, text: &mut String) -> Result<()> {
        let mut code = self.code()?;
        if (0xD800..0xDC00).contains(&code) {
            let second = if self.rest.starts_with("\\u") { self.code()? } else { 0 };
            code = match second {
                0xDC00..0xE000 => 0x1_0000 + ((code - 0xD800) << 10) + (second - 0xDC00),
                0xD800..0xDC00 => return Err(wrong_pair("high surrogate must not follow a high surrogate")),
                _ => return Err(wrong_pair("low surrogate must follow a high surrogate")),
            };
        } else if (0xDC00..0xE000).contains(&code) {
            return Err(wrong_pair("low surrogate must follow a high surrogate"));
        }
        text.push(character_of(code)?);
        Ok(())
    }

    fn code(&mut self) -> Result<u32> {
        let behind = &self.rest[2..];
        let (digits, rest) = match behind.strip_prefix('{') {
            Some(inner) => inner.split_once('}').unwrap_or(("", "")),
            None => behind.split_at_checked(4).unwrap_or(("", "")),
        };
        match hexadecimal(digits).filter(|_| digits.len() <= 6) {
            Some(code) => {
                self.rest = rest;
                Ok(code)
            }
            None => Err(wrong("invalid unicode sequence", &self.rest[..2])),
        }
    }

    fn number(&mut self) -> Result<PathToken> {
        let (start, is_digit) = (self.rest, |letter: char| letter.is_ascii_digit());
        let text_before = |rest: &str| &start[..start.len() - rest.len()];
        let mut is_integer = true;
        // A number may not begin with further zeros.
        match self.rest.strip_prefix('0') {
            Some(rest) => self.rest = rest,
            None => {
                self.head(is_digit);
            }
        }
        if let Some(rest) = self.rest.strip_prefix('.') {
            is_integer = false;
            self.rest = rest;
            self.head(is_digit);
        }
        if let Some(rest) = self.rest.strip_prefix(['e', 'E']) {
            is_integer = false;
            self.rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            if self.head(is_digit).is_empty() {
                return Err(wrong(TRAILING, text_before(self.rest)));
            }
        }
        let text = text_before(self.rest);
        match self.rest.chars().next().filter(|letter| is_of_word(*letter)) {
            Some(letter) => Err(wrong(TRAILING, &start[..text.len() + letter.len_utf8()])),
            None if is_integer => Ok(PathToken::Integer(text.to_owned())),
            None => Ok(PathToken::Number(text.to_owned())),
        }
    }
}

const TRAILING: &str = "trailing junk after numeric literal";

fn wrong_pair(what: &str) -> Error {
    Error::invalid(format!("invalid input syntax for type jsonpath: Unicode {what}"))
}

/// The number of hexadecimal digits.
fn hexadecimal(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_number { u32::from_str_radix(digits, 16).ok() } else { None }
}

fn character_of(code: u32) -> Result<char> {
    match char::from_u32(code) {
        Some('\0') => Err(Error::invalid("unsupported Unicode escape sequence: \\u0000 cannot be converted to text")),
        Some(character) => Ok(character),
        None => Err(wrong("invalid unicode sequence", &format!("\\u{{{code:x}}}"))),
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Returns whether a letter is part of a name without quotes.
fn is_of_word(letter: char) -> bool {
    const OTHERS: &str = "?%$.[]{}()|&!=<>@#,*:-+/\\\"";
    !is_blank(letter) && !OTHERS.contains(letter)
}
