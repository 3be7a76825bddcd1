//! English names of weekdays and months.

/// The names of the weekdays, from Sunday.
pub const WEEKDAY_NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The names of the months.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The word at the beginning of a text.
fn leading_word(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()]
}

/// Returns whether a word is a name, in full or its first three letters.
fn is_name(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3])
}

fn is_name_of_weekday(word: &[u8]) -> bool {
    WEEKDAY_NAMES.iter().any(|name| is_name(word, name))
}

fn month_of_word(word: &[u8]) -> Option<i64> {
    (1..).zip(MONTH_NAMES).find(|(_, name)| is_name(word, name)).map(|(month, _)| month)
}

/// Returns whether a word is the English name of a weekday, in full or its first three letters.
pub fn is_weekday(word: &str) -> bool {
    is_name_of_weekday(word.as_bytes())
}

/// The number of the month with an English name, in full or its first three letters.
pub fn month_named(word: &str) -> Option<i64> {
    month_of_word(word.as_bytes())
}

/// The length of an English weekday at the beginning, with the comma and the blank after it; 0 if there is none.
pub(super) fn weekday_length(bytes: &[u8]) -> usize {
    let word = leading_word(bytes);
    if !is_name_of_weekday(word) {
        return 0;
    }
    let comma = usize::from(bytes.get(word.len()) == Some(&b','));
    if bytes.get(word.len() + comma) == Some(&b' ') { word.len() + comma + 1 } else { 0 }
}

/// An English month's name: its number and length.
pub(super) fn month_word(bytes: &[u8]) -> Option<(i64, usize)> {
    let word = leading_word(bytes);
    Some((month_of_word(word)?, word.len()))
}
