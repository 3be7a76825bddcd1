//! Expressions that are converted to one type: decimals become floats beside a float, and integers decimals beside a
//! decimal.

use crate::text::decimals;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{Expr, ExprSchemable, cast, lit};

pub(super) fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// Returns whether it is a float, or a list of floats.
pub(super) fn is_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_float(item.data_type())
        }
        other => other.is_floating(),
    }
}

/// Returns whether it is compared with numbers as a float. Text may be any number.
pub(super) fn is_compared_as_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_compared_as_float(values),
        other => other.is_floating() || other.is_string(),
    }
}

/// Turns a decimal literal beside a float into a float while the statement is planned, so that expressions have the
/// same names everywhere.
pub(super) fn double_beside_float(left: &mut Expr, right: &mut Expr, schema: &DFSchema) {
    let beside_float = |other: &Expr| other.get_type(schema).is_ok_and(|of| of.is_floating());
    match (is_literal(left), is_literal(right)) {
        (true, false) if beside_float(right) => to_double(left),
        (false, true) if beside_float(left) => to_double(right),
        _ => {}
    }
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Negative(operand) => is_literal(operand),
        other => matches!(other, Expr::Literal(ScalarValue::Decimal128(Some(_), ..), _)),
    }
}

pub(super) fn types_of<'a>(exprs: impl IntoIterator<Item = &'a Expr>, schema: &DFSchema) -> Vec<DataType> {
    exprs.into_iter().map(|expr| expr.get_type(schema).unwrap_or(DataType::Null)).collect()
}

/// Converts the decimals among expressions to floats if one of the expressions counts as a float. Returns whether
/// something changed.
pub(super) fn unite(mut exprs: Vec<&mut Expr>, schema: &DFSchema, counts_as_float: fn(&DataType) -> bool) -> bool {
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    if !types.iter().any(is_decimal) || !types.iter().any(counts_as_float) {
        return false;
    }
    for (expr, _) in exprs.iter_mut().zip(&types).filter(|(_, data_type)| is_decimal(data_type)) {
        to_double(expr);
    }
    true
}

/// Reads texts in quotes beside decimals as decimals with their digits, as PostgreSQL reads a constant without a type.
/// Texts that are no numbers stay. Returns whether something changed.
pub(super) fn read_texts(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), _));
    if !exprs.iter().any(|expr| is_text(expr))
        || !types_of(exprs.iter().map(|expr| &**expr), schema).iter().any(is_decimal)
    {
        return false;
    }
    let mut is_changed = false;
    for expr in exprs {
        if let Some(number) = number_in_quotes(expr) {
            **expr = Expr::Literal(number, None);
            is_changed = true;
        }
    }
    is_changed
}

/// The number that a text in quotes is. Digits in quotes are not parted by underscores.
pub(super) fn number_in_quotes(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            decimals::read(text.trim()).filter(|_| !text.contains('_')).map(decimals::scalar)
        }
        _ => None,
    }
}

/// Converts expressions to one type if there are decimals among them: to floats if one is a float, else integers and
/// numbers in quotes to decimals. Returns whether something changed.
pub(super) fn unite_all(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let mut is_changed = read_texts(&mut exprs, schema);
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    if types.contains(&DataType::Float32) && !types.contains(&DataType::Float64) {
        return to_reals(exprs, &types) || is_changed;
    }
    if types.iter().any(is_float) {
        return unite(exprs, schema, is_float) || is_changed;
    }
    let Some(common) = common_decimal(&types) else { return is_changed };
    for (expr, data_type) in exprs.iter_mut().zip(&types) {
        if *data_type != common && !data_type.is_null() {
            **expr = cast(std::mem::take(&mut **expr), common.clone());
            is_changed = true;
        }
    }
    is_changed
}

/// Converts `REAL`s and integers to `DOUBLE`s if there are both, as PostgreSQL does. Returns whether something changed.
pub(super) fn double_beside_integer(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    let is_real = |data_type: &DataType| *data_type == DataType::Float32;
    if !types.iter().any(is_real) || !types.iter().any(DataType::is_integer) {
        return false;
    }
    for (expr, _) in exprs.iter_mut().zip(&types).filter(|(_, of)| is_real(of) || of.is_integer()) {
        **expr = cast(std::mem::take(&mut **expr), DataType::Float64);
    }
    true
}

/// Converts numbers to one type. Returns whether something changed.
pub(super) fn unite_numbers(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let mut is_changed = unite_all(exprs.iter_mut().map(|expr| &mut **expr).collect(), schema);
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    if !types.iter().all(DataType::is_numeric) {
        return is_changed;
    }
    let Some(common) = type_union_resolution(&types) else { return is_changed };
    for (expr, _) in exprs.into_iter().zip(&types).filter(|(_, data_type)| **data_type != common) {
        *expr = cast(std::mem::take(expr), common.clone());
        is_changed = true;
    }
    is_changed
}

/// Converts the decimals among expressions to `REAL`s. Returns whether something changed.
fn to_reals(exprs: Vec<&mut Expr>, types: &[DataType]) -> bool {
    let mut is_changed = false;
    for (expr, _) in exprs.into_iter().zip(types).filter(|(_, data_type)| is_decimal(data_type)) {
        *expr = cast(std::mem::take(expr), DataType::Float32);
        is_changed = true;
    }
    is_changed
}

/// The types of numbers and of lists of numbers whose items are converted to one type; `None` if none of them is a
/// decimal, or some are no numbers. `float` is the type of decimals beside `REAL`s.
fn item_types(types: &[DataType], float: DataType) -> Option<Vec<DataType>> {
    let items: Vec<DataType> = types.iter().map(item_of).collect();
    let common = match items.iter().any(DataType::is_floating) && items.iter().any(is_decimal) {
        true if items.contains(&DataType::Float64) => DataType::Float64,
        true => float,
        false => common_decimal(&items)?,
    };
    let united = types.iter().zip(&items).map(|(data_type, item)| match data_type {
        _ if *item == common || item.is_null() => data_type.clone(),
        DataType::List(_) | DataType::FixedSizeList(..) => DataType::new_list(common.clone(), true),
        DataType::LargeList(_) => DataType::new_large_list(common.clone(), true),
        _ => common.clone(),
    });
    Some(united.collect())
}

fn item_of(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => item.data_type().clone(),
        other => other.clone(),
    }
}

/// The types of a list and of items for it, which PostgreSQL converts to one type; `None` if they stay.
pub(crate) fn types_of_items(types: &[DataType]) -> Option<Vec<DataType>> {
    item_types(types, DataType::Float32)
}

/// Converts numbers, and the items of lists of numbers, to one type if there are decimals among them. Returns whether
/// something changed.
pub(super) fn unite_items(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    cast_all(exprs, &types, types_of_items(&types))
}

/// Like [`unite_items`], for numbers that are compared with each other: a `REAL` beside a decimal becomes a `DOUBLE`.
pub(super) fn unite_compared_items(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types = types_of(exprs.iter().map(|expr| &**expr), schema);
    cast_all(exprs, &types, item_types(&types, DataType::Float64))
}

/// Converts expressions of some types to others. Returns whether something changed.
fn cast_all(exprs: Vec<&mut Expr>, types: &[DataType], wanted: Option<Vec<DataType>>) -> bool {
    let Some(wanted) = wanted else { return false };
    let mut is_changed = false;
    for (expr, (data_type, wanted)) in exprs.into_iter().zip(types.iter().zip(wanted)) {
        if *data_type != wanted {
            *expr = cast(std::mem::take(expr), wanted);
            is_changed = true;
        }
    }
    is_changed
}

/// Converts the elements of `ARRAY[...]`, numbers or arrays of them, to one type if there are decimals among them.
/// Returns whether something changed.
pub(super) fn unite_elements(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    match types_of(exprs.iter().map(|expr| &**expr), schema).iter().any(DataType::is_nested) {
        true => unite_items(exprs, schema),
        false => unite_all(exprs, schema),
    }
}

/// The decimal type for numbers of these types; `None` if there is no decimal among them, or something else than
/// numbers.
pub(super) fn common_decimal(types: &[DataType]) -> Option<DataType> {
    if !types.iter().any(is_decimal) {
        return None;
    }
    let (mut before, mut behind) = (0, 0);
    for data_type in types.iter().filter(|data_type| !data_type.is_null()) {
        let (digits_before, digits_behind) = match data_type {
            DataType::Decimal128(precision, scale) => (decimals::digits_before(*precision, *scale), *scale),
            DataType::Int8 | DataType::UInt8 => (3, 0),
            DataType::Int16 | DataType::UInt16 => (5, 0),
            DataType::Int32 | DataType::UInt32 => (10, 0),
            DataType::Int64 => (19, 0),
            DataType::UInt64 => (20, 0),
            _ => return None,
        };
        (before, behind) = (digits_before.max(before), digits_behind.max(behind));
    }
    Some(DataType::Decimal128(decimals::precision_of(before, behind), behind))
}

/// Converts a decimal to a `DOUBLE`.
pub(super) fn to_double(expr: &mut Expr) {
    let decimal = std::mem::take(expr);
    *expr = double_of(decimal);
}

/// The decimal as a `DOUBLE`; for a literal the nearest one.
fn double_of(decimal: Expr) -> Expr {
    match decimal {
        Expr::Literal(ScalarValue::Decimal128(Some(value), _, scale), _) => {
            lit(decimals::nearest_double((value, scale)))
        }
        Expr::Negative(operand) if is_literal(&operand) => Expr::Negative(Box::new(double_of(*operand))),
        other => cast(other, DataType::Float64),
    }
}
