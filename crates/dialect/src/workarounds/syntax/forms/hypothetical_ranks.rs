//! `rank(x) WITHIN GROUP (ORDER BY y)`: the rank that a row with the value `x` would have among the rows of a group.
//! `dense_rank`, `percent_rank` and `cume_dist` are alike. DataFusion knows these names only as window functions. Here
//! they count the rows that are sorted before such a row.
//!
//! No upstream issue known.

use super::composed_functions::filled;
use crate::text::errors::{not_supported, sql_error};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr, OrderByOptions,
};

/// Replaces such a call, whose parts have been rewritten already.
pub(crate) fn hypothetical_rank(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function {
        name, args: FunctionArguments::List(list), within_group, filter, over: None, ..
    }) = &*expr
    else {
        return Ok(());
    };
    let name = name.to_string().to_ascii_lowercase();
    if within_group.is_empty() || !["rank", "dense_rank", "percent_rank", "cume_dist"].contains(&name.as_str()) {
        return Ok(());
    }
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    let values: Vec<Expr> = list.args.iter().filter_map(value).collect();
    if values.len() != within_group.len() || values.len() != list.args.len() {
        return Err(sql_error(format!("{name} takes a value for each key of its ORDER BY"))
            .with_hint(format!("write {name}(3) WITHIN GROUP (ORDER BY value)")));
    }
    let group = Group { keys: within_group, values: &values, filter: filter.as_deref() };
    let ranked = match name.as_str() {
        "rank" => filled("(1 + a)", &[&group.count(&group.before()?)?])?,
        "dense_rank" => group.dense_rank()?,
        "percent_rank" => filled(
            "coalesce(CAST(a AS DOUBLE) / nullif(b, 0), CAST(0 AS DOUBLE))",
            &[&group.count(&group.before()?)?, &group.count_all()?],
        )?,
        _ => filled("(CAST(a + 1 AS DOUBLE) / (b + 1))", &[&group.count(&group.up_to()?)?, &group.count_all()?])?,
    };
    *expr = ranked;
    Ok(())
}

/// The rows of a group, and the row that is ranked among them.
struct Group<'a> {
    keys: &'a [OrderByExpr],
    values: &'a [Expr],
    filter: Option<&'a Expr>,
}

impl Group<'_> {
    /// Returns the condition that a row is sorted before the ranked one.
    fn before(&self) -> Result<Expr> {
        let mut before: Option<Expr> = None;
        for (key, value) in self.keys.iter().zip(self.values).rev() {
            let by_key = is_before(key, value)?;
            before = Some(match before {
                Some(rest) => filled("(a OR (b AND c))", &[&by_key, &is_equal(key, value)?, &rest])?,
                None => by_key,
            });
        }
        before.ok_or_else(|| sql_error("WITHIN GROUP takes an ORDER BY"))
    }

    /// Returns the condition that a row is sorted before the ranked one, or is equal to it.
    fn up_to(&self) -> Result<Expr> {
        let mut found = self.before()?;
        let mut equal: Option<Expr> = None;
        for (key, value) in self.keys.iter().zip(self.values) {
            let of_key = is_equal(key, value)?;
            equal = Some(match equal {
                Some(others) => filled("(a AND b)", &[&others, &of_key])?,
                None => of_key,
            });
        }
        if let Some(equal) = equal {
            found = filled("(a OR b)", &[&found, &equal])?;
        }
        Ok(found)
    }

    /// A condition for the rows that count.
    fn filtered(&self, condition: &Expr) -> Result<Expr> {
        match self.filter {
            Some(filter) => filled("(a AND b)", &[filter, condition]),
            None => Ok(condition.clone()),
        }
    }

    fn count(&self, condition: &Expr) -> Result<Expr> {
        filled("count(*) FILTER (WHERE a)", &[&self.filtered(condition)?])
    }

    fn count_all(&self) -> Result<Expr> {
        match self.filter {
            Some(filter) => filled("count(*) FILTER (WHERE a)", &[filter]),
            None => filled("count(*)", &[]),
        }
    }

    /// One more than the number of different keys before the ranked row. NULL counts as a key.
    fn dense_rank(&self) -> Result<Expr> {
        let [key] = self.keys else {
            return Err(not_supported("dense_rank within a group by several keys")
                .with_hint("count the distinct rows of a subquery: SELECT DISTINCT a, b"));
        };
        let counted = self.filtered(&self.before()?)?;
        let nulls = "CASE WHEN count(*) FILTER (WHERE b AND a IS NULL) > 0 THEN 1 ELSE 0 END";
        filled(&format!("(1 + count(DISTINCT a) FILTER (WHERE b) + {nulls})"), &[&key.expr, &counted])
    }
}

/// Returns the condition that the key of a row is sorted before a value.
fn is_before(key: &OrderByExpr, value: &Expr) -> Result<Expr> {
    let OrderByOptions { asc, nulls_first } = key.options;
    let is_descending = asc == Some(false);
    let template = match (is_descending, nulls_first.unwrap_or(is_descending)) {
        (false, false) => "(a < b OR (a IS NOT NULL AND b IS NULL))",
        (false, true) => "(a < b OR (a IS NULL AND b IS NOT NULL))",
        (true, false) => "(a > b OR (a IS NOT NULL AND b IS NULL))",
        (true, true) => "(a > b OR (a IS NULL AND b IS NOT NULL))",
    };
    filled(template, &[&key.expr, value])
}

fn is_equal(key: &OrderByExpr, value: &Expr) -> Result<Expr> {
    filled("(a IS NOT DISTINCT FROM b)", &[&key.expr, value])
}
