//! Equal lists in FROM, as in `unnest(a, a)` and `ROWS FROM (f(1), f(1))`. DataFusion names the columns after the
//! lists, and refuses equal names. So a list that is equal to one before it becomes the argument of a `coalesce`.
//!
//! No upstream issue known.

use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::TableFactor;

/// Makes the lists of an `UNNEST` different from each other.
pub(crate) fn tell_lists_apart(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::UNNEST { array_exprs, .. } = factor else { return Ok(()) };
    for at in 1..array_exprs.len() {
        while array_exprs[..at].contains(&array_exprs[at]) {
            let mut same = expression("coalesce(NULL)")?;
            set_first_argument(&mut same, array_exprs[at].clone());
            array_exprs[at] = same;
        }
    }
    Ok(())
}
