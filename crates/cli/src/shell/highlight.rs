//! Colours for the typed text: keywords, strings, numbers, comments.

use super::words::is_keyword;

const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[90m";
const PLAIN: &str = "\x1b[0m";

/// Adds colours to a line.
pub(super) fn highlight(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (length, colour) = token(rest, first);
        let (token, after) = rest.split_at(length);
        match colour {
            Some(colour) => {
                out.push_str(colour);
                out.push_str(token);
                out.push_str(PLAIN);
            }
            None => out.push_str(token),
        }
        rest = after;
    }
    out
}

/// The length of the first token of a text, and its colour.
fn token(text: &str, first: char) -> (usize, Option<&'static str>) {
    let while_true = |is_part: fn(char) -> bool| text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    match first {
        '\'' => (text[1..].find('\'').map_or(text.len(), |end| end + 2), Some(TEXT)),
        '"' => (text[1..].find('"').map_or(text.len(), |end| end + 2), None),
        '-' if text.starts_with("--") => (text.find('\n').unwrap_or(text.len()), Some(COMMENT)),
        '0'..='9' => (while_true(|letter| letter.is_ascii_alphanumeric() || letter == '.'), Some(NUMBER)),
        letter if letter.is_alphabetic() || letter == '_' => {
            let length = while_true(|letter| letter.is_alphanumeric() || letter == '_');
            (length, is_keyword(&text[..length]).then_some(KEYWORD))
        }
        other => (other.len_utf8(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_letter() {
        let line = "SELECT a1, 'it''s', \"select\", 1.5 -- from\nFROM té WHERE x = 'open";
        let coloured = highlight(line);
        let mut plain = coloured.clone();
        for colour in [KEYWORD, TEXT, NUMBER, COMMENT, PLAIN] {
            plain = plain.replace(colour, "");
        }
        assert_eq!(plain, line);
        assert!(coloured.starts_with("\x1b[1;34mSELECT\x1b[0m a1"), "{coloured}");
        assert!(coloured.contains("\x1b[36m1.5\x1b[0m") && coloured.contains("\x1b[90m-- from\x1b[0m"));
    }
}
