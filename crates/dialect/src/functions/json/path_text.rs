//! An SQL/JSON path as text, in the form in which PostgreSQL shows it: names in quotes, operations within others in
//! parentheses.

use super::jsonb::{Json, written};
use super::path_tree::{
    ArithmeticOperator, JsonPath, LEVEL_LAST, PathCondition, PathExpression, PathStart, PathStep, Subscript,
};
use atsdb_core::json_text::quoted;
use std::fmt::{Display, Write};

pub(super) fn text_of(path: &JsonPath) -> String {
    let mut writer = Writer { out: if path.is_lax { String::new() } else { "strict ".to_owned() } };
    writer.expression(&path.expression, true);
    writer.out
}

/// How tight the parts of an operation are bound: operations that bind looser are in parentheses within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Any,
    All,
    Comparison,
    Sum,
    Product,
    Sign,
    Value,
}

fn tightness_of(expression: &PathExpression) -> Tightness {
    match &expression.start {
        PathStart::Arithmetic(_, rest) => tightness_of_arithmetic(rest),
        PathStart::Signed(..) => Tightness::Sign,
        PathStart::Condition(condition) => tightness_of_condition(condition),
        PathStart::Document | PathStart::Item | PathStart::Last | PathStart::Variable(_) | PathStart::Literal(_) => {
            Tightness::Value
        }
    }
}

fn tightness_of_arithmetic(rest: &[(ArithmeticOperator, PathExpression)]) -> Tightness {
    match rest.first() {
        Some((ArithmeticOperator::Add | ArithmeticOperator::Subtract, _)) => Tightness::Sum,
        _ => Tightness::Product,
    }
}

fn tightness_of_condition(condition: &PathCondition) -> Tightness {
    match condition {
        PathCondition::Any(_) => Tightness::Any,
        PathCondition::All(_) => Tightness::All,
        PathCondition::Compare(..) | PathCondition::StartsWith(..) => Tightness::Comparison,
        PathCondition::Once(_, inner) => tightness_of_condition(inner),
        PathCondition::Not(_)
        | PathCondition::IsUnknown(_)
        | PathCondition::Exists(_)
        | PathCondition::LikeRegex(..) => Tightness::Value,
    }
}

struct Writer {
    out: String,
}

impl Writer {
    fn push(&mut self, part: impl Display) {
        // Writing to a string never fails.
        let _ = write!(self.out, "{part}");
    }

    /// Writes an expression. Operations are in parentheses if `is_part` or if steps follow them.
    fn expression(&mut self, expression: &PathExpression, is_part: bool) {
        let has_steps = !expression.steps.is_empty();
        let is_enclosed = is_part || has_steps;
        match &expression.start {
            PathStart::Document => self.push('$'),
            PathStart::Item => self.push('@'),
            PathStart::Last => self.push("last"),
            PathStart::Variable((_, name)) => self.push(format_args!("${}", quoted(name))),
            PathStart::Literal(json) => self.literal(json, has_steps),
            PathStart::Arithmetic(first, rest) => {
                let tightness = tightness_of_arithmetic(rest);
                self.chain(
                    is_enclosed,
                    rest.len(),
                    |writer| writer.operand(first, tightness),
                    |writer, at| {
                        if let Some((operator, operand)) = rest.get(at) {
                            writer.push(format_args!(" {} ", operator.symbol()));
                            writer.operand(operand, tightness);
                        }
                    },
                );
            }
            PathStart::Signed(sign, operand) => self.enclosed(is_enclosed, |writer| {
                writer.push(sign.symbol());
                writer.operand(operand, Tightness::Sign);
            }),
            PathStart::Condition(condition) => match (condition.as_ref(), has_steps) {
                // These have no parentheses of their own, and no steps can follow them without.
                (PathCondition::Exists(_) | PathCondition::Not(_) | PathCondition::IsUnknown(_), true) => {
                    self.enclosed(true, |writer| writer.condition(condition, false));
                }
                _ => self.condition(condition, is_enclosed),
            },
        }
        for step in &expression.steps {
            self.step(step);
        }
    }

    /// A part of an operation.
    fn operand(&mut self, operand: &PathExpression, tightness: Tightness) {
        self.expression(operand, tightness_of(operand) <= tightness);
    }

    fn enclosed(&mut self, is_enclosed: bool, write: impl FnOnce(&mut Self)) {
        if is_enclosed {
            self.push('(');
        }
        write(self);
        if is_enclosed {
            self.push(')');
        }
    }

    /// Operands from left to right: all but the last ones are in parentheses, `((a + b) + c)`.
    fn chain(
        &mut self,
        is_enclosed: bool,
        rest: usize,
        first: impl FnOnce(&mut Self),
        mut next: impl FnMut(&mut Self, usize),
    ) {
        self.enclosed(is_enclosed, |writer| {
            writer.push("(".repeat(rest.saturating_sub(1)));
            first(writer);
            for at in 0..rest {
                if at > 0 {
                    writer.push(')');
                }
                next(writer, at);
            }
        });
    }

    fn literal(&mut self, json: &Json, has_steps: bool) {
        let text = written(json, None);
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        self.enclosed(has_steps && is_number, |writer| writer.push(text));
    }

    fn condition(&mut self, condition: &PathCondition, is_enclosed: bool) {
        match condition {
            PathCondition::Any(conditions) => self.joined(conditions, "||", Tightness::Any, is_enclosed),
            PathCondition::All(conditions) => self.joined(conditions, "&&", Tightness::All, is_enclosed),
            PathCondition::Once(_, inner) => self.condition(inner, is_enclosed),
            PathCondition::Not(inner) => {
                self.push("!(");
                self.condition(inner, false);
                self.push(')');
            }
            PathCondition::IsUnknown(inner) => {
                self.push('(');
                self.condition(inner, false);
                self.push(") is unknown");
            }
            PathCondition::Exists(path) => {
                self.push("exists (");
                self.expression(path, false);
                self.push(')');
            }
            PathCondition::Compare(left, comparison, right) => self.enclosed(is_enclosed, |writer| {
                writer.operand(left, Tightness::Comparison);
                writer.push(format_args!(" {} ", comparison.symbol()));
                writer.operand(right, Tightness::Comparison);
            }),
            PathCondition::StartsWith(left, start) => self.enclosed(is_enclosed, |writer| {
                writer.operand(left, Tightness::Comparison);
                writer.push(" starts with ");
                writer.operand(start, Tightness::Comparison);
            }),
            PathCondition::LikeRegex(left, regex) => self.enclosed(is_enclosed, |writer| {
                writer.operand(left, Tightness::Value);
                writer.push(format_args!(" like_regex {}", quoted(&regex.pattern)));
                if !regex.flags.is_empty() {
                    writer.push(format_args!(" flag \"{}\"", regex.flags));
                }
            }),
        }
    }

    fn joined(&mut self, conditions: &[PathCondition], symbol: &str, tightness: Tightness, is_enclosed: bool) {
        let Some((first, rest)) = conditions.split_first() else { return };
        let part = |writer: &mut Self, condition: &PathCondition| {
            writer.condition(condition, tightness_of_condition(condition) <= tightness);
        };
        self.chain(
            is_enclosed,
            rest.len(),
            |writer| part(writer, first),
            |writer, at| {
                if let Some(condition) = rest.get(at) {
                    writer.push(format_args!(" {symbol} "));
                    part(writer, condition);
                }
            },
        );
    }

    fn step(&mut self, step: &PathStep) {
        match step {
            PathStep::Member((_, name)) => self.push(format_args!(".{}", quoted(name))),
            PathStep::Members => self.push(".*"),
            PathStep::Elements => self.push("[*]"),
            PathStep::Subscripts(subscripts) => {
                self.push('[');
                for (at, Subscript { from, to }) in subscripts.iter().enumerate() {
                    if at > 0 {
                        self.push(',');
                    }
                    self.expression(from, false);
                    if let Some(to) = to {
                        self.push(" to ");
                        self.expression(to, false);
                    }
                }
                self.push(']');
            }
            PathStep::Descendants { first: 0, last: LEVEL_LAST } => self.push(".**"),
            PathStep::Descendants { first, last } => {
                let level = |level: u32| if level == LEVEL_LAST { "last".to_owned() } else { level.to_string() };
                if first == last {
                    self.push(format_args!(".**{{{}}}", level(*first)));
                } else {
                    self.push(format_args!(".**{{{} to {}}}", level(*first), level(*last)));
                }
            }
            PathStep::Filter(condition) => {
                self.push("?(");
                self.condition(condition, false);
                self.push(')');
            }
            PathStep::Method(method) => self.push(format_args!(".{}()", method.name())),
            PathStep::Datetime(template) => {
                let template = template.as_deref().map(quoted).unwrap_or_default();
                self.push(format_args!(".datetime({template})"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::path_syntax::parse;
    use super::*;

    /// The expected forms are those of PostgreSQL 15.
    #[test]
    fn paths_are_shown_as_postgresql_shows_them() {
        for (path, wanted) in [
            ("$", "$"),
            ("lax $.a.*[*]", r#"$."a".*[*]"#),
            ("strict $", "strict $"),
            ("$.a.**.b", r#"$."a".**."b""#),
            (
                "$.**{2 to 2}.**{0 to 5}.**{5 to last}.**{last}.**{last to 5}",
                "$.**{2}.**{0 to 5}.**{5 to last}.**{last}.**{last to 5}",
            ),
            ("$--+1", "($ - -1)"),
            ("1 * 2 + 4 % -3 != false", "(1 * 2 + 4 % -3 != false)"),
            (r#""\b\f\r\n\t\v\"\''\\""#, r#""\b\f\r\n\t\u000b\"''\\""#),
            (r#""\x50\u0067\u{53}\u{051}\u{00004C}""#, r#""PgSQL""#),
            (r#"$.foo\x50\u0067\u{53}\u{051}\u{00004C}\t\"bar"#, r#"$."fooPgSQL\t\"bar""#),
            (r#""\z""#, r#""z""#),
            (
                "$.g ? (@.a == 1 || !(@.x >= 123 || @.a == 4) && @.b == 7)",
                r#"$."g"?(@."a" == 1 || !(@."x" >= 123 || @."a" == 4) && @."b" == 7)"#,
            ),
            ("$.g ? ((@.x >= 123 || @.a == 4) is unknown)", r#"$."g"?((@."x" >= 123 || @."a" == 4) is unknown)"#),
            ("$.g ? (exists (@.x ? (@ == 14)))", r#"$."g"?(exists (@."x"?(@ == 14)))"#),
            ("$.g ? (+@.x >= +-(+@.a + 2))", r#"$."g"?(+@."x" >= +(-(+@."a" + 2)))"#),
            ("$.a[$a + 1, ($b[*]) to -($[0] * 2)]", r#"$."a"[$"a" + 1,$"b"[*] to -($[0] * 2)]"#),
            ("$[$[0] ? (last > 0)]", "$[$[0]?(last > 0)]"),
            ("null.type()", "null.type()"),
            ("(1).type()", "(1).type()"),
            ("1..type()", "(1).type()"),
            ("$.datetime(\"x\").keyvalue().key.last", r#"$.datetime("x").keyvalue()."key"."last""#),
            ("$ ? (@ starts with $var)", r#"$?(@ starts with $"var")"#),
            (r#"$ ? (@ like_regex "pattern" flag "isim")"#, r#"$?(@ like_regex "pattern" flag "ism")"#),
            (r#"$ ? (@ like_regex "pattern" flag "smixq")"#, r#"$?(@ like_regex "pattern" flag "ismxq")"#),
            ("($ < 1) || $.a.b <= $x", r#"($ < 1 || $."a"."b" <= $"x")"#),
            ("($.a.b + -$.x.y).c.d", r#"($."a"."b" + -$."x"."y")."c"."d""#),
            ("(-+$.a.b).c.d", r#"(-(+$."a"."b"))."c"."d""#),
            ("1 + ($.a.b > 2).c.d", r#"(1 + ($."a"."b" > 2)."c"."d")"#),
            (
                "((($ + 1)).a + ((2)).b ? ((((@ > 1)) || (exists(@.c)))))",
                r#"(($ + 1)."a" + (2)."b"?(@ > 1 || exists (@."c")))"#,
            ),
            (".1e1", "1"),
            ("10.1e-1", "1.01"),
            ("0.000e2", "0.0"),
            ("0.0010e-1", "0.00010"),
            ("1.e3.e4", r#"(1000)."e4""#),
            ("1?(2>3)", "(1)?(2 > 3)"),
            ("1 - 2 - 3", "((1 - 2) - 3)"),
        ] {
            let shown = parse(path).map(|path| text_of(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(shown, wanted, "{path}");
            assert_eq!(parse(&shown).map(|path| text_of(&path)).unwrap(), wanted, "{shown}");
        }
    }
}
