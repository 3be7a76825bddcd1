//! The origins of an answer's columns: which column of which table or view each one shows. Clients ask for them to edit
//! rows. With them come the modifiers of types, such as the digits of `numeric(10, 2)`.
//!
//! They are read from the statement as in PostgreSQL: a column of a subquery or of an item of `WITH` has the origin of
//! the column that it selects; computed columns and those of set operations have none.

use super::headings::{is_surely_a_name, set_headings};
use super::sources::{Columns, ShownColumn, Sources, renamed};
use crate::pg::catalogue::{name_of_expression, number_of_table};
use crate::pg::store::StoreSession;
use crate::pg::types::modifiers::{self, NO_MODIFIER};
use crate::pg::wire::outgoing::{Origin, ResultColumn};
use atsdb::Column;
use atsdb::name::same_name;
use datafusion::sql::sqlparser::ast::{
    FromTable, ObjectName, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias,
    TableFactor, TableObject, TableWithJoins, UpdateTableFromKind, WildcardAdditionalOptions,
};
use std::slice::from_ref;
use std::sync::Arc;

/// The maximum size in bytes of a statement that is parsed for the origins of its columns. For a longer one that would
/// take as long as to execute it.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The maximum number of columns of a SELECT with origins. Stars over stars may stand for very many.
const COLUMNS_MAX: usize = 1_664;

/// Gives the columns of a statement's answer PostgreSQL's headings, and their origins.
pub(in crate::pg) fn complete_columns(text: &str, columns: &mut [ResultColumn], session: &StoreSession) {
    let has_headings = columns.iter().all(|column| is_surely_a_name(&column.name));
    if has_headings && text.len() > TEXT_BYTES_MAX {
        return;
    }
    let Some(statement) = session.parsed_answer(text) else { return };
    if !has_headings {
        set_headings(&statement, columns);
    }
    let scope = Scope { columns_of_table: &|parts| columns_of_table(parts, session), items: Vec::new() };
    let shown = scope.of_statement(&statement).filter(|shown| shown.len() == columns.len());
    for (column, shown) in columns.iter_mut().zip(shown.into_iter().flatten()) {
        let is_same = same_name(&shown.name, &column.name);
        column.modifier = if is_same { shown.modifier } else { NO_MODIFIER };
        column.origin = shown.origin.filter(|_| is_same);
    }
}

/// The columns of a table or view, by their numbers in the catalogue. A sequence has none that a query can name.
fn columns_of_table(parts: &[String], session: &StoreSession) -> Columns {
    let table = session.last_seen(parts)?;
    let definition = &table.definition;
    let columns: Vec<(Arc<str>, i32)> = match &definition.view {
        Some(_) => {
            let schema = session.columns_of_view(&table).ok()?;
            schema.fields().iter().map(|field| (Arc::<str>::from(field.name().as_str()), NO_MODIFIER)).collect()
        }
        None if definition.sequence => return None,
        None => {
            let named =
                |column: &Column| (Arc::<str>::from(column.name.as_str()), modifiers::of_column(column.column_type));
            definition.columns.iter().map(named).collect()
        }
    };
    let table = u32::try_from(number_of_table(&table)).ok()?;
    let shown = |(position, (name, modifier)): (i16, (Arc<str>, i32))| {
        let origin = Some(Origin { table, position });
        ShownColumn { name, modifier, origin }
    };
    Some((1..).zip(columns).map(shown).collect())
}

/// Resolves the names of tables to their columns.
#[derive(Clone)]
struct Scope<'a> {
    columns_of_table: &'a dyn Fn(&[String]) -> Columns,
    /// The items of `WITH`. Of two with the same name, the last one is meant.
    items: Vec<(String, Columns)>,
}

impl Scope<'_> {
    /// The columns of a statement's answer.
    fn of_statement(&self, statement: &Statement) -> Columns {
        match statement {
            Statement::Query(query) => self.of_query(query),
            Statement::Insert(insert) => {
                let TableObject::TableName(name) = &insert.table else { return None };
                let alias = insert.table_alias.as_ref().map(|alias| alias.alias.value.as_str());
                let sources = Sources::of(alias.or_else(|| last(name)), self.of_table(name));
                of_items(insert.returning.as_deref()?, &sources)
            }
            Statement::Update(update) => {
                let target = self.sources(from_ref(&update.table));
                let sources = match &update.from {
                    Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => {
                        target.beside(self.sources(from))
                    }
                    None => target,
                };
                of_items(update.returning.as_deref()?, &sources)
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                let using = delete.using.as_deref().unwrap_or_default();
                of_items(delete.returning.as_deref()?, &self.sources(from).beside(self.sources(using)))
            }
            _ => None,
        }
    }

    fn of_query(&self, query: &Query) -> Columns {
        let Some(with) = &query.with else { return self.of_body(&query.body) };
        let mut scope = self.clone();
        for item in &with.cte_tables {
            let name = &item.alias.name.value;
            if with.recursive {
                scope.items.push((name.clone(), None));
            }
            let columns = renamed(scope.of_query(&item.query), &item.alias);
            scope.items.push((name.clone(), columns));
        }
        scope.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Columns {
        match body {
            SetExpr::Select(select) => of_items(&select.projection, &self.sources(&select.from)),
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => {
                let columns = self.of_body(left)?.into_iter();
                Some(columns.map(|column| ShownColumn { modifier: NO_MODIFIER, origin: None, ..column }).collect())
            }
            SetExpr::Values(values) => {
                let count = values.rows.first()?.content.len();
                let shown = |number| ShownColumn {
                    name: format!("column{number}").into(),
                    modifier: NO_MODIFIER,
                    origin: None,
                };
                Some((1..=count).map(shown).collect())
            }
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => {
                self.of_statement(statement)
            }
            _ => None,
        }
    }

    fn of_table(&self, name: &ObjectName) -> Columns {
        let parts = name.0.iter().map(|part| part.as_ident().map(|part| part.value.clone()));
        let parts: Vec<String> = parts.collect::<Option<_>>()?;
        if let [name] = parts.as_slice()
            && let Some((_, columns)) = self.items.iter().rev().find(|(item, _)| same_name(item, name))
        {
            return columns.clone();
        }
        (self.columns_of_table)(&parts)
    }

    /// The sources of a FROM clause.
    fn sources(&self, from: &[TableWithJoins]) -> Sources {
        from.iter().fold(Sources::none(), |sources, tables| {
            let first = self.source(&tables.relation);
            let joined = tables.joins.iter().fold(first, |left, join| {
                let right = self.source(&join.relation);
                left.join(right, &join.join_operator)
            });
            sources.beside(joined)
        })
    }

    fn source(&self, factor: &TableFactor) -> Sources {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => aliased(last(name), self.of_table(name), alias),
            TableFactor::Derived { subquery, alias, .. } => aliased(None, self.of_query(subquery), alias),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let sources = self.sources(from_ref(table_with_joins));
                if alias.is_some() { aliased(None, sources.into_columns(), alias) } else { sources }
            }
            _ => Sources::of(None, None),
        }
    }
}

/// A source with its alias, if it has one.
fn aliased(name: Option<&str>, columns: Columns, alias: &Option<TableAlias>) -> Sources {
    match alias {
        Some(alias) => Sources::of(Some(&alias.name.value), renamed(columns, alias)),
        None => Sources::of(name, columns),
    }
}

/// The columns of a SELECT list or of RETURNING.
fn of_items(items: &[SelectItem], sources: &Sources) -> Columns {
    let mut columns = Vec::new();
    for item in items {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let computed = || {
                    let (name, modifier) = (name_of_expression(expr).into(), modifiers::of_expression(expr));
                    ShownColumn { name, modifier, origin: None }
                };
                columns.push(sources.column(expr).cloned().unwrap_or_else(computed));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let (modifier, origin) = match sources.column(expr) {
                    Some(column) => (column.modifier, column.origin),
                    None => (modifiers::of_expression(expr), None),
                };
                columns.push(ShownColumn { name: alias.value.as_str().into(), modifier, origin });
            }
            SelectItem::Wildcard(options) if is_plain(options) => columns.extend_from_slice(sources.columns()?),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                columns.extend_from_slice(sources.columns_of(last(name)?)?);
            }
            _ => return None,
        }
        if columns.len() > COLUMNS_MAX {
            return None;
        }
    }
    Some(columns)
}

/// The last part of a name.
fn last(name: &ObjectName) -> Option<&str> {
    name.0.last()?.as_ident().map(|part| part.value.as_str())
}

/// Returns whether a `*` stands for all columns under their own names.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    let plain = WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() };
    *options == plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::sql::parse_answer;

    const SENSORS: [&str; 3] = ["id", "name", "height"];
    const READINGS: [&str; 3] = ["time", "sensor", "value"];
    const HIGH: [&str; 3] = ["sensor", "next", "id"];

    /// The columns of tables that an answer shows, such as `sensors.id`, as far as it shows any.
    fn origins(statement: &str) -> Option<Vec<String>> {
        let tables = [("sensors", SENSORS), ("readings", READINGS), ("high", HIGH)];
        let columns_of_table = |parts: &[String]| {
            let at = tables.iter().position(|(name, _)| parts.last().is_some_and(|last| last == name))?;
            let origin = |position| Some(Origin { table: u32::try_from(at).unwrap(), position });
            let names = (1..).zip(tables[at].1);
            let shown = |(position, name): (i16, &str)| {
                let name = Arc::<str>::from(name);
                ShownColumn { name, modifier: NO_MODIFIER, origin: origin(position) }
            };
            Some(names.map(shown).collect())
        };
        let scope = Scope { columns_of_table: &columns_of_table, items: Vec::new() };
        let named = |column: ShownColumn| {
            column.origin.map_or_else(String::new, |Origin { table, position }| {
                let (table, columns) = tables[table as usize];
                format!("{table}.{}", columns[usize::try_from(position - 1).unwrap()])
            })
        };
        Some(scope.of_statement(&parse_answer(statement).unwrap())?.into_iter().map(named).collect())
    }

    #[test]
    fn origins_are_those_of_postgresql() {
        for (statement, expected) in [
            ("SELECT id, name AS n, height + 1, count(*) FROM sensors s", vec!["sensors.id", "sensors.name", "", ""]),
            ("SELECT (r.value), s.ID FROM readings r JOIN sensors s ON true", vec!["readings.value", "sensors.id"]),
            ("SELECT id FROM (SELECT id, name FROM sensors) t", vec!["sensors.id"]),
            ("SELECT t.b FROM (SELECT id, name FROM sensors) t (a, b)", vec!["sensors.name"]),
            ("SELECT a, height FROM sensors AS s (a, b)", vec!["sensors.id", "sensors.height"]),
            ("SELECT * FROM (SELECT sensor AS x, next FROM high) t", vec!["high.sensor", "high.next"]),
            ("WITH sensors AS (SELECT 1 AS id) SELECT id FROM sensors", vec![""]),
            ("WITH w (q) AS (SELECT id AS k FROM sensors) SELECT q, w.* FROM w", vec!["sensors.id", "sensors.id"]),
            ("WITH RECURSIVE w AS (SELECT id FROM sensors UNION ALL SELECT id FROM w) SELECT id FROM w", vec![""]),
            ("WITH d AS (DELETE FROM sensors RETURNING id) SELECT id FROM d", vec!["sensors.id"]),
            ("SELECT id FROM sensors UNION SELECT 1", vec![""]),
            ("SELECT id FROM (SELECT id FROM sensors UNION SELECT 1) t", vec![""]),
            ("SELECT id FROM sensors LEFT JOIN high USING (id)", vec!["sensors.id"]),
            ("SELECT id FROM sensors RIGHT JOIN high USING (id)", vec!["high.id"]),
            ("SELECT id FROM sensors FULL JOIN high USING (id)", vec![""]),
            ("SELECT j.id FROM (sensors s CROSS JOIN readings) j", vec!["sensors.id"]),
            ("SELECT id, n.* FROM (VALUES (1, 2)) n (a, b), sensors", vec!["sensors.id", "", ""]),
            ("UPDATE sensors s SET height = 1 FROM high h RETURNING s.id, h.next", vec!["sensors.id", "high.next"]),
            ("DELETE FROM sensors USING high h RETURNING sensors.id, h.id", vec!["sensors.id", "high.id"]),
            ("INSERT INTO sensors AS x VALUES (1) RETURNING x.name, id + 1", vec!["sensors.name", ""]),
            // A name that may mean several columns, or one of an unknown source.
            ("SELECT id FROM sensors, high", vec![""]),
            ("SELECT id FROM sensors, unnest(ARRAY[1]) AS u", vec![""]),
        ] {
            assert_eq!(origins(statement).unwrap(), expected, "{statement}");
        }
    }

    #[test]
    fn a_merged_column_comes_first_in_a_star() {
        let rest = ["sensors.name", "sensors.height", "high.sensor", "high.next"];
        for (join, first) in [
            ("sensors JOIN high USING (id)", "sensors.id"),
            ("sensors NATURAL JOIN high", "sensors.id"),
            ("sensors RIGHT JOIN high USING (id)", "high.id"),
            ("sensors FULL JOIN high USING (id)", ""),
        ] {
            let expected: Vec<&str> = std::iter::once(first).chain(rest).collect();
            assert_eq!(origins(&format!("SELECT * FROM {join}")).unwrap(), expected, "{join}");
        }
        let beside = origins("SELECT * FROM readings, sensors").unwrap();
        assert_eq!(beside.len(), 6);
        assert_eq!(origins("SELECT * FROM unnest(ARRAY[1]) AS u"), None);
        assert_eq!(origins("SELECT 1"), Some(vec![String::new()]));
    }

    #[test]
    fn stars_over_stars_end() {
        let mut text = "WITH a0 AS (SELECT * FROM sensors)".to_owned();
        for level in 1..60 {
            let below = level - 1;
            text += &format!(", a{level} AS (SELECT x.*, y.* FROM a{below} x, a{below} y)");
        }
        assert_eq!(origins(&format!("{text} SELECT * FROM a59")), None);
    }
}
