//! Infers the types of parameters from a plan: from the expressions that they are compared with, from the columns that
//! they are assigned to, from casts, or from the other arguments of functions whose arguments are of one type.

use crate::text::params::number;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan};

/// Functions whose arguments are of one type: of arrays, which the operators `@>`, `<@`, `&&` and `||` are written as,
/// and those that return one of their arguments.
const OF_ONE_TYPE: [&str; 7] =
    ["array_has_all", "array_has_any", "array_concat", "coalesce", "nullif", "greatest", "least"];

/// The types of parameters by number, as far as they are known.
#[derive(Debug)]
pub(crate) struct InferredTypes(pub(crate) Vec<Option<DataType>>);

impl InferredTypes {
    /// Infers unknown types from a plan whose parameters are placeholders. `columns` are the types of the columns that
    /// the plan's rows are assigned to, if any.
    pub(crate) fn infer(&mut self, plan: &LogicalPlan, columns: &[Option<DataType>]) -> Result<()> {
        self.of_columns(plan, columns);
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Limit(limit) = node {
                for expr in limit.skip.iter().chain(&limit.fetch) {
                    self.note(expr, &DataType::Int64);
                }
            }
            let inputs = merge_schema(&node.inputs());
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    match expr {
                        Expr::Cast(cast) => self.note(&cast.expr, cast.field.data_type()),
                        Expr::TryCast(cast) => self.note(&cast.expr, cast.field.data_type()),
                        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
                            self.note_beside(left, right);
                            self.note_beside(right, left);
                        }
                        Expr::Between(Between { expr, low, high, .. }) => {
                            [low, high].into_iter().for_each(|number| self.note_beside(expr, number));
                        }
                        Expr::InList(InList { expr, list, .. }) => {
                            list.iter().for_each(|number| self.note_beside(expr, number));
                        }
                        Expr::ScalarFunction(ScalarFunction { func, args }) if OF_ONE_TYPE.contains(&func.name()) => {
                            self.note_arguments(args, &inputs);
                        }
                        Expr::Placeholder(placeholder) => {
                            if let Some(field) = &placeholder.field {
                                self.note(expr, field.data_type());
                            }
                        }
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })
        .map(drop)
    }

    /// Infers the types of parameters that are columns of the answer.
    fn of_columns(&mut self, plan: &LogicalPlan, columns: &[Option<DataType>]) {
        let rows: &[Vec<Expr>] = match plan {
            LogicalPlan::Projection(projection) => std::slice::from_ref(&projection.expr),
            LogicalPlan::Values(values) => &values.values,
            LogicalPlan::Union(union) => {
                union.inputs.iter().for_each(|input| self.of_columns(input, columns));
                return;
            }
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) | LogicalPlan::SubqueryAlias(_) => {
                plan.inputs().into_iter().for_each(|input| self.of_columns(input, columns));
                return;
            }
            _ => return,
        };
        for (expr, data_type) in rows.iter().flat_map(|row| row.iter().zip(columns)) {
            if let Some(data_type) = data_type {
                self.note(expr, data_type);
            }
        }
    }

    /// Notes the type of a parameter beside a decimal in the text of the statement: a number of any digits, for which a
    /// decimal type has no room.
    fn note_beside(&mut self, expr: &Expr, number: &Expr) {
        if matches!(number, Expr::Literal(ScalarValue::Decimal128(..), _)) {
            self.note(expr, &DataType::Float64);
        }
    }

    /// Notes the type of parameters among arguments of one type. A literal says little about it: of `0` and `0.5`, a
    /// parameter may have more digits; neither may a parameter have only the digits of a column of decimals.
    fn note_arguments(&mut self, arguments: &[Expr], inputs: &DFSchema) {
        let known = arguments.iter().filter(|argument| !matches!(argument, Expr::Literal(..)));
        let mut types = known.filter_map(|argument| argument.get_type(inputs).ok());
        if let Some(data_type) = types.find(|data_type| !data_type.is_null() && !data_type.is_decimal()) {
            arguments.iter().for_each(|argument| self.note(argument, &data_type));
        }
    }

    /// Notes the type of an expression, which may be a parameter whose type is unknown.
    fn note(&mut self, expr: &Expr, data_type: &DataType) {
        let id = match expr {
            Expr::Placeholder(placeholder) => &placeholder.id,
            Expr::Alias(alias) => return self.note(&alias.expr, data_type),
            _ => return,
        };
        self.note_id(id, data_type);
    }

    /// Sets the type of a parameter, unless it has one already.
    pub(crate) fn note_id(&mut self, id: &str, data_type: &DataType) {
        let slot = number(id).and_then(|number| self.0.get_mut(number - 1));
        if let (Some(slot @ None), Some(data_type)) = (slot, plain_type(data_type)) {
            *slot = Some(data_type.clone());
        }
    }
}

/// The type in which a value is passed; `None` if no value can be passed in it.
fn plain_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Null => None,
        DataType::Dictionary(_, values) => plain_type(values),
        other if other.is_string() => Some(&DataType::Utf8),
        other => Some(other),
    }
}
