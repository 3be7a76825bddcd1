//! The parameters of the operator that fills gaps.

use super::bounds::Bound;
use super::fill::LongestGap;
use super::node::FillKind;
use super::steps::{Steps, Ticks};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use std::sync::Arc;

/// The parameters, independent of the input.
#[derive(Debug, Clone)]
pub(crate) struct GapFillParameters {
    pub group_count: usize,
    pub bucket_at: usize,
    pub width: String,
    pub steps: Steps,
    pub ticks: Ticks,
    pub bounds: Vec<(Bound, ScalarValue)>,
    pub fills: Vec<PhysicalFill>,
}

/// A column without gaps.
#[derive(Debug, Clone)]
pub(crate) struct PhysicalFill {
    pub kind: FillKind,
    pub value: Arc<dyn PhysicalExpr>,
    pub longest_gap: Option<LongestGap>,
}

impl GapFillParameters {
    /// The columns that identify a series.
    pub(super) fn series(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.group_count).filter(|at| *at != self.bucket_at)
    }
}
