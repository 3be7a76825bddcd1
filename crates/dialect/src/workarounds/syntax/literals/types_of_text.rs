//! JSON, UUIDs, network addresses, ranges and full-text search, which DataFusion has no types for: casts to them check
//! the text, and operators of JSON and `!!` are calls. The parser lets operators of these types bind looser than
//! comparisons, and PostgreSQL tighter. Where a column of `VALUES` has one of these types in a row, its other rows
//! are cast to it, which DataFusion does not do. A `char(n)` becomes a text there, unless all rows have its length.
//!
//! Waits for [#7845](https://github.com/apache/datafusion/issues/7845) (JSON) and
//! [#4827](https://github.com/apache/datafusion/issues/4827) (UUIDs).

use crate::functions::base::text_types::{AddressType, RangeType};
use crate::text::declared_length::declared_length;
use crate::text::errors::not_supported;
use crate::workarounds::syntax::tokens::operators::JOINED;
use crate::workarounds::syntax::{binary, expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, UnaryOperator, Value, Values,
};

/// Functions of JSON that return no JSON.
const OF_OTHER_TYPES: [&str; 15] = [
    "json_array_length",
    "json_extract_path_text",
    "json_typeof",
    "jsonb_array_length",
    "jsonb_extract_path_text",
    "jsonb_path_exists",
    "jsonb_path_exists_opr",
    "jsonb_path_exists_tz",
    "jsonb_path_match",
    "jsonb_path_match_opr",
    "jsonb_path_match_tz",
    "jsonb_pretty",
    "jsonb_typeof",
    "json_array_elements_text",
    "jsonb_array_elements_text",
];

/// Functions that return a `tsvector`.
const VECTOR_FUNCTIONS: [&str; 6] =
    ["array_to_tsvector", "setweight", "strip", "to_tsvector", "ts_delete", "ts_filter"];

/// Functions that return a `tsquery`.
const QUERY_FUNCTIONS: [&str; 5] =
    ["phraseto_tsquery", "plainto_tsquery", "to_tsquery", "tsquery_phrase", "websearch_to_tsquery"];

/// Rewrites a cast to one of these types, or an operator of JSON, when what is in it has been rewritten.
pub(crate) fn types_of_text(expr: &mut Expr) -> Result<()> {
    let call = match expr {
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, data_type, expr, .. } => {
            // The names of configurations and dictionaries of full-text search are texts.
            if let DataType::Custom(name, _) = &*data_type
                && (is_named(name, "regconfig") || is_named(name, "regdictionary"))
            {
                *data_type = DataType::Text;
                return Ok(());
            }
            let Some(name) = reading_of(data_type)? else { return Ok(()) };
            call_of(name, vec![expr.as_ref().clone()])?
        }
        Expr::TypedString(typed) => {
            let name = match typed.data_type {
                DataType::JSON => "json_of",
                DataType::JSONB => "jsonb_of",
                DataType::Uuid => "uuid_of",
                _ => return Ok(()),
            };
            call_of(name, vec![Expr::Value(typed.value.clone())])?
        }
        Expr::BinaryOp { left, op, right } => {
            let name = match op {
                BinaryOperator::Arrow => "json_get",
                BinaryOperator::LongArrow => "json_get_text",
                BinaryOperator::HashArrow => "json_get_path",
                BinaryOperator::HashLongArrow => "json_get_path_text",
                BinaryOperator::HashMinus => "jsonb_delete_path",
                BinaryOperator::Question => "jsonb_exists",
                BinaryOperator::QuestionPipe => "jsonb_exists_any",
                BinaryOperator::QuestionAnd => "jsonb_exists_all",
                BinaryOperator::AtQuestion => "jsonb_path_exists_opr",
                _ => return Ok(()),
            };
            call_of(name, vec![left.as_ref().clone(), right.as_ref().clone()])?
        }
        Expr::UnaryOp { op: UnaryOperator::PGPrefixFactorial, expr } => {
            call_of("tsquery_not", vec![expr.as_ref().clone()])?
        }
        _ => return Ok(()),
    };
    *expr = call;
    Ok(())
}

/// The function that reads a text as a value of a type; `None` for another type.
fn reading_of(of: &DataType) -> Result<Option<&'static str>> {
    Ok(match of {
        DataType::JSON => Some("json_of"),
        DataType::JSONB => Some("jsonb_of"),
        DataType::Uuid => Some("uuid_of"),
        DataType::TsVector => Some("tsvector_of"),
        DataType::TsQuery => Some("tsquery_of"),
        DataType::Custom(name, modifiers) if modifiers.is_empty() && is_named(name, "jsonpath") => Some("jsonpath_of"),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) if **element == DataType::Uuid => Some("uuids_of"),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _))
            if address_type(element).is_some() || range_type(element).is_some() =>
        {
            return Err(not_supported(format_args!("an array of the type {element}"))
                .with_hint("use an array of texts: TEXT[]"));
        }
        other => match address_type(other) {
            Some(AddressType::Inet) => Some("inet_of"),
            Some(AddressType::Cidr) => Some("cidr_of"),
            None => range_type(other).map(RangeType::name),
        },
    })
}

/// Returns whether a name is that of this type of the catalogue.
fn is_named(name: &ObjectName, wanted: &str) -> bool {
    let [schema @ .., last] = name.0.as_slice() else { return false };
    let is = |part: &ObjectNamePart, wanted: &str| {
        part.as_ident().is_some_and(|ident| ident.value.eq_ignore_ascii_case(wanted))
    };
    is(last, wanted) && schema.iter().all(|part| is(part, "pg_catalog"))
}

/// Casts the rows of VALUES to the types of the others, before what is in them is visited.
pub(crate) fn unite_rows(values: &mut Values) -> Result<()> {
    let width = values.rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for at in 0..width {
        unite_chars(values, at)?;
        let types: Vec<Option<DataType>> = values.rows.iter().map(|row| row.get(at).and_then(type_of)).collect();
        // Networks beside addresses become addresses.
        let inet = types.iter().flatten().find(|of| address_type(of) == Some(AddressType::Inet));
        let Some(wanted) = inet.or(types.iter().flatten().next()).cloned() else { continue };
        for (row, of) in values.rows.iter_mut().zip(types) {
            let Some(value) = row.get_mut(at).filter(|_| of.as_ref() != Some(&wanted)) else { continue };
            // A word, such as DEFAULT.
            if matches!(value, Expr::Identifier(_)) {
                continue;
            }
            let mut cast = expression(&format!("CAST(NULL AS {wanted})"))?;
            if let Expr::Cast { expr, .. } = &mut cast {
                **expr = std::mem::replace(value, Expr::value(Value::Null));
            }
            *value = cast;
        }
    }
    Ok(())
}

/// Makes texts of the values of a `char(n)` in a column of VALUES whose other rows have another type or length.
fn unite_chars(values: &mut Values, at: usize) -> Result<()> {
    let lengths: Vec<Option<u64>> = values.rows.iter().map(|row| row.get(at).and_then(length_of_char)).collect();
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    for (row, length) in values.rows.iter_mut().zip(lengths) {
        if let Some(value) = row.get_mut(at).filter(|_| length.is_some()) {
            *value = call_of("plain_text", vec![value.clone()])?;
        }
    }
    Ok(())
}

/// The length of the type that an expression is cast to, if it is a `char(n)`.
fn length_of_char(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Nested(inner) => length_of_char(inner),
        Expr::Cast { data_type, .. } => {
            declared_length(data_type).filter(|(_, is_padded)| *is_padded).map(|(length, _)| length)
        }
        _ => None,
    }
}

/// The type of addresses that a type's name means.
fn address_type(of: &DataType) -> Option<AddressType> {
    match of {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => AddressType::of_name(&name.to_string()),
        _ => None,
    }
}

/// The type of ranges that a type's name means.
fn range_type(of: &DataType) -> Option<RangeType> {
    match of {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => RangeType::of_name(&name.to_string()),
        _ => None,
    }
}

/// The type of an expression that is known to be of one of these types.
fn type_of(expr: &Expr) -> Option<DataType> {
    use BinaryOperator as B;
    match expr {
        Expr::Nested(inner) => type_of(inner),
        Expr::Cast { data_type: of @ (DataType::JSON | DataType::JSONB | DataType::Uuid), .. } => Some(of.clone()),
        Expr::Cast { data_type: of, .. } => {
            let is_known = address_type(of).is_some()
                || range_type(of).is_some()
                || matches!(of, DataType::TsVector | DataType::TsQuery);
            is_known.then(|| of.clone())
        }
        Expr::TypedString(typed) => match &typed.data_type {
            of @ (DataType::JSON | DataType::JSONB | DataType::Uuid) => Some(of.clone()),
            _ => None,
        },
        Expr::Function(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            match name.as_str() {
                name if OF_OTHER_TYPES.contains(&name) => None,
                "to_json" | "row_to_json" | "array_to_json" => Some(DataType::JSON),
                "to_jsonb" => Some(DataType::JSONB),
                name if name.starts_with("jsonb_") => Some(DataType::JSONB),
                name if name.starts_with("json_") => Some(DataType::JSON),
                name if VECTOR_FUNCTIONS.contains(&name) => Some(DataType::TsVector),
                name if QUERY_FUNCTIONS.contains(&name) => Some(DataType::TsQuery),
                "broadcast" | "hostmask" | "netmask" => Some(named_type("inet")),
                "inet_merge" | "network" => Some(named_type("cidr")),
                "range_merge" | "set_masklen" => type_of_first_argument(call),
                name if RangeType::of_name(name).is_some() => Some(named_type(name)),
                _ => None,
            }
        }
        Expr::BinaryOp { left, op, right } => match op {
            B::Arrow | B::HashArrow => Some(type_of(left).unwrap_or(DataType::JSON)),
            B::HashMinus => Some(DataType::JSONB),
            B::StringConcat | B::PGOverlap | B::Plus | B::Minus | B::Multiply => type_of_result(left, op, right),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::PGPrefixFactorial, .. } => Some(DataType::TsQuery),
        _ => None,
    }
}

/// The type of what an operator makes of a value that is known to be of one of these types.
fn type_of_result(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<DataType> {
    use BinaryOperator as B;
    let of = type_of(left)?;
    match (&of, op) {
        (DataType::JSON | DataType::JSONB, B::StringConcat | B::Minus) => Some(DataType::JSONB),
        (DataType::TsVector, B::StringConcat) | (DataType::TsQuery, B::StringConcat | B::PGOverlap) => Some(of),
        (_, B::Plus | B::Minus | B::Multiply) if range_type(&of).is_some() => Some(of),
        // The difference of two addresses is a number.
        (_, B::Plus | B::Minus) if address_type(&of).is_some() && type_of(right).is_none() => Some(named_type("inet")),
        _ => None,
    }
}

/// The type with a name that the parser does not know.
fn named_type(name: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new())
}

/// The type of the first argument of a call.
fn type_of_first_argument(call: &Function) -> Option<DataType> {
    match &call.args {
        FunctionArguments::List(list) => match list.args.first()? {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) => type_of(first),
            _ => None,
        },
        _ => None,
    }
}

/// Puts the operators of these types in an expression together as PostgreSQL does, before what is in it is visited.
pub(crate) fn bind_operators(expr: &mut Expr) {
    if matches!(expr, Expr::BinaryOp { op, .. } if is_loose(op)) {
        *expr = tightened(std::mem::replace(expr, Expr::value(Value::Null)));
    }
}

/// Returns whether the parser lets an operator bind looser than comparisons, which PostgreSQL does not.
fn is_loose(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Arrow | B::LongArrow | B::HashArrow | B::HashLongArrow | B::HashMinus)
        || matches!(op, B::Question | B::QuestionPipe | B::QuestionAnd | B::AtArrow | B::ArrowAt)
        || matches!(op, B::AtQuestion | B::AtAt)
        || matches!(op, B::Custom(name) if JOINED.contains(&name.as_str()))
}

fn tightened(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryOp { left, op, right } if is_loose(&op) => bound(tightened(*left), op, *right),
        other => other,
    }
}

/// `left op right`, where the operands may be comparisons: then the operator belongs to what is next to it.
fn bound(mut left: Expr, op: BinaryOperator, mut right: Expr) -> Expr {
    if let Some(next) = last_operand(&mut left) {
        let operand = std::mem::replace(next, Expr::value(Value::Null));
        *next = bound(operand, op, right);
        return left;
    }
    if let Some(next) = first_operand(&mut right) {
        let operand = std::mem::replace(next, Expr::value(Value::Null));
        *next = bound(left, op, operand);
        return right;
    }
    binary(left, op, right)
}

/// The operand at the end of an expression that binds looser than an operator of JSON.
fn last_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { op, right, .. } if compares(op) => Some(right),
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => Some(pattern),
        Expr::Between { high, .. } => Some(high),
        _ => None,
    }
}

/// The operand at the beginning of an expression that binds looser, or from left to right with the operator.
fn first_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { left, op, .. } if compares(op) || is_as_tight(op) => Some(left),
        Expr::IsNull(expr) | Expr::IsNotNull(expr) | Expr::IsTrue(expr) | Expr::IsFalse(expr) => Some(expr),
        Expr::IsDistinctFrom(expr, _) | Expr::IsNotDistinctFrom(expr, _) => Some(expr),
        Expr::Like { expr, .. } | Expr::ILike { expr, .. } | Expr::Between { expr, .. } => Some(expr),
        Expr::InList { expr, .. } | Expr::InSubquery { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Returns whether the parser lets an operator bind tighter than the others, which PostgreSQL does not.
fn is_as_tight(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::StringConcat | BinaryOperator::QuestionPipe)
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

fn call_of(name: &str, arguments: Vec<Expr>) -> Result<Expr> {
    let mut call = expression(&format!("{name}(NULL)"))?;
    set_arguments(&mut call, arguments);
    Ok(call)
}
