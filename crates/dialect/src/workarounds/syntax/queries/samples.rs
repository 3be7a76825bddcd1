//! `FROM t TABLESAMPLE BERNOULLI (10)` and `SYSTEM (10)`: each row of the table is in the sample with a probability of
//! 10 percent. DataFusion ignores the clause, so the table becomes a subquery with a condition.
//!
//! Waits for [#13563](https://github.com/apache/datafusion/issues/13563).

use crate::text::errors::{not_supported, sql_error};
use crate::text::relations::name_of_relation;
use crate::workarounds::syntax::{is_null, parsed_query};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, SetExpr, TableAlias, TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleModifier,
    TableSampleQuantity, UnaryOperator, Value,
};

/// Makes a subquery of a table of which a sample is read.
pub(crate) fn select_sample(factor: &mut TableFactor) -> Result<()> {
    let name = name_of_relation(factor).cloned();
    let TableFactor::Table { sample, alias, args: None, .. } = factor else { return Ok(()) };
    let Some(TableSampleKind::BeforeTableAlias(clause) | TableSampleKind::AfterTableAlias(clause)) = sample.take()
    else {
        return Ok(());
    };
    let probability = percentage_of(&clause)? / 100.0;
    let called = |name| TableAlias { explicit: true, name, columns: Vec::new(), at: None };
    let alias = alias.take().or_else(|| name.map(called));
    let condition = format!("random() < CAST('{probability}' AS DOUBLE PRECISION)");
    let mut subquery = parsed_query(&format!("SELECT * FROM sampled WHERE {condition}"))?;
    if let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        std::mem::swap(&mut from.relation, factor);
    }
    *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    Ok(())
}

/// The percentage of a sample, from 0 to 100.
fn percentage_of(clause: &TableSample) -> Result<f64> {
    let TableSample {
        modifier: TableSampleModifier::TableSample,
        name: Some(method @ (TableSampleMethod::Bernoulli | TableSampleMethod::System)),
        quantity: Some(TableSampleQuantity { parenthesized: true, value, unit: None }),
        seed,
        bucket: None,
        offset: None,
    } = clause
    else {
        return Err(not_supported(clause).with_hint("write TABLESAMPLE BERNOULLI (10) for 10 percent of the rows"));
    };
    if seed.is_some() {
        return Err(not_supported("REPEATABLE of TABLESAMPLE")
            .with_hint("leave it out, or keep the sample: CREATE TEMPORARY TABLE ... AS SELECT ... TABLESAMPLE"));
    }
    match number_of(value) {
        Some(percentage) if (0.0..=100.0).contains(&percentage) => Ok(percentage),
        Some(_) => Err(sql_error("sample percentage must be between 0 and 100")),
        None if is_null(value) => Err(sql_error("TABLESAMPLE parameter cannot be null")),
        None => Err(not_supported(format_args!("TABLESAMPLE {method} of anything but a number"))
            .with_hint("write the percentage as a number from 0 to 100")),
    }
}

fn number_of(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(-number_of(expr)?),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) | Value::SingleQuotedString(digits) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
