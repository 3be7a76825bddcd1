//! The regular expressions of `like_regex` in SQL/JSON paths.

use crate::text::errors::sql_error;
use crate::text::pattern_escapes::with_rust_escapes;
use crate::text::pattern_options::within_lines;
use atsdb_core::Result;
use regex::{Regex, RegexBuilder};

/// The maximum size in bytes of a compiled regular expression.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The maximum number of regular expressions in a path.
const REGEXES_MAX: usize = 64;

/// All flags, in the order in which they are shown.
const FLAGS: &str = "ismxq";

#[derive(Debug)]
pub(super) struct PathRegex {
    pub(super) pattern: String,
    /// Each flag once.
    pub(super) flags: String,
    regex: Regex,
}

/// Refuses a path with so many regular expressions, because each is kept in its compiled form.
pub(super) fn refuse_more_regexes(count: usize) -> Result<()> {
    if count <= REGEXES_MAX {
        return Ok(());
    }
    let error = sql_error("the jsonpath has too many regular expressions");
    Err(error.with_hint(format!("the maximum is {REGEXES_MAX}")))
}

impl PathRegex {
    /// A pattern with flags. With `q` it is a plain text, for which `s`, `m` and `x` mean nothing.
    pub(super) fn new(pattern: String, flags: &str) -> Result<Self> {
        if let Some(other) = flags.chars().find(|flag| !FLAGS.contains(*flag)) {
            let message = format!("invalid input syntax for type jsonpath: Unrecognized flag character \"{other}\"");
            let error = sql_error(format!("{message} in LIKE_REGEX predicate"));
            return Err(error.with_hint("the flags are i, s, m and q"));
        }
        let has = |flag: char| flags.contains(flag);
        if has('x') && !has('q') {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(sql_error(message).with_hint("leave the flag x out"));
        }
        let is_plain = has('q');
        let read = match (is_plain, has('s')) {
            (true, _) => regex::escape(&pattern),
            (false, true) => with_rust_escapes(&pattern)?,
            (false, false) => within_lines(&with_rust_escapes(&pattern)?),
        };
        let regex = RegexBuilder::new(&read)
            .case_insensitive(has('i'))
            .dot_matches_new_line(has('s') && !is_plain)
            .multi_line(has('m') && !is_plain)
            .size_limit(COMPILED_BYTES_MAX)
            .build();
        let regex = regex.map_err(|error| sql_error(format!("invalid regular expression: {error}")))?;
        let flags = FLAGS.chars().filter(|flag| has(*flag)).collect();
        Ok(Self { pattern, flags, regex })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_meaning() {
        let is_match =
            |pattern: &str, flags: &str, text| PathRegex::new(pattern.to_owned(), flags).unwrap().is_match(text);
        for (pattern, flags, text, wanted) in [
            ("^ab.*c", "", "abdacb", true),
            ("^ab.*c", "", "ABdacb", false),
            ("^ab.*c", "i", "ABdacb", true),
            ("a.b", "", "a\nb", false),
            ("a.b", "s", "a\nb", true),
            ("^b$", "", "a\nb", false),
            ("^b$", "m", "a\nb", true),
            ("a.b", "q", "a.b", true),
            ("a.b", "q", "axb", false),
            ("A.b", "iq", "xa.B", true),
            ("a.b", "smxq", "a\nb", false),
            ("a[^x]b", "", "a\nb", false),
            ("a[^x]b", "m", "a\nb", false),
            ("a[^x]b", "s", "a\nb", true),
            ("a[^x]b", "", "a+b", true),
            ("a[^]x]b", "", "a]b", false),
            ("a[^]x]b", "", "a+b", true),
            ("a[^-x]b", "", "a-b", false),
            ("a[^--/]b", "", "a.b", false),
            ("a[^--/]b", "", "a\nb", false),
            ("a[^-x]b", "", "a+b", true),
            (r"a[^\]x]b", "", "a]b", false),
            (r"\[^", "", "[", false),
            (r"a\Db", "", "a\nb", true),
            ("a[^x]", "q", "a[^x]", true),
            (r"\ybar", "", "foo bar", true),
            (r"\ybar", "s", "foobar", false),
            (r"o\b", "", "foo bar", false),
            ("^[[]$", "", "[", true),
            ("^[[^x]$", "", "^", true),
            ("^[[^x]$", "", "a", false),
        ] {
            assert_eq!(is_match(pattern, flags, text), wanted, "{pattern} {flags} {text:?}");
        }
        for (pattern, flags) in
            [("a", "x"), ("a", "a"), ("(", ""), ("a**", ""), ("[[.ab.]]", "s"), ("(((a{9}){99}){99}){99}", "")]
        {
            assert!(PathRegex::new(pattern.to_owned(), flags).is_err(), "{pattern} {flags}");
        }
    }
}
