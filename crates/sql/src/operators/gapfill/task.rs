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
pub(crate) struct Task {
    pub(crate) group_count: usize,
    pub(crate) bucket_at: usize,
    pub(crate) width: String,
    pub(crate) steps: Steps,
    pub(crate) ticks: Ticks,
    pub(crate) bounds: Vec<(Bound, ScalarValue)>,
    pub(crate) fills: Vec<PhysicalFill>,
}

/// A column without gaps.
#[derive(Debug, Clone)]
pub(crate) struct PhysicalFill {
    pub(crate) kind: FillKind,
    pub(crate) value: Arc<dyn PhysicalExpr>,
    pub(crate) longest_gap: Option<LongestGap>,
}

impl Task {
    /// The columns that identify a series.
    pub(super) fn series(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.group_count).filter(|at| *at != self.bucket_at)
    }
}
