//! The sources of a statement, for the origins of its columns: those of its FROM clause, and the columns that `*` and
//! names without a source stand for.

use crate::pg::types::modifiers::NO_MODIFIER;
use crate::pg::wire::outgoing::Origin;
use atsdb::name::same_name;
use datafusion::sql::sqlparser::ast::{Expr, JoinConstraint, JoinOperator, ObjectName, TableAlias};
use std::sync::Arc;

/// A column of a source or of an answer.
#[derive(Debug, Clone)]
pub(super) struct ShownColumn {
    pub(super) name: Arc<str>,
    /// The modifier of its type.
    pub(super) modifier: i32,
    pub(super) origin: Option<Origin>,
}

/// The columns of a source; `None` if they are not known.
pub(super) type Columns = Option<Vec<ShownColumn>>;

/// The sources of a FROM clause, or of a part of it.
#[derive(Debug)]
pub(super) struct Sources {
    sources: Vec<NamedSource>,
    /// The columns that `*` stands for.
    columns: Columns,
}

#[derive(Debug)]
struct NamedSource {
    /// The name by which the statement refers to it.
    name: Option<String>,
    columns: Columns,
}

/// The side of a join whose column a merged column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergedSide {
    Left,
    Right,
    /// The column is computed of both.
    Both,
}

/// Columns under the names that an alias gives the first ones.
pub(super) fn renamed(columns: Columns, alias: &TableAlias) -> Columns {
    let mut columns = columns?;
    for (column, name) in columns.iter_mut().zip(&alias.columns) {
        column.name = name.name.value.as_str().into();
    }
    Some(columns)
}

impl Sources {
    pub(super) fn none() -> Self {
        Self { sources: Vec::new(), columns: Some(Vec::new()) }
    }

    /// A single source.
    pub(super) fn of(name: Option<&str>, columns: Columns) -> Self {
        let source = NamedSource { name: name.map(str::to_owned), columns: columns.clone() };
        Self { sources: vec![source], columns }
    }

    /// Adds other sources, with all their columns.
    pub(super) fn beside(mut self, other: Self) -> Self {
        if self.sources.is_empty() {
            return other;
        }
        self.sources.extend(other.sources);
        self.columns = self.columns.zip(other.columns).map(|(left, right)| [left, right].concat());
        self
    }

    /// A join. Columns that it merges come first.
    pub(super) fn join(mut self, right: Self, operator: &JoinOperator) -> Self {
        self.columns = joined(self.columns, right.columns, operator);
        self.sources.extend(right.sources);
        self
    }

    /// The columns that `*` stands for, if they are known.
    pub(super) fn columns(&self) -> Option<&[ShownColumn]> {
        self.columns.as_deref()
    }

    pub(super) fn into_columns(self) -> Columns {
        self.columns
    }

    /// The columns of the only source with a name.
    pub(super) fn columns_of(&self, source: &str) -> Option<&[ShownColumn]> {
        let is_named = |other: &&NamedSource| other.name.as_deref().is_some_and(|name| same_name(name, source));
        let mut found = self.sources.iter().filter(is_named);
        found.next().filter(|_| found.next().is_none())?.columns.as_deref()
    }

    /// The column that an expression is, if it is one.
    pub(super) fn column(&self, expr: &Expr) -> Option<&ShownColumn> {
        match expr {
            Expr::Nested(expr) => self.column(expr),
            Expr::Identifier(name) => only(self.columns()?, &name.value),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., source, name] => only(self.columns_of(&source.value)?, &name.value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The only column with a name.
fn only<'a>(columns: &'a [ShownColumn], name: &str) -> Option<&'a ShownColumn> {
    let mut found = columns.iter().filter(|column| same_name(&column.name, name));
    found.next().filter(|_| found.next().is_none())
}

/// The columns of a join.
fn joined(left: Columns, right: Columns, operator: &JoinOperator) -> Columns {
    let (left, right) = left.zip(right)?;
    let (constraint, side) = match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => (constraint, MergedSide::Left),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, MergedSide::Right),
        JoinOperator::FullOuter(constraint) => (constraint, MergedSide::Both),
        _ => return None,
    };
    let names: Vec<Arc<str>> = match constraint {
        JoinConstraint::Using(names) => {
            let name = |name: &ObjectName| Some(Arc::<str>::from(name.0.last()?.as_ident()?.value.as_str()));
            names.iter().map(name).collect::<Option<_>>()?
        }
        JoinConstraint::Natural => {
            let is_of_both = |column: &&ShownColumn| right.iter().any(|other| same_name(&other.name, &column.name));
            left.iter().filter(is_of_both).map(|column| column.name.clone()).collect()
        }
        JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
    };
    let mut columns = Vec::new();
    for name in &names {
        let (left, right) = (only(&left, name)?, only(&right, name)?);
        let origin = match side {
            MergedSide::Left => left.origin,
            MergedSide::Right => right.origin,
            MergedSide::Both => None,
        };
        let modifier = if left.modifier == right.modifier { left.modifier } else { NO_MODIFIER };
        columns.push(ShownColumn { name: left.name.clone(), modifier, origin });
    }
    let is_merged = |column: &ShownColumn| names.iter().any(|name| same_name(name, &column.name));
    columns.extend(left.into_iter().chain(right).filter(|column| !is_merged(column)));
    Some(columns)
}
