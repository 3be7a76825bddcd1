//! Recognizing backslash escapes in a file.

/// Whether every backslash of a text begins an escape that is in use.
pub(crate) fn are_escapes(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !rest.get(at + 1).is_some_and(|letter| b"\\ntrbfvN0'\"/".contains(letter)) {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_windows_has_no_escapes() {
        assert!(are_escapes(b"a\\nb\\\\c") && !are_escapes(b"C:\\Users") && !are_escapes(b"end\\"));
    }
}
