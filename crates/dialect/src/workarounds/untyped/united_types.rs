//! `UNION` of a text and a value of another type. A text constant is read as the other type, as in PostgreSQL:
//! `SELECT '1' UNION SELECT 2` returns integers, and `SELECT 'a' UNION SELECT 2` is an error. So is a column of texts
//! beside one of another type. DataFusion makes texts of both. A date beside a time becomes a time of the same unit;
//! DataFusion would make nanoseconds of both, whose range ends in the years 1677 and 2262.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041) (constants); for columns no upstream issue is
//! known.

use crate::functions::base::arguments::is_text;
use crate::text::datafusion_errors::external;
use crate::text::decimals;
use crate::text::errors::sql_error;
use crate::text::plan_walk::DynPlanWalk;
use crate::workarounds::times::dates_beside_times::is_time;
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::coerce_plan_expr_for_schema;
use datafusion::logical_expr::logical_plan::{Distinct, Union};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct UnitedTypes;

impl AnalyzerRule for UnitedTypes {
    fn name(&self) -> &str {
        "united_types"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        plan.dyn_transform_up_with_subqueries(|plan| {
            let settled = match plan {
                LogicalPlan::Union(union) => united(union)?,
                other => Transformed::no(other),
            };
            is_changed |= settled.transformed;
            // The types of columns below may have changed.
            if is_changed { settled.map_data(LogicalPlan::recompute_schema) } else { Ok(settled) }
        })
        .data()
    }
}

/// Reads the text constants among the columns of a union as values of the other columns' types, and makes times of
/// dates beside times.
fn united(union: Union) -> Result<Transformed<LogicalPlan>> {
    let mut wanted: Vec<Vec<(usize, DataType)>> = vec![Vec::new(); union.inputs.len()];
    for at in 0..union.schema.fields().len() {
        let members: Vec<UnionColumn> = union.inputs.iter().map(|input| UnionColumn::of(input, at)).collect();
        let has_texts = members.iter().any(|member| matches!(member, UnionColumn::Typed(of) if is_text(of)));
        let other = members.iter().find_map(|member| match member {
            UnionColumn::Typed(of) if !is_text(of) && !of.is_null() => Some(of),
            _ => None,
        });
        let Some(other) = other else { continue };
        if has_texts {
            let name = union.schema.field(at).name();
            let message =
                format!("UNION types of column {name} cannot be matched: one of them is text, and another is not");
            return Err(external(sql_error(message).with_hint("cast one of them, as in CAST(x AS TEXT)")));
        }
        let time = members.iter().find_map(|member| match member {
            UnionColumn::Typed(of) if is_time(of) => Some(of),
            _ => None,
        });
        let other = time.unwrap_or(other);
        for (input, member) in wanted.iter_mut().zip(&members) {
            match member {
                UnionColumn::Constant(text) => input.push((at, type_of_constant(text.as_deref(), other))),
                UnionColumn::Typed(DataType::Date32) if time.is_some() => input.push((at, other.clone())),
                UnionColumn::Typed(_) => {}
            }
        }
    }
    if wanted.iter().all(Vec::is_empty) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let typed = union.inputs.into_iter().zip(wanted).map(|(input, wanted)| match wanted.is_empty() {
        true => Ok(input),
        false => {
            let schema = with_types(input.schema(), &wanted)?;
            coerce_plan_expr_for_schema(Arc::unwrap_or_clone(input), &schema).map(Arc::new)
        }
    });
    let united = Union::try_new_with_loose_types(typed.collect::<Result<Vec<_>>>()?)?;
    Ok(Transformed::yes(LogicalPlan::Union(united)))
}

/// A column of one of the queries.
enum UnionColumn {
    /// A text without a type, if it is known.
    Constant(Option<String>),
    Typed(DataType),
}

impl UnionColumn {
    fn of(plan: &LogicalPlan, at: usize) -> Self {
        match plan {
            LogicalPlan::Projection(projection) => match projection.expr.get(at).and_then(text) {
                Some(text) => Self::Constant(Some(text.to_owned())),
                None => Self::typed(plan, at),
            },
            LogicalPlan::Values(rows) if rows.values.iter().all(|row| row.get(at).and_then(text).is_some()) => {
                Self::Constant(None)
            }
            LogicalPlan::Limit(limit) => Self::of(&limit.input, at),
            LogicalPlan::Sort(sort) => Self::of(&sort.input, at),
            // The column of a union within has the type of its constants.
            LogicalPlan::Union(union) => {
                let mut types = union.inputs.iter().map(|input| Self::of(input, at).data_type());
                Self::Typed(types.find(|of| !of.is_null()).unwrap_or(DataType::Null))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => Self::of(input, at),
            other => Self::typed(other, at),
        }
    }

    fn typed(plan: &LogicalPlan, at: usize) -> Self {
        Self::Typed(plan.schema().field(at).data_type().clone())
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Constant(_) => DataType::Utf8,
            Self::Typed(data_type) => data_type,
        }
    }
}

/// The text of a constant without a type.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Alias(alias) => text(&alias.expr),
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

/// The type of a text beside a column of another type. A number beside decimals keeps its digits, and a time those of
/// a microsecond.
fn type_of_constant(text: Option<&str>, other: &DataType) -> DataType {
    match (text.and_then(|text| decimals::read(text.trim())), other) {
        (Some(number), DataType::Decimal128(..)) => decimals::scalar(number).data_type(),
        (_, DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone)) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        _ => other.clone(),
    }
}

/// A schema with other types at some positions.
fn with_types(schema: &DFSchema, types: &[(usize, DataType)]) -> Result<DFSchema> {
    let fields = schema.iter().enumerate().map(|(at, (qualifier, field))| {
        let field: FieldRef = match types.iter().find(|(position, _)| *position == at) {
            Some((_, data_type)) => Arc::new(field.as_ref().clone().with_data_type(data_type.clone())),
            None => Arc::clone(field),
        };
        (qualifier.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}
