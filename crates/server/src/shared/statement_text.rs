//! Removes the literals from the text of a statement, so that it may be logged.

/// Replaces texts and numbers by `?`, and leaves comments out. Names, also quoted ones, and parameters stay.
pub(crate) fn without_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '\'' => {
                // E'...' has escapes. Other letters before a text are replaced with it.
                let prefix = out.chars().next_back().filter(char::is_ascii_alphabetic);
                let prefix = prefix.filter(|_| !out.chars().rev().nth(1).is_some_and(is_of_name));
                if prefix.is_some() {
                    out.pop();
                }
                out.push('?');
                quoted_length(rest, '\'', matches!(prefix, Some('e' | 'E')))
            }
            '"' => {
                let length = quoted_length(rest, '"', false);
                out.push_str(&rest[..length]);
                length
            }
            '-' if rest.starts_with("--") => {
                out.push(' ');
                rest.find('\n').unwrap_or(rest.len())
            }
            '/' if rest.starts_with("/*") => {
                out.push(' ');
                comment_length(rest)
            }
            '$' => match dollar_quoted_length(rest) {
                Some(length) => {
                    out.push('?');
                    length
                }
                None => {
                    // A parameter.
                    let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                    out.push_str(&rest[..=digits]);
                    digits + 1
                }
            },
            digit if digit.is_ascii_digit() => {
                out.push('?');
                number_length(rest)
            }
            name if is_of_name(name) => {
                let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
                out.push_str(&rest[..length]);
                length
            }
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of a quoted text in bytes. A doubled quote is part of it. Without a closing quote, it extends to the end.
fn quoted_length(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && has_escapes {
            letters.next();
        } else if letter == quote && letters.next_if(|(_, next)| *next == quote).is_none() {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of `$tag$...$tag$` in bytes.
fn dollar_quoted_length(text: &str) -> Option<usize> {
    let end = 1 + text[1..].find(|letter| !is_of_name(letter))?;
    if !text[end..].starts_with('$') || text[1..].starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let tag = &text[..=end];
    Some(text[end + 1..].find(tag).map_or(text.len(), |found| end + 1 + found + tag.len()))
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_exponent_sign = matches!(byte, b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_' || is_exponent_sign) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_stays_and_every_name_does() {
        for (text, expected) in [
            (
                "SELECT * FROM t1 WHERE a = 'it''s' AND b > -1.5e-3 AND c = $1",
                "SELECT * FROM t1 WHERE a = ? AND b > -? AND c = $1",
            ),
            ("SELECT E'a\\'secret', b'01', N'x' FROM \"my 'table\"", "SELECT ?, ?, ? FROM \"my 'table\""),
            ("SELECT $$secret$$, $t$a $$ b$t$, $12", "SELECT ?, ?, $12"),
            ("SELECT 1 -- secret\n, /* secret /* more */ secret */ 2", "SELECT ? , ?"),
            ("SELECT 'secret never ends", "SELECT ?"),
            ("SELECT \"never ends, 5", "SELECT \"never ends, 5"),
            ("SELECT date '2024-01-01', 0x1F, 1_000, é2 FROM name'secret'", "SELECT date ?, ?, ?, é2 FROM name?"),
            ("SELECT a$1, $", "SELECT a$1, $"),
            ("INSERT INTO t VALUES (1, 'ß'), (2, '€')", "INSERT INTO t VALUES (?, ?), (?, ?)"),
            ("/* not ended secret", ""),
            ("$a$ not ended secret", "?"),
        ] {
            assert_eq!(without_literals(text), expected, "{text}");
        }
    }
}
