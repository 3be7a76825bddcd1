//! English names of weekdays and months.

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The names of the months with their numbers.
const MONTHS: [(&str, i64); 12] = [
    ("january", 1),
    ("february", 2),
    ("march", 3),
    ("april", 4),
    ("may", 5),
    ("june", 6),
    ("july", 7),
    ("august", 8),
    ("september", 9),
    ("october", 10),
    ("november", 11),
    ("december", 12),
];

/// The word at the beginning of a text.
fn leading_word(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()]
}

/// Whether a word is a name, in full or its first three letters.
fn is_name(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3])
}

/// Whether a word is the English name of a weekday, in full or its first three letters.
pub fn is_weekday(word: &str) -> bool {
    WEEKDAYS.iter().any(|name| is_name(word.as_bytes(), name))
}

/// The number of the month with an English name, in full or its first three letters.
pub fn month_named(word: &str) -> Option<i64> {
    MONTHS.iter().find(|(name, _)| is_name(word.as_bytes(), name)).map(|(_, month)| *month)
}

/// The length of an English weekday at the beginning, with the comma and the blank after it; 0 if there is none.
pub(super) fn weekday_length(bytes: &[u8]) -> usize {
    let word = leading_word(bytes);
    if !WEEKDAYS.iter().any(|name| is_name(word, name)) {
        return 0;
    }
    let comma = usize::from(bytes.get(word.len()) == Some(&b','));
    if bytes.get(word.len() + comma) == Some(&b' ') { word.len() + comma + 1 } else { 0 }
}

/// An English month's name: its number and length.
pub(super) fn month_word(bytes: &[u8]) -> Option<(i64, usize)> {
    let word = leading_word(bytes);
    let (_, month) = MONTHS.iter().find(|(name, _)| is_name(word, name))?;
    Some((*month, word.len()))
}
