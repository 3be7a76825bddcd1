//! The head of a pattern such as `^https?://([^/]+)/.*$`: what comes before the `.*$`.

use regex::Regex;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, Look, LookSet};

/// The head of a pattern that starts with `^` and ends with `.*$`, if its dot matches every character. The pattern
/// matches where the head does, and then the whole text, and its groups are those of the head. They depend on nothing
/// but the text that the head matches, because the head has no look-around but the `^`.
pub fn head_of(pattern: &str) -> Option<Regex> {
    // Most patterns need not be parsed.
    if !pattern.ends_with(".*$") {
        return None;
    }
    let parsed = regex_syntax::parse(pattern).ok()?;
    let HirKind::Concat(parts) = parsed.kind() else { return None };
    let [head @ .., rest, end] = parts.as_slice() else { return None };
    let is_end = matches!(end.kind(), HirKind::Look(Look::End));
    let starts = head.first().is_some_and(|first| matches!(first.kind(), HirKind::Look(Look::Start)));
    let head = Hir::concat(head.to_vec());
    let has_other_looks = head.properties().look_set() != LookSet::singleton(Look::Start);
    if !is_any_text(rest) || !is_end || !starts || has_other_looks {
        return None;
    }
    Regex::new(&head.to_string()).ok()
}

/// Returns true if an expression matches any number of any characters.
fn is_any_text(hir: &Hir) -> bool {
    let HirKind::Repetition(repetition) = hir.kind() else { return false };
    let HirKind::Class(Class::Unicode(class)) = repetition.sub.kind() else { return false };
    let every_character = [ClassUnicodeRange::new('\0', char::MAX)];
    repetition.min == 0 && repetition.max.is_none() && class.ranges() == every_character
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_groups_of_its_pattern() {
        let texts = ["http://www.a.b/c", "https://a/", "http://www.x/\n\n", "ftp://a/", "abab", "b\u{e9}", "", "ABBA/"];
        for pattern in [
            r"(?s)^https?://(?:www\.)?([^/]+)/.*$",
            "(?s)^(a|b)(b)?.*$",
            r"(?s)^(?:a|(b)|)+?(\w??).*$",
            r"(?s)^(?i:a(?<name>b)*?)[^/]*.*$",
            "(?s)^.*$",
            "^(a)(?s:.)*(?s).*$",
        ] {
            let (whole, head) = (Regex::new(pattern).unwrap(), head_of(pattern).expect(pattern));
            for text in texts {
                let (whole, head) = (whole.captures(text), head.captures(text));
                assert_eq!(whole.is_some(), head.is_some(), "{pattern} {text}");
                let (Some(whole), Some(head)) = (whole, head) else { continue };
                assert_eq!(whole.get(0).unwrap().as_str(), text, "{pattern}");
                let groups = |of: &regex::Captures<'_>| -> Vec<Option<(usize, usize)>> {
                    of.iter().skip(1).map(|group| group.map(|group| (group.start(), group.end()))).collect()
                };
                assert_eq!(groups(&whole), groups(&head), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn other_patterns_have_no_head() {
        for pattern in [
            "(?s)^a|b.*$",
            "^a.*$",
            r"(?s)^a\.*$",
            "(?s)a.*$",
            "(?sm)^a.*$",
            "(?m)^a.*$",
            r"(?s)^(\w+)\b.*$",
            "(?s)^(a$)?.*$",
            "(?s)^(a)(?-s).*$",
            "(?s)^(a.*)$",
            "(?s)^a.+$",
            "(?s)^(a).*",
            "^(?=a).*$",
            "(.*$",
        ] {
            assert!(head_of(pattern).is_none(), "{pattern}");
        }
    }
}
