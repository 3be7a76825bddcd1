//! The parts of a range in binary, from its text.

const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const LOWER_INFINITE: u8 = 0x08;
const UPPER_INFINITE: u8 = 0x10;

/// The byte of flags, and the texts of the bounds that the range has. The text is as results have it: `[1,5)`,
/// `["2024-01-01 00:00:00",)` or `empty`. `None` if it is no range.
pub(super) fn flags_and_bounds(text: &str) -> Option<(u8, Vec<&str>)> {
    if text == "empty" {
        return Some((EMPTY, Vec::new()));
    }
    let inside = text.get(1..text.len().checked_sub(1)?)?;
    // No bound has a comma.
    let (lower, upper) = inside.split_once(',')?;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(text.starts_with('['), LOWER_INCLUSIVE)
        | flag(text.ends_with(']'), UPPER_INCLUSIVE)
        | flag(lower.is_empty(), LOWER_INFINITE)
        | flag(upper.is_empty(), UPPER_INFINITE);
    let bounds = [lower, upper].map(|bound| bound.trim_matches('"'));
    Some((flags, bounds.into_iter().filter(|bound| !bound.is_empty()).collect()))
}
