//! Sorting rows by keys.

use super::value::Value;
use datafusion::sql::sqlparser::ast::OrderByExpr;
use std::cmp::Ordering;

/// Sorts rows by their keys. NULLs are last in ascending order.
pub(super) fn sort<T>(keyed: &mut [(Vec<Value>, T)], order: &[OrderByExpr]) {
    keyed.sort_by(|(one, _), (two, _)| {
        for ((one, two), by) in one.iter().zip(two).zip(order) {
            let is_down = by.options.asc == Some(false);
            let nulls_first = by.options.nulls_first.unwrap_or(is_down);
            let ordering = match (one.is_null(), two.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (false, true) if !nulls_first => Ordering::Less,
                (true, false) | (false, true) => Ordering::Greater,
                (false, false) => {
                    let ordering = one.compare(two).unwrap_or(Ordering::Equal);
                    if is_down { ordering.reverse() } else { ordering }
                }
            };
            if ordering != Ordering::Equal {
                return ordering;
            }
        }
        Ordering::Equal
    });
}
