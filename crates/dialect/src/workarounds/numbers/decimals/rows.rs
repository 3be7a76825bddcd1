//! Rows that come from several places, where a column is a float in one and a decimal in another: `VALUES`, `UNION`,
//! the keys of a join, and the members of a subquery.

use super::floats::{common_decimal, double_beside_integer, is_decimal, number_in_quotes, to_double, unite};
use crate::text::decimals::digits_before;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::coerce_plan_expr_for_schema;
use datafusion::logical_expr::logical_plan::{Join, Subquery, Union, Values};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use std::sync::Arc;

/// Makes a column of `VALUES` a `DOUBLE` if a value is a float, or if no decimal has room for the digits of all, else a
/// decimal with room for them. DataFusion has added casts to one decimal type.
pub(super) fn values(rows: Values) -> Result<Transformed<LogicalPlan>> {
    let Values { schema, mut values } = rows;
    let empty = DFSchema::empty();
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let mut is_changed = keep_lists(&mut values, &fields, &empty);
    for (at, field) in fields.iter_mut().enumerate().filter(|(_, field)| is_decimal(field.data_type())) {
        is_changed |= keep_digits(&mut values, at, field);
        let mut mix = ColumnDigits::default();
        for row in &values {
            mix.add(written(&row[at], field.data_type()), &empty);
        }
        if !mix.is_double() {
            continue;
        }
        for row in &mut values {
            let mut value = written(&row[at], field.data_type()).clone();
            match value.get_type(&empty).is_ok_and(|of| is_decimal(&of)) {
                true => to_double(&mut value),
                false => value = cast(value, DataType::Float64),
            }
            row[at] = value;
        }
        *field = Arc::new(field.as_ref().clone().with_data_type(DataType::Float64));
        is_changed = true;
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Values(Values { schema, values })));
    }
    let schema = DFSchema::from_unqualified_fields(fields.into(), schema.metadata().clone())?;
    Ok(Transformed::yes(LogicalPlan::Values(Values { schema: Arc::new(schema), values })))
}

/// Casts the lists whose items have got another type back to the type of their column. Returns whether there are any.
fn keep_lists(rows: &mut [Vec<Expr>], fields: &[FieldRef], schema: &DFSchema) -> bool {
    let mut is_changed = false;
    for (value, field) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(fields)) {
        let wanted = field.data_type();
        let has_changed = |of: DataType| !of.is_null() && !of.equals_datatype(wanted);
        if wanted.is_nested() && value.get_type(schema).is_ok_and(has_changed) {
            *value = cast(std::mem::take(value), wanted.clone());
            is_changed = true;
        }
    }
    is_changed
}

/// Gives a column of decimals the digits of its numbers in quotes, which DataFusion rounds to those of the others.
/// Returns whether the column has another type.
fn keep_digits(rows: &mut [Vec<Expr>], at: usize, field: &mut FieldRef) -> bool {
    let column = field.data_type().clone();
    let mut types = vec![column.clone()];
    for row in rows.iter() {
        types.extend(number_in_quotes(written(&row[at], &column)).map(|number| number.data_type()));
    }
    let is_wider = |common: &DataType| *common != column && whole_digits(common) >= whole_digits(&column);
    let Some(common) = common_decimal(&types).filter(is_wider) else { return false };
    for row in rows {
        let value = written(&row[at], &column);
        let value = number_in_quotes(value).map_or_else(|| value.clone(), |number| Expr::Literal(number, None));
        row[at] = cast(value, common.clone());
    }
    *field = Arc::new(field.as_ref().clone().with_data_type(common));
    true
}

/// The digits before the point that numbers of a type have; 0 if they are no decimals.
fn whole_digits(data_type: &DataType) -> i16 {
    match data_type {
        DataType::Decimal128(precision, scale) => digits_before(*precision, *scale),
        _ => 0,
    }
}

/// A value without the cast to its column's type.
fn written<'a>(value: &'a Expr, column: &DataType) -> &'a Expr {
    match value {
        Expr::Cast(cast) if cast.field.data_type() == column => &cast.expr,
        other => other,
    }
}

/// The types and the digits of a column's values, from which the column's type follows.
#[derive(Default)]
struct ColumnDigits {
    has_floats: bool,
    has_others: bool,
    digits_before: i16,
    digits_behind: i16,
}

impl ColumnDigits {
    fn add(&mut self, value: &Expr, schema: &DFSchema) {
        match value {
            Expr::Literal(literal, _) if literal.is_null() => return,
            Expr::Literal(ScalarValue::Decimal128(_, precision, scale), _) => {
                self.digits_before = self.digits_before.max(digits_before(*precision, *scale));
                self.digits_behind = self.digits_behind.max((*scale).into());
            }
            _ => {}
        }
        match value.get_type(schema).is_ok_and(|data_type| data_type.is_floating()) {
            true => self.has_floats = true,
            false => self.has_others = true,
        }
    }

    fn is_double(&self) -> bool {
        self.has_others && (self.has_floats || self.digits_before + self.digits_behind > DECIMAL_DIGITS_MAX.into())
    }
}

/// Makes a column of a `UNION` a `DOUBLE` if it is a float in one query and a decimal in another.
pub(super) fn united(union: Union) -> Result<Transformed<LogicalPlan>> {
    let Union { mut inputs, mut schema } = union;
    let is_some = |at: usize, is_it: fn(&DataType) -> bool| {
        inputs.iter().any(|input| is_it(input.schema().field(at).data_type()))
    };
    let doubles: Vec<bool> =
        (0..schema.fields().len()).map(|at| is_some(at, DataType::is_floating) && is_some(at, is_decimal)).collect();
    if doubles.contains(&true) {
        for input in &mut inputs {
            let wanted = with_doubles(input.schema(), &doubles)?;
            *input = Arc::new(coerce_plan_expr_for_schema(input.as_ref().clone(), &wanted)?);
        }
    }
    // The columns of the union have the types of the first query until all types are made equal.
    let types = inputs[0].schema().fields().iter().map(|field| field.data_type());
    let is_current = schema.fields().iter().zip(types.clone()).all(|(field, data_type)| field.data_type() == data_type);
    let has_decimals = schema.fields().iter().any(|field| is_decimal(field.data_type()));
    if !doubles.contains(&true) && (is_current || !has_decimals) {
        return Ok(Transformed::no(LogicalPlan::Union(Union { inputs, schema })));
    }
    let fields = schema.iter().zip(types).map(|((qualifier, field), data_type)| {
        (qualifier.cloned(), Arc::new(field.as_ref().clone().with_data_type(data_type.clone())))
    });
    schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?);
    Ok(Transformed::yes(LogicalPlan::Union(Union { inputs, schema })))
}

/// A schema in which the decimals among the marked columns are floats.
fn with_doubles(schema: &DFSchema, doubles: &[bool]) -> Result<DFSchema> {
    let fields = schema.iter().zip(doubles).map(|((qualifier, field), is_double)| {
        let field = match *is_double && is_decimal(field.data_type()) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Float64)),
            false => Arc::clone(field),
        };
        (qualifier.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

/// Converts the decimals among the keys of a join to floats beside floats, and `REAL`s and integers to `DOUBLE`s.
pub(super) fn joined(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    let schema = merge_schema(&[&join.left, &join.right]);
    for (left, right) in &mut join.on {
        is_changed |= unite(vec![left, right], &schema, DataType::is_floating);
        is_changed |= double_beside_integer(vec![left, right], &schema);
    }
    let plan = LogicalPlan::Join(join);
    Ok(if is_changed { Transformed::yes(plan) } else { Transformed::no(plan) })
}

/// Converts a value or the column of a subquery to a float if the other is one. Returns whether something changed.
pub(super) fn members(value: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> Result<bool> {
    let of_value = value.get_type(schema).unwrap_or(DataType::Null);
    let of_members = subquery.subquery.schema().field(0).data_type().clone();
    if is_decimal(&of_value) && of_members.is_floating() {
        to_double(value);
        return Ok(true);
    }
    if of_value.is_floating() && is_decimal(&of_members) {
        let columns = subquery.subquery.schema();
        let wanted = with_doubles(columns, &vec![true; columns.fields().len()])?;
        subquery.subquery = Arc::new(coerce_plan_expr_for_schema(subquery.subquery.as_ref().clone(), &wanted)?);
        return Ok(true);
    }
    Ok(false)
}
