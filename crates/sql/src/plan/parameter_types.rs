//! The types of parameters that a plan decides: of what stands beside them, of the column that they go into, of a cast.

use crate::text::params::number;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The types of parameters by number, as far as they are known.
#[derive(Debug)]
pub(crate) struct InferredTypes(pub(crate) Vec<Option<DataType>>);

impl InferredTypes {
    /// Looks for the types that are not known in a plan whose parameters keep their places. `columns` are the types of
    /// the columns that the plan's rows go into, where there are some.
    pub(crate) fn infer(&mut self, plan: &LogicalPlan, columns: &[Option<DataType>]) -> Result<()> {
        self.of_columns(plan, columns);
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Limit(limit) = node {
                for expr in limit.skip.iter().chain(&limit.fetch) {
                    self.note(expr, &DataType::Int64);
                }
            }
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    match expr {
                        Expr::Cast(cast) => self.note(&cast.expr, cast.field.data_type()),
                        Expr::TryCast(cast) => self.note(&cast.expr, cast.field.data_type()),
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

    /// Parameters that are a column of the answer.
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

    /// An expression is of a type, and may be a parameter whose type is not known.
    fn note(&mut self, expr: &Expr, data_type: &DataType) {
        let id = match expr {
            Expr::Placeholder(placeholder) => &placeholder.id,
            Expr::Alias(alias) => return self.note(&alias.expr, data_type),
            _ => return,
        };
        let slot = number(id).and_then(|number| self.0.get_mut(number - 1));
        if let (Some(slot @ None), Some(data_type)) = (slot, plain_type(data_type)) {
            *slot = Some(data_type.clone());
        }
    }
}

/// The type in which a value is given; `None` if there is none.
fn plain_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Null => None,
        DataType::Dictionary(_, values) => plain_type(values),
        other if other.is_string() => Some(&DataType::Utf8),
        other => Some(other),
    }
}
