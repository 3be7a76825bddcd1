//! The `*`s in the query of a view. They mean the columns that the tables have when the view is created, so these are
//! written in their place. A `*` of a subquery, a common table expression or a function stays: what it shows is written
//! there. A `*` stays as well if a part of it cannot be written.

use atsdb_core::name::same_name;
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::parse::text_locations::{in_bytes, with_replaced};
use atsdb_dialect::text::quoted_names::{always_quoted, quoted};
use atsdb_dialect::text::relations::{alias_of, constraint_of, name_of_relation, relations_of};
use atsdb_dialect::text::tree_walk::visit;
use atsdb_dialect::text::with_names::WithNames;
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement,
    TableFactor, TableWithJoins, Visitor, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::slice;

/// The names of the columns of a table or view; `None` for another name.
pub(crate) type ColumnsOf<'a> = dyn Fn(&ObjectName) -> Option<Vec<String>> + 'a;

/// The maximum number of texts of a query that are tried. The stars that are left then stay.
const TRIALS_MAX: usize = 100;

/// A query with the columns of tables and views in place of each `*`. If the whole text is not accepted, its halves are
/// tried, and theirs, so that each `*` is written for which the text is accepted.
pub(crate) fn with_written_stars(
    query: &str,
    columns_of: &ColumnsOf<'_>,
    is_accepted: &dyn Fn(&str) -> bool,
) -> String {
    let Some(Statement::Query(parsed)) = parse_answer(query) else { return query.to_owned() };
    let mut stars = Stars {
        columns_of,
        own: WithNames::default(),
        scopes: Vec::new(),
        hidden: Vec::new(),
        written: BTreeMap::new(),
    };
    let _ = visit(parsed.as_ref(), &mut stars);
    let written = in_bytes(query, stars.written.into_iter().map(|(start, (end, columns))| (start..end, columns)));
    let mut text = query.to_owned();
    // The last part is tried first, because the bytes of the parts before it stay where they are.
    let mut untried = vec![written.as_slice()];
    for _ in 0..TRIALS_MAX {
        let Some(part) = untried.pop().filter(|part| !part.is_empty()) else { break };
        let next = with_replaced(&text, part);
        if is_accepted(&next) {
            text = next;
        } else if part.len() > 1 {
            let (first, last) = part.split_at(part.len() / 2);
            untried.extend([first, last]);
        }
    }
    text
}

/// An item in place of a `*`.
struct ShownItem {
    /// The name of the column; `None` for the `*` of a relation.
    column: Option<String>,
    text: String,
    /// The text of a merged column where another column has its name.
    of_side: Option<String>,
}

/// A relation of a `FROM` that has a name.
struct NamedRelation {
    name: String,
    /// The name of its table or view; `None` for another relation.
    table: Option<ObjectName>,
    /// The names that its alias gives to its first columns.
    renamed: Vec<String>,
}

struct Stars<'a> {
    columns_of: &'a ColumnsOf<'a>,
    own: WithNames,
    /// The relations whose columns the visited SELECT can name: those of the SELECTs around it, the outer before the
    /// inner ones, and its own.
    scopes: Vec<Vec<NamedRelation>>,
    /// For each subquery around that is listed in a `FROM` without `LATERAL`: the relations of that `FROM`.
    hidden: Vec<Option<Vec<NamedRelation>>>,
    /// The end of each `*` and the items for it, by its start.
    written: BTreeMap<Location, (Location, String)>,
}

impl Visitor for Stars<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.own.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.own.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let own = relations_inside(&select.from).into_iter().filter_map(|relation| self.named(relation)).collect();
        self.scopes.push(own);
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

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { lateral: false, .. } = relation {
            self.hidden.push(self.scopes.pop());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { lateral: false, .. } = relation {
            self.scopes.extend(self.hidden.pop().flatten());
        }
        ControlFlow::Continue(())
    }
}

impl Stars<'_> {
    /// The place of a `*` in the text, and the items for it; `None` if they are not known.
    fn star(&self, item: &SelectItem, from: &[TableWithJoins]) -> Option<(Range<Location>, Vec<ShownItem>)> {
        let (options, prefix, items) = match item {
            SelectItem::Wildcard(options) => (options, None, self.of_from(from)?),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let last = name.0.last()?.as_ident()?;
                (options, name.0.first()?.as_ident(), self.shown(self.meant(&last.value)?, true))
            }
            _ => return None,
        };
        if *options != WildcardAdditionalOptions::default() {
            return None;
        }
        let star = options.wildcard_token.0.span;
        let start = prefix.map_or(star.start, |prefix| prefix.span.start);
        Some((start..star.end, items))
    }

    /// Returns the items for a `*` over all relations of a FROM; `None` if they are not known.
    fn of_from(&self, from: &[TableWithJoins]) -> Option<Vec<ShownItem>> {
        let mut items = Vec::new();
        for table in from {
            items.extend(self.of_joins(table, from.len() > 1)?);
        }
        let is_shared = |item: &ShownItem| {
            let name = item.column.as_ref();
            name.is_some_and(|name| items.iter().filter(|other| is_named(other, name)).count() > 1)
        };
        let shared: Vec<bool> = items.iter().map(is_shared).collect();
        for (item, is_shared) in items.iter_mut().zip(shared) {
            if let Some(of_side) = item.of_side.take().filter(|_| is_shared) {
                item.text = of_side;
            }
        }
        Some(items)
    }

    /// Returns the items for a `*` over joined relations; `None` if they are not known.
    fn of_joins(&self, table: &TableWithJoins, is_qualified: bool) -> Option<Vec<ShownItem>> {
        let mut left = self.of_relation(&table.relation, is_qualified || !table.joins.is_empty())?;
        for join in &table.joins {
            let right = self.of_relation(&join.relation, true)?;
            let Some(constraint) = constraint_of(&join.join_operator) else {
                left = of_one_side(&join.join_operator, left, right)?;
                continue;
            };
            let names: Vec<String> = match constraint {
                JoinConstraint::Using(names) => {
                    names.iter().map(|name| Some(name.0.last()?.as_ident()?.value.clone())).collect::<Option<_>>()?
                }
                JoinConstraint::Natural => {
                    left.iter().filter_map(|item| item.column.clone()).filter(|name| has(&right, name)).collect()
                }
                JoinConstraint::On(_) | JoinConstraint::None => {
                    left.extend(right);
                    continue;
                }
            };
            left = merged(&join.join_operator, left, right, &names)?;
        }
        Some(left)
    }

    /// Returns the items for the `*` of a relation: its own `*` if its columns are not known. `None` if it has no name.
    fn of_relation(&self, relation: &TableFactor, is_qualified: bool) -> Option<Vec<ShownItem>> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = relation {
            return self.of_joins(table_with_joins, true);
        }
        Some(self.shown(&self.named(relation)?, is_qualified))
    }

    /// What the `*` of a relation with a name shows.
    fn shown(&self, relation: &NamedRelation, is_qualified: bool) -> Vec<ShownItem> {
        let name = quoted(&relation.name);
        let Some(columns) = relation.table.as_ref().and_then(|table| (self.columns_of)(table)) else {
            return vec![ShownItem { column: None, text: format!("{name}.*"), of_side: None }];
        };
        let prefix = if is_qualified { format!("{name}.") } else { String::new() };
        let names = relation.renamed.iter().cloned().chain(columns.into_iter().skip(relation.renamed.len()));
        let item = |name: String| ShownItem {
            text: format!("{prefix}{}", always_quoted(&name)),
            column: Some(name),
            of_side: None,
        };
        names.map(item).collect()
    }

    /// The relation that a name means in the visited SELECT; `None` if there is none, or several.
    fn meant(&self, name: &str) -> Option<&NamedRelation> {
        let is_meant = |relation: &&NamedRelation| same_name(&relation.name, name);
        let scope = self.scopes.iter().rev().find(|scope| scope.iter().any(|relation| is_meant(&relation)))?;
        let mut meant = scope.iter().filter(is_meant);
        meant.next().filter(|_| meant.next().is_none())
    }

    /// A relation by its name; `None` if it has none.
    fn named(&self, relation: &TableFactor) -> Option<NamedRelation> {
        let table = match relation {
            TableFactor::Table { name, args: None, .. } if !self.is_own(name) => Some(name.clone()),
            _ => None,
        };
        let renamed = alias_of(relation).map_or(&[][..], |alias| alias.columns.as_slice());
        let renamed = renamed.iter().map(|column| column.name.value.clone()).collect();
        Some(NamedRelation { name: name_of_relation(relation)?.value.clone(), table, renamed })
    }

    /// Returns whether a name is that of a common table expression.
    fn is_own(&self, name: &ObjectName) -> bool {
        let [name] = name.0.as_slice() else { return false };
        name.as_ident().is_some_and(|name| self.own.have(&name.value))
    }
}

/// All relations of a `FROM`, also those of joins in parentheses.
fn relations_inside(from: &[TableWithJoins]) -> Vec<&TableFactor> {
    let inside = relations_of(from).flat_map(|relation| match relation {
        TableFactor::NestedJoin { table_with_joins, alias: None } => {
            relations_inside(slice::from_ref(table_with_joins.as_ref()))
        }
        other => vec![other],
    });
    inside.collect()
}

/// Returns the items of a semi or anti join, which are those of one side; `None` for other joins.
fn of_one_side(operator: &JoinOperator, left: Vec<ShownItem>, right: Vec<ShownItem>) -> Option<Vec<ShownItem>> {
    use JoinOperator as Join;
    match operator {
        Join::Semi(_) | Join::LeftSemi(_) | Join::Anti(_) | Join::LeftAnti(_) => Some(left),
        Join::RightSemi(_) | Join::RightAnti(_) => Some(right),
        _ => None,
    }
}

/// Returns the items of a join that merges the columns of these names; `None` if columns of a side are not known.
fn merged(
    operator: &JoinOperator,
    left: Vec<ShownItem>,
    right: Vec<ShownItem>,
    names: &[String],
) -> Option<Vec<ShownItem>> {
    if left.iter().chain(&right).any(|item| item.column.is_none()) {
        return None;
    }
    let side = match operator {
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Some(&right),
        JoinOperator::FullOuter(_) => None,
        _ => Some(&left),
    };
    let item = |name: &String| {
        let of_side = side.and_then(|items| items.iter().find(|item| is_named(item, name)));
        let of_side = of_side.map(|item| item.of_side.as_ref().unwrap_or(&item.text).clone());
        ShownItem { column: Some(name.clone()), text: always_quoted(name), of_side }
    };
    let mut items: Vec<ShownItem> = names.iter().map(item).collect();
    let is_other = |item: &ShownItem| !names.iter().any(|name| is_named(item, name));
    items.extend(left.into_iter().chain(right).filter(is_other));
    Some(items)
}

fn has(items: &[ShownItem], name: &str) -> bool {
    items.iter().any(|item| is_named(item, name))
}

fn is_named(item: &ShownItem, name: &str) -> bool {
    item.column.as_ref().is_some_and(|column| same_name(column, name))
}

#[cfg(test)]
mod tests {
    use super::{TRIALS_MAX, with_written_stars};
    use datafusion::sql::sqlparser::ast::ObjectName;
    use std::cell::Cell;

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
            (
                "SELECT * FROM t JOIN u USING (k), s.t x",
                "SELECT t.\"k\", t.\"a\", u.\"B c\", x.\"k\", x.\"a\" FROM t JOIN u USING (k), s.t x",
            ),
            (
                "SELECT * FROM (t JOIN u USING (k)) RIGHT JOIN s.t x USING (k), s.t y",
                "SELECT x.\"k\", t.\"a\", u.\"B c\", x.\"a\", y.\"k\", y.\"a\" \
                 FROM (t JOIN u USING (k)) RIGHT JOIN s.t x USING (k), s.t y",
            ),
            (
                "SELECT u.*, * FROM (t CROSS JOIN u)",
                "SELECT u.\"k\", u.\"B c\", t.\"k\", t.\"a\", u.\"k\", u.\"B c\" FROM (t CROSS JOIN u)",
            ),
            ("SELECT * FROM t LEFT SEMI JOIN u ON true", "SELECT t.\"k\", t.\"a\" FROM t LEFT SEMI JOIN u ON true"),
            (
                "SELECT * FROM t ASOF JOIN u ON t.k >= u.k",
                "SELECT t.\"k\", t.\"a\", u.\"k\", u.\"B c\" FROM t ASOF JOIN u ON t.k >= u.k",
            ),
            (
                "WITH t AS (SELECT * FROM t), v AS (SELECT * FROM t) SELECT * FROM v, u",
                "WITH t AS (SELECT \"k\", \"a\" FROM t), v AS (SELECT * FROM t) \
                 SELECT v.*, u.\"k\", u.\"B c\" FROM v, u",
            ),
            (
                "SELECT o.a, l.* FROM t o, LATERAL (SELECT O.*, u.*, 1 FROM u) l",
                "SELECT o.a, l.* FROM t o, LATERAL (SELECT o.\"k\", o.\"a\", u.\"k\", u.\"B c\", 1 FROM u) l",
            ),
            (
                "SELECT k FROM t x(one) WHERE EXISTS (SELECT x.* FROM u WHERE EXISTS (SELECT x.*, u.*))",
                "SELECT k FROM t x(one) WHERE EXISTS (SELECT x.\"one\", x.\"a\" FROM u \
                 WHERE EXISTS (SELECT x.\"one\", x.\"a\", u.\"k\", u.\"B c\"))",
            ),
            (
                "SELECT 1 FROM t o, LATERAL (SELECT o.k FROM u o, (SELECT o.*) x) y",
                "SELECT 1 FROM t o, LATERAL (SELECT o.k FROM u o, (SELECT o.\"k\", o.\"a\") x) y",
            ),
            (
                "SELECT 1 FROM t, LATERAL (WITH t AS (SELECT t.*) SELECT t.* FROM t) y",
                "SELECT 1 FROM t, LATERAL (WITH t AS (SELECT t.\"k\", t.\"a\") SELECT t.* FROM t) y",
            ),
            ("SELECT * FROM t UNION SELECT * FROM u", "SELECT \"k\", \"a\" FROM t UNION SELECT \"k\", \"B c\" FROM u"),
        ] {
            assert_eq!(with_written_stars(query, &columns_of, &|_| true), written);
        }
    }

    #[test]
    fn a_star_is_written_although_another_one_is_not_accepted() {
        let query = "SELECT * FROM t UNION SELECT * FROM u UNION SELECT * FROM t";
        let written = with_written_stars(query, &columns_of, &|text| !text.contains("B c"));
        assert_eq!(written, "SELECT \"k\", \"a\" FROM t UNION SELECT * FROM u UNION SELECT \"k\", \"a\" FROM t");
        assert_eq!(with_written_stars(query, &columns_of, &|_| false), query);
    }

    #[test]
    fn few_texts_are_tried() {
        let trials = Cell::new(0);
        let stars = vec!["t.*"; 1_000].join(", ");
        let query = format!("SELECT {stars}, u.*, {stars} FROM t, u");
        let written = with_written_stars(&query, &columns_of, &|text| {
            trials.set(trials.get() + 1);
            !text.contains("B c")
        });
        assert_eq!(written, query.replace("t.*", "t.\"k\", t.\"a\""));
        assert!(trials.replace(0) < 30);
        let written = with_written_stars(&query, &columns_of, &|_| {
            trials.set(trials.get() + 1);
            false
        });
        assert_eq!((written, trials.get()), (query, TRIALS_MAX));
    }

    #[test]
    fn other_stars_stay() {
        for query in [
            "SELECT count(*) FROM t",
            "SELECT * FROM generate_series(1, 2)",
            "WITH t AS (SELECT 1 AS k) SELECT * FROM t",
            "SELECT * FROM (SELECT 1 AS k) s JOIN t USING (k)",
            "SELECT * EXCLUDE (a) FROM t",
            "SELECT 1 FROM t, (SELECT t.*) x",
            "SELECT 1 FROM (SELECT 1 AS k) t, LATERAL (SELECT t.*) x",
            "VALUES (1)",
        ] {
            assert_eq!(with_written_stars(query, &columns_of, &|_| true), query);
        }
    }
}
