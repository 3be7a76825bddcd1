//! Parameters of a request, in its URL or in the body of a form.

use std::collections::HashMap;

/// The pairs of `a=b&c=d`, with escapes decoded. If a name occurs twice, the last value counts.
pub(crate) fn pairs(text: &[u8]) -> HashMap<String, String> {
    all_pairs(text).collect()
}

/// The pairs of `a=b&c=d` in their order, with escapes decoded.
pub(crate) fn all_pairs(text: &[u8]) -> impl Iterator<Item = (String, String)> {
    let pair = |pair: &[u8]| {
        let equals = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        (plain(&pair[..equals]), plain(pair.get(equals + 1..).unwrap_or_default()))
    };
    text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(pair)
}

fn plain(text: &[u8]) -> String {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_encoding::percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn escapes_are_undone() {
        let read = pairs(b"q=SHOW+DATABASES&db=a%26b&empty=&flag&db=last");
        let mut read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        read.sort_unstable();
        assert_eq!(read, [("db", "last"), ("empty", ""), ("flag", ""), ("q", "SHOW DATABASES")]);
    }
}
