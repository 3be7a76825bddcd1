//! The `*`s in the query of a view. They mean the columns that the tables have when the view is created, so these are
//! written in their place. A `*` of a subquery, a common table expression or a function stays: what it shows is written
//! there.

use atsdb_core::name::same_name;
use atsdb_dialect::parse::query_text::byte_of;
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::text::quoted_names::{always_quoted, quoted};
use atsdb_dialect::text::relations::{alias_of, constraint_of, name_of_relation, relations_of};
use atsdb_dialect::text::tree_walk::visit;
use datafusion::sql::sqlparser::ast::{
    Ident, JoinConstraint, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement,
    TableFactor, TableWithJoins, Visitor, WildcardAdditionalOptions,
};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

/// The names of the columns of a table or view; `None` of another name.
pub(crate) type ColumnsOf<'a> = dyn Fn(&ObjectName) -> Option<Vec<String>> + 'a;

/// A query with the columns of tables and views in place of each `*`.
pub(crate) fn with_written_stars(query: &str, columns_of: &ColumnsOf<'_>) -> String {
    let mut text = query.to_owned();
    let Some(Statement::Query(parsed)) = parse_answer(query) else { return text };
    let mut stars = Stars { text: query, columns_of, own: Vec::new(), marks: Vec::new(), written: BTreeMap::new() };
    let _ = visit(parsed.as_ref(), &mut stars);
    for (start, (end, columns)) in stars.written.into_iter().rev() {
        text.replace_range(start..end, &columns);
    }
    text
}

/// An item in place of a `*`.
struct ShownItem {
    /// The name of the column; `None` for the `*` of a relation.
    column: Option<String>,
    text: String,
}

struct Stars<'a> {
    text: &'a str,
    columns_of: &'a ColumnsOf<'a>,
    /// Names that the `WITH` of the query and of those around it define.
    own: Vec<String>,
    /// For each query around, how many there were before it.
    marks: Vec<usize>,
    /// The items for each `*`, by the bytes where it begins and ends.
    written: BTreeMap<usize, (usize, String)>,
}

impl Visitor for Stars<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.marks.push(self.own.len());
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        self.own.extend(items.map(|item| item.alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let mark = self.marks.pop().unwrap_or_default();
        self.own.truncate(mark);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let Some((star, items)) = self.star(item, &select.from)
                && items.iter().any(|item| item.column.is_some())
            {
                let items: Vec<String> = items.into_iter().map(|item| item.text).collect();
                self.written.insert(star.start, (star.end, items.join(", ")));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Stars<'_> {
    /// The place of a `*` in the text, and the items for it; `None` if they are not known.
    fn star(&self, item: &SelectItem, from: &[TableWithJoins]) -> Option<(Range<usize>, Vec<ShownItem>)> {
        let (options, prefix, items) = match item {
            SelectItem::Wildcard(options) => (options, None, self.of_from(from)?),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let last = name.0.last()?.as_ident()?;
                let is_meant = |relation: &&TableFactor| {
                    name_of_relation(relation).is_some_and(|name| same_name(&name.value, &last.value))
                };
                let mut meant = relations_of(from).filter(is_meant);
                let (Some(relation), None) = (meant.next(), meant.next()) else { return None };
                (options, name.0.first()?.as_ident(), self.of_relation(relation, true)?)
            }
            _ => return None,
        };
        if *options != WildcardAdditionalOptions::default() {
            return None;
        }
        let star = options.wildcard_token.0.span;
        let start = prefix.map_or(star.start, |prefix| prefix.span.start);
        Some((byte_of(self.text, start)..byte_of(self.text, star.end), items))
    }

    /// What a `*` of all relations shows.
    fn of_from(&self, from: &[TableWithJoins]) -> Option<Vec<ShownItem>> {
        let are_several = relations_of(from).nth(1).is_some();
        let mut items = Vec::new();
        for table in from {
            let mut left = self.of_relation(&table.relation, are_several)?;
            for join in &table.joins {
                let right = self.of_relation(&join.relation, true)?;
                let names: Vec<String> = match constraint_of(&join.join_operator)? {
                    JoinConstraint::Using(names) => names
                        .iter()
                        .map(|name| Some(name.0.last()?.as_ident()?.value.clone()))
                        .collect::<Option<_>>()?,
                    JoinConstraint::Natural => {
                        left.iter().filter_map(|item| item.column.clone()).filter(|name| has(&right, name)).collect()
                    }
                    JoinConstraint::On(_) | JoinConstraint::None => {
                        left.extend(right);
                        continue;
                    }
                };
                left = merged(left, right, &names)?;
            }
            items.extend(left);
        }
        Some(items)
    }

    /// What the `*` of a relation shows.
    fn of_relation(&self, relation: &TableFactor, is_qualified: bool) -> Option<Vec<ShownItem>> {
        let columns = match relation {
            TableFactor::Table { name, args: None, .. } if !self.is_own(name) => (self.columns_of)(name),
            _ => None,
        };
        let relation_name = || name_of_relation(relation).map(|name: &Ident| quoted(&name.value));
        let Some(columns) = columns else {
            return Some(vec![ShownItem { column: None, text: format!("{}.*", relation_name()?) }]);
        };
        let prefix = if is_qualified { format!("{}.", relation_name()?) } else { String::new() };
        let renamed = alias_of(relation).map_or(&[][..], |alias| alias.columns.as_slice());
        let names = renamed.iter().map(|column| column.name.value.clone());
        let names = names.chain(columns.into_iter().skip(renamed.len()));
        let item = |name: String| ShownItem { text: format!("{prefix}{}", always_quoted(&name)), column: Some(name) };
        Some(names.map(item).collect())
    }

    /// Whether a name is that of a common table expression.
    fn is_own(&self, name: &ObjectName) -> bool {
        let [name] = name.0.as_slice() else { return false };
        name.as_ident().is_some_and(|name| self.own.iter().any(|own| same_name(own, &name.value)))
    }
}

/// What a join shows that merges columns of these names; `None` if columns of a side are not known.
fn merged(left: Vec<ShownItem>, right: Vec<ShownItem>, names: &[String]) -> Option<Vec<ShownItem>> {
    if left.iter().chain(&right).any(|item| item.column.is_none()) {
        return None;
    }
    let item = |name: &String| ShownItem { column: Some(name.clone()), text: always_quoted(name) };
    let is_other =
        |item: &ShownItem| item.column.as_ref().is_none_or(|column| !names.iter().any(|name| same_name(name, column)));
    Some(names.iter().map(item).chain(left.into_iter().chain(right).filter(is_other)).collect())
}

fn has(items: &[ShownItem], name: &str) -> bool {
    items.iter().any(|item| item.column.as_ref().is_some_and(|column| same_name(column, name)))
}

#[cfg(test)]
mod tests {
    use super::with_written_stars;
    use datafusion::sql::sqlparser::ast::ObjectName;

    fn columns_of(name: &ObjectName) -> Option<Vec<String>> {
        let columns: &[&str] = match name.to_string().as_str() {
            "t" | "s.t" => &["k", "a"],
            "u" => &["k", "B c"],
            _ => return None,
        };
        Some(columns.iter().map(|&column| column.to_owned()).collect())
    }

    #[test]
    fn stars_of_tables_become_their_columns() {
        for (query, written) in [
            ("SELECT * -- all\n FROM t", "SELECT \"k\", \"a\" -- all\n FROM t"),
            ("SELECT 1, t.*, 'é', * FROM s.t", "SELECT 1, t.\"k\", t.\"a\", 'é', \"k\", \"a\" FROM s.t"),
            ("SELECT * FROM t AS x(one)", "SELECT \"one\", \"a\" FROM t AS x(one)"),
            ("SELECT * FROM t, u x", "SELECT t.\"k\", t.\"a\", x.\"k\", x.\"B c\" FROM t, u x"),
            ("SELECT * FROM t JOIN u USING (k)", "SELECT \"k\", t.\"a\", u.\"B c\" FROM t JOIN u USING (k)"),
            ("SELECT * FROM t NATURAL JOIN u", "SELECT \"k\", t.\"a\", u.\"B c\" FROM t NATURAL JOIN u"),
            (
                "SELECT * FROM (SELECT * FROM t) s, u",
                "SELECT s.*, u.\"k\", u.\"B c\" FROM (SELECT \"k\", \"a\" FROM t) s, u",
            ),
            ("SELECT * FROM t UNION SELECT * FROM u", "SELECT \"k\", \"a\" FROM t UNION SELECT \"k\", \"B c\" FROM u"),
        ] {
            assert_eq!(with_written_stars(query, &columns_of), written);
        }
    }

    #[test]
    fn other_stars_stay() {
        for query in [
            "SELECT count(*) FROM t",
            "SELECT * FROM generate_series(1, 2)",
            "WITH t AS (SELECT 1 AS k) SELECT * FROM t",
            "SELECT * FROM (SELECT 1 AS k) s JOIN t USING (k)",
            "SELECT * EXCLUDE (a) FROM t",
            "VALUES (1)",
        ] {
            assert_eq!(with_written_stars(query, &columns_of), query);
        }
    }
}
