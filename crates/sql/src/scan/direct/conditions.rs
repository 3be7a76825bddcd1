//! The conditions of a direct read, which may contain parameters.

use crate::scan::pushdown::{Pushdown, is_exact};
use atsdb_codec::logical_type;
use atsdb_core::{Result, Table, TableDefinition};
use atsdb_dialect::functions::base::arguments::is_text;
use atsdb_dialect::parse::parameter_types::close_expression;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::plan_walk::DynWalk;
use atsdb_engine::{ReadSnapshot, Scan, ScanRequest};
use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, lit};
use std::collections::HashSet;

/// Conditions that must all hold.
#[derive(Debug, Default)]
pub(super) struct OpenConditions(Vec<Expr>);

impl OpenConditions {
    pub(super) fn new(conditions: Vec<Expr>) -> Self {
        Self(conditions)
    }

    /// Returns whether what they select depends on values of parameters.
    pub(super) fn have_parameters(&self) -> bool {
        let is_parameter = |expr: &Expr| Ok(matches!(expr, Expr::Placeholder(_)));
        self.0.iter().any(|condition| condition.dyn_exists(is_parameter).unwrap_or(true))
    }

    /// The conditions with values for their parameters, for the engine. `None` if the engine alone cannot evaluate them
    /// exactly.
    pub(super) fn pushdown(&self, parameters: &Parameters, definition: &TableDefinition) -> Result<Option<Pushdown>> {
        let closed = self.closed(parameters, definition)?;
        Ok(closed.map(|conditions| Pushdown::of(&conditions, definition)))
    }

    /// The scan of some columns of the rows that satisfy the conditions with values for their parameters. `None` if the
    /// engine alone cannot evaluate them exactly.
    pub(super) fn scan(
        &self,
        parameters: &Parameters,
        table: &Table,
        snapshot: &ReadSnapshot,
        columns: &[usize],
    ) -> Result<Option<Scan>> {
        let Some(pushdown) = self.pushdown(parameters, &table.definition)? else { return Ok(None) };
        let Pushdown { range, predicates } = pushdown;
        let request = ScanRequest { columns: columns.to_vec(), range, predicates, use_cache: true };
        snapshot.scan(table, &request).map(Some)
    }

    /// Returns whether they are, with values for their parameters, the same as other conditions that have no
    /// parameters.
    pub(super) fn is_same(&self, parameters: &Parameters, other: &Self, definition: &TableDefinition) -> bool {
        let closed = |conditions: &Self, parameters: &Parameters| {
            let closed = conditions.closed(parameters, definition).ok()??;
            Some(closed.into_iter().map(with_plain_text).collect::<HashSet<Expr>>())
        };
        closed(self, parameters).is_some_and(|own| Some(own) == closed(other, &Parameters::none()))
    }

    fn closed(&self, parameters: &Parameters, definition: &TableDefinition) -> Result<Option<Vec<Expr>>> {
        let mut conditions = Vec::with_capacity(self.0.len());
        for condition in &self.0 {
            let condition = close_expression(condition.clone(), parameters).map_err(from_datafusion)?.data;
            match plain(condition, definition) {
                Some(condition) => conditions.push(condition),
                None => return Ok(None),
            }
        }
        Ok(Some(conditions))
    }
}

/// The same condition, whatever type of text its constants have.
fn with_plain_text(condition: Expr) -> Expr {
    let plain = |expr: Expr| match expr.as_literal().and_then(|literal| literal.try_as_str().flatten()) {
        Some(text) => Transformed::yes(lit(text)),
        None => Transformed::no(expr),
    };
    let same = condition.clone();
    condition.dyn_transform_up(|expr| Ok(plain(expr))).map_or(same, |transformed| transformed.data)
}

/// A condition that compares a column with values of its own type, and that the engine alone can evaluate.
fn plain(condition: Expr, definition: &TableDefinition) -> Option<Expr> {
    let type_of = |column: &Column| {
        definition.position(&column.name).ok().map(|position| logical_type(&definition.columns[position]))
    };
    let value = |expr: Expr, column: &Column| {
        let literal = match expr {
            // A text as a string of the column's dictionary.
            Expr::Cast(cast) if is_text(cast.field.data_type()) => cast.expr.as_literal().cloned()?,
            Expr::Literal(literal, _) => literal,
            _ => return None,
        };
        let (own, of) = (literal.data_type(), type_of(column)?);
        let agrees = own == of || is_text(&own) && is_text(&of);
        (agrees && !literal.is_null()).then_some(Expr::Literal(literal, None))
    };
    let condition = match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (*left, *right) {
            (Expr::Column(column), other) => {
                let other = value(other, &column)?;
                Expr::BinaryExpr(BinaryExpr::new(Box::new(Expr::Column(column)), op, Box::new(other)))
            }
            (other, Expr::Column(column)) => {
                let other = value(other, &column)?;
                Expr::BinaryExpr(BinaryExpr::new(Box::new(other), op, Box::new(Expr::Column(column))))
            }
            _ => return None,
        },
        Expr::InList(InList { expr, list, negated: false }) => {
            let Expr::Column(column) = *expr else { return None };
            let list = list.into_iter().map(|item| value(item, &column)).collect::<Option<Vec<_>>>()?;
            Expr::InList(InList::new(Box::new(Expr::Column(column)), list, false))
        }
        test @ (Expr::IsNull(_) | Expr::IsNotNull(_)) => test,
        _ => return None,
    };
    is_exact(&condition, definition).then_some(condition)
}
