//! The dot of a regular expression matches the end of a line, too, as in PostgreSQL, and the flags `n`, `m`, `p`, `w`
//! and `s` say otherwise. DataFusion hands patterns to Rust's regular expressions, where a dot only does so with the
//! flag `s`. So patterns get these flags, and `x` and `q`, which say how they are read. Flags and escapes have other
//! letters there ([`with_rust_escapes`]): those of patterns in quotes are replaced here, and those of others where the
//! pattern is computed, or its flags are.
//!
//! No upstream issue known.

use crate::text::pattern_escapes::with_rust_escapes;
use crate::text::pattern_flags::{ABOUT_LINES, options_of};
use crate::workarounds::syntax::{expression, set_arguments, set_first_argument};
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

/// The letters of flags that say whether case counts. The last one of them is meant.
const ABOUT_CASE: [char; 2] = ['i', 'c'];

/// The prefix of a pattern without flags.
const NO_FLAGS: &str = "(?s)";

/// Gives the pattern of a match its flags.
pub(crate) fn match_line_ends(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::BinaryOp { op, right, .. } if is_match(op) => set_flags(right, NO_FLAGS),
        Expr::Function(call) => {
            let computed = computed_flags(call).cloned();
            let Some((pattern, flags)) = positions(call) else { return Ok(()) };
            let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
            let of_pattern = match list.args.get_mut(flags).and_then(literal) {
                None => NO_FLAGS.to_owned(),
                Some(letters) => {
                    let of_pattern = options_of(letters)?;
                    let mut ignores_case = letters.chars().rfind(|letter| ABOUT_CASE.contains(letter)) == Some('i');
                    letters.retain(|letter| match letter {
                        'x' | 'c' | 'q' => false,
                        // Rust's regular expressions refuse a flag that is repeated.
                        'i' => std::mem::take(&mut ignores_case),
                        _ => !ABOUT_LINES.contains(&letter),
                    });
                    if letters.is_empty() && list.args.len() == flags + 1 {
                        list.args.pop();
                    }
                    of_pattern
                }
            };
            let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))) = list.args.get_mut(pattern) else {
                return Ok(());
            };
            match computed {
                Some(flags) => {
                    let mut written = expression("regexp_pattern(NULL)")?;
                    set_arguments(&mut written, vec![pattern.clone(), flags]);
                    *pattern = written;
                    Ok(())
                }
                None => set_flags(pattern, &of_pattern),
            }
        }
        _ => Ok(()),
    }
}

/// The positions of the pattern and of the flags in a call of a function of regular expressions.
fn positions(call: &Function) -> Option<(usize, usize)> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let name = call.name.to_string().to_ascii_lowercase();
    let (_, pattern, flags) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    // Behind the start and the number of a match.
    Some((*pattern, if name == "regexp_replace" && list.args.len() > 4 { 5 } else { *flags }))
}

/// The flags of such a call that are not in the statement. In `regexp_replace(text, pattern, replacement, x)` they may
/// be a start instead, whose digits say nothing about the pattern.
pub(crate) fn computed_flags(call: &Function) -> Option<&Expr> {
    let (_, flags) = positions(call)?;
    let FunctionArguments::List(list) = &call.args else { return None };
    match list.args.get(flags)? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(flags)) => match flags {
            Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }) => Some(flags),
            Expr::Value(_) => None,
            computed => Some(computed),
        },
        _ => None,
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

/// Puts flags before a pattern, in parentheses, and replaces its escapes.
fn set_flags(pattern: &mut Expr, flags: &str) -> Result<()> {
    match pattern {
        Expr::Value(ValueWithSpan { value: Value::Null, .. }) => {}
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => {
            if flags != NO_FLAGS || text.contains('.') {
                text.insert_str(0, flags);
            }
            *text = with_rust_escapes(text)?;
        }
        other => {
            // The operator gives a parameter the type of a text.
            let mut flagged = expression(&format!("'{flags}' || NULL"))?;
            if let Expr::BinaryOp { right, .. } = &mut flagged {
                **right = Expr::Nested(Box::new(other.clone()));
            }
            let mut written = expression("regexp_pattern(NULL)")?;
            set_first_argument(&mut written, flagged);
            *other = written;
        }
    }
    Ok(())
}
