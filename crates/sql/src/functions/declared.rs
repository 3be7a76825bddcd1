//! Which expressions have values of a [`TextType`], and the functions that say so.

use super::json::{json_of, jsonb_of};
use super::plain::{Plain, Returns};
use super::text_types::TextType;
use super::uuids::uuid_of;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};

/// Functions that return the first of their arguments that is not NULL.
pub(crate) const FIRST_VALUES: [&str; 3] = ["coalesce", "nvl", "ifnull"];

/// The type of an expression's values. A cast to text is none of these types, although DataFusion keeps the metadata of
/// what is cast.
pub(crate) fn text_type_of(expr: &Expr, schema: &DFSchema) -> Option<TextType> {
    match expr {
        Expr::Alias(alias) => text_type_of(&alias.expr, schema),
        Expr::Column(column) => TextType::of(schema.field_from_column(column).ok()?),
        Expr::OuterReferenceColumn(field, _) => TextType::of(field),
        Expr::ScalarSubquery(query) => TextType::of(query.subquery.schema().fields().first()?),
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result.as_ref());
            united(results.chain(case.else_expr.as_deref()), schema)
        }
        Expr::ScalarFunction(call) if FIRST_VALUES.contains(&call.func.name()) => united(call.args.iter(), schema),
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => text_type_of(call.args.first()?, schema),
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
            TextType::of(expr.to_field(schema).ok()?.1.as_ref())
        }
        _ => None,
    }
}

/// The type of values that come from one of these expressions. Constants have the type of the others.
fn united<'a>(results: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Option<TextType> {
    let mut united = None;
    for result in results {
        match (text_type_of(result, schema), united) {
            (None, _) if is_untyped(result) => {}
            (None, _) => return None,
            (of, None) => united = of,
            (of, _) if of == united => {}
            (Some(of), Some(other)) if of.is_json() && other.is_json() => united = Some(TextType::Json),
            _ => return None,
        }
    }
    united
}

/// Whether an expression is a constant of text, NULL or a parameter, so that it has the type of what is beside it. A
/// parameter whose value is known already is a text.
pub(crate) fn is_untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Null | ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), metadata) => {
            metadata.is_none()
        }
        Expr::Placeholder(placeholder) => {
            let of = placeholder.field.as_ref().map(|field| field.data_type());
            of.is_none_or(|of| of.is_string() || of.is_null())
        }
        Expr::Alias(alias) => is_untyped(&alias.expr),
        _ => false,
    }
}

/// The function that says that a text is of a type, and returns it.
pub(crate) fn declaration(of: TextType) -> ScalarUDF {
    let name = match of {
        TextType::Uuid => "declared_uuid",
        TextType::Json => "declared_json",
        TextType::Jsonb => "declared_jsonb",
    };
    Plain::variadic(name, DataType::Utf8, same).returning(Returns::Declared(of)).udf()
}

/// The function that returns a value of such a type as a text of no declared type.
pub(crate) fn plain_text() -> ScalarUDF {
    Plain::variadic("plain_text", DataType::Utf8, same).udf()
}

/// The function that says that the elements of a list of texts are JSON, and returns it.
pub(crate) fn json_list() -> ScalarUDF {
    let of = DataType::new_list(DataType::Utf8, true);
    Plain::variadic("declared_json_list", of, same_list).returning(Returns::JsonLists).udf()
}

/// The function that reads a text as a value of a type.
pub(crate) fn reading(of: TextType) -> ScalarUDF {
    match of {
        TextType::Uuid => uuid_of(),
        TextType::Json => json_of(),
        TextType::Jsonb => jsonb_of(),
    }
}

pub(super) fn functions() -> Vec<ScalarUDF> {
    let mut functions = [TextType::Uuid, TextType::Json, TextType::Jsonb].map(declaration).to_vec();
    functions.extend([plain_text(), json_list()]);
    functions
}

fn same(args: &[ArrayRef]) -> Result<ArrayRef> {
    match args {
        [value] => Ok(cast(value, &DataType::Utf8)?),
        _ => exec_err!("a type is declared for one value, not {}", args.len()),
    }
}

fn same_list(args: &[ArrayRef]) -> Result<ArrayRef> {
    match args {
        [list] => Ok(cast(list, &DataType::new_list(DataType::Utf8, true))?),
        _ => exec_err!("a type is declared for one list, not {}", args.len()),
    }
}
