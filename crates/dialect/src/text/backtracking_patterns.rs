//! Patterns with look-around, such as `(?=a)`, or with references to groups, such as `\1`. Only an engine that
//! backtracks matches them. It has syntax that PostgreSQL lacks, such as atomic groups, which is refused here, and
//! groups within look-around, which capture nothing in PostgreSQL.

use super::pattern_escapes::push_named_class;
use super::pattern_quantifiers::with_leading_flags;
use atsdb_core::{Error, Result};
use std::iter::Peekable;
use std::str::Chars;

/// The maximum number of such parts of a pattern, since each may be compiled on its own.
const PARTS_MAX: usize = 64;

/// The letters and digits that may follow a backslash.
const ESCAPES: &str = "AbBzdDsSwWafnrtvuUx123456789";

/// Returns true if a pattern has such a part. One that is escaped or between brackets counts, too.
pub fn may_backtrack(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<"].iter().any(|look| pattern.contains(look))
        || pattern.as_bytes().windows(2).any(|pair| matches!(pair, [b'\\', b'1'..=b'9']))
}

/// Such a pattern, which has the escapes of Rust's regular expressions, as the engine that backtracks reads it.
pub fn for_backtracking(pattern: &str) -> Result<String> {
    let is_expanded = with_leading_flags(pattern).0.contains('x');
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    // For each open group, whether it is within look-around.
    let mut open: Vec<bool> = Vec::new();
    let mut parts = 0;
    while let Some(letter) = letters.next() {
        let is_within = open.last() == Some(&true);
        match letter {
            '\\' => match letters.next() {
                Some('1'..='9') if is_within => return Err(wrong("look-around refers to a group outside of it")),
                Some(escaped) if escaped.is_ascii_alphanumeric() && !ESCAPES.contains(escaped) => {
                    return Err(wrong("invalid escape \\ sequence"));
                }
                // Escaped, they would be ends of words.
                Some(plain @ ('<' | '>')) => written.push(plain),
                escaped => {
                    parts += usize::from(matches!(escaped, Some('1'..='9')));
                    written.push('\\');
                    written.extend(escaped);
                }
            },
            '[' => push_class(&mut written, &mut letters),
            '#' if is_expanded => {
                letters.by_ref().find(|inner| *inner == '\n');
            }
            '(' if letters.next_if_eq(&'?').is_some() => {
                let sort = sort_of_group(&mut letters)?;
                let is_look = sort.ends_with(['=', '!']);
                parts += usize::from(is_look);
                // Flags alone open no group.
                if !sort.ends_with(')') {
                    open.push(is_look || is_within);
                }
                written.push_str("(?");
                written.push_str(&sort);
            }
            '(' => {
                written.push_str(if is_within { "(?:" } else { "(" });
                open.push(is_within);
            }
            ')' => {
                open.pop();
                written.push(')');
            }
            _ => written.push(letter),
        }
    }
    if parts > PARTS_MAX {
        let error = wrong("it has too many look-arounds and references to groups");
        return Err(error.with_hint(format!("the maximum is {PARTS_MAX}")));
    }
    Ok(written)
}

fn wrong(why: &str) -> Error {
    Error::invalid(format!("invalid regular expression: {why}"))
}

/// Reads the sort of a group after its question mark: look-around, or flags, which may be none.
fn sort_of_group(letters: &mut Peekable<Chars<'_>>) -> Result<String> {
    let mut sort = String::new();
    for letter in letters.by_ref() {
        sort.push(letter);
        if matches!(letter, ':' | ')' | '=' | '!') {
            break;
        }
    }
    let is_known = match sort.strip_suffix([':', ')']) {
        Some(flags) => flags.bytes().all(|flag| b"imsx-".contains(&flag)),
        None => matches!(sort.as_str(), "=" | "!" | "<=" | "<!"),
    };
    if is_known { Ok(sort) } else { Err(wrong("there is no such sort of group")) }
}

/// Appends a class, after its opening bracket.
fn push_class(written: &mut String, letters: &mut Peekable<Chars<'_>>) {
    written.push('[');
    written.extend(letters.next_if_eq(&'^'));
    // A closing bracket in the first position is a plain character.
    written.extend(letters.next_if_eq(&']'));
    while let Some(letter) = letters.next() {
        written.push(letter);
        match letter {
            ']' => return,
            '\\' => written.extend(letters.next()),
            // A class such as `[:digit:]`.
            '[' => push_named_class(written, letters),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_around_and_references_are_noticed() {
        for pattern in ["a(?=b)", "(?!b)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(a)(?i)\9"] {
            assert!(may_backtrack(pattern), "{pattern}");
        }
        for pattern in ["a", "(?s)a.b", "(?:a)", r"\d\0", r"\", ""] {
            assert!(!may_backtrack(pattern), "{pattern}");
        }
    }

    #[test]
    fn groups_within_look_around_capture_nothing() {
        for (pattern, expected) in [
            (r"(a)(?=(b)(?:c))(d)\1", r"(a)(?=(?:b)(?:c))(d)\1"),
            (r"(?<!(?=(a)))(b)", r"(?<!(?=(?:a)))(b)"),
            (r"(?s)(?=[()](?i)[^]()[:alpha:](])(a)", r"(?s)(?=[()](?i)[^]()[:alpha:](])(a)"),
            (r"(?=\((a)\))\<(b)", r"(?=\((?:a)\))<(b)"),
            ("(?x)(?=a # (\n)(b)", "(?x)(?=a )(b)"),
        ] {
            assert_eq!(for_backtracking(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn syntax_of_the_engine_alone_is_refused() {
        for pattern in [
            "(?>a)",
            "(?<name>a)",
            "(?P<name>a)",
            "(?R)",
            "(?~a)",
            "(?(1)a)",
            "(?#a)",
            r"\g<1>",
            r"\k<a>",
            r"\Ka",
            r"\Ra",
        ] {
            assert!(for_backtracking(&format!("(?=a){pattern}")).is_err(), "{pattern}");
        }
        assert!(for_backtracking(r"(a)(?=\1)").is_err());
        assert!(for_backtracking(&"(?=a)".repeat(PARTS_MAX)).is_ok());
        assert!(for_backtracking(&"(?=a)".repeat(PARTS_MAX + 1)).is_err());
    }
}
