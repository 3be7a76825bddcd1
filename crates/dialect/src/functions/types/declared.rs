//! Finds the expressions whose values have a [`TextType`], and builds the functions that declare it.

use super::char_texts::{self, declared_char};
use super::enumerations::{self, EnumCall, enum_call};
use super::uuids::uuid_of;
use crate::functions::addresses::functions::{AddressCall, address_function};
use crate::functions::base::plain::{Plain, Returns};
use crate::functions::base::text_types::TextType;
use crate::functions::json::read::{json_of, jsonb_of};
use crate::functions::ranges::calls::RangeCall;
use crate::functions::ranges::functions::{self as ranges, range_function};
use crate::functions::text_search::functions::{SearchCall, search_function};
use atsdb_codec::is_json_list;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::logical_plan::{Distinct, Union};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};

/// Functions that return the first of their arguments that is not NULL.
pub const FIRST_VALUES: [&str; 3] = ["coalesce", "nvl", "ifnull"];

/// The function that `array[position]` is planned as.
pub const ELEMENT: &str = "array_element";

/// The type of an expression's values. A cast to text is none of these types, although DataFusion keeps the metadata of
/// what is cast.
pub fn text_type_of(expr: &Expr, schema: &DFSchema) -> Option<TextType> {
    match expr {
        Expr::Alias(alias) => text_type_of(&alias.expr, schema),
        Expr::Column(column) => TextType::of(schema.field_from_column(column).ok()?),
        Expr::OuterReferenceColumn(field, _) => TextType::of(field),
        Expr::ScalarSubquery(query) => type_of_column(&query.subquery, 0),
        // A cast to an enumerated type says so. A cast to another type is a text.
        Expr::Cast(cast) => TextType::of(&cast.field).filter(|of| matches!(of, TextType::Enum(_))),
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result.as_ref());
            united_results(results.chain(case.else_expr.as_deref()), schema)
        }
        Expr::ScalarFunction(call) if FIRST_VALUES.contains(&call.func.name()) => {
            united_results(call.args.iter(), schema)
        }
        Expr::ScalarFunction(call) if call.func.name() == ELEMENT => {
            let list = call.args.first()?.to_field(schema).ok()?.1;
            is_json_list(&list).then_some(TextType::Json)
        }
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => text_type_of(call.args.first()?, schema),
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
            TextType::of(expr.to_field(schema).ok()?.1.as_ref())
        }
        _ => None,
    }
}

/// The type of a column of a union. A query in it whose column is a constant has the type of the others.
pub fn type_in_union(union: &Union, at: usize) -> Option<TextType> {
    united(union.inputs.iter().map(|input| {
        if is_untyped_column(input, at) { UnitedValue::Untyped } else { UnitedValue::of(type_of_column(input, at)) }
    }))
}

/// Returns whether a column of a query is a constant without a type.
pub fn is_untyped_column(plan: &LogicalPlan, at: usize) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.get(at).is_some_and(is_untyped),
        _ => false,
    }
}

/// The type of a column of a query. The metadata of the plan's columns may not say it yet.
fn type_of_column(plan: &LogicalPlan, at: usize) -> Option<TextType> {
    match plan {
        LogicalPlan::Projection(projection) => match projection.expr.get(at)? {
            Expr::Column(column) => {
                type_of_column(&projection.input, projection.input.schema().maybe_index_of_column(column)?)
            }
            expr => text_type_of(expr, projection.input.schema()),
        },
        LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => type_of_column(plan.inputs().first()?, at),
        LogicalPlan::Union(union) => type_in_union(union, at),
        other => TextType::of(other.schema().fields().get(at)?),
    }
}

/// The type of an expression that is one of these expressions in each row.
fn united_results<'a>(results: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Option<TextType> {
    united(results.map(|result| match text_type_of(result, schema) {
        None if is_untyped(result) => match result {
            Expr::Literal(value, _) if value.is_null() => UnitedValue::Null,
            _ => UnitedValue::Untyped,
        },
        of => UnitedValue::of(of),
    }))
}

/// One of the values that have a type in common.
enum UnitedValue {
    /// NULL, which has the type of the others.
    Null,
    /// A constant, which has the type of the others.
    Untyped,
    Declared(TextType),
    Other,
}

impl UnitedValue {
    fn of(declared: Option<TextType>) -> Self {
        declared.map_or(Self::Other, Self::Declared)
    }
}

fn united(members: impl Iterator<Item = UnitedValue>) -> Option<TextType> {
    let (mut united, mut has_constants) = (None, false);
    for member in members {
        let of = match member {
            UnitedValue::Null => continue,
            UnitedValue::Untyped => {
                has_constants = true;
                continue;
            }
            UnitedValue::Other => return None,
            UnitedValue::Declared(of) => of,
        };
        united = Some(match united {
            None => of,
            Some(other) if of == other => other,
            Some(other) if of.is_json() && other.is_json() => TextType::Json,
            Some(other) if of.is_char() && other.is_char() => TextType::Char(None),
            Some(_) => return None,
        });
    }
    match united {
        // A constant is not cut to the length of the others.
        Some(of) if of.is_char() && has_constants => Some(TextType::Char(None)),
        united => united,
    }
}

/// Returns whether an expression is a constant of text, NULL or a parameter, so that it has the type of what is beside
/// it. A parameter whose value is known already is a text.
pub fn is_untyped(expr: &Expr) -> bool {
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

/// The functions that declare the type of a value and return the value.
pub const DECLARATIONS: [&str; 11] = [
    UUID,
    JSON,
    JSONB,
    JSON_LIST,
    enumerations::DECLARED,
    "declared_inet",
    "declared_cidr",
    ranges::DECLARED,
    "declared_tsvector",
    "declared_tsquery",
    char_texts::DECLARED,
];

const UUID: &str = "declared_uuid";
const JSON: &str = "declared_json";
const JSONB: &str = "declared_jsonb";
const JSON_LIST: &str = "declared_json_list";

/// The function that says that a text is of a type, and returns it.
pub fn declaration(of: TextType) -> ScalarUDF {
    let name = match of {
        TextType::Uuid => UUID,
        TextType::Json => JSON,
        TextType::Jsonb => JSONB,
        TextType::Enum(of) => return enum_call(EnumCall::Declare, &of),
        TextType::Address(of) => return address_function(AddressCall::Declare(of)),
        TextType::Range(of) => return range_function(RangeCall::Declare, Some(of)),
        TextType::Search(of) => return search_function(SearchCall::Declare(of)),
        TextType::Char(characters) => return declared_char(characters),
    };
    Plain::variadic(name, DataType::Utf8, same).returning(Returns::Declared(of)).udf()
}

/// The function that returns a value of such a type as a text of no declared type. A cast of an address to a text has
/// the length of its mask.
pub fn plain_text(of: &TextType) -> ScalarUDF {
    match of {
        TextType::Address(_) => address_function(AddressCall::Text),
        _ => unchanged_text(),
    }
}

fn unchanged_text() -> ScalarUDF {
    Plain::variadic("plain_text", DataType::Utf8, same).udf()
}

/// The function that says that the elements of a list of texts are JSON, and returns it.
pub fn json_list() -> ScalarUDF {
    let of = DataType::new_list(DataType::Utf8, true);
    Plain::variadic(JSON_LIST, of, same_list).returning(Returns::JsonLists).udf()
}

/// The function that reads a text as a value of a type.
pub fn reading(of: TextType) -> ScalarUDF {
    match of {
        TextType::Uuid => uuid_of(),
        TextType::Json => json_of(),
        TextType::Jsonb => jsonb_of(),
        TextType::Enum(of) => enum_call(EnumCall::Read, &of),
        TextType::Address(of) => address_function(AddressCall::Read(of)),
        TextType::Range(of) => range_function(RangeCall::Construct, Some(of)),
        TextType::Search(of) => search_function(SearchCall::Read(of)),
        TextType::Char(characters) => declared_char(characters),
    }
}

pub(super) fn functions() -> Vec<ScalarUDF> {
    let mut functions = [TextType::Uuid, TextType::Json, TextType::Jsonb].map(declaration).to_vec();
    functions.extend([unchanged_text(), json_list()]);
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
