//! The options before a regular expression, such as `(?n)`, whose letters Rust's regular expressions read otherwise:
//! with PostgreSQL's `m`, a dot matches no end of a line, and neither does a class such as `[^a]`.

use atsdb_core::{Error, Result};

/// The options before a pattern. A later letter overrides an earlier one.
#[derive(Debug, Default)]
pub(super) struct PatternOptions {
    lines: Option<LineMode>,
    ignores_case: bool,
    pub(super) is_expanded: bool,
    /// Whether the pattern stands for itself.
    pub(super) is_plain: bool,
}

/// How a pattern treats line feeds in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineMode {
    /// Like any other character: a dot matches them.
    Ignored,
    /// A dot does not match them, and `^` and `$` match beside them.
    Split,
    /// A dot does not match them.
    OfDots,
    /// `^` and `$` match beside them.
    OfEnds,
}

impl PatternOptions {
    /// Reads options in parentheses, such as `(?s)(?i)`.
    pub(super) fn add(&mut self, options: &str) -> Result<()> {
        for letter in options.chars() {
            match letter {
                '(' | '?' | ')' | 'e' => {}
                's' => self.lines = Some(LineMode::Ignored),
                'm' | 'n' => self.lines = Some(LineMode::Split),
                'p' => self.lines = Some(LineMode::OfDots),
                'w' => self.lines = Some(LineMode::OfEnds),
                'i' => self.ignores_case = true,
                'c' => self.ignores_case = false,
                'x' => self.is_expanded = true,
                't' => self.is_expanded = false,
                'q' => self.is_plain = true,
                _ => {
                    return Err(Error::invalid("invalid regular expression: invalid embedded option")
                        .with_hint("the options before a pattern are c, e, i, m, n, p, q, s, t, w and x"));
                }
            }
        }
        Ok(())
    }

    /// A pattern without options, which has the escapes of Rust's regular expressions, with the options as these read
    /// them.
    pub(super) fn before(&self, pattern: &str) -> String {
        let lines = match self.lines {
            None | Some(LineMode::OfDots) => "",
            Some(LineMode::Ignored) => "s",
            Some(LineMode::Split) => "m",
            Some(LineMode::OfEnds) => "sm",
        };
        let case = if self.ignores_case { "i" } else { "" };
        let expanded = if self.is_expanded { "x" } else { "" };
        let flags = match [lines, case, expanded].concat() {
            none if none.is_empty() => none,
            letters => format!("(?{letters})"),
        };
        match self.lines {
            Some(LineMode::Split | LineMode::OfDots) if !self.is_plain => flags + &within_lines(pattern),
            _ => flags + pattern,
        }
    }
}

/// A pattern in which classes such as `[^a]` match no line feed, as `.` matches none.
pub fn within_lines(pattern: &str) -> String {
    let mut within = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        within.push(letter);
        if letter == '\\' {
            within.extend(letters.next());
        } else if letter == '[' && letters.next_if_eq(&'^').is_some() {
            within.push('^');
            // At the beginning of a class, a bracket stands for itself.
            within.extend(letters.next_if_eq(&']'));
            within.push_str(r"[\n]");
        }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::PatternOptions;

    #[test]
    fn options_are_those_of_postgresql() {
        for (options, pattern, expected) in [
            ("", "[^a]", "[^a]"),
            ("(?s)", "a.b", "(?s)a.b"),
            ("(?s)(?i)", "a", "(?si)a"),
            ("(?s)(?m)", "a.[^b]", r"(?m)a.[^[\n]b]"),
            ("(?s)(?n)", "a", "(?m)a"),
            ("(?p)", "[^]a]", r"[^][\n]a]"),
            ("(?w)", "[^a]", "(?sm)[^a]"),
            ("(?n)(?s)", "[^a]", "(?s)[^a]"),
            ("(?ic)(?xt)", "a", "a"),
            ("(?sx)", "a", "(?sx)a"),
        ] {
            let mut read = PatternOptions::default();
            read.add(options).unwrap();
            assert_eq!(read.before(pattern), expected, "{options}{pattern}");
        }
        for options in ["(?U)", "(?b)", "(?s)(?R)"] {
            assert!(PatternOptions::default().add(options).is_err(), "{options}");
        }
    }
}
