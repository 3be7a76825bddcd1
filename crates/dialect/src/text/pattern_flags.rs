//! The flags of a function of regular expressions, such as `'gn'`, as far as they say how its pattern is read.

use atsdb_core::{Error, Result};

/// The letters of flags that say how ends of lines are matched. The last one of them is meant.
pub const ABOUT_LINES: [char; 5] = ['n', 'm', 'p', 'w', 's'];

/// Options of PostgreSQL before a pattern that mean the same as flags. Letters that say something else are ignored.
pub fn options_of(flags: &str) -> Result<String> {
    let about_lines = match flags.chars().rfind(|letter| ABOUT_LINES.contains(letter)) {
        Some('n' | 'm') => "m",
        Some('p') => "p",
        Some('w') => "w",
        _ => "s",
    };
    let expanded = if flags.contains('x') { "x" } else { "" };
    // What follows this director stands for itself.
    let director = if flags.contains('q') { "***=" } else { "" };
    if !director.is_empty() && (about_lines != "s" || !expanded.is_empty()) {
        return Err(Error::invalid("invalid regular expression: invalid argument to regex function")
            .with_hint("the flag q goes together with c, g, i and s only"));
    }
    Ok(format!("(?{about_lines}{expanded}){director}"))
}

#[cfg(test)]
mod tests {
    use super::options_of;

    #[test]
    fn flags_are_options_before_the_pattern() {
        for (flags, options) in [
            ("", "(?s)"),
            ("gi", "(?s)"),
            ("n", "(?m)"),
            ("mgs", "(?s)"),
            ("spx", "(?px)"),
            ("w", "(?w)"),
            ("iq", "(?s)***="),
        ] {
            assert_eq!(options_of(flags).unwrap(), options, "{flags}");
        }
        assert!(options_of("nq").is_err() && options_of("xq").is_err());
    }
}
