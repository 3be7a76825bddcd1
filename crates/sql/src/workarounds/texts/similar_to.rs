//! `SIMILAR TO`. Its pattern becomes a regular expression that must match the whole text. DataFusion uses the pattern
//! itself as a regular expression.
//!
//! [#22263](https://github.com/apache/datafusion/issues/22263) is fixed upstream by
//! [#23188](https://github.com/apache/datafusion/pull/23188), which is not in 55.2.

use crate::functions::base::arguments::text_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::workarounds::shared::expressions::rewrite_expressions;
use atsdb_core::Error;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct SimilarTo;

impl AnalyzerRule for SimilarTo {
    fn name(&self) -> &str {
        "similar_to"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |_| false, |expr, _| rewrite(expr))
    }
}

fn rewrite(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::SimilarTo(Like { negated, expr, pattern, escape_char, .. }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let pattern = match pattern.as_ref() {
        Expr::Literal(value, _) if value.is_null() => Expr::Literal(ScalarValue::Utf8(None), None),
        Expr::Literal(value, _) if text_of(value).is_some() => {
            let pattern = text_of(value).unwrap_or_default();
            lit(regular_expression(pattern, escape_char.unwrap_or('\\')).map_err(external)?)
        }
        other => {
            let error = sql_error(format!("SIMILAR TO takes a pattern in quotes, not {other}"));
            return Err(external(error.with_hint("write a regular expression: x ~ pattern")));
        }
    };
    let operator = if negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
    Ok(Transformed::yes(binary_expr(*expr, operator, pattern)))
}

fn regular_expression(pattern: &str, escape: char) -> std::result::Result<String, Error> {
    let mut expression = String::from("(?s)^(?:");
    let mut rest = pattern.chars().peekable();
    let mut separators = 0;
    while let Some(next) = rest.next() {
        match next {
            _ if next == escape => match rest.next() {
                // The part between two of them is what SUBSTRING returns.
                Some('"') => {
                    separators += 1;
                    if separators > 2 {
                        let text =
                            "SQL regular expression may not contain more than two escape-double-quote separators";
                        return Err(sql_error(text));
                    }
                    expression.push_str(")(?:");
                }
                Some(literal) => push_literal(&mut expression, literal),
                None => return Err(sql_error(format!("the pattern '{pattern:.60}' ends with its escape character"))),
            },
            '%' => expression.push_str(".*"),
            '_' => expression.push('.'),
            '(' => expression.push_str("(?:"),
            ')' | '|' | '*' | '+' | '?' | '{' | '}' => expression.push(next),
            '[' => {
                expression.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    expression.push('^');
                }
                let mut is_first = true;
                loop {
                    match rest.next() {
                        None => return Err(sql_error(format!("the pattern '{pattern:.60}' has [ without ]"))),
                        Some(']') if !is_first => break,
                        Some('[') if rest.peek() == Some(&':') => {
                            expression.push('[');
                            for letter in rest.by_ref() {
                                expression.push(letter);
                                if letter == ']' {
                                    break;
                                }
                            }
                        }
                        Some('-') => expression.push('-'),
                        Some(letter) => push_literal(&mut expression, letter),
                    }
                    is_first = false;
                }
                expression.push(']');
            }
            literal => push_literal(&mut expression, literal),
        }
    }
    expression.push_str(")$");
    Ok(expression)
}

/// Appends a character that stands for itself.
fn push_literal(expression: &mut String, literal: char) {
    if literal.is_ascii_punctuation() {
        expression.push('\\');
    }
    expression.push(literal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_becomes_a_regular_expression_for_all_of_the_text() {
        for (pattern, expected) in [
            ("a_%", "(?s)^(?:a..*)$"),
            ("(ok|bad)+", "(?s)^(?:(?:ok|bad)+)$"),
            ("a.b^c$", "(?s)^(?:a\\.b\\^c\\$)$"),
            ("100\\%", "(?s)^(?:100\\%)$"),
            ("[^a-z[:digit:]&]{2}", "(?s)^(?:[^a-z[:digit:]\\&]{2})$"),
            ("[]x]", "(?s)^(?:[\\]x])$"),
        ] {
            assert_eq!(regular_expression(pattern, '\\').unwrap(), expected);
        }
        assert_eq!(regular_expression("a#%\\", '#').unwrap(), "(?s)^(?:a\\%\\\\)$");
        assert_eq!(regular_expression("a|b#\"c#\"d", '#').unwrap(), "(?s)^(?:a|b)(?:c)(?:d)$");
        assert!(regular_expression("#\"#\"#\"", '#').is_err());
        for pattern in ["a\\", "[a", "[]"] {
            assert!(regular_expression(pattern, '\\').is_err(), "{pattern}");
        }
    }
}
