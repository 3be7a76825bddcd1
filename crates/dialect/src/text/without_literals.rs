//! Removes the literals from the text of a statement, so that it may be logged.

use super::numbered_text::is_word;
use super::script::{piece_end, whole_string_end};

/// Replaces texts and numbers by `?`, and leaves comments out. Names, also quoted ones, and parameters stay.
pub fn without_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        // Without its end, a text or a comment extends to the end of the statement.
        let end = piece_end(bytes, at).unwrap_or(bytes.len());
        at = match letter {
            '\'' => {
                remove_prefix(&mut out);
                out.push('?');
                whole_string_end(bytes, at).unwrap_or(bytes.len())
            }
            '"' | '`' => {
                out.push_str(&text[at..end]);
                end
            }
            '-' | '/' if end > at + 1 => {
                out.push(' ');
                end
            }
            '$' if end > at + 1 => {
                out.push('?');
                end
            }
            // A parameter.
            '$' => {
                let digit_count = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                out.push_str(&text[at..=at + digit_count]);
                at + 1 + digit_count
            }
            digit if digit.is_ascii_digit() => {
                out.push('?');
                at + number_length(&text[at..])
            }
            letter if is_word(letter) => {
                let length = text[at..].find(|letter| !is_word(letter)).unwrap_or(text.len() - at);
                out.push_str(&text[at..at + length]);
                at + length
            }
            other => {
                out.push(other);
                at + other.len_utf8()
            }
        };
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the letter of `E'...'` and the like, which is replaced with its text.
fn remove_prefix(out: &mut String) {
    let mut letters = out.chars().rev();
    if letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && !letters.next().is_some_and(is_word) {
        out.pop();
    }
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
            ("SELECT `my 'table'`, 'secret' FROM `never ends, 5", "SELECT `my 'table'`, ? FROM `never ends, 5"),
            ("SELECT éE'\\', 'secret'", "SELECT éE?, ?"),
            ("SELECT E'''secret', ''''", "SELECT ?, ?"),
        ] {
            assert_eq!(without_literals(text), expected, "{text}");
        }
    }
}
