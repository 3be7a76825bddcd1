//! The words of an expression.

use super::unescape::unescape;
use atsdb_core::time::DAY_MILLISECONDS;
use std::fmt;

/// An expression that is not PromQL, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The error message.
    pub message: String,
}

impl SyntaxError {
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let (line, column) = line_and_column(text, offset);
        Self { line, column, message: message.into() }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: parse error: {}", self.line, self.column, self.message)
    }
}

/// Line and column of a byte offset, both from 1.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The kind of a word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword, as written.
    Word(String),
    Number(f64),
    /// A duration, in seconds.
    Duration(f64),
    Text(String),
    Symbol(&'static str),
    End,
}

/// A word and where it begins.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) start: usize,
}

/// All symbols; longer ones first.
const SYMBOLS: [&str; 28] = [
    "==", "=~", "!=", "!~", "<=", "</", ">=", ">/", "=", "<", ">", "+", "-", "*", "/", "%", "^", "@", "(", ")", "{",
    "}", "[", "]", ",", ":", "!", ";",
];

/// Cuts an expression into words. The last is always [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Word>, SyntaxError> {
    let mut words = Vec::new();
    let mut lexer = Lexer { text, offset: 0, braces: false, brackets: false };
    loop {
        let word = lexer.next()?;
        match word.token {
            Token::Symbol("{") => lexer.braces = true,
            Token::Symbol("}") => lexer.braces = false,
            Token::Symbol("[") => lexer.brackets = true,
            Token::Symbol("]") => lexer.brackets = false,
            _ => {}
        }
        let end = word.token == Token::End;
        words.push(word);
        if end {
            return Ok(words);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    /// Whether this is inside `{}`, where a name holds no colon, and `inf` and keywords are names.
    braces: bool,
    /// Whether this is inside `[]`, where a colon is a separate word.
    brackets: bool,
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn error(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::at(self.text, offset, message)
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.offset += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.offset += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn next(&mut self) -> Result<Word, SyntaxError> {
        self.skip_space();
        let start = self.offset;
        let rest = self.rest();
        let mut letters = rest.chars();
        let Some(first) = letters.next() else { return Ok(Word { token: Token::End, start }) };
        let second = letters.next();
        let token = match first {
            '"' | '\'' | '`' => self.quoted(first)?,
            '0'..='9' => self.number()?,
            '.' if second.is_some_and(|letter| letter.is_ascii_digit()) => self.number()?,
            _ if first.is_ascii_alphabetic() || first == '_' || (first == ':' && !self.brackets && !self.braces) => {
                self.word()
            }
            _ => {
                let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
                    return Err(self.error(start, format!("unexpected character: {first:?}")));
                };
                // Inside brackets and after a comparison, a slash is a separate division operator.
                self.offset += symbol.len();
                Token::Symbol(symbol)
            }
        };
        Ok(Word { token, start })
    }

    fn word(&mut self) -> Token {
        let colons = !self.braces && !self.brackets;
        let rest = self.rest();
        let end = rest.find(|letter| !(is_name(letter) || (colons && letter == ':'))).unwrap_or(rest.len());
        self.offset += end;
        let word = &rest[..end];
        if !self.braces {
            if word.eq_ignore_ascii_case("inf") {
                return Token::Number(f64::INFINITY);
            }
            if word.eq_ignore_ascii_case("nan") {
                return Token::Number(f64::NAN);
            }
        }
        Token::Word(word.to_owned())
    }

    fn quoted(&mut self, quote: char) -> Result<Token, SyntaxError> {
        let start = self.offset;
        let body = &self.rest()[1..];
        let mut escaped = false;
        let end = body.find(|letter| {
            let ends = letter == quote && !escaped;
            escaped = !escaped && letter == '\\' && quote != '`';
            ends
        });
        let broken = |end: &usize| quote != '`' && body[..*end].contains('\n');
        let Some(end) = end.filter(|end| !broken(end)) else {
            return Err(self.error(start, "unterminated quoted string"));
        };
        self.offset += end + 2;
        if quote == '`' {
            return Ok(Token::Text(body[..end].to_owned()));
        }
        let text = unescape(&body[..end], quote).map_err(|message| self.error(start, message))?;
        Ok(Token::Text(text))
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        let rest = self.rest();
        let start = self.offset;
        let bytes = rest.as_bytes();
        let hex = rest.len() > 2 && (rest.starts_with("0x") || rest.starts_with("0X"));
        let mut end = 0;
        while end < bytes.len() {
            let byte = bytes[end];
            let signed = matches!(byte, b'+' | b'-') && end > 0 && matches!(bytes[end - 1], b'e' | b'E') && !hex;
            if is_name(byte as char) || byte == b'.' || signed {
                end += 1;
            } else {
                break;
            }
        }
        let word = &rest[..end];
        self.offset += end;
        if let Some(number) = parse_number(word) {
            return Ok(Token::Number(number));
        }
        // A sign after an exponent is not part of a duration, which has none.
        let until = word.find(['+', '-']).unwrap_or(word.len());
        self.offset = start + until;
        match parse_duration(&word[..until]) {
            Some(seconds) => Ok(Token::Duration(seconds)),
            None => Err(self.error(start, format!("bad number or duration syntax: {word:?}"))),
        }
    }
}

/// A number in Go's syntax: decimal, hexadecimal, octal with a leading zero, underscores between digits.
pub(crate) fn parse_number(word: &str) -> Option<f64> {
    if word.contains('_') {
        let spaced = word.bytes().zip(word.bytes().skip(1)).all(|(one, next)| {
            (one != b'_' || next.is_ascii_alphanumeric()) && !(next == b'_' && matches!(one, b'_' | b'.' | b'e' | b'E'))
        });
        return if spaced && !word.ends_with('_') { parse_number(&word.replace('_', "")) } else { None };
    }
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with(['+', '-'])).map(|n| n as f64);
    }
    if word.len() > 1
        && word.starts_with('0')
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(octal) = i64::from_str_radix(word, 8)
    {
        return Some(octal as f64);
    }
    let plain = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if plain && !word.is_empty() { word.parse().ok() } else { None }
}

/// A duration like `1h30m` in seconds. Units are in descending order, each at most once.
pub(crate) fn parse_duration(word: &str) -> Option<f64> {
    const DAY: u64 = DAY_MILLISECONDS.unsigned_abs();
    const UNITS: [(&str, u64); 7] =
        [("y", 365 * DAY), ("w", 7 * DAY), ("d", DAY), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let mut rest = word;
    let mut next = 0;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = &rest[digits..digits + letters];
        let index = next + UNITS[next..].iter().position(|(name, _)| *name == unit)?;
        let count: u64 = rest[..digits].parse().ok()?;
        total = total.checked_add(count.checked_mul(UNITS[index].1)?)?;
        next = index + 1;
        rest = &rest[digits + letters..];
    }
    // As in Prometheus, the maximum is 63 bits of nanoseconds.
    (!word.is_empty() && total <= i64::MAX as u64 / 1_000_000).then(|| total as f64 / 1000.0)
}
