//! The generator of statements: random choices, the tables, and the database whose dialect is used.

use super::choice::Choice;
use super::query::Query;
use super::schema::{Schema, Table};
use super::types::{Dialect, Type, literal};

pub(crate) struct Generator {
    pub(crate) choice: Choice,
    pub(crate) dialect: Dialect,
    pub(crate) schema: Schema,
    /// Queries that belong together and come next, the last one first.
    pub(crate) pending: Vec<Query>,
}

impl Generator {
    pub(crate) fn new(seed: u64, dialect: Dialect) -> Self {
        let mut choice = Choice::new(seed);
        let schema = Schema::new(&mut choice, dialect);
        Self { choice, dialect, schema, pending: Vec::new() }
    }

    pub(crate) fn is_for_postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.choice.below(bound)
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.choice.percent(percent)
    }

    pub(crate) fn of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        self.choice.of(items)
    }

    pub(crate) fn any_type(&mut self) -> Type {
        self.dialect.any_type(&mut self.choice)
    }

    pub(crate) fn literal(&mut self, ty: Type) -> String {
        literal(&mut self.choice, ty, self.dialect)
    }

    /// Returns the columns of a table under an alias.
    pub(crate) fn scope(&self, table: &str, alias: &str) -> Scope {
        Scope::of(self.schema.table(table), alias)
    }

    /// Returns a column of the type, if there is one.
    pub(crate) fn column(&mut self, scope: &Scope, ty: Type) -> Option<String> {
        let fitting: Vec<&str> =
            scope.0.iter().filter(|(_, other)| *other == ty).map(|(name, _)| name.as_str()).collect();
        if fitting.is_empty() { None } else { Some(self.choice.of(&fitting).to_owned()) }
    }
}

/// The columns that an expression may use, as they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope(pub(crate) Vec<(String, Type)>);

impl Scope {
    fn of(table: &Table, alias: &str) -> Self {
        Self(table.columns.iter().map(|column| (format!("{alias}.{}", column.name), column.ty)).collect())
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// Returns whether an expression uses one of the columns.
    pub(crate) fn is_in(&self, expression: &str) -> bool {
        self.0.iter().any(|(column, _)| expression.contains(column))
    }
}
