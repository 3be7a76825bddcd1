//! Compiled regular expressions. Nearly all are matched in linear time. Those with look-around or references to groups
//! are matched by an engine that backtracks, whose number of steps is limited, because it could take for ever.

use crate::text::backtracking_patterns::for_backtracking;
use crate::text::datafusion_errors::{external, from_datafusion};
use crate::text::pattern_escapes::with_rust_escapes;
use crate::text::pattern_flags::ABOUT_LINES;
use atsdb_core::{Error, ErrorKind};
use datafusion::common::{DataFusionError, Result, exec_err};
use regex::Regex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// The maximum number of expressions that are kept for further rows. Each may take megabytes.
const KEPT_MAX: usize = 64;

/// The maximum number of times that a search goes back to an earlier choice. A batch of rows is done before its query
/// can be cancelled.
const STEPS_MAX: usize = 100_000;

/// The maximum number of instructions of the engine that backtracks.
const INSTRUCTIONS_MAX: usize = 100_000;

/// The maximum number of bytes of each part that it leaves to the linear engine.
const PART_BYTES_MAX: usize = 1 << 20;

/// The expressions of the patterns and flags of some rows, which often have the same.
#[derive(Default)]
pub struct ExpressionsOfRows<'a>(HashMap<(&'a str, &'a str), Expression>);

impl<'a> ExpressionsOfRows<'a> {
    /// The expression of a row.
    pub fn of(&mut self, pattern: &'a str, flags: &'a str) -> Result<&Expression> {
        if self.0.len() >= KEPT_MAX && !self.0.contains_key(&(pattern, flags)) {
            self.0.clear();
        }
        Ok(match self.0.entry((pattern, flags)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(expression_of(pattern, flags)?),
        })
    }
}

/// A pattern with flags. Of `i` and `c`, the last one counts. The pattern begins with what the others say: those about
/// ends of lines, and `q`.
pub fn expression_of(pattern: &str, flags: &str) -> Result<Expression> {
    let mut inner = String::new();
    for flag in flags.chars() {
        match flag {
            'g' | 'q' => {}
            other if ABOUT_LINES.contains(&other) => {}
            'c' => inner.retain(|other| other != 'i'),
            'i' | 'x' if inner.contains(flag) => {}
            'i' | 'x' => inner.push(flag),
            other => return exec_err!("invalid regular expression option: \"{other}\""),
        }
    }
    let pattern = if inner.is_empty() { pattern.to_owned() } else { format!("(?{inner}){pattern}") };
    match Regex::new(&pattern) {
        Ok(expression) => Ok(Expression::Linear(expression)),
        Err(error) if needs_backtracking(&error) => Expression::backtracking(&pattern),
        Err(error) => exec_err!("Regular expression did not compile: {error}"),
    }
}

/// Returns true if the linear engine refuses a pattern because of look-around or a reference to a group.
fn needs_backtracking(error: &regex::Error) -> bool {
    let regex::Error::Syntax(report) = error else { return false };
    report.contains("error: look-around") || report.contains("error: backreferences")
}

/// A compiled regular expression.
pub enum Expression {
    /// One that is matched in linear time.
    Linear(Regex),
    /// One with look-around or references to groups.
    Backtracking(Box<fancy_regex::Regex>),
}

impl Expression {
    fn backtracking(pattern: &str) -> Result<Self> {
        let pattern = for_backtracking(pattern).map_err(external)?;
        let compiled = fancy_regex::RegexBuilder::new(&pattern)
            .backtrack_limit(STEPS_MAX)
            .max_prog_size(INSTRUCTIONS_MAX)
            .delegate_size_limit(PART_BYTES_MAX)
            .build();
        Ok(Self::Backtracking(Box::new(compiled.map_err(failed)?)))
    }

    /// Returns true if a text has a match.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Self::Linear(expression) => Ok(expression.is_match(text)),
            Self::Backtracking(expression) => expression.is_match(text).map_err(failed),
        }
    }

    /// The bytes of the first match at or after a byte of a text.
    fn range_from(&self, text: &str, from: usize) -> Result<Option<Range<usize>>> {
        match self {
            Self::Linear(expression) => Ok(expression.find_at(text, from).map(|found| found.range())),
            Self::Backtracking(expression) => {
                let found = expression.find_from_pos(text, from).map_err(failed)?;
                Ok(found.map(|found| found.range()))
            }
        }
    }

    /// The groups of the first match at or after a byte of a text.
    pub fn groups_from<'t>(&self, text: &'t str, from: usize) -> Result<Option<Groups<'t>>> {
        match self {
            Self::Linear(expression) => Ok(expression.captures_at(text, from).map(Groups::Linear)),
            Self::Backtracking(expression) => {
                let groups = expression.captures_from_pos(text, from).map_err(failed)?;
                Ok(groups.map(Groups::Backtracking))
            }
        }
    }

    /// The groups of all matches from a byte of a text. An error is the last item.
    pub fn matches<'t>(&self, text: &'t str, from: usize) -> impl Iterator<Item = Result<Groups<'t>>> {
        successive(text, from, move |from| self.groups_from(text, from), Groups::whole)
    }

    /// The bytes of all matches from a byte of a text, which are found faster than their groups. An error is the last
    /// item.
    pub fn ranges(&self, text: &str, from: usize) -> impl Iterator<Item = Result<Range<usize>>> {
        successive(text, from, move |from| self.range_from(text, from), Range::clone)
    }
}

/// Calls `find` from a byte of a text on until it finds nothing. After an empty match, the search continues one
/// character after it.
fn successive<T>(
    text: &str,
    from: usize,
    find: impl Fn(usize) -> Result<Option<T>>,
    range_of: impl Fn(&T) -> Range<usize>,
) -> impl Iterator<Item = Result<T>> {
    let mut from = Some(from);
    std::iter::from_fn(move || {
        let found = match find(from.take()?) {
            Ok(found) => found?,
            Err(error) => return Some(Err(error)),
        };
        let range = range_of(&found);
        from = if range.is_empty() {
            text[range.end..].chars().next().map(|letter| range.end + letter.len_utf8())
        } else {
            Some(range.end)
        };
        Some(Ok(found))
    })
}

/// The compiled pattern of `~` or `~*`, for callers that match texts without a plan.
pub struct TextPattern(Expression);

impl TextPattern {
    /// Compiles a pattern as PostgreSQL writes it. Its dots match the ends of lines.
    ///
    /// Errors: the pattern is not a regular expression, or is too large.
    pub fn new(pattern: &str, ignores_case: bool) -> atsdb_core::Result<Self> {
        let pattern = with_rust_escapes(&format!("(?s){pattern}"))?;
        expression_of(&pattern, if ignores_case { "i" } else { "" }).map(Self).map_err(from_datafusion)
    }

    /// Returns true if a text has a match.
    ///
    /// Errors: matching takes too many steps, because of look-around or references to groups.
    pub fn matches(&self, text: &str) -> atsdb_core::Result<bool> {
        self.0.is_match(text).map_err(from_datafusion)
    }
}

/// An error of the engine that backtracks.
fn failed(error: fancy_regex::Error) -> DataFusionError {
    external(match error {
        fancy_regex::Error::RuntimeError(_) => {
            let message = "matching the regular expression takes too many steps";
            Error::new(ErrorKind::Resources, message).with_hint(
                "look-around and references such as \\1 try all ways to match: avoid nested repetition such as (a+)+, \
                 or search a part of the text",
            )
        }
        error => Error::invalid(format!("invalid regular expression: {error}")),
    })
}

/// The groups of a match. The first one is the whole match.
pub enum Groups<'t> {
    /// The groups of a match in linear time.
    Linear(regex::Captures<'t>),
    /// The groups of a match with backtracking.
    Backtracking(fancy_regex::Captures<'t, str>),
}

impl Groups<'_> {
    /// The number of groups, with the whole match.
    pub fn count(&self) -> usize {
        match self {
            Self::Linear(groups) => groups.len(),
            Self::Backtracking(groups) => groups.len(),
        }
    }

    /// The bytes of a group, if it takes part in the match.
    pub fn get(&self, number: usize) -> Option<Range<usize>> {
        match self {
            Self::Linear(groups) => groups.get(number).map(|group| group.range()),
            Self::Backtracking(groups) => groups.get(number).map(|group| group.range()),
        }
    }

    /// The bytes of the match.
    pub fn whole(&self) -> Range<usize> {
        self.get(0).unwrap_or_default()
    }

    /// Returns the byte ranges of the elements of `regexp_match`: the groups, or the whole match if the pattern has no
    /// groups. `None` for a group that did not take part in the match.
    pub fn parts(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        (usize::from(self.count() > 1)..self.count()).map(|number| self.get(number))
    }

    /// Appends a replacement in the notation of Rust's regular expressions.
    pub fn expand(&self, replacement: &str, written: &mut String) {
        match self {
            Self::Linear(groups) => groups.expand(replacement, written),
            Self::Backtracking(groups) => groups.expand(replacement, written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_expressions_are_kept() {
        let patterns: Vec<String> = (0..1_000).map(|number| format!("^{number}$")).collect();
        let mut expressions = ExpressionsOfRows::default();
        for pattern in &patterns {
            let text = pattern.trim_matches(['^', '$']);
            assert!(expressions.of(pattern, "").unwrap().is_match(text).unwrap());
            assert!(expressions.0.len() <= KEPT_MAX);
        }
    }

    #[test]
    fn only_patterns_that_need_it_backtrack() {
        for (pattern, backtracks) in
            [("a(b|c)*", false), (r"\(?=a", false), ("a(?=b)", true), ("(?<!a)b", true), (r"(.)\1", true)]
        {
            let expression = expression_of(pattern, "i").unwrap();
            assert_eq!(matches!(expression, Expression::Backtracking(_)), backtracks, "{pattern}");
        }
        for wrong in ["(?=a", r"(a)\2", "(?=a)(?<=", "(a"] {
            assert!(expression_of(wrong, "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let expression = expression_of(r"^((a|aa)+)+\1$", "").unwrap();
        let text = format!("{}b", "a".repeat(60));
        let error = from_datafusion(expression.is_match(&text).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
        let all: Vec<_> = expression.matches(&text, 0).collect();
        assert!(all.len() == 1 && all[0].is_err());
        assert!(expression_of(r"(?=((\w{100}){100}){100})", "").is_err());
    }
}
