//! Functions of native histograms in an instant vector.

use super::columns::{Column, GAP};
use super::evaluator::{Evaluator, Result};
use crate::histogram::{Histogram, NanObservations};
use crate::promql::Expr;

impl Evaluator<'_> {
    /// A number for each histogram; numbers are left out.
    pub(super) fn of_histograms(&self, arg: &Expr, number: impl Fn(&Histogram) -> f64) -> Result<Vec<Column>> {
        Ok(numbers_of(&self.columns(arg)?, number))
    }

    /// Computes a number of each histogram from its totals, without its buckets.
    pub(super) fn of_totals(&self, arg: &Expr, number: impl Fn(&Histogram) -> f64) -> Result<Vec<Column>> {
        Ok(numbers_of(&self.with_hints_determined().columns(arg)?, number))
    }

    /// An estimate for each histogram, and the remarks on it.
    pub(super) fn estimates(
        &self,
        start: usize,
        columns: &[Column],
        estimate: impl Fn(usize, &Histogram) -> (f64, Option<NanObservations>),
    ) -> Vec<Column> {
        let native = columns.iter().filter(|column| !column.histograms.is_empty());
        let estimated = native.map(|column| {
            of_column(column, |step, histogram| {
                let (value, nan) = estimate(step, histogram);
                if let Some(nan) = nan {
                    self.query.inform_nan(start, column.labels.metric(), nan);
                }
                value
            })
        });
        super::calls::present(estimated.collect())
    }
}

fn numbers_of(columns: &[Column], number: impl Fn(&Histogram) -> f64) -> Vec<Column> {
    let native = columns.iter().filter(|column| !column.histograms.is_empty());
    let numbers = native.map(|column| of_column(column, |_, histogram| number(histogram)));
    super::calls::present(numbers.collect())
}

fn of_column(column: &Column, number: impl Fn(usize, &Histogram) -> f64) -> Column {
    let steps = column.histograms.iter().enumerate();
    let values = steps.map(|(step, histogram)| histogram.as_ref().map_or(GAP, |histogram| number(step, histogram)));
    let values: Vec<f64> = values.collect();
    Column::new(column.labels.clone(), true, values)
}
