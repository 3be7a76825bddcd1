//! Functions that change labels.

use super::calls::{text, texts};
use super::columns::{Column, merge_equal};
use super::evaluator::{Evaluator, Result, fail};
use super::outcome::EvaluateError;
use crate::labels::{METRIC_NAME, anchored};
use crate::promql::Expr;

impl Evaluator<'_> {
    pub(super) fn label_replace(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let [target, replacement, source, pattern] = texts(&args[1..])[..] else {
            return fail("label_replace takes four texts");
        };
        let Ok(regex) = anchored(pattern) else {
            return fail(format!("invalid regular expression in label_replace(): {pattern}"));
        };
        if target.is_empty() {
            return fail(format!("invalid destination label name in label_replace(): {target}"));
        }
        let mut columns = self.columns(&args[0])?;
        for column in &mut columns {
            let Some(captures) = regex.captures(column.labels.get(source)) else { continue };
            let mut value = String::new();
            captures.expand(replacement, &mut value);
            set_label(column, target, &value);
        }
        merge_equal(columns).map_err(|_| same_labels())
    }

    pub(super) fn label_join(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let (target, separator) = (text(&args[1]), text(&args[2]));
        let sources = texts(&args[3..]);
        if sources.contains(&"") {
            return fail("invalid source label name in label_join(): ");
        }
        if target.is_empty() {
            return fail("invalid destination label name in label_join(): ");
        }
        let mut columns = self.columns(&args[0])?;
        for column in &mut columns {
            let values: Vec<&str> = sources.iter().map(|source| column.labels.get(source)).collect();
            let value = values.join(separator);
            set_label(column, target, &value);
        }
        merge_equal(columns).map_err(|_| same_labels())
    }
}

fn set_label(column: &mut Column, name: &str, value: &str) {
    column.labels = column.labels.with(name, value);
    if name == METRIC_NAME {
        column.drop_name = false;
    }
}

/// The error for a vector with two series of the same labels.
pub(super) fn same_labels() -> EvaluateError {
    EvaluateError::Execution("vector cannot contain metrics with the same labelset".to_owned())
}
