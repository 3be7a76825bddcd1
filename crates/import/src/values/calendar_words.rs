//! English names of weekdays and months.

/// The length of an English weekday at the beginning, with the comma and the blank behind it; 0 if there is none.
pub(crate) fn weekday_length(bytes: &[u8]) -> usize {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = &bytes[..length];
    let is_name =
        |name: &str| word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3]);
    if !NAMES.iter().any(|name| is_name(name)) {
        return 0;
    }
    let comma = usize::from(bytes.get(length) == Some(&b','));
    if bytes.get(length + comma) == Some(&b' ') { length + comma + 1 } else { 0 }
}

/// An English month's name, in full or its first three letters: its number and length.
pub(crate) fn month_word(bytes: &[u8]) -> Option<(i64, usize)> {
    const NAMES: [&str; 12] = [
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
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = &bytes[..length];
    let matches =
        |name: &str| word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3]);
    let position = NAMES.iter().position(|name| matches(name))?;
    Some((position as i64 + 1, length))
}
