//! The logical plan step that fills gaps.

use super::bounds::Bound;
use super::fill::LongestGap;
use super::steps::Ticks;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Fills the gaps of an aggregate by buckets. Its columns: those of the input, then one for each fill.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GapFill {
    pub input: Arc<LogicalPlan>,
    /// The number of group columns, which are the input's first columns.
    pub group_count: usize,
    /// The position of the bucket among them; the others identify the series.
    pub bucket_at: usize,
    pub width: ScalarValue,
    pub zone: Option<String>,
    pub ticks: Ticks,
    pub bounds: Vec<Bound>,
    pub fills: Vec<Fill>,
    schema: DFSchemaRef,
}

/// A column without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fill {
    pub kind: FillKind,
    /// An expression over the input's columns.
    pub value: Expr,
    pub longest_gap: Option<LongestGap>,
    pub name: String,
}

/// How gaps are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FillKind {
    /// Gaps get the last value before them.
    CarryForward,
    /// Gaps get values on the line between their neighbours.
    Interpolation,
}

impl GapFill {
    pub(super) fn new(
        input: LogicalPlan,
        group_count: usize,
        bucket_at: usize,
        width: ScalarValue,
        zone: Option<String>,
        ticks: Ticks,
        bounds: Vec<Bound>,
    ) -> Result<Self> {
        let schema = Arc::clone(input.schema());
        let input = Arc::new(input);
        Self { input, group_count, bucket_at, width, zone, ticks, bounds, fills: Vec::new(), schema }.with_schema()
    }

    /// Adds a column, unless it exists already.
    pub(super) fn with_fill(mut self, fill: Fill) -> Result<Self> {
        if self.fills.contains(&fill) {
            return Ok(self);
        }
        self.fills.push(fill);
        self.with_schema()
    }

    fn with_schema(mut self) -> Result<Self> {
        let of_input = self.input.schema();
        let mut fields: Vec<_> = of_input
            .iter()
            .enumerate()
            .map(|(at, (qualifier, field))| {
                // In a gap all columns but those of the group are NULL.
                let nullable = field.is_nullable() || at >= self.group_count;
                (qualifier.cloned(), Arc::new(field.as_ref().clone().with_nullable(nullable)))
            })
            .collect();
        for fill in &self.fills {
            let ty = match fill.kind {
                FillKind::CarryForward => fill.value.get_type(of_input)?,
                FillKind::Interpolation => DataType::Float64,
            };
            fields.push((None, Arc::new(Field::new(&fill.name, ty, true))));
        }
        self.schema = Arc::new(DFSchema::new_with_metadata(fields, of_input.metadata().clone())?);
        Ok(self)
    }
}

impl PartialOrd for GapFill {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for GapFill {
    fn name(&self) -> &str {
        "GapFill"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let fills = self.fills.iter().map(|fill| fill.value.clone());
        fills.chain(self.bounds.iter().map(|bound| bound.value.clone())).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "GapFill: width={}", self.width)?;
        let bounds: Vec<String> =
            self.bounds.iter().map(|bound| format!("{} {}", bound.operator, bound.value)).collect();
        write!(f, ", bounds=[{}]", bounds.join(", "))?;
        let fills: Vec<&str> = self.fills.iter().map(|fill| fill.name.as_str()).collect();
        if fills.is_empty() { Ok(()) } else { write!(f, ", fills=[{}]", fills.join(", ")) }
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut changed = self.clone();
        let mut exprs = exprs.into_iter().map(Expr::unalias);
        changed.fills.iter_mut().zip(&mut exprs).for_each(|(fill, value)| fill.value = value);
        changed.bounds.iter_mut().zip(&mut exprs).for_each(|(bound, value)| bound.value = value);
        changed.input = Arc::new(inputs.into_iter().next().unwrap_or_else(|| self.input.as_ref().clone()));
        changed.with_schema()
    }
}
