//! The dot of a regular expression matches the end of a line, too, as in PostgreSQL, and the flags `n`, `m`, `p`, `w`
//! and `s` say otherwise. DataFusion hands patterns to Rust's regular expressions, where a dot only does so with the
//! flag `s`. So patterns get these flags. Escapes that stand for a position have other letters there, too: the ends of
//! words, `\y`, `\m` and `\M`, and the end of the text, `\Z`. They are replaced in patterns in quotes.
//!
//! No upstream issue known.

use super::quantifiers::refuse_repeated_quantifiers;
use crate::workarounds::syntax::expression;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, ValueWithSpan,
};

/// Functions of regular expressions, with the positions of their pattern and of their flags.
const FUNCTIONS: [(&str, usize, usize); 10] = [
    ("regexp_all_matches", 1, 2),
    ("regexp_like", 1, 2),
    ("regexp_match", 1, 2),
    ("regexp_matches", 1, 2),
    ("regexp_split_to_array", 1, 2),
    ("regexp_split_to_table", 1, 2),
    ("regexp_replace", 1, 3),
    ("regexp_substr", 1, 5),
    ("regexp_count", 1, 3),
    ("regexp_instr", 1, 5),
];

/// The letters of flags that say how ends of lines are matched.
const ABOUT_LINES: [char; 5] = ['n', 'm', 'p', 'w', 's'];

/// Gives the pattern of a match its flags.
pub(crate) fn match_line_ends(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::BinaryOp { op, right, .. } if is_match(op) => set_flags(right, "s"),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) => {
            let name = name.to_string().to_ascii_lowercase();
            let Some((_, pattern, flags)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else { return Ok(()) };
            // Behind the start and the number of a match.
            let flags = if name == "regexp_replace" && list.args.len() > 4 { &5 } else { flags };
            let about_lines = match list.args.get_mut(*flags).and_then(literal) {
                None => "s",
                Some(letters) => {
                    let about_lines = match letters.chars().rev().find(|letter| ABOUT_LINES.contains(letter)) {
                        Some('n' | 'm') => "m",
                        Some('p') => "",
                        Some('w') => "sm",
                        _ => "s",
                    };
                    letters.retain(|letter| !ABOUT_LINES.contains(&letter));
                    if letters.is_empty() && list.args.len() == flags + 1 {
                        list.args.pop();
                    }
                    about_lines
                }
            };
            match list.args.get_mut(*pattern) {
                Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))) => set_flags(pattern, about_lines),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn is_match(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::PGRegexMatch | B::PGRegexIMatch | B::PGRegexNotMatch | B::PGRegexNotIMatch)
}

/// The text of an argument in quotes.
fn literal(arg: &mut FunctionArg) -> Option<&mut String> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }))) => Some(text),
        _ => None,
    }
}

/// Puts flags before a pattern, and replaces its escapes.
fn set_flags(pattern: &mut Expr, flags: &str) -> Result<()> {
    match pattern {
        Expr::Value(ValueWithSpan { value: Value::Null, .. }) => {}
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => {
            refuse_repeated_quantifiers(text)?;
            replace_escapes(text);
            if !flags.is_empty() && (flags != "s" || text.contains('.')) {
                text.insert_str(0, &format!("(?{flags})"));
            }
        }
        _ if flags.is_empty() => {}
        other => {
            let mut flagged = expression(&format!("('(?{flags})' || NULL)"))?;
            if let Expr::Nested(inner) = &mut flagged
                && let Expr::BinaryOp { right, .. } = inner.as_mut()
            {
                **right = Expr::Nested(Box::new(other.clone()));
            }
            *other = flagged;
        }
    }
    Ok(())
}

/// Writes the escapes for positions as Rust's regular expressions do. Between brackets there are none: PostgreSQL
/// refuses them there, and so do Rust's regular expressions, in which they mean nothing.
fn replace_escapes(pattern: &mut String) {
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut is_in_brackets = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_in_brackets => {
                written.push(letter);
                written.extend(letters.next());
            }
            '\\' => match letters.next() {
                Some('y') => written.push_str(r"\b"),
                Some('Y') => written.push_str(r"\B"),
                Some('m') => written.push_str(r"\b{start}"),
                Some('M') => written.push_str(r"\b{end}"),
                Some('Z') => written.push_str(r"\z"),
                other => {
                    written.push(letter);
                    written.extend(other);
                }
            },
            '[' if !is_in_brackets => {
                is_in_brackets = true;
                written.push(letter);
                written.extend(letters.next_if_eq(&'^'));
                // A closing bracket in the first position is a plain character.
                written.extend(letters.next_if_eq(&']'));
            }
            // A class such as `[:digit:]`.
            '[' if letters.peek() == Some(&':') => {
                written.push(letter);
                for inner in letters.by_ref() {
                    written.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            ']' => {
                is_in_brackets = false;
                written.push(letter);
            }
            _ => written.push(letter),
        }
    }
    *pattern = written;
}

#[cfg(test)]
mod tests {
    use super::replace_escapes;

    #[test]
    fn escapes_for_positions_are_replaced_outside_of_brackets() {
        for (pattern, expected) in [
            (r"\yfoo\y", r"\bfoo\b"),
            (r"\m\w+\M\Z", r"\b{start}\w+\b{end}\z"),
            (r"[\y.]\Y", r"[\y.]\B"),
            (r"[^]\m]\m", r"[^]\m]\b{start}"),
            (r"[[:alpha:]\y]\y", r"[[:alpha:]\y]\b"),
            (r"\[\y]", r"\[\b]"),
            (r"[\]\y]\y", r"[\]\y]\b"),
            (r"a]\y\", r"a]\b\"),
        ] {
            let mut replaced = pattern.to_owned();
            replace_escapes(&mut replaced);
            assert_eq!(replaced, expected, "{pattern}");
        }
    }
}
