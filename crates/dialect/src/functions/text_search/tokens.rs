//! The tokens of a document, as PostgreSQL's parser `default` finds them: words, numbers, hosts, addresses of mail,
//! URLs, paths of files, tags and entities of XML, and what is between them.

use super::characters::is_mark;
use super::hosts::HostRun;
use super::markup;
use super::paths::{PathStart, path_end};
use super::token_kinds::TokenKind;

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
}

/// The tokens that may come next in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Anything,
    /// A part of a word with hyphens, or a hyphen.
    Part,
    /// The host of a URL, up to this position.
    Host(usize),
    /// The path of a URL.
    Path,
}

/// The letters that a word has had so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordLetters {
    Ascii,
    Letters,
    /// Letters and digits.
    Digits,
}

/// The tokens of a document. Together they are the whole document.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    expected: Expected,
    /// Whether the position is within a script or a style sheet.
    is_script: bool,
    /// Whether no comment ends after this position.
    has_no_comment_end: bool,
    hosts: HostRun,
    /// The hosts after `@`.
    mail_hosts: HostRun,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            expected: Expected::Anything,
            is_script: false,
            has_no_comment_end: false,
            hosts: HostRun::default(),
            mail_hosts: HostRun::default(),
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn char(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.byte(at).is_some_and(|byte| byte.is_ascii_digit())
    }

    /// The end of the digits from a position.
    fn digits_end(&self, at: usize) -> usize {
        at + self.text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// The end of the exponent that begins at a position with its `e`.
    fn exponent_end(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), Some(b'e' | b'E')) {
            return None;
        }
        let digits = if matches!(self.byte(at + 1), Some(b'+' | b'-')) { at + 2 } else { at + 1 };
        self.is_digit(digits).then(|| self.digits_end(digits))
    }

    fn token(&mut self, kind: TokenKind, end: usize) -> Token<'a> {
        let text = &self.text[self.at..end];
        self.at = end;
        Token { kind, text }
    }

    /// The end of a word of which letters have been read, and all its letters.
    fn word_end(&self, from: usize, mut letters: WordLetters) -> (usize, WordLetters) {
        use WordLetters as L;
        for (offset, letter) in self.text[from..].char_indices() {
            letters = match letters {
                L::Ascii if letter.is_ascii_alphabetic() => L::Ascii,
                L::Ascii | L::Letters if letter.is_alphabetic() || is_mark(letter) => L::Letters,
                L::Ascii | L::Letters if letter.is_ascii_digit() => L::Digits,
                L::Digits if letter.is_alphanumeric() || is_mark(letter) => L::Digits,
                _ => return (from + offset, letters),
            };
        }
        (self.text.len(), letters)
    }

    /// The end of a word that goes on after a hyphen, and all its letters.
    fn word_after_hyphen(&self, from: usize, letters: WordLetters) -> Option<(usize, WordLetters)> {
        use WordLetters as L;
        let first = self.char(from)?;
        if first.is_ascii_digit() {
            let end = self.digits_end(from);
            let goes_on = self.char(end).is_some_and(|letter| letter.is_alphabetic() || is_mark(letter));
            return goes_on.then(|| self.word_end(end, L::Digits));
        }
        let letters = match letters {
            L::Ascii if !first.is_ascii() => L::Letters,
            letters => letters,
        };
        first.is_alphabetic().then(|| self.word_end(from, letters))
    }

    /// A word of which letters have been read, perhaps with hyphens, or the path of a file that begins with it.
    fn word(&mut self, from: usize, letters: WordLetters) -> Token<'a> {
        let (end, letters) = self.word_end(from, letters);
        if letters == WordLetters::Digits
            && let Some(token) = self.path_after(end)
        {
            return token;
        }
        let (mut whole, mut all) = (end, letters);
        while self.byte(whole) == Some(b'-')
            && let Some((end, letters)) = self.word_after_hyphen(whole + 1, all)
        {
            (whole, all) = (end, letters);
        }
        if whole == end {
            let kind = match letters {
                WordLetters::Ascii => TokenKind::AsciiWord,
                WordLetters::Letters => TokenKind::Word,
                WordLetters::Digits => TokenKind::NumberWord,
            };
            return self.token(kind, end);
        }
        // The parts of the word are tokens, too.
        let kind = match all {
            WordLetters::Ascii => TokenKind::HyphenatedAsciiWord,
            WordLetters::Letters => TokenKind::HyphenatedWord,
            WordLetters::Digits => TokenKind::HyphenatedNumberWord,
        };
        self.expected = Expected::Part;
        Token { kind, text: &self.text[self.at..whole] }
    }

    /// The path of a file whose first part ends at a position.
    fn path_after(&mut self, end: usize) -> Option<Token<'a>> {
        let start = match self.byte(end) {
            Some(b'.') => PathStart::Dot,
            Some(b'/') => PathStart::Slash,
            _ => return None,
        };
        path_end(self.text.as_bytes(), end + 1, start).map(|end| self.token(TokenKind::File, end))
    }

    /// A host, an address of mail or a URL.
    fn host(&mut self) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        let run_end = self.hosts.run_end(bytes, self.at);
        if bytes.get(run_end) == Some(&b'@')
            && let Some(end) = self.mail_hosts.host_end(bytes, run_end + 1)
        {
            return Some(self.token(TokenKind::Email, end));
        }
        let end = self.hosts.host_end(bytes, self.at)?;
        let has_path =
            bytes.get(end) == Some(&b'/') && bytes.get(end + 1).is_some_and(|byte| is_of_url(*byte) && *byte != b'\'');
        if !has_path {
            return Some(self.token(TokenKind::Host, end));
        }
        // The host and the path of a URL are tokens, too.
        self.expected = Expected::Host(end);
        Some(Token { kind: TokenKind::Url, text: &self.text[self.at..self.url_end(end + 1)] })
    }

    fn url_end(&self, at: usize) -> usize {
        at + self.text.as_bytes()[at..].iter().take_while(|byte| is_of_url(**byte)).count()
    }

    /// A token that begins with a letter of ASCII.
    fn letter_token(&mut self) -> Token<'a> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if matches!(self.byte(end), Some(b'.' | b'-' | b'_' | b'@' | b'0'..=b'9'))
            && let Some(token) = self.host()
        {
            return token;
        }
        if bytes[end..].starts_with(b"://") {
            return self.token(TokenKind::Protocol, end + 3);
        }
        match self.path_after(end) {
            Some(token) => token,
            None => self.word(end, WordLetters::Ascii),
        }
    }

    /// A token that begins with a digit.
    fn digit_token(&mut self) -> Token<'a> {
        let end = self.digits_end(self.at);
        if let Some(end) = self.exponent_end(end) {
            return self.token(TokenKind::ScientificFloat, end);
        }
        let next = self.byte(end);
        let may_be_host = next.is_some_and(|byte| byte.is_ascii_alphabetic() || b".-_@".contains(&byte));
        if may_be_host && let Some(token) = self.host() {
            return token;
        }
        if next == Some(b'.') && self.is_digit(end + 1) {
            let mut end = self.digits_end(end + 1);
            if self.byte(end) == Some(b'.') && self.is_digit(end + 1) {
                while self.byte(end) == Some(b'.') && self.is_digit(end + 1) {
                    end = self.digits_end(end + 1);
                }
                return self.token(TokenKind::Version, end);
            }
            return match self.exponent_end(end) {
                Some(end) => self.token(TokenKind::ScientificFloat, end),
                None => self.token(TokenKind::Float, end),
            };
        }
        if self.char(end).is_some_and(|letter| letter.is_alphabetic() || is_mark(letter)) {
            return self.word(end, WordLetters::Digits);
        }
        if next == Some(b'/')
            && let Some(token) = self.path_after(end)
        {
            return token;
        }
        self.token(TokenKind::UnsignedInteger, end)
    }

    /// A number whose sign is the next character.
    fn signed_number(&mut self) -> Token<'a> {
        let mut end = self.digits_end(self.at + 1);
        let mut kind = TokenKind::Integer;
        if self.byte(end) == Some(b'.') && self.is_digit(end + 1) {
            kind = TokenKind::Float;
            end = self.digits_end(end + 1);
            if self.byte(end) == Some(b'.') && self.is_digit(end + 1) {
                // Versions have no sign.
                return self.token(TokenKind::Blank, self.at + 1);
            }
        }
        match self.exponent_end(end) {
            Some(end) => self.token(TokenKind::ScientificFloat, end),
            None => self.token(kind, end),
        }
    }

    /// A part of a word with hyphens, or a hyphen in it.
    fn part(&mut self) -> Option<Token<'a>> {
        let first = self.char(self.at)?;
        if first == '-' {
            let goes_on = self.char(self.at + 1).is_some_and(|next| next.is_alphanumeric() || is_mark(next));
            return goes_on.then(|| self.token(TokenKind::Blank, self.at + 1));
        }
        let (end, letters) = if first.is_ascii_digit() {
            let end = self.digits_end(self.at);
            if !self.char(end).is_some_and(|letter| letter.is_alphabetic() || is_mark(letter)) {
                return None;
            }
            self.word_end(end, WordLetters::Digits)
        } else if first.is_alphabetic() {
            self.word_end(self.at, WordLetters::Ascii)
        } else {
            return None;
        };
        let kind = match letters {
            WordLetters::Ascii => TokenKind::AsciiPart,
            WordLetters::Letters => TokenKind::WordPart,
            WordLetters::Digits => TokenKind::NumberPart,
        };
        Some(self.token(kind, end))
    }

    /// The characters that separate words.
    fn blank(&mut self) -> Token<'a> {
        let mut letters = self.text[self.at..].char_indices();
        letters.next();
        let is_script = self.is_script;
        let ends = |letter: char| match letter {
            '<' => true,
            _ if is_script => false,
            '-' | '+' | '&' | '/' => true,
            letter => letter.is_alphanumeric(),
        };
        let end = letters.find(|(_, letter)| ends(*letter)).map_or(self.text.len(), |(offset, _)| self.at + offset);
        self.token(TokenKind::Blank, end)
    }

    /// A tag or a comment.
    fn markup(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        if let Some(is_script) = markup::starts_or_ends_script(rest) {
            self.is_script = is_script;
        }
        let length = if rest.starts_with("<!--") {
            if self.has_no_comment_end {
                return None;
            }
            let length = markup::comment_length(rest);
            self.has_no_comment_end = length.is_none();
            length
        } else {
            markup::tag_length(rest)
        };
        length.map(|length| self.token(TokenKind::Tag, self.at + length))
    }

    fn anything(&mut self, first: char) -> Token<'a> {
        if first == '<'
            && let Some(token) = self.markup()
        {
            return token;
        }
        let next = self.at + 1;
        let bytes = self.text.as_bytes();
        let path = match first {
            _ if self.is_script => None,
            letter if letter.is_ascii_alphabetic() => return self.letter_token(),
            letter if letter.is_alphabetic() => return self.word(self.at, WordLetters::Ascii),
            '0'..='9' => return self.digit_token(),
            '-' | '+' if self.is_digit(next) => return self.signed_number(),
            '&' => match markup::entity_length(&self.text[self.at..]) {
                Some(length) => return self.token(TokenKind::Entity, self.at + length),
                None => None,
            },
            '~' => path_end(bytes, next, PathStart::Tilde),
            '/' => path_end(bytes, next, PathStart::Slash),
            '.' => path_end(bytes, next, PathStart::FirstDot),
            _ => None,
        };
        match path {
            Some(end) => self.token(TokenKind::File, end),
            None => self.blank(),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let first = self.char(self.at)?;
        match self.expected {
            Expected::Anything => {}
            Expected::Part => match self.part() {
                Some(part) => return Some(part),
                None => self.expected = Expected::Anything,
            },
            Expected::Host(end) => {
                self.expected = Expected::Path;
                return Some(self.token(TokenKind::Host, end));
            }
            Expected::Path => {
                self.expected = Expected::Anything;
                let end = self.url_end(self.at);
                return Some(self.token(TokenKind::UrlPath, end));
            }
        }
        Some(self.anything(first))
    }
}

/// Returns whether a byte may be part of the path of a URL.
fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens that are no blanks, with their kinds.
    fn tokens(text: &str) -> String {
        let all: Vec<Token<'_>> = Tokens::of(text).collect();
        let words = all.iter().filter(|token| token.kind != TokenKind::Blank);
        words.map(|token| format!("{:?} {}", token.kind, token.text)).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn documents_have_the_tokens_of_postgres() {
        for (text, expected) in [
            ("a 1st naïve 42", "AsciiWord a, NumberWord 1st, Word naïve, UnsignedInteger 42"),
            ("-5 +1.5 1e-9 1.2.3", "Integer -5, Float +1.5, ScientificFloat 1e-9, Version 1.2.3"),
            ("x-y-1", "HyphenatedAsciiWord x-y, AsciiPart x, AsciiPart y, UnsignedInteger 1"),
            (
                "x-1a é-b",
                "HyphenatedNumberWord x-1a, AsciiPart x, NumberPart 1a, HyphenatedWord é-b, WordPart é, AsciiPart b",
            ),
            ("a_b.com:80 foo.bar_baz", "Host a_b.com:80, Host foo.bar, AsciiWord baz"),
            ("http://a.com/x?y=1 x.com/", "Protocol http://, Url a.com/x?y=1, Host a.com, UrlPath /x?y=1, Host x.com"),
            ("a.b@c.com 1@x.org b@localhost", "Email a.b@c.com, Email 1@x.org, AsciiWord b, AsciiWord localhost"),
            ("/usr/local/x.txt a/../b x.y", "File /usr/local/x.txt, File a/../b, File x.y"),
            (
                "<b class='x>'>t</b> &amp; <!-- c -->",
                "Tag <b class='x>'>, AsciiWord t, Tag </b>, Entity &amp;, Tag <!-- c -->",
            ),
            (
                "<script>a</script>b 1 < 2",
                "Tag <script>, Tag </script>, AsciiWord b, UnsignedInteger 1, UnsignedInteger 2",
            ),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_together_are_the_document() {
        for text in
            ["", " é<a \u{301}x.-_@/&#x;1.1a-1.1a-", "a@b@c.com:1:/~/..", "<!--<!--<a \"<?x", "\u{200b}1\u{200b}-é"]
        {
            let kept = Tokens::of(text).filter(|token| !token.kind.has_parts()).map(|token| token.text);
            assert_eq!(kept.collect::<String>(), text);
        }
    }
}
