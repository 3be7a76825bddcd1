//! A query with parameters in place of constants that are compared or cast, for which their place determines a type.

use atsdb_sql::ParameterValue;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, TypedString, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Returns the query and the values of its parameters; `None` if it has no such constant. Equal constants become one
/// parameter, so that expressions that were equal still are.
pub(super) fn with_parameters(sql: &str) -> Option<(String, Vec<ParameterValue>)> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, sql).ok()?;
    let mut replacing = Replacing { values: Vec::new() };
    let _ = statements[0].visit(&mut replacing);
    let values = replacing.values.iter().map(|(value, _)| ParameterValue::from(value.as_str())).collect();
    (!replacing.values.is_empty()).then(|| (statements[0].to_string(), values))
}

struct Replacing {
    /// The text of each value, and what determines its type.
    values: Vec<(String, String)>,
}

impl Replacing {
    fn parameter(&mut self, value: &str, place: String) -> Expr {
        let new = (value.to_owned(), place);
        let at = self.values.iter().position(|known| *known == new).unwrap_or_else(|| {
            self.values.push(new);
            self.values.len() - 1
        });
        Expr::value(Value::Placeholder(format!("${}", at + 1)))
    }

    fn cast(&mut self, value: &str, data_type: DataType) -> Expr {
        let expr = Box::new(self.parameter(value, data_type.to_string()));
        Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None }
    }

    /// Replaces an integer that is compared with something by a parameter of its type.
    fn replace_integer(&mut self, operand: &mut Expr) {
        if let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = operand
            && let Ok(number) = digits.parse::<i64>()
        {
            let data_type = if i32::try_from(number).is_ok() { DataType::Int(None) } else { DataType::BigInt(None) };
            *operand = self.cast(digits, data_type);
        }
    }

    /// Replaces a text that is compared with a column.
    fn replace_text(&mut self, column: &Expr, operand: &mut Expr) {
        if matches!(column, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            && let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = operand
        {
            *operand = self.parameter(text, column.to_string());
        }
    }
}

impl VisitorMut for Replacing {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        match expr {
            Expr::BinaryOp { left, op: Eq | NotEq | Lt | LtEq | Gt | GtEq, right } => {
                self.replace_integer(right);
                self.replace_text(left, right);
            }
            Expr::Between { low, high, .. } => {
                self.replace_integer(low);
                self.replace_integer(high);
            }
            Expr::InList { list, .. } => list.iter_mut().for_each(|item| self.replace_integer(item)),
            Expr::Cast { kind: CastKind::Cast, expr: inner, data_type, .. } => {
                // A parameter would have the type of the cast, and take no text with a fraction for an integer.
                if let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = inner.as_ref()
                    && !digits.contains('.')
                {
                    **inner = self.parameter(digits, data_type.to_string());
                }
            }
            Expr::TypedString(TypedString { data_type, value, .. }) => {
                if let Value::SingleQuotedString(text) = &value.value {
                    *expr = self.cast(text, data_type.clone());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn equal_constants_become_one_parameter() {
    let sql = "SELECT a > 2 AS c0 FROM t WHERE s = 'x' AND day < DATE '2024-01-01' GROUP BY a > 2 LIMIT 3";
    let wanted = "SELECT a > CAST($1 AS INT) AS c0 FROM t WHERE s = $2 AND day < CAST($3 AS DATE) \
                  GROUP BY a > CAST($1 AS INT) LIMIT 3";
    let (found, values) = with_parameters(sql).unwrap();
    assert_eq!(found, wanted);
    assert_eq!(values, ["2", "x", "2024-01-01"].map(ParameterValue::from));
}
