//! A quantifier of a regular expression without something to repeat: after another quantifier, as in `a**`, or after
//! a position, as in `^*`. PostgreSQL refuses it, and Rust's regular expressions repeat what is repeated already.

use atsdb_core::{Error, Result};
use std::iter::Peekable;
use std::str::Chars;

/// The flags that a pattern begins with, such as `(?s)(?i)`, and the rest.
pub(super) fn with_leading_flags(pattern: &str) -> (&str, &str) {
    let mut rest = pattern;
    while let Some((flags, after)) = rest.strip_prefix("(?").and_then(|group| group.split_once(')'))
        && flags.bytes().all(|flag| flag.is_ascii_alphabetic())
    {
        rest = after;
    }
    pattern.split_at(pattern.len() - rest.len())
}

/// Refuses such a quantifier in a pattern without its flags. If it is expanded, spaces and comments mean nothing.
pub(super) fn refuse_repeated_quantifiers(pattern: &str, is_expanded: bool) -> Result<()> {
    let mut letters = pattern.chars().peekable();
    // Whether a quantifier may follow.
    let mut is_atom = false;
    while let Some(letter) = letters.next() {
        if is_expanded && letter.is_whitespace() {
            continue;
        }
        if is_expanded && letter == '#' {
            letters.by_ref().find(|inner| *inner == '\n');
            continue;
        }
        let is_quantifier = match letter {
            '*' | '+' | '?' => true,
            '{' => letters.peek().is_some_and(char::is_ascii_digit),
            _ => false,
        };
        if is_quantifier {
            if !is_atom {
                return Err(Error::invalid("invalid regular expression: quantifier operand invalid")
                    .with_hint("a quantifier follows a character, a class or a group: write (a*)* instead of a**"));
            }
            if letter == '{' {
                letters.by_ref().find(|inner| *inner == '}');
            }
            // It makes the quantifier the least one that matches.
            letters.next_if_eq(&'?');
            is_atom = false;
            continue;
        }
        is_atom = match letter {
            '^' | '$' => false,
            '\\' => !matches!(letters.next(), Some('y' | 'Y' | 'm' | 'M' | 'A' | 'Z')),
            '[' => {
                let is_position =
                    ["[:<:]]", "[:>:]]"].iter().any(|end| letters.clone().take(end.len()).eq(end.chars()));
                match is_position {
                    true => letters.by_ref().take("[:<:]]".len()).for_each(drop),
                    false => skip_class(&mut letters),
                }
                !is_position
            }
            '(' => {
                skip_sort_of_group(&mut letters);
                false
            }
            '|' => false,
            _ => true,
        };
    }
    Ok(())
}

/// Skips the sort of a group, such as `?:`, or flags, such as `?i)`, after an opening parenthesis.
fn skip_sort_of_group(letters: &mut Peekable<Chars<'_>>) {
    if letters.next_if_eq(&'?').is_some() {
        while letters.next_if(|flag| flag.is_ascii_alphabetic() || *flag == '-').is_some() {}
        letters.next();
    }
}

/// Skips what follows an opening bracket, up to its closing one.
fn skip_class(letters: &mut Peekable<Chars<'_>>) {
    letters.next_if_eq(&'^');
    // A closing bracket in the first position is a plain character.
    letters.next_if_eq(&']');
    while let Some(letter) = letters.next() {
        match letter {
            ']' => return,
            '\\' => drop(letters.next()),
            // A class such as `[:digit:]`, or a character such as `[.-.]`.
            '[' => {
                if let Some(mark) = letters.next_if(|mark| [':', '.', '='].contains(mark)) {
                    while let Some(inner) = letters.next() {
                        if inner == mark && letters.next_if_eq(&']').is_some() {
                            break;
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{refuse_repeated_quantifiers, with_leading_flags};

    fn is_refused(pattern: &str) -> bool {
        let (flags, pattern) = with_leading_flags(pattern);
        refuse_repeated_quantifiers(pattern, flags.contains('x')).is_err()
    }

    #[test]
    fn what_is_repeated_is_not_repeated_again() {
        for pattern in [
            "a**",
            "a+*",
            "a{2}{3}",
            "a{2}?+",
            "a???",
            "^*",
            "a$+",
            "*a",
            "(*a)",
            "a|+b",
            r"\y*a",
            "(?i)*a",
            "(?:+a)",
            "[[:<:]]*",
            "[[:>:]]+a",
            "(?x)a* *",
            "(?s)(?x)a# b\n**",
            "a # **",
        ] {
            assert!(is_refused(pattern), "{pattern}");
        }
        for pattern in [
            "a*?",
            "a+?",
            "a??",
            "a{1,2}?",
            "(a*)*",
            "(?:a+)+",
            "(?i)a*",
            "[*+]*",
            r"\**",
            r"\++",
            "a{",
            "{a",
            "[]*]+",
            "[[:alpha:]*]+b*",
            "[[.].]*]+b*",
            "[[=*=]]*",
            r"[\]*]*",
            "^a*$",
            "",
            "(?s)a.*",
            r"\d+",
            "[[:<:]]a*",
            "(?sx)a # **\n *b # *",
        ] {
            assert!(!is_refused(pattern), "{pattern}");
        }
    }
}
