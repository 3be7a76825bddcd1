//! Functions of values with an order of their own. `min`, `max`, `greatest` and `least` follow that order, and so do
//! the keys of `ORDER BY` within calls. Functions that take values of any type stay, and those of addresses, ranges and
//! full-text search. All others do not exist for these values, as in PostgreSQL, where they take texts.

use super::comparison::{settle, settle_as};
use super::own_order::{
    address_type_of, described, name_of_type, of_order_key, ordered_type_of, range_type_of, rank_keys,
    require_common_type, require_order, shown_name,
};
use crate::functions::addresses::extremes::extreme_address;
use crate::functions::addresses::functions::function_of_type;
use crate::functions::base::text_types::{AddressType, RangeType, SearchType, TextType};
use crate::functions::ranges::calls::RangeCall;
use crate::functions::ranges::functions::{bound_function, function_of_ranges, places_of_ranges, range_function};
use crate::functions::text_search::functions::{SearchCall, search_call_of, search_function};
use crate::functions::types::declared::{FIRST_VALUES, is_untyped};
use crate::functions::types::enumerations::{EnumCall, OF_TYPE, READ, enum_call, extreme_label};
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::workarounds::shared::writing_functions::writes_values;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, Operator, ScalarUDF};
use std::sync::Arc;

/// Functions of values of any type whose results are no values of that type, beside those that
/// [write](writes_values) values.
const OF_ANY_TYPE: [&str; 17] = [
    "arrow_typeof",
    "declared_enum",
    "enum_label",
    "enum_rank",
    "json_list",
    "json_list_of_rows",
    "json_object",
    "json_pairs",
    "jsonb_pairs",
    "named_struct",
    "num_nonnulls",
    "num_nulls",
    "pg_column_size",
    "pg_typeof",
    "plain_text",
    "row_to_json",
    "struct",
];

/// The names of the function that counts letters, or the words of a vector.
const LENGTHS: [&str; 2] = ["length", "character_length"];

/// Aggregate and window functions that count values, whatever they are.
const COUNTING: [&str; 2] = ["count", "approx_distinct"];

/// Aggregate and window functions that return one of their values.
const CHOOSING: [&str; 6] = ["lag", "lead", "first_value", "last_value", "first", "last"];

pub(super) fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(call) => scalar(call, schema),
        Expr::AggregateFunction(call) => aggregate(call, schema),
        Expr::WindowFunction(call) => window(*call, schema),
        other => Ok(Transformed::no(other)),
    }
}

fn first_type(args: &[Expr], schema: &DFSchema) -> Option<TextType> {
    args.iter().find_map(|arg| ordered_type_of(arg, schema))
}

/// `min` or `max` in the order of a type; `None` for a type that does not have them.
fn extreme_of(name: &str, of: &TextType) -> Result<Option<Arc<AggregateUDF>>> {
    require_order(of)?;
    Ok(match of {
        TextType::Enum(of) => Some(extreme_label(name == "max", of)),
        TextType::Address(of) => Some(extreme_address(name == "max", *of)),
        TextType::Uuid
        | TextType::Json
        | TextType::Jsonb
        | TextType::Range(_)
        | TextType::Search(_)
        | TextType::Char(_) => None,
    })
}

fn scalar(mut call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let name = call.func.name().to_owned();
    let Some(of) = first_type(&call.args, schema) else { return Ok(Transformed::no(Expr::ScalarFunction(call))) };
    if name == READ {
        return read_label(call, &of, schema);
    }
    if let TextType::Enum(of) = &of
        && let Some(of_type) = EnumCall::of_name(&name).filter(|_| OF_TYPE.contains(&name.as_str()))
    {
        settle(call.args.iter_mut().collect(), Operator::Eq, schema)?;
        return Ok(Transformed::yes(enum_call(of_type, of).call(call.args)));
    }
    let of_type = match of {
        TextType::Address(_) => function_of_type(&call.func, address_type_of(&call.args[0], schema)),
        TextType::Range(of) => range_function_of(&call, of, schema)?,
        _ => None,
    };
    if let Some(function) = of_type {
        let is_same = function == *call.func;
        let call = function.call(call.args);
        return Ok(if is_same { Transformed::no(call) } else { Transformed::yes(call) });
    }
    if of.search().is_some() {
        if search_call_of(&call.func).is_some() {
            return Ok(Transformed::no(Expr::ScalarFunction(call)));
        }
        if of == TextType::Search(SearchType::Vector) && LENGTHS.contains(&name.as_str()) {
            return Ok(Transformed::yes(search_function(SearchCall::Length).call(call.args)));
        }
    }
    match name.as_str() {
        "greatest" | "least" => {
            // An `inet` among networks makes all of them addresses.
            let has_inet = call.args.iter().any(|arg| address_type_of(arg, schema) == Some(AddressType::Inet));
            let of = if has_inet { TextType::Address(AddressType::Inet) } else { of };
            settle_as(&of, call.args.iter_mut().collect(), Operator::Lt, schema)?;
            Ok(Transformed::yes(of_order_key(&of, Expr::ScalarFunction(call))))
        }
        "nullif" | "array_has" => equality(call, schema),
        "make_array" => Err(no_array(&of)),
        known if FIRST_VALUES.contains(&known) => {
            require_common_type("COALESCE", &call.args.iter().collect::<Vec<_>>(), schema)?;
            Ok(Transformed::no(Expr::ScalarFunction(call)))
        }
        known if OF_ANY_TYPE.contains(&known) || writes_values(known) => {
            Ok(Transformed::no(Expr::ScalarFunction(call)))
        }
        _ => Err(no_function(&name, &call.args, schema)),
    }
}

/// A call that reads a label of an enumerated type. Its argument is a value of type `of`: another enumerated type, or
/// the same.
fn read_label(call: ScalarFunction, of: &TextType, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let field = Expr::ScalarFunction(call.clone()).to_field(schema).ok();
    match field.and_then(|(_, field)| TextType::of(&field)) {
        Some(to) if to == *of => Ok(Transformed::no(Expr::ScalarFunction(call))),
        Some(to) => {
            let message = format!("cannot cast type {} to {}", shown_name(of), shown_name(&to));
            Err(external(sql_error(message).with_hint("cast it to TEXT first")))
        }
        None => Err(no_function(call.func.name(), &call.args, schema)),
    }
}

/// A call that looks for equal values.
fn equality(mut call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let looks_in_array = call.func.name() == "array_has";
    let is_changed = match call.args.as_mut_slice() {
        // `element = ANY (ARRAY[...])`
        [Expr::ScalarFunction(array), element] if array.func.name() == "make_array" => {
            settle(std::iter::once(element).chain(&mut array.args).collect(), Operator::Eq, schema)?
        }
        [_, element] if looks_in_array => {
            // The elements are texts, which may write a value in several ways.
            if let Some(of) = ordered_type_of(element, schema).filter(TextType::excludes_texts) {
                let what = format!("ANY of an array of texts beside {}", described(&of));
                return Err(external(not_supported(what).with_hint("write x IN ('10.0.0.1', '::1')")));
            }
            false
        }
        args => settle(args.iter_mut().collect(), Operator::Eq, schema)?,
    };
    let call = Expr::ScalarFunction(call);
    Ok(if is_changed { Transformed::yes(call) } else { Transformed::no(call) })
}

/// The function of ranges that a call means, whose arguments contain ranges of this type. `None` if it is another one.
fn range_function_of(call: &ScalarFunction, of: RangeType, schema: &DFSchema) -> Result<Option<ScalarUDF>> {
    if let Some(function) = function_of_ranges(&call.func, of) {
        return Ok(Some(function));
    }
    let chosen = match call.func.name() {
        "greatest" => RangeCall::Greatest,
        "least" => RangeCall::Least,
        "nullif" => RangeCall::NullIf,
        name => {
            let fields = call.args.iter().map(|arg| Ok(arg.to_field(schema)?.1)).collect::<Result<Vec<_>>>()?;
            let places = call.args.first().and_then(|range| places_of_ranges(range, schema));
            return Ok(bound_function(name, &fields, places));
        }
    };
    let same_type = |arg: &Expr| is_untyped(arg) || range_type_of(arg, schema) == Some(of);
    if !call.args.iter().all(same_type) {
        return Err(no_function(call.func.name(), &call.args, schema));
    }
    Ok(Some(range_function(chosen, Some(of))))
}

fn aggregate(mut call: AggregateFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = rank_keys(call.params.order_by.iter_mut(), schema)?;
    let name = call.func.name().to_owned();
    if let Some(of) = first_type(&call.params.args, schema) {
        match name.as_str() {
            "min" | "max" => match extreme_of(&name, &of)? {
                Some(extreme) => {
                    call.func = extreme;
                    is_changed = true;
                }
                None => return Err(no_function(&name, &call.params.args, schema)),
            },
            "array_agg" => return Err(no_array(&of)),
            counting if COUNTING.contains(&counting) => {}
            choosing if CHOOSING.contains(&choosing) => {
                require_type(&Expr::AggregateFunction(call.clone()), &of, &name, schema)?;
            }
            _ => return Err(no_function(&name, &call.params.args, schema)),
        }
    }
    let call = Expr::AggregateFunction(call);
    Ok(if is_changed { Transformed::yes(call) } else { Transformed::no(call) })
}

fn window(mut call: WindowFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = rank_keys(call.params.order_by.iter_mut(), schema)?;
    let name = call.fun.name().to_owned();
    if let Some(of) = first_type(&call.params.args, schema) {
        match name.as_str() {
            "min" | "max" => match extreme_of(&name, &of)? {
                Some(extreme) => {
                    call.fun = WindowFunctionDefinition::AggregateUDF(extreme);
                    is_changed = true;
                }
                None => return Err(no_function(&name, &call.params.args, schema)),
            },
            "array_agg" => return Err(no_array(&of)),
            counting if COUNTING.contains(&counting) => {}
            choosing if CHOOSING.contains(&choosing) || choosing == "nth_value" => {
                // The value where `lag` and `lead` have no row.
                if matches!(choosing, "lag" | "lead")
                    && let Some(default) = call.params.args.get_mut(2)
                {
                    is_changed |= settle_as(&of, vec![default], Operator::Eq, schema)?;
                }
                require_type(&Expr::from(call.clone()), &of, &name, schema)?;
            }
            _ => return Err(no_function(&name, &call.params.args, schema)),
        }
    }
    let call = Expr::from(call);
    Ok(if is_changed { Transformed::yes(call) } else { Transformed::no(call) })
}

/// Refuses a function whose results would be texts.
fn require_type(call: &Expr, of: &TextType, name: &str, schema: &DFSchema) -> Result<()> {
    match ordered_type_of(call, schema) {
        Some(_) => Ok(()),
        None => Err(external(
            not_supported(format_args!("{name} of values of {}", described(of))).with_hint("cast them to TEXT"),
        )),
    }
}

fn no_function(name: &str, args: &[Expr], schema: &DFSchema) -> DataFusionError {
    let types: Vec<String> = args.iter().map(|arg| name_of_type(arg, schema)).collect();
    let error = sql_error(format!("function {name}({}) does not exist", types.join(", ")));
    let hint = "labels, addresses, ranges, vectors and queries are not texts: write CAST(x AS TEXT)";
    external(error.with_hint(hint))
}

fn no_array(of: &TextType) -> DataFusionError {
    let error = not_supported(format_args!("an array of {}", described(of)));
    external(error.with_hint("collect texts: CAST(x AS TEXT)"))
}
