//! English names of weekdays and months.

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The name at the beginning of a text, in full or its first three letters: its position and length.
fn leading_name(bytes: &[u8], names: &[&str]) -> Option<(usize, usize)> {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = &bytes[..length];
    let is_name =
        |name: &&str| word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3]);
    Some((names.iter().position(is_name)?, length))
}

/// The length of an English weekday at the beginning, with the comma and the blank behind it; 0 if there is none.
pub(crate) fn weekday_length(bytes: &[u8]) -> usize {
    let Some((_, length)) = leading_name(bytes, &WEEKDAYS) else { return 0 };
    let comma = usize::from(bytes.get(length) == Some(&b','));
    if bytes.get(length + comma) == Some(&b' ') { length + comma + 1 } else { 0 }
}

/// An English month's name: its number and length.
pub(crate) fn month_word(bytes: &[u8]) -> Option<(i64, usize)> {
    leading_name(bytes, &MONTHS).map(|(position, length)| (position as i64 + 1, length))
}
