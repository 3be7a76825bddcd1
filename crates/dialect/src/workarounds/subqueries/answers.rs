//! Replaces an expression over a subquery by a column of something that is joined to the step's input.

use super::domain::{Domain, Names};
use super::single_value::{nullable, single_value};
use datafusion::common::{Column, NullEquality, Result, ScalarValue, Spans};
use datafusion::functions_aggregate::expr_fn::{count, max, min};
use datafusion::logical_expr::expr::{InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::logical_plan::{Filter, Subquery};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, lit, not, or, when,
};
use std::sync::Arc;

/// The step in which an expression was found.
pub(super) struct SubqueryContext<'a> {
    pub(super) input: &'a LogicalPlan,
    pub(super) names: &'a Names,
    pub(super) is_condition: bool,
}

/// The expression that replaces a subquery, and the step's new input, if it needs another.
pub(super) struct Replacement {
    pub(super) input: Option<LogicalPlan>,
    pub(super) expr: Expr,
}

/// Replaces an expression that is a subquery; `None` if it stays as it is.
pub(super) fn answer(expr: &Expr, context: &SubqueryContext<'_>) -> Result<Option<Replacement>> {
    match expr {
        Expr::ScalarSubquery(subquery) => context.scalar(subquery),
        Expr::Exists(exists) => context.exists(&exists.subquery, exists.negated),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let found = context.quantified(expr, subquery, Operator::Eq, &SetQuantifier::Any)?;
            let negate = |found: Replacement| match negated {
                true => Replacement { expr: not(found.expr), ..found },
                false => found,
            };
            Ok(found.map(negate))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            // Not `<> ALL` as NOT IN: if the left side is a constant, DataFusion's anti join loses the NULLs.
            let is_member = matches!((op, quantifier), (Operator::Eq, SetQuantifier::Any));
            if is_member && context.is_condition && context.domain(subquery)?.columns.is_empty() {
                let member = InSubquery { expr: expr.clone(), subquery: subquery.clone(), negated: false };
                return Ok(Some(Replacement { input: None, expr: Expr::InSubquery(member) }));
            }
            context.quantified(expr, subquery, *op, quantifier)
        }
        _ => Ok(None),
    }
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn unknown() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

fn first_column(plan: &LogicalPlan) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(0)))
}

/// Returns whether a plan always has exactly one row.
pub(super) fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::Sort(_) => has_one_row(plan.inputs()[0]),
        _ => false,
    }
}

fn scalar_subquery(plan: LogicalPlan) -> Expr {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() })
}

impl SubqueryContext<'_> {
    fn domain(&self, subquery: &Subquery) -> Result<Domain<'_>> {
        Domain::of(&subquery.subquery, self.input, self.names)
    }

    fn scalar(&self, subquery: &Subquery) -> Result<Option<Replacement>> {
        let plan = subquery.subquery.as_ref();
        let domain = self.domain(subquery)?;
        if domain.columns.is_empty() {
            if plan.schema().fields().len() != 1 || plan.schema().field(0).is_nullable() || has_one_row(plan) {
                return Ok(None);
            }
            let name = plan.schema().field(0).name().clone();
            let plan =
                LogicalPlanBuilder::from(plan.clone()).project(vec![nullable(first_column(plan)).alias(name)])?;
            return Ok(Some(Replacement { input: None, expr: scalar_subquery(plan.build()?) }));
        }
        if plan.schema().fields().len() != 1 {
            return Ok(None);
        }
        let Some(spread) = domain.spread(plan)? else { return Ok(None) };
        let value = spread.column();
        let name = self.names.next("scalar");
        let joined = self.joined(&domain, spread.plan, spread.values, vec![single_value(value).alias(name.clone())])?;
        let expr = joined.column(&name);
        Ok(Some(Replacement { input: Some(joined.input), expr }))
    }

    fn exists(&self, subquery: &Subquery, negated: bool) -> Result<Option<Replacement>> {
        let domain = self.domain(subquery)?;
        if domain.columns.is_empty() {
            let found = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
                .limit(0, Some(1))?
                .aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64)).alias("n")])?
                .build()?;
            let found = binary(scalar_subquery(found), if negated { Operator::Eq } else { Operator::Gt }, lit(0_i64));
            return Ok(Some(Replacement { input: None, expr: found }));
        }
        let Some(spread) = domain.spread(&subquery.subquery)? else { return Ok(None) };
        let name = self.names.next("exists");
        let count = count(lit(1_i64)).alias(name.clone());
        let joined = self.joined(&domain, spread.plan, spread.values, vec![count])?;
        let column = joined.column(&name);
        let expr = if negated { column.is_null() } else { column.is_not_null() };
        Ok(Some(Replacement { input: Some(joined.input), expr }))
    }

    /// `expr op ANY (subquery)`, or `ALL`.
    fn quantified(
        &self,
        expr: &Expr,
        subquery: &Subquery,
        op: Operator,
        quantifier: &SetQuantifier,
    ) -> Result<Option<Replacement>> {
        let plan = subquery.subquery.as_ref();
        if plan.schema().fields().len() != 1 {
            return Ok(None);
        }
        let is_any = matches!(quantifier, SetQuantifier::Any);
        if self.domain(subquery)?.columns.is_empty() {
            return match (op, is_any) {
                (Operator::Eq, true) => self.member(expr, plan).map(Some),
                (Operator::NotEq, false) => {
                    let found = self.member(expr, plan)?;
                    Ok(Some(Replacement { expr: not(found.expr), ..found }))
                }
                _ => self.compared(expr, plan, op, is_any),
            };
        }
        // The compared value is added to the outer columns of the domain.
        let name = self.names.next("compared");
        let columns = self.input.schema().columns().into_iter().map(Expr::Column);
        let columns: Vec<Expr> = columns.chain([expr.clone().alias(name.clone())]).collect();
        let outer = LogicalPlanBuilder::from(self.input.clone()).project(columns)?.build()?;
        let mut domain = Domain::of(plan, &outer, self.names)?;
        domain.columns.push(Column::new_unqualified(name));
        let Some(spread) = domain.spread(plan)? else { return Ok(None) };
        let Some(compared) = spread.values.last() else { return Ok(None) };
        let comparison = binary(Expr::Column(compared.clone()), op, spread.column());
        let decides = if is_any { comparison.clone().is_true() } else { comparison.clone().is_false() };
        let [deciding, open] = ["deciding", "open"].map(|what| self.names.next(what));
        let counts = vec![
            count(lit(1_i64)).filter(decides).build()?.alias(deciding.clone()),
            count(lit(1_i64)).filter(comparison.is_null()).build()?.alias(open.clone()),
        ];
        let context = SubqueryContext { input: &outer, ..*self };
        let joined = context.joined(&domain, spread.plan, spread.values, counts)?;
        let expr = when(joined.column(&deciding).gt(lit(0_i64)), lit(is_any))
            .when(joined.column(&open).gt(lit(0_i64)), unknown())
            .otherwise(lit(!is_any))?;
        Ok(Some(Replacement { input: Some(joined.input), expr }))
    }

    /// Replaces `expr IN (subquery)` if the subquery mentions no outer column.
    fn member(&self, expr: &Expr, plan: &LogicalPlan) -> Result<Replacement> {
        let (members, value) = (self.names.next("members"), self.names.next("value"));
        let of_plan = first_column(plan);
        let rows = LogicalPlan::Filter(Filter::try_new(of_plan.clone().is_not_null(), Arc::new(plan.clone()))?);
        let rows = LogicalPlanBuilder::from(rows)
            .project(vec![of_plan.clone().alias(value.clone())])?
            .distinct()?
            .alias(members.clone())?
            .build()?;
        let value = Expr::Column(Column::new(Some(members), value));
        let counts = [count(lit(1_i64)), count(of_plan)];
        let (input, [all, known]) = self.with_totals(plan, counts)?;
        let input = LogicalPlanBuilder::from(input)
            .join_on(rows, JoinType::Left, Some(expr.clone().eq(value.clone())))?
            .build()?;
        let expr = when(value.is_not_null(), lit(true))
            .when(all.clone().eq(lit(0_i64)), lit(false))
            .when(or(expr.clone().is_null(), all.gt(known)), unknown())
            .otherwise(lit(false))?;
        Ok(Replacement { input: Some(input), expr })
    }

    /// Replaces `expr op ANY (subquery)` or `ALL` if the subquery mentions no outer column. The subquery's least and
    /// greatest value decide.
    fn compared(&self, expr: &Expr, plan: &LogicalPlan, op: Operator, is_any: bool) -> Result<Option<Replacement>> {
        let value = first_column(plan);
        let totals = [count(lit(1_i64)), count(value.clone()), min(value.clone()), max(value)];
        let (input, [all, known, least, greatest]) = self.with_totals(plan, totals)?;
        let compared = |bound: &Expr, op: Operator| binary(expr.clone(), op, bound.clone());
        use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        let decided = match (op, is_any) {
            (Gt | GtEq, true) => compared(&least, op),
            (Lt | LtEq, true) => compared(&greatest, op),
            (NotEq, true) => or(compared(&least, op), compared(&greatest, op)),
            (Gt, false) => compared(&greatest, LtEq),
            (GtEq, false) => compared(&greatest, Lt),
            (Lt, false) => compared(&least, GtEq),
            (LtEq, false) => compared(&least, Gt),
            (Eq, false) => or(compared(&least, NotEq), compared(&greatest, NotEq)),
            _ => return Ok(None),
        };
        let expr = when(all.clone().eq(lit(0_i64)), lit(!is_any))
            .when(expr.clone().is_null(), unknown())
            .when(decided, lit(is_any))
            .when(all.gt(known), unknown())
            .otherwise(lit(!is_any))?;
        Ok(Some(Replacement { input: Some(input), expr }))
    }

    /// Adds aggregates over all rows of a subquery to each row of the input. Returns them as columns.
    fn with_totals<const N: usize>(&self, plan: &LogicalPlan, totals: [Expr; N]) -> Result<(LogicalPlan, [Expr; N])> {
        let alias = self.names.next("totals");
        let names: [String; N] = std::array::from_fn(|_| self.names.next("total"));
        let totals = totals.into_iter().zip(&names).map(|(total, name)| total.alias(name));
        let totals = LogicalPlanBuilder::from(plan.clone())
            .aggregate(Vec::<Expr>::new(), totals.collect::<Vec<_>>())?
            .alias(alias.clone())?
            .build()?;
        let input = LogicalPlanBuilder::from(self.input.clone()).cross_join(totals)?.build()?;
        Ok((input, names.map(|name| Expr::Column(Column::new(Some(alias.clone()), name)))))
    }

    /// Joins the input with aggregates over the subquery's rows, on equal values of the outer columns.
    fn joined(
        &self,
        domain: &Domain<'_>,
        plan: LogicalPlan,
        values: Vec<Column>,
        aggregates: Vec<Expr>,
    ) -> Result<Joined> {
        let alias = self.names.next("subquery");
        let groups: Vec<Expr> = values.iter().cloned().map(Expr::Column).collect();
        let found = LogicalPlanBuilder::from(plan).aggregate(groups, aggregates)?.alias(alias.clone())?.build()?;
        let values: Vec<Column> =
            values.into_iter().map(|value| Column::new(Some(alias.clone()), value.name)).collect();
        let input = LogicalPlanBuilder::from(self.input.clone())
            .join_detailed(found, JoinType::Left, (domain.columns.clone(), values), None, NullEquality::NullEqualsNull)?
            .build()?;
        Ok(Joined { input, alias })
    }
}

/// An input that is joined with the results of a subquery.
struct Joined {
    input: LogicalPlan,
    alias: String,
}

impl Joined {
    fn column(&self, name: &str) -> Expr {
        Expr::Column(Column::new(Some(self.alias.clone()), name))
    }
}
