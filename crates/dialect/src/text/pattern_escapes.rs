//! The escapes of regular expressions, as Rust's regular expressions write them. In PostgreSQL `\y`, `\m`, `\M`, `\A`
//! and `\Z` are positions, `\b` is the backspace and `\B` a backslash. `[[:<:]]` and `[[:>:]]` are other ways to write
//! `\m` and `\M`, and `[[.x.]]` and `[[=x=]]` of `[x]`. Between brackets, Rust's regular expressions have brackets and
//! operators, `&&`, `~~` and `--`. What follows `***=` stands for itself, and `***:` says what holds anyway. The
//! letters of options before a pattern, such as `(?n)`, have another meaning, too.

use super::pattern_options::PatternOptions;
use super::pattern_quantifiers::{refuse_repeated_quantifiers, with_leading_flags};
use atsdb_core::{Error, Result};
use std::iter::Peekable;
use std::str::Chars;

/// A pattern with the escapes of Rust's regular expressions. Between brackets there are no positions: PostgreSQL
/// refuses them there, and so do Rust's regular expressions, in which they mean nothing. Refuses what PostgreSQL
/// refuses and Rust's regular expressions would repeat, such as `a**`.
pub fn with_rust_escapes(pattern: &str) -> Result<String> {
    let mut options = PatternOptions::default();
    let (letters, mut pattern) = with_leading_flags(pattern);
    options.add(letters)?;
    if let Some(plain) = pattern.strip_prefix("***=") {
        (options.is_plain, pattern) = (true, plain);
    } else if let Some(rest) = pattern.strip_prefix("***:") {
        let (letters, rest) = with_leading_flags(rest);
        options.add(letters)?;
        pattern = rest;
    }
    if options.is_plain {
        return Ok(options.before(&regex::escape(pattern)));
    }
    refuse_repeated_quantifiers(pattern, options.is_expanded)?;
    Ok(options.before(&with_escapes(pattern)?))
}

fn with_escapes(pattern: &str) -> Result<String> {
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut is_in_brackets = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => push_escape(&mut written, &mut letters, is_in_brackets),
            '[' if !is_in_brackets => {
                if let Some(position) = end_of_word(&letters) {
                    written.push_str(position);
                    letters.by_ref().take(WORD_CLASS.len()).for_each(drop);
                    continue;
                }
                is_in_brackets = true;
                written.push(letter);
                written.extend(letters.next_if_eq(&'^'));
                // A closing bracket or a hyphen in the first position is a plain character.
                match letters.next_if(|first| matches!(first, ']' | '-')) {
                    Some('-') => written.push_str(r"\-"),
                    first => written.extend(first),
                }
            }
            '-' if is_in_brackets => push_hyphen(&mut written, &mut letters),
            // A class such as `[:digit:]`.
            '[' if letters.peek() == Some(&':') => {
                written.push(letter);
                push_named_class(&mut written, &mut letters);
            }
            '[' if matches!(letters.peek(), Some('.' | '=')) => push_element(&mut written, &mut letters)?,
            '[' | '&' | '~' if is_in_brackets => {
                written.push('\\');
                written.push(letter);
            }
            ']' => {
                is_in_brackets = false;
                written.push(letter);
            }
            _ => written.push(letter),
        }
    }
    Ok(written)
}

/// Appends a class such as `[:digit:]` after its opening bracket.
pub(super) fn push_named_class(written: &mut String, letters: &mut Peekable<Chars<'_>>) {
    for letter in letters.by_ref() {
        written.push(letter);
        if letter == ']' {
            break;
        }
    }
}

/// Appends a hyphen between brackets that is not in the first position. Of two, the second is the end of a range; two
/// that are not escaped are an operator of Rust's regular expressions.
pub(super) fn push_hyphen(written: &mut String, letters: &mut Peekable<Chars<'_>>) {
    written.push('-');
    if letters.next_if_eq(&'-').is_some() {
        written.push_str(r"\-");
    }
}

/// Appends the character of a collating element, `[.x.]`, or of an equivalence class, `[=x=]`, after its first
/// bracket.
pub(super) fn push_element(written: &mut String, letters: &mut Peekable<Chars<'_>>) -> Result<()> {
    let (mark, element, end) = (letters.next(), letters.next(), [letters.next(), letters.next()]);
    match element {
        Some(element) if end == [mark, Some(']')] => {
            if matches!(element, '\\' | '[' | ']' | '^' | '-' | '&' | '~') {
                written.push('\\');
            }
            written.push(element);
            Ok(())
        }
        _ => Err(Error::invalid("invalid regular expression: invalid collating element")
            .with_hint("write one character, such as [[.-.]] instead of [[.hyphen.]]")),
    }
}

/// The rest, after its first bracket, of the class `[[:<:]]`, which matches the beginning of a word.
const WORD_CLASS: &str = "[:<:]]";

/// Returns the assertion of Rust's syntax for the class `[[:<:]]` or `[[:>:]]`, the beginning or the end of a word,
/// whose first bracket has been read; `None` if another class follows.
fn end_of_word(letters: &Peekable<Chars<'_>>) -> Option<&'static str> {
    let class: String = letters.clone().take(WORD_CLASS.len()).collect();
    match class.as_str() {
        WORD_CLASS => Some(r"\b{start}"),
        "[:>:]]" => Some(r"\b{end}"),
        _ => None,
    }
}

/// Appends what follows a backslash.
fn push_escape(written: &mut String, letters: &mut Peekable<Chars<'_>>, is_in_brackets: bool) {
    match letters.next() {
        Some('b') => written.push_str(r"\x08"),
        Some('B') => written.push_str(r"\\"),
        Some('e') => written.push_str(r"\x1b"),
        Some('0') => push_octal(written, letters),
        Some('x') if letters.peek().is_some_and(char::is_ascii_hexdigit) => {
            written.push_str(r"\x{");
            while let Some(digit) = letters.next_if(char::is_ascii_hexdigit) {
                written.push(digit);
            }
            written.push('}');
        }
        Some('y') if !is_in_brackets => written.push_str(r"\b"),
        Some('Y') if !is_in_brackets => written.push_str(r"\B"),
        Some('m') if !is_in_brackets => written.push_str(r"\b{start}"),
        Some('M') if !is_in_brackets => written.push_str(r"\b{end}"),
        Some('Z') if !is_in_brackets => written.push_str(r"\z"),
        other => {
            written.push('\\');
            written.extend(other);
        }
    }
}

/// Appends the character with a code of up to three octal digits, after the first of them, a zero.
fn push_octal(written: &mut String, letters: &mut Peekable<Chars<'_>>) {
    let mut code = 0;
    for _ in 0..2 {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(8)) else { break };
        code = code * 8 + digit;
        letters.next();
    }
    written.push_str(&format!(r"\x{code:02x}"));
}

#[cfg(test)]
mod tests {
    use super::with_rust_escapes;

    #[test]
    fn escapes_for_positions_are_replaced_outside_of_brackets() {
        for (pattern, expected) in [
            (r"\yfoo\y", r"\bfoo\b"),
            (r"\m\w+\M\Z", r"\b{start}\w+\b{end}\z"),
            (r"[\y.]\Y", r"[\y.]\B"),
            (r"[^]\m]\m", r"[^]\m]\b{start}"),
            (r"[[:alpha:]\y]\y", r"[[:alpha:]\y]\b"),
            (r"[[:<:]]a[[:>:]]", r"\b{start}a\b{end}"),
            (r"\[\y]", r"\[\b]"),
            (r"[\]\y]\y", r"[\]\y]\b"),
            (r"a]\y\", r"a]\b\"),
            ("[][]&&[a~~[&]", r"[]\[]&&[a\~\~\[\&]"),
            ("[+--]--[a-z-]", r"[+-\-]--[a-z-]"),
            ("[--/][^-a][-][--]", r"[\--/][^\-a][\-][\--]"),
        ] {
            assert_eq!(with_rust_escapes(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_director_says_how_the_rest_is_read() {
        for (pattern, expected) in
            [("***=a.b*", r"a\.b\*"), ("(?s)***=**", r"(?s)\*\*"), (r"***:\ya", r"\ba"), ("(?s)***:(?i)a", "(?si)a")]
        {
            assert_eq!(with_rust_escapes(pattern).unwrap(), expected, "{pattern}");
        }
        for pattern in ["***a", "***:***:a"] {
            assert!(with_rust_escapes(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn elements_are_single_characters() {
        for (pattern, expected) in [
            ("[[.x.]]+", "[x]+"),
            ("[^[=é=][.-.]a]", r"[^é\-a]"),
            ("[[.].][...]]", r"[\].]"),
            ("[+-[.-.]]", r"[+-\-]"),
            ("[.x.]", "[.x.]"),
        ] {
            assert_eq!(with_rust_escapes(pattern).unwrap(), expected, "{pattern}");
        }
        for pattern in ["[[.hyphen.]]", "[[=ab=]]", "[[.x=]]", "[[..]]", "[[.", "[[.x.", "a**"] {
            assert!(with_rust_escapes(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn escapes_for_characters_are_replaced_everywhere() {
        for (pattern, expected) in [
            (r"a\b[\b\e]", r"a\x08[\x08\x1b]"),
            (r"a\Bd[\B]", r"a\\d[\\]"),
            (r"\x41\x1F600g\xg", r"\x{41}\x{1F600}g\xg"),
            (r"\0\d\s\w\A\n", r"\x00\d\s\w\A\n"),
            (r"\012\08\0771", r"\x0a\x008\x3f1"),
        ] {
            assert_eq!(with_rust_escapes(pattern).unwrap(), expected, "{pattern}");
        }
    }
}
