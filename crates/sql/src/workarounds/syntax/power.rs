//! `a ^ b` is PostgreSQL's power, which binds tighter than `*`. The parser reads MySQL's exclusive or, which binds
//! looser than `+`: so operators that stand side by side without parentheses are put together anew.
//!
//! No upstream issue known: DataFusion takes the operator for the exclusive or in every dialect.

use super::expression;
use super::rows_of_functions::set_arguments;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// Writes an expression whose outermost operator is `^` as calls of `power`.
pub(super) fn call_power(expr: &mut Expr) -> Result<()> {
    if !matches!(expr, Expr::BinaryOp { op: BinaryOperator::BitwiseXor, .. }) {
        return Ok(());
    }
    let (mut operands, mut operators) = (Vec::new(), Vec::new());
    flatten(std::mem::replace(expr, Expr::value(Value::Null)), &mut operands, &mut operators);
    let mut rest = Chain { operands: operands.into_iter().peekable(), operators: operators.into_iter().peekable() };
    *expr = rest.sum(0)?;
    Ok(())
}

/// How tightly PostgreSQL binds an operator; `None` for those that bind looser than the parser's `^`.
fn tightness(op: &BinaryOperator) -> Option<u8> {
    Some(match op {
        BinaryOperator::BitwiseXor => 3,
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => 2,
        BinaryOperator::Plus | BinaryOperator::Minus => 1,
        _ => return None,
    })
}

fn flatten(expr: Expr, operands: &mut Vec<Expr>, operators: &mut Vec<BinaryOperator>) {
    match expr {
        Expr::BinaryOp { left, op, right } if tightness(&op).is_some() => {
            flatten(*left, operands, operators);
            operators.push(op);
            flatten(*right, operands, operators);
        }
        operand => operands.push(operand),
    }
}

struct Chain {
    operands: std::iter::Peekable<std::vec::IntoIter<Expr>>,
    operators: std::iter::Peekable<std::vec::IntoIter<BinaryOperator>>,
}

impl Chain {
    /// What the operators come to that bind tighter than a level; those of one level from left to right.
    fn sum(&mut self, level: u8) -> Result<Expr> {
        let mut left = self.operands.next().unwrap_or_else(|| Expr::value(Value::Null));
        while let Some(of_operator) = self.operators.peek().and_then(tightness).filter(|of| *of > level) {
            let Some(op) = self.operators.next() else { break };
            let right = self.sum(of_operator)?;
            left = match op {
                BinaryOperator::BitwiseXor => {
                    let mut call = expression("power(NULL, NULL)")?;
                    let as_double = |operand: Expr| -> Result<Expr> {
                        let mut cast = expression("CAST(NULL AS DOUBLE PRECISION)")?;
                        if let Expr::Cast { expr, .. } = &mut cast {
                            **expr = operand;
                        }
                        Ok(cast)
                    };
                    set_arguments(&mut call, vec![as_double(left)?, as_double(right)?]);
                    call
                }
                op => Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) },
            };
        }
        Ok(left)
    }
}
