//! Kinds of characters.

use unicode_normalization::char::is_combining_mark;

/// Returns whether a character separates words.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() && !matches!(letter, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Returns whether a character is no letter, and yet part of the word that it stands in: it is drawn over others, or
/// not at all.
pub(super) fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && (is_combining_mark(letter) || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}'))
}
