//! The names of columns in the query of a view, after the table that it reads has other names of them, or other places.
//! The query then gives the columns the names that it knows, with an alias of the table: `FROM t AS t (former)`.

use arrow::datatypes::Schema;
use atsdb_core::TableDefinition;
use atsdb_core::name::{free_name, name_key, with_free_names};
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::parse::text_locations::{in_bytes, with_replaced};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use atsdb_dialect::text::tree_walk::visit;
use atsdb_dialect::text::with_names::WithNames;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement, TableAlias, TableFactor, Visitor};
use datafusion::sql::sqlparser::tokenizer::Location;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

/// How the columns of a table or view change.
pub(crate) struct ColumnChange {
    /// Their names before.
    pub(crate) before: Vec<String>,
    /// The columns that there are afterwards.
    pub(crate) after: Vec<ColumnAfter>,
    /// Whether an alias must name all of them, as that of a view must.
    pub(crate) names_all: bool,
}

/// A column after a change.
pub(crate) struct ColumnAfter {
    pub(crate) name: String,
    /// The position that the column had before; `None` for a new column.
    pub(crate) position_before: Option<usize>,
}

impl ColumnChange {
    pub(crate) fn between(from: &TableDefinition, to: &TableDefinition) -> Self {
        let after = to.columns.iter().map(|column| ColumnAfter {
            name: column.name.clone(),
            position_before: from.columns.iter().position(|before| before.id == column.id),
        });
        let before = from.columns.iter().map(|column| column.name.clone()).collect();
        Self { before, after: after.collect(), names_all: false }
    }

    /// The change that gives the column of a view another name.
    pub(crate) fn renaming(before: Vec<String>, position: usize, name: &str) -> Self {
        let after = before.iter().enumerate().map(|(at, before)| ColumnAfter {
            name: if at == position { name.to_owned() } else { before.clone() },
            position_before: Some(at),
        });
        let after = after.collect();
        Self { before, after, names_all: true }
    }

    /// The change that gives a view more columns at its end.
    pub(crate) fn extending(before: &Schema, after: &Schema) -> Self {
        let before: Vec<String> = before.fields().iter().map(|field| field.name().clone()).collect();
        let after = after.fields().iter().enumerate().map(|(at, field)| ColumnAfter {
            name: field.name().clone(),
            position_before: (at < before.len()).then_some(at),
        });
        let after = after.collect();
        Self { before, after, names_all: true }
    }

    /// Returns whether each column keeps its name and its place, so that there may only be more of them at the end.
    pub(crate) fn keeps_all(&self) -> bool {
        let mut kept = self.before.iter().enumerate().zip(&self.after);
        self.before.len() <= self.after.len()
            && kept.all(|((at, name), after)| after.position_before == Some(at) && after.name == *name)
    }

    /// The former name of the first column that has another one.
    pub(crate) fn first_renamed(&self) -> Option<&str> {
        self.after.iter().find_map(|column| {
            let before = self.before.get(column.position_before?)?;
            (*before != column.name).then_some(before.as_str())
        })
    }

    /// The names that a relation gives the first columns after the change, so that all of those before it keep the
    /// names that they have with the alias. A new column whose name is one of these gets a free name.
    fn names_with(&self, alias: Option<&TableAlias>) -> Vec<String> {
        let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
        let aliases: Vec<String> = columns.iter().map(|column| column.name.value.clone()).collect();
        let alias_count = aliases.len();
        let known = with_free_names(aliases, self.before.iter().map(String::as_str));
        let kept = |column: &ColumnAfter| column.position_before.and_then(|position| known.get(position));
        let mut taken: HashSet<String> = self.after.iter().filter_map(kept).map(|name| name_key(name)).collect();
        let name = |column: &ColumnAfter| match kept(column) {
            Some(name) => name.clone(),
            None => free_name(&column.name, &mut taken),
        };
        let names: Vec<String> = self.after.iter().map(name).collect();
        let is_other = |(name, column): (&String, &ColumnAfter)| *name != column.name;
        let count = names.iter().zip(&self.after).rposition(is_other).map_or(0, |last| last + 1);
        let count = if self.names_all && count.max(alias_count) > 0 { names.len() } else { count };
        // A list that was written stays one.
        names.into_iter().take(count.max(alias_count)).collect()
    }
}

/// A query in which a table shows its columns under the names that they had before a change. `None` if the table
/// stands where it cannot have an alias.
pub(crate) fn with_former_names(
    query: &str,
    is_table: &dyn Fn(&TableName) -> bool,
    change: &ColumnChange,
) -> Option<String> {
    let Some(Statement::Query(parsed)) = parse_answer(query) else { return None };
    let mut aliases = Aliases {
        is_table,
        change,
        own: WithNames::default(),
        named_count: 0,
        found_count: 0,
        written: BTreeMap::new(),
    };
    let _ = visit(parsed.as_ref(), &mut aliases);
    if aliases.named_count != aliases.found_count {
        return None;
    }
    let written = aliases.written.into_iter().map(|(start, (end, alias))| (start..end, alias));
    Some(with_replaced(query, &in_bytes(query, written)))
}

struct Aliases<'a> {
    is_table: &'a dyn Fn(&TableName) -> bool,
    change: &'a ColumnChange,
    own: WithNames,
    /// The number of relations that are the table.
    named_count: usize,
    /// The number of them that can have an alias.
    found_count: usize,
    /// The end and the new text of each part of the query that is replaced, by its start.
    written: BTreeMap<Location, (Location, String)>,
}

impl Visitor for Aliases<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.own.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.own.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.named_count += usize::from(self.is_meant(name));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = relation
            && self.is_meant(name)
            && self.give_names(name, alias.as_ref()).is_some()
        {
            self.found_count += 1;
        }
        ControlFlow::Continue(())
    }
}

impl Aliases<'_> {
    fn is_meant(&self, name: &ObjectName) -> bool {
        let name = TableName::of(name).ok();
        let of_with = |name: &TableName| name.schema == NamedSchema::Unsaid && self.own.have(&name.name);
        name.is_some_and(|name| !of_with(&name) && (self.is_table)(&name))
    }

    /// Gives a relation the names of its columns; `None` if its alias cannot have them.
    fn give_names(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Option<()> {
        let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
        let is_plain = alias.is_none_or(|alias| alias.at.is_none());
        if !is_plain || columns.iter().any(|column| column.data_type.is_some()) {
            return None;
        }
        let names: Vec<String> = self.change.names_with(alias).iter().map(|name| quoted(name)).collect();
        if names.is_empty() {
            return Some(());
        }
        let names = names.join(", ");
        let (start, end, written) = match (alias, columns) {
            (None, _) => {
                let name = name.0.last()?.as_ident()?;
                let end = name.span.end;
                (end, end, format!(" AS {} ({names})", quoted(&name.value)))
            }
            (Some(alias), []) => {
                let end = alias.name.span.end;
                (end, end, format!(" ({names})"))
            }
            (Some(_), [first, .., last]) => (first.name.span.start, last.name.span.end, names),
            (Some(_), [only]) => (only.name.span.start, only.name.span.end, names),
        };
        self.written.insert(start, (end, written));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};

    fn change(before: &[&str], after: &[(&str, Option<usize>)]) -> ColumnChange {
        let column =
            |&(name, position_before): &(&str, Option<usize>)| ColumnAfter { name: name.to_owned(), position_before };
        ColumnChange {
            before: before.iter().map(|&name| name.to_owned()).collect(),
            after: after.iter().map(column).collect(),
            names_all: false,
        }
    }

    fn written(query: &str, change: &ColumnChange) -> Option<String> {
        with_former_names(query, &|name| name.name == "t", change)
    }

    #[test]
    fn a_renamed_column_keeps_its_name_in_the_query() {
        let renamed = change(&["k", "a", "b"], &[("k", Some(0)), ("x", Some(1)), ("b", Some(2))]);
        for (query, expected) in [
            ("SELECT a -- é\nFROM t", "SELECT a -- é\nFROM t AS t (k, a)"),
            ("SELECT y.a FROM s.t AS y, u", "SELECT y.a FROM s.t AS y (k, a), u"),
            ("SELECT one FROM t y(one) WHERE a > 0", "SELECT one FROM t y(one, a) WHERE a > 0"),
            ("SELECT two FROM t AS y (one, two)", "SELECT two FROM t AS y (one, two)"),
            ("SELECT a FROM \"t\" JOIN u USING (a)", "SELECT a FROM \"t\" AS t (k, a) JOIN u USING (a)"),
            (
                "WITH t AS (SELECT a FROM t) SELECT a FROM t WHERE a IN (SELECT a FROM s.t)",
                "WITH t AS (SELECT a FROM t AS t (k, a)) SELECT a FROM t WHERE a IN (SELECT a FROM s.t AS t (k, a))",
            ),
            ("SELECT 1 FROM u", "SELECT 1 FROM u"),
        ] {
            assert_eq!(written(query, &renamed).as_deref(), Some(expected));
        }
    }

    #[test]
    fn names_move_with_their_columns() {
        let query = "SELECT a FROM t AS t (k, a)";
        let named_back = change(&["k", "x"], &[("k", Some(0)), ("a", Some(1))]);
        assert_eq!(written(query, &named_back).as_deref(), Some(query));
        let first = change(&["k", "x"], &[("n", None), ("k", Some(0)), ("x", Some(1))]);
        assert_eq!(written(query, &first).as_deref(), Some("SELECT a FROM t AS t (n, k, a)"));
        assert_eq!(written("SELECT x FROM t", &first).as_deref(), Some("SELECT x FROM t"));
        let swapped = change(&["k", "x"], &[("x", Some(0)), ("k", Some(1))]);
        assert_eq!(written("SELECT x FROM t", &swapped).as_deref(), Some("SELECT x FROM t AS t (k, x)"));
    }

    #[test]
    fn a_new_column_does_not_take_a_former_name() {
        let query = "SELECT a FROM t AS t (k, a)";
        let added = change(&["k", "x"], &[("k", Some(0)), ("x", Some(1)), ("A", None)]);
        assert_eq!(written(query, &added).as_deref(), Some("SELECT a FROM t AS t (k, a, A_2)"));
        assert_eq!(written("SELECT x FROM t", &added).as_deref(), Some("SELECT x FROM t"));
        let others = change(&["k", "x"], &[("k", Some(0)), ("x", Some(1)), ("a_2", None), ("a", None)]);
        assert_eq!(written(query, &others).as_deref(), Some("SELECT a FROM t AS t (k, a, a_2, a_3)"));
        let renamed = change(&["k", "x", "a"], &[("k", Some(0)), ("x", Some(1)), ("b", Some(2))]);
        assert_eq!(written(query, &renamed).as_deref(), Some("SELECT a FROM t AS t (k, a, a_2)"));
        let query = "SELECT a FROM t AS t (k, a, a_2)";
        assert_eq!(written(query, &renamed).as_deref(), Some(query));
    }

    #[test]
    fn the_alias_of_a_view_names_all_columns() {
        let renamed = ColumnChange::renaming(vec!["k".to_owned(), "a".to_owned()], 0, "x");
        assert_eq!(written("SELECT k FROM t", &renamed).as_deref(), Some("SELECT k FROM t AS t (k, a)"));
        let schema = |names: &[&str]| {
            Schema::new(names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Vec<_>>())
        };
        let extended = ColumnChange::extending(&schema(&["x", "a"]), &schema(&["x", "a", "more"]));
        assert_eq!(
            written("SELECT k FROM t AS t (k, a)", &extended).as_deref(),
            Some("SELECT k FROM t AS t (k, a, more)")
        );
        assert_eq!(written("SELECT x FROM t", &extended).as_deref(), Some("SELECT x FROM t"));
    }

    #[test]
    fn a_change_that_adds_columns_at_the_end_keeps_all() {
        assert!(change(&["k"], &[("k", Some(0)), ("a", None)]).keeps_all());
        assert!(!change(&["k"], &[("a", None), ("k", Some(0))]).keeps_all());
        assert!(!change(&["k"], &[("a", Some(0))]).keeps_all());
        assert!(!change(&["k", "a"], &[("k", Some(0))]).keeps_all());
        assert_eq!(change(&["k", "a"], &[("k", Some(0)), ("b", Some(1))]).first_renamed(), Some("a"));
    }
}
