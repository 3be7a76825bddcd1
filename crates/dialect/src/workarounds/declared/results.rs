//! `CASE`, `coalesce`, arrays, their elements, subqueries, unions and casts of values that are texts for DataFusion,
//! and UUIDs, JSON or values of a `char(n)` for SQL. DataFusion forgets the metadata that says so, and keeps it where
//! a cast to text should remove it. Constants beside such values are read as values of their type, as in PostgreSQL.
//!
//! DataFusion 55.2 has no types for UUIDs and JSON. Waits for [#7845](https://github.com/apache/datafusion/issues/7845)
//! (JSON) and [#4827](https://github.com/apache/datafusion/issues/4827) (UUIDs).

use crate::functions::base::text_types::TextType;
use crate::functions::types::declared::{
    DECLARATIONS, ELEMENT, FIRST_VALUES, declaration, is_untyped, is_untyped_column, json_list, plain_text, reading,
    text_type_of, type_in_union,
};
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::plans::computed_sets::compute_sets;
use datafusion::arrow::datatypes::Field;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Projection, Union};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before subqueries are rewritten.
#[derive(Debug)]
pub(crate) struct DeclaredResults;

impl AnalyzerRule for DeclaredResults {
    fn name(&self) -> &str {
        "declared_results"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        declare(plan, Constants::Read)
    }
}

/// Declares the types of a plan's columns while the rest of its statement is planned. Constants stay, because the
/// parameters among them may have no values yet.
pub fn declare_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    declare(compute_sets(plan)?, Constants::Stay)
}

/// Whether constants are read as values of the type of what is beside them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constants {
    Read,
    Stay,
}

fn declare(plan: LogicalPlan, constants: Constants) -> Result<LogicalPlan> {
    let mut is_changed = false;
    plan.dyn_transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        // UUIDs elsewhere than in results are compared, and then they are texts.
        let are_results = matches!(plan, LogicalPlan::Projection(_));
        let settled = plan.dyn_map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.dyn_transform_up(|expr| Ok(rewrite(expr, &schema, are_results, constants)))?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })?;
        let settled = settled.transform_data(|plan| match plan {
            LogicalPlan::Union(union) => in_union(union, constants),
            other => Ok(Transformed::no(other)),
        })?;
        is_changed |= settled.transformed;
        // The metadata of columns below may have changed.
        if is_changed { settled.map_data(with_new_schema) } else { Ok(settled) }
    })
    .data()
}

/// Reads the constants among the columns of a union as values of the other columns' type.
fn in_union(union: Union, constants: Constants) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    let mut wanted: Vec<Vec<(usize, TextType)>> = vec![Vec::new(); union.inputs.len()];
    for (at, field) in union.schema.fields().iter().enumerate() {
        let (declared, of) = (TextType::of(field), type_in_union(&union, at).filter(|of| !of.is_uuid()));
        // DataFusion calls a column of other texts and of a `char(n)` a `char(n)`.
        is_changed |= declared != of && (of.is_some() || declared.is_some_and(|of| of.is_char()));
        let Some(of) = of.filter(|_| constants == Constants::Read) else { continue };
        for (input, wanted) in union.inputs.iter().zip(&mut wanted) {
            if is_untyped_column(input, at) {
                wanted.push((at, of.clone()));
            }
        }
    }
    is_changed |= wanted.iter().any(|columns| !columns.is_empty());
    let Union { inputs, schema } = union;
    let inputs = inputs.into_iter().zip(wanted).map(|(input, columns)| match input.as_ref() {
        LogicalPlan::Projection(projection) if !columns.is_empty() => {
            let mut exprs = projection.expr.clone();
            for (at, of) in columns {
                let (relation, name) = exprs[at].qualified_name();
                let constant = std::mem::take(&mut exprs[at]).unalias();
                exprs[at] = reading(of).call(vec![constant]).alias_qualified(relation, name);
            }
            let projection = Projection::try_new(exprs, Arc::clone(&projection.input))?;
            Ok(Arc::new(LogicalPlan::Projection(projection)))
        }
        _ => Ok(input),
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::new_transformed(LogicalPlan::Union(Union { inputs, schema }), is_changed))
}

/// A plan whose schema is that of its inputs now.
pub(crate) fn with_new_schema(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Union(union) = plan else { return plan.recompute_schema() };
    let width = union.schema.fields().len();
    if union.inputs.iter().any(|input| input.schema().fields().len() != width) {
        return Ok(LogicalPlan::Union(union));
    }
    let fields = union.schema.iter().enumerate().map(|(at, (qualifier, field))| {
        let metadata = match type_in_union(&union, at).filter(|of| !of.is_uuid()) {
            Some(of) => of.field(field.name()).metadata().clone(),
            // A union has the metadata that all of its inputs have.
            None => {
                let mut metadata = field_of(&union.inputs[0], at).metadata().clone();
                metadata.retain(|key, value| {
                    union.inputs.iter().all(|input| field_of(input, at).metadata().get(key.as_str()) == Some(&*value))
                });
                metadata
            }
        };
        (qualifier.cloned(), Arc::new(field.as_ref().clone().with_metadata(metadata)))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), union.schema.metadata().clone())?;
    Ok(LogicalPlan::Union(Union { inputs: union.inputs, schema: Arc::new(schema) }))
}

fn field_of(plan: &LogicalPlan, at: usize) -> &Field {
    plan.schema().field(at)
}

fn rewrite(expr: Expr, schema: &DFSchema, are_results: bool, constants: Constants) -> Transformed<Expr> {
    let is_settled = |of: &TextType| !of.is_compared_as_text() || are_results;
    if let Expr::Cast(cast) = &expr
        && let Some(of @ TextType::Enum(_)) = TextType::of(&cast.field)
    {
        return Transformed::yes(reading(of).call(vec![cast.expr.as_ref().clone()]));
    }
    if let Expr::Cast(cast) = &expr
        && cast.field.data_type().is_string()
    {
        return match text_type_of(&cast.expr, schema).filter(is_settled) {
            Some(of) => Transformed::yes(plain_text(&of).call(vec![cast.expr.as_ref().clone()])),
            None => Transformed::no(expr),
        };
    }
    if are_results && matches!(&expr, Expr::ScalarFunction(call) if call.func.name() == "uuid") {
        return Transformed::yes(declaration(TextType::Uuid).call(vec![expr]));
    }
    if let Some(declared) = declared_twice(&expr) {
        return Transformed::yes(declared.clone());
    }
    if is_array_of_json(&expr, schema) {
        return Transformed::yes(json_list().call(vec![expr]));
    }
    let of = if is_forgotten(&expr) { text_type_of(&expr, schema).filter(is_settled) } else { None };
    let Some(of) = of else { return Transformed::no(expr) };
    let mut expr = expr;
    if constants == Constants::Read {
        read_constants(&mut expr, &of);
    }
    Transformed::yes(declaration(of).call(vec![expr]))
}

/// The inner one of two declarations of one type. What was declared while the statement was planned is declared again.
fn declared_twice(expr: &Expr) -> Option<&Expr> {
    let is_declaration = |name: &str| DECLARATIONS.contains(&name);
    match expr {
        Expr::ScalarFunction(outer) if is_declaration(outer.func.name()) => match outer.args.as_slice() {
            [inner @ Expr::ScalarFunction(call)] if call.func.name() == outer.func.name() => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an expression is `ARRAY[...]` of JSON.
fn is_array_of_json(expr: &Expr, schema: &DFSchema) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    let is_json = |item: &Expr| text_type_of(item, schema).is_some_and(|of| of.is_json());
    call.func.name() == "make_array"
        && call.args.iter().any(is_json)
        && call.args.iter().all(|item| is_json(item) || is_untyped(item))
}

/// Returns whether DataFusion forgets the metadata of an expression's results.
fn is_forgotten(expr: &Expr) -> bool {
    match expr {
        Expr::Case(_) | Expr::ScalarSubquery(_) => true,
        Expr::ScalarFunction(call) => {
            let name = call.func.name();
            FIRST_VALUES.contains(&name) || [ELEMENT, "nullif"].contains(&name)
        }
        _ => false,
    }
}

/// Reads the constants among the results of an expression as values of a type.
fn read_constants(expr: &mut Expr, of: &TextType) {
    let results: Vec<&mut Expr> = match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, result)| result.as_mut());
            results.chain(case.else_expr.as_deref_mut()).collect()
        }
        Expr::ScalarFunction(call) if call.func.name() != ELEMENT => call.args.iter_mut().collect(),
        _ => Vec::new(),
    };
    for result in results {
        if is_untyped(result) && !matches!(result, Expr::Literal(ScalarValue::Null, _)) {
            *result = reading(of.clone()).call(vec![std::mem::take(result)]);
        }
    }
}
