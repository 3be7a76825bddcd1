//! Reads long lists out of JSON without a tree of values. Numbers are passed on as they are written, so that fractions
//! lose nothing.

use crate::failure::Failure;
use std::borrow::Cow;

/// A value that is neither a list nor an object.
#[derive(Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
}

/// A position in a text of JSON without spaces between its signs, as servers write it.
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Advances to the position after the value's name. A text cannot contain the name, because quotes are escaped
    /// there.
    pub(super) fn find(&mut self, name: &str) -> bool {
        let pattern = format!("\"{name}\":");
        let found = self.rest.find(&pattern);
        if let Some(at) = found {
            self.rest = &self.rest[at + pattern.len()..];
        }
        found.is_some()
    }

    /// Returns whether the value's name comes before another's, which may be missing.
    pub(super) fn comes_before(&self, name: &str, other: &str) -> bool {
        let place = |name: &str| self.rest.find(&format!("\"{name}\":"));
        place(name).is_some_and(|at| place(other).is_none_or(|other| at < other))
    }

    /// Passes the items of a list to `item`, one by one.
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), Failure>) -> Result<(), Failure> {
        self.expect('[')?;
        if self.sign(']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.sign(',') {
                return self.expect(']');
            }
        }
    }

    /// Reads the names and texts of an object.
    pub(super) fn object_of_texts(&mut self) -> Result<Vec<(String, String)>, Failure> {
        let mut pairs = Vec::new();
        self.expect('{')?;
        if self.sign('}') {
            return Ok(pairs);
        }
        loop {
            let name = self.text()?;
            self.expect(':')?;
            pairs.push((name.into_owned(), self.text()?.into_owned()));
            if !self.sign(',') {
                return self.expect('}').map(|()| pairs);
            }
        }
    }

    /// Reads a value.
    pub(super) fn scalar(&mut self) -> Result<Scalar<'a>, Failure> {
        if self.rest.starts_with('"') {
            return self.text().map(Scalar::Text);
        }
        let end = self.rest.find([',', ']', '}']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(match word {
            "null" => Scalar::Null,
            "true" | "false" => Scalar::Bool(word == "true"),
            number if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                Scalar::Number(number)
            }
            _ => return Err(malformed()),
        })
    }

    fn text(&mut self) -> Result<Cow<'a, str>, Failure> {
        self.expect('"')?;
        let (mut end, mut is_escaped, bytes) = (0, false, self.rest.as_bytes());
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => (end, is_escaped) = (end + 2, true),
                Some(_) => end += 1,
                None => return Err(malformed()),
            }
        }
        let (text, rest) = (self.rest.get(..end).ok_or_else(malformed)?, &self.rest[end + 1..]);
        self.rest = rest;
        match is_escaped {
            true => serde_json::from_str(&format!("\"{text}\"")).map(Cow::Owned).map_err(Failure::broken),
            false => Ok(Cow::Borrowed(text)),
        }
    }

    fn sign(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, sign: char) -> Result<(), Failure> {
        if self.sign(sign) { Ok(()) } else { Err(malformed()) }
    }
}

fn malformed() -> Failure {
    Failure::wrong("the server's answer is not the JSON that it documents")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_value_by_value() {
        let text = r#"{"name":"a \"values\":[","tags":{"k":"v","x":"\u00fc\n"},"values":[[1,"q\"",-0.1,null],[]],"more":[true]}"#;
        let mut scanner = Scanner::new(text);
        assert!(scanner.comes_before("tags", "values") && !scanner.comes_before("values", "tags"));
        assert!(scanner.find("tags"));
        let tags = scanner.object_of_texts().expect("tags");
        assert_eq!(tags, [("k", "v"), ("x", "ü\n")].map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(scanner.find("values"));
        let mut rows = Vec::new();
        scanner
            .list(|scanner| {
                let mut row = Vec::new();
                scanner.list(|scanner| {
                    row.push(scanner.scalar()?);
                    Ok(())
                })?;
                rows.push(row);
                Ok(())
            })
            .expect("rows");
        let first = [Scalar::Number("1"), Scalar::Text("q\"".into()), Scalar::Number("-0.1"), Scalar::Null];
        assert_eq!(rows, [first.into_iter().collect(), Vec::new()]);
        assert!(!scanner.find("values"));
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        for text in ["[1", "[1,", "[\"a", "[\"a\\", "[x]", "", "[\"ü\\"] {
            assert!(Scanner::new(text).list(|scanner| scanner.scalar().map(drop)).is_err(), "{text}");
        }
        assert!(Scanner::new("{\"a\":1}").object_of_texts().is_err());
    }
}
