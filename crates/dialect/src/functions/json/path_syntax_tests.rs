//! Tests of [`path_syntax`](super::path_syntax).

use super::path_syntax::{DEPTH_MAX, parse};
use super::path_text::text_of;

fn message(path: &str) -> String {
    parse(path).map(|_| ()).unwrap_err().message().to_owned()
}

/// The messages are those of PostgreSQL 15.
#[test]
fn wrong_paths_are_refused() {
    for (path, wanted) in [
        ("", "invalid input syntax for type jsonpath: \"\""),
        ("strict", "syntax error at end of jsonpath input"),
        ("$.a[", "syntax error at end of jsonpath input"),
        ("bad", "syntax error at or near \"bad\" of jsonpath input"),
        ("$.foo()", "syntax error at or near \"(\" of jsonpath input"),
        ("$ ? (@.a)", "syntax error at or near \")\" of jsonpath input"),
        ("($ > 1) + 1", "syntax error at or near \"+\" of jsonpath input"),
        ("$ == 1 == 2", "syntax error at or near \"==\" of jsonpath input"),
        ("$ ? (@ starts with 1)", "syntax error at or near \"1\" of jsonpath input"),
        ("last", "LAST is allowed only in array subscripts"),
        ("$ ? (last > 0)", "LAST is allowed only in array subscripts"),
        ("@ + 1", "@ is not allowed in root expressions"),
        ("00", "trailing junk after numeric literal at or near \"00\" of jsonpath input"),
        ("1.type()", "trailing junk after numeric literal at or near \"1.t\" of jsonpath input"),
        ("1.e", "trailing junk after numeric literal at or near \"1.e\" of jsonpath input"),
        ("1.2e3a", "trailing junk after numeric literal at or near \"1.2e3a\" of jsonpath input"),
        ("\"\\u12\"", "invalid unicode sequence at or near \"\\u\" of jsonpath input"),
        ("\"\\x1\"", "invalid hex character sequence at or near \"\\x\" of jsonpath input"),
        ("\"a", "unexpected end of quoted string at end of jsonpath input"),
        ("$ /* x", "unexpected end of comment at end of jsonpath input"),
        ("$ ? (@ like_regex \"a\" flag \"x\")", "XQuery \"x\" flag (expanded regular expressions) is not implemented"),
    ] {
        assert_eq!(message(path), wanted, "{path}");
    }
    for path in ["$.**{99999999999}", "$ ? (@ like_regex \"(\")", "\"\\ud83d\"", "\"\\u0000\"", "exists ($).a"] {
        assert!(parse(path).is_err(), "{path}");
    }
}

#[test]
fn long_and_deep_paths_are_read_or_refused() {
    const COUNT: usize = 100_000;
    for part in ["(", "-", "$[", "$ ? (", "!(", "exists (", "$ ? (@.a[(-", "$.a.**{", "\"", "\\u", "/*", "$ ? (@[$"] {
        assert!(parse(&part.repeat(COUNT)).is_err(), "{part}");
    }
    for (start, part) in [("$", ".a"), ("$", "[0]"), ("1", " + 1"), ("$ == 1", " && $ == 1"), ("$", " ? (@ == 1)")] {
        let path = |count: usize| format!("{start}{}", part.repeat(count));
        assert!(parse(&path(900)).is_ok(), "{part}");
        assert!(parse(&path(COUNT)).is_err(), "{part}");
    }
    let nested = |depth: usize| format!("{}1{}", "1 + (".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(DEPTH_MAX)).is_ok());
    assert!(parse(&nested(DEPTH_MAX + 1)).is_err());
    let mixed = |count: usize| format!("{}1{}", "(".repeat(2 * count), " + 1) * 2)".repeat(count));
    assert!(parse(&mixed(20)).is_ok());
    assert!(parse(&mixed(COUNT)).is_err());
    // Each of these has a chain of 20 operations around it, of which no two are of one precedence.
    let compound = |depth: usize| {
        let around = |inner: String, _| format!("{}1 + {inner}{}", "(".repeat(20), ") * 2) + 1".repeat(10));
        (0..depth).fold("1".to_owned(), around)
    };
    assert!(parse(&compound(2)).is_ok());
    assert!(parse(&compound(10)).is_err());
    let enclosed = |count: usize| format!("{}$ == 1{}", "(".repeat(count), ")".repeat(count));
    assert!(parse(&enclosed(COUNT)).is_ok());
    let matching = |count: usize| format!("$ == 1{}", r#" || $ like_regex "a""#.repeat(count));
    assert!(parse(&matching(50)).is_ok() && parse(&matching(100)).is_err());
    assert!(parse(&format!("$.{}", "a".repeat(COUNT))).is_ok());
    assert!(parse(&format!("$[0{}]", ", 0".repeat(COUNT))).is_ok());
}

/// Chains are shown with parentheses around all operands but the last one.
#[test]
fn long_paths_are_read_as_they_are_shown() {
    for (first, next) in [
        ("1", " + 1"),
        ("1", " - 1"),
        ("$.a", " * 2"),
        ("$ == 1", " && $ == 1"),
        ("$ == 1", " || exists ($.a)"),
        ("$ ? (@ == 1", " || @ + 1 == 2"),
    ] {
        let end = if first.contains('?') { ")" } else { "" };
        let shown = text_of(&parse(&format!("{first}{}{end}", next.repeat(900))).unwrap());
        assert_eq!(text_of(&parse(&shown).unwrap()), shown, "{next}");
    }
    let shown = text_of(&parse(&format!("-(1{} == 2).type()", " + 1".repeat(900))).unwrap());
    assert_eq!(text_of(&parse(&shown).unwrap()), shown);
}

/// A condition that is about the item is not one that is tested once.
#[test]
fn conditions_in_parentheses_know_what_they_are_about() {
    for (path, once_count) in [("$ ? (((@ + 1) > 2))", 0), ("$ ? ((($.a + 1) > 2) && ((@) > 1))", 1)] {
        assert_eq!(parse(path).unwrap().once_count, once_count, "{path}");
    }
}
