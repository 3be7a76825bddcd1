//! The relations that a `FROM` lists, their names, and the columns of those without names.

use datafusion::sql::sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, TableAlias, TableFactor, TableWithJoins, Values,
};
use std::iter;

/// The relations of a `FROM`, in its order. Those of a join in parentheses count as one.
pub fn relations_of(from: &[TableWithJoins]) -> impl Iterator<Item = &TableFactor> {
    from.iter().flat_map(|from| iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)))
}

/// The alias of a relation of any kind, if it has one.
pub fn alias_of(relation: &TableFactor) -> Option<&TableAlias> {
    match relation {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

/// The name by which a statement refers to the columns of a relation: its alias, else the name of its table.
pub fn name_of_relation(relation: &TableFactor) -> Option<&Ident> {
    match (alias_of(relation), relation) {
        (Some(alias), _) => Some(&alias.name),
        (None, TableFactor::Table { name, .. }) => name.0.last().and_then(|part| part.as_ident()),
        _ => None,
    }
}

/// The constraint of a join; `None` if a join of this kind has none in SQL.
pub fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => Some(constraint),
        _ => None,
    }
}

/// The constraint of a join other than `CROSS JOIN`, to be changed; `None` if a join of this kind has none.
pub fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// Returns whether a join with a constraint shows columns of both sides once.
pub fn is_merging(constraint: &JoinConstraint) -> bool {
    matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

/// Returns whether the `*` of a `FROM` shows one column for two of joined tables, or the columns of only one of them.
pub fn merges_columns(from: &[TableWithJoins]) -> bool {
    let mut joins = from.iter().flat_map(|from| &from.joins);
    joins.any(|join| constraint_of(&join.join_operator).is_none_or(is_merging))
}

/// The names that the columns of a `VALUES` have in PostgreSQL.
pub fn columns_of_values(values: &Values) -> Vec<String> {
    let width = values.rows.first().map_or(0, |row| row.content.len());
    (1..=width).map(|column| format!("column{column}")).collect()
}
