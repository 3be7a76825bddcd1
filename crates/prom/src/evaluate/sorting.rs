//! The order of a result. It matters for instant queries alone: the series of a range query are sorted by labels.

use super::calls::texts;
use super::columns::{Column, is_gap};
use super::evaluator::{Evaluator, Result};
use crate::promql::Expr;
use std::cmp::Ordering;

impl Evaluator<'_> {
    fn warn_about_order(&self, start: usize) {
        if self.grid.count > 1 {
            let message = "sort is ineffective for range queries since results are always ordered by labels";
            self.query.warn(start, message);
        }
    }

    pub(super) fn sort(&self, start: usize, arg: &Expr, descending: bool) -> Result<Vec<Column>> {
        self.warn_about_order(start);
        let mut columns = self.columns(arg)?;
        for column in &mut columns {
            column.histograms.clear();
        }
        let mut columns = super::calls::present(columns);
        if self.grid.count == 1 {
            columns.sort_by(|one, other| compare(one.values[0], other.values[0], descending));
        }
        Ok(columns)
    }

    pub(super) fn sort_by_label(&self, start: usize, args: &[Expr], descending: bool) -> Result<Vec<Column>> {
        self.warn_about_order(start);
        let names = texts(&args[1..]);
        let mut columns = self.columns(&args[0])?;
        columns.sort_by(|one, other| {
            let by_name = names.iter().map(|name| natural(one.labels.get(name), other.labels.get(name)));
            let order = by_name.fold(Ordering::Equal, Ordering::then);
            let order = order.then_with(|| one.labels.cmp(&other.labels));
            if descending { order.reverse() } else { order }
        });
        Ok(columns)
    }
}

/// Orders by value. NaN is last in both directions.
pub(super) fn compare(one: f64, other: f64, descending: bool) -> Ordering {
    match (one.is_nan(), other.is_nan()) {
        (true, true) => is_gap(one).cmp(&is_gap(other)),
        (one, other) if one != other => one.cmp(&other),
        _ if descending => other.total_cmp(&one),
        _ => one.total_cmp(&other),
    }
}

/// Orders texts as people do: digits by their number.
fn natural(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    while !one.is_empty() && !other.is_empty() {
        let (part, rest) = chunk(one);
        let (other_part, other_rest) = chunk(other);
        let order = match (part.parse::<u64>(), other_part.parse::<u64>()) {
            (Ok(number), Ok(other)) => number.cmp(&other).then_with(|| part.len().cmp(&other_part.len())),
            _ => part.cmp(other_part),
        };
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (rest, other_rest);
    }
    one.len().cmp(&other.len())
}

/// The digits at the start of a text, or the non-digits.
fn chunk(text: &str) -> (&str, &str) {
    let digits = text.starts_with(|letter: char| letter.is_ascii_digit());
    let end = text.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(text.len());
    text.split_at(end)
}
