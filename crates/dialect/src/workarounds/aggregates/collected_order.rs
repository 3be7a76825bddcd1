//! `array_agg` and `string_agg` collect values in the order of their `ORDER BY`, or of their window. DataFusion
//! computes some of them in the opposite order, and does not always turn the result around: not for `DISTINCT`, and not
//! in a window. It also requires rows in the order of `string_agg`, so a query can have only one such order. Both
//! functions can sort their values themselves, and here they always do. PostgreSQL sorts the values of `DISTINCT`
//! without `ORDER BY`, too, in order to find equal ones, and so they get this order here. The texts of a mapped column
//! are cast for `string_agg`, but not in its order, which DataFusion takes for the order of something else.
//!
//! No upstream issue known.

use crate::functions::base::arguments::is_text;
use crate::functions::base::of_inner::of_inner;
use crate::functions::base::text_types::TextType;
use crate::workarounds::shared::expressions::rewrite_expressions;
use atsdb_codec::{declared_field, json_list_field};
use atsdb_core::{ColumnType, ElementType};
use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ExprSchemable, GroupsAccumulator, LogicalPlan, ReversedUDAF,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The function that collects values in an array.
const ARRAY: &str = "array_agg";

/// The functions that collect values.
pub(crate) const COLLECTING: [&str; 2] = [ARRAY, "string_agg"];

/// Replaces DataFusion's `array_agg` and `string_agg`.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    for name in COLLECTING {
        if let Some(inner) = state.aggregate_functions().get(name) {
            context.register_udaf(AggregateUDF::new_from_impl(Collecting { inner: Arc::clone(inner) }));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Collecting {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Collecting {
    of_inner!(name, aliases, signature, return_type, documentation);

    /// Declares the type of array elements that are texts for DataFusion, and UUIDs or JSON for SQL.
    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let field = self.inner.return_field(args)?;
        let of_elements = args.first().filter(|_| self.name() == ARRAY).and_then(|value| TextType::of(value));
        Ok(match of_elements {
            Some(TextType::Uuid) => {
                let of_array = ColumnType::Array(ElementType::Uuid);
                Arc::new(declared_field(field.as_ref().clone(), of_array))
            }
            Some(TextType::Json | TextType::Jsonb) => Arc::new(json_list_field(field.as_ref().clone())),
            _ => field,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.create_sliding_accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Beneficial
    }

    /// Sorts its values also if the rows have their order already, because the rows may have the opposite one.
    fn with_beneficial_ordering(self: Arc<Self>, _: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }
}

/// Sorts the values of `DISTINCT`. Runs when the types of all expressions are settled.
#[derive(Debug)]
pub(crate) struct SortDistinct;

impl AnalyzerRule for SortDistinct {
    fn name(&self) -> &str {
        "sort_distinct"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(sorted(expr, schema)))
    }
}

fn sorted(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::AggregateFunction(mut call) = expr else { return Transformed::no(expr) };
    if call.params.distinct
        && COLLECTING.contains(&call.func.name())
        && let (Some(value @ Expr::Cast(cast)), [order]) =
            (call.params.args.first(), call.params.order_by.as_mut_slice())
        && order.expr == *cast.expr
        && is_text(cast.field.data_type())
        && order.expr.get_type(schema).is_ok_and(|data_type| is_text(&data_type))
    {
        order.expr = value.clone();
        return Transformed::yes(Expr::AggregateFunction(call));
    }
    let is_unsorted = call.params.distinct && call.params.order_by.is_empty();
    if !is_unsorted || !COLLECTING.contains(&call.func.name()) {
        return Transformed::no(Expr::AggregateFunction(call));
    }
    match call.params.args.first().cloned() {
        None | Some(Expr::Literal(..)) => Transformed::no(Expr::AggregateFunction(call)),
        Some(value) => {
            call.params.order_by = vec![Sort::new(value, true, false)];
            Transformed::yes(Expr::AggregateFunction(call))
        }
    }
}
