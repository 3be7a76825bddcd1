//! Turns `UPDATE` and `DELETE` into a query for the rows that they change.

use super::assignments::assignments;
use super::change::{Change, ChangeKind};
use super::returning::Returning;
use super::returning_stars::OtherTables;
use super::values::place_assigned;
use crate::scan::row_numbers::{CHUNK, ROW, TARGET_SCHEMA, number_of};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::identifiers::Spellings;
use atsdb_dialect::text::table_names::{TableName, refuse_sequence, unknown_table};
use datafusion::sql::sqlparser::ast::{
    Assignment, Delete, Expr, FromTable, Ident, LimitClause, ObjectName, OrderBy, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement as Ast, TableAlias, TableFactor,
    TableWithJoins, Update, UpdateTableFromKind,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// The hint of a `DELETE` that names several tables.
const USING: &str = "name the other tables in USING: DELETE FROM t USING u WHERE u.id = t.id";
/// The hint of a change with `OUTPUT`.
const OUTPUT: &str = "write RETURNING at the end of the statement";

/// Returns the query for the rows that a statement changes, and the change; `None` if the statement is not an `UPDATE`
/// or `DELETE`. The query returns the chunk and the number of each row, then the new values of [`Change::columns`], and
/// what only `RETURNING` needs. `has_with` is whether a `WITH` stands before the statement, which may name its tables.
pub(crate) fn query_of_change(
    statement: &mut Ast,
    tables: &[Table],
    spellings: &Spellings,
    has_with: bool,
) -> Result<Option<(Query, Change)>> {
    match statement {
        Ast::Update(update) => of_update(update, tables, spellings, has_with).map(Some),
        Ast::Delete(delete) => of_delete(delete, tables, spellings, has_with).map(Some),
        _ => Ok(None),
    }
}

fn of_update(update: &mut Update, tables: &[Table], spellings: &Spellings, has_with: bool) -> Result<(Query, Change)> {
    let refused = [
        (update.or.is_some(), "UPDATE OR ...", "leave OR ... out: an UPDATE that would break a key changes nothing"),
        (update.output.is_some(), "UPDATE ... OUTPUT", OUTPUT),
        (
            !update.table.joins.is_empty(),
            "UPDATE of a join",
            "name the other table in FROM: UPDATE t SET a = u.a FROM u WHERE u.id = t.id",
        ),
    ];
    refuse(&refused)?;
    let target = Target::take(&update.table, tables)?;
    let definition = &target.table.definition;
    let mut set = assigned_values(&target.table, &mut update.assignments)?;
    let kind = kind_of_update(&target.table, &set);
    if kind == ChangeKind::Move {
        for (position, column) in definition.columns.iter().enumerate() {
            if set.iter().all(|(other, _)| *other != position) {
                set.push((position, target.column(spellings.spell(&column.name))));
            }
        }
    }
    set.sort_by_key(|(position, _)| *position);
    let (columns, mut values): (Vec<usize>, Vec<Expr>) = set.into_iter().unzip();
    let others = match update.from.take() {
        None => Vec::new(),
        Some(UpdateTableFromKind::BeforeSet(_)) => return Err(not_supported("UPDATE with FROM before SET")),
        Some(UpdateTableFromKind::AfterSet(others)) => others,
    };
    let known = OtherTables::of(&others, tables).filter(|_| !has_with);
    let returning = target.returning(update.returning.take(), &others, known.as_ref(), spellings)?;
    let rest = target.rest(&columns, returning.as_ref());
    values.extend(rest.iter().map(|position| target.column(spellings.spell(&definition.columns[*position].name))));
    values.extend(returning.iter().flat_map(|returning| returning.others.clone()));
    let which = RowSelection {
        selection: update.selection.take(),
        order_by: std::mem::take(&mut update.order_by),
        limit: update.limit.take(),
    };
    let query = target.query(values, others, which)?;
    let table = target.table;
    Ok((query, Change { verb: "UPDATE", table, columns, others: rest, kind, returning, source: None, merge: None }))
}

/// The assigned columns, by position, and their new values.
pub(super) fn assigned_values(table: &Table, set: &mut Vec<Assignment>) -> Result<Vec<(usize, Expr)>> {
    let definition = &table.definition;
    let mut values: Vec<(usize, Expr)> = Vec::new();
    for (name, mut value) in assignments(set)? {
        let position = definition.position(&name).map_err(as_sql_error)?;
        place_assigned(table, position, &mut value)?;
        if values.iter().any(|(other, _)| *other == position) {
            return Err(sql_error(format!("UPDATE {}: column {name} is set twice", definition.name)));
        }
        values.push((position, value));
    }
    Ok(values)
}

/// How rows change that get these values.
pub(super) fn kind_of_update(table: &Table, set: &[(usize, Expr)]) -> ChangeKind {
    let definition = &table.definition;
    let moves = |position: usize| definition.moves_rows(definition.columns[position].id);
    if set.iter().any(|(position, _)| moves(*position)) { ChangeKind::Move } else { ChangeKind::Set }
}

fn of_delete(delete: &mut Delete, tables: &[Table], spellings: &Spellings, has_with: bool) -> Result<(Query, Change)> {
    let refused = [
        (!delete.tables.is_empty(), "DELETE with tables before FROM", USING),
        (delete.output.is_some(), "DELETE ... OUTPUT", OUTPUT),
    ];
    refuse(&refused)?;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [from] = from.as_slice() else { return Err(not_supported("DELETE from several tables").with_hint(USING)) };
    refuse(&[(!from.joins.is_empty(), "DELETE from a join", USING)])?;
    let target = Target::take(from, tables)?;
    let others = delete.using.take().unwrap_or_default();
    let known = OtherTables::of(&others, tables).filter(|_| !has_with);
    let returning = target.returning(delete.returning.take(), &others, known.as_ref(), spellings)?;
    let whole = others.is_empty() && delete.selection.is_none() && delete.limit.is_none() && returning.is_none();
    let kind = if whole { ChangeKind::Empty } else { ChangeKind::Delete };
    let rest = target.rest(&[], returning.as_ref());
    let columns = &target.table.definition.columns;
    let values = rest.iter().map(|position| target.column(spellings.spell(&columns[*position].name)));
    let values = values.chain(returning.iter().flat_map(|returning| returning.others.clone())).collect();
    let which = RowSelection {
        selection: delete.selection.take(),
        order_by: std::mem::take(&mut delete.order_by),
        limit: delete.limit.take(),
    };
    let query = target.query(values, others, which)?;
    let (table, columns) = (target.table, Vec::new());
    Ok((query, Change { verb: "DELETE", table, columns, others: rest, kind, returning, source: None, merge: None }))
}

/// Selects the rows that change: all that satisfy a condition, or a limited number of them in some order.
struct RowSelection {
    selection: Option<Expr>,
    order_by: Vec<OrderByExpr>,
    limit: Option<Expr>,
}

/// Refuses the first of these clauses that a statement has. Each has a name, and a hint.
pub(super) fn refuse(refused: &[(bool, &str, &str)]) -> Result<()> {
    match refused.iter().find(|(is_there, ..)| *is_there) {
        Some((_, what, hint)) => Err(not_supported(what).with_hint(*hint)),
        None => Ok(()),
    }
}

/// The table that changes, and its name in the statement.
pub(super) struct Target {
    pub(super) table: Table,
    pub(super) relation: TableWithJoins,
    pub(super) alias: Ident,
}

impl Target {
    /// Replaces the table by one whose rows have their locations.
    pub(super) fn take(relation: &TableWithJoins, tables: &[Table]) -> Result<Self> {
        let mut relation = relation.clone();
        let TableFactor::Table { name, alias, args: None, .. } = &mut relation.relation else {
            return Err(not_supported("UPDATE or DELETE of anything but a table"));
        };
        let table_name = TableName::of(name)?;
        let table = table_name.find(tables).ok_or_else(|| unknown_table(&table_name, tables))?.clone();
        refuse_sequence(&table)?;
        if table.definition.view.is_some() {
            return Err(sql_error(format!("{} is a view: its rows do not change", table.definition.name))
                .with_hint("UPDATE or DELETE FROM the table it reads"));
        }
        table.definition.refuse_change()?;
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        let ident = last.ok_or_else(|| Error::internal("a table without a name"))?;
        let alias = alias.get_or_insert_with(|| TableAlias {
            explicit: true,
            name: ident.clone(),
            columns: Vec::new(),
            at: None,
        });
        let alias = alias.name.clone();
        *name = ObjectName::from(vec![Ident::new(TARGET_SCHEMA), Ident::new(number_of(&table))]);
        Ok(Self { table, relation, alias })
    }

    pub(super) fn column(&self, name: &str) -> Expr {
        Expr::CompoundIdentifier(vec![self.alias.clone(), Ident::new(name)])
    }

    /// The clause `RETURNING`. `known` are the other tables, if their columns are known.
    fn returning(
        &self,
        items: Option<Vec<SelectItem>>,
        others: &[TableWithJoins],
        known: Option<&OtherTables<'_>>,
        spellings: &Spellings,
    ) -> Result<Option<Returning>> {
        let Some(mut items) = items else { return Ok(None) };
        if let (Some(known), false) = (known, others.is_empty()) {
            known.write_stars(&mut items, &self.alias, spellings);
        }
        let shows_all = items.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
        if shows_all && !others.is_empty() {
            let alias = &self.alias;
            return Err(not_supported("RETURNING * beside a query, a view or a join")
                .with_hint(format!("write {alias}.*, and name the columns of the others")));
        }
        let other_star = items.iter().find_map(|item| match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                name.0.last().and_then(|part| part.as_ident()).filter(|name| !same_name(&name.value, &self.alias.value))
            }
            _ => None,
        });
        if let Some(other) = other_star {
            return Err(not_supported(format_args!("RETURNING {other}.*"))
                .with_hint(format!("name the columns: RETURNING {other}.a, {other}.b")));
        }
        let mut returning = Returning::new(items, self.alias.value.clone());
        if !others.is_empty() {
            returning.take_others(&self.table);
        }
        Ok(Some(returning))
    }

    /// The columns that only `RETURNING` needs.
    fn rest(&self, columns: &[usize], returning: Option<&Returning>) -> Vec<usize> {
        match returning {
            Some(_) => (0..self.table.definition.columns.len()).filter(|at| !columns.contains(at)).collect(),
            None => Vec::new(),
        }
    }

    /// `SELECT chunk, row, values FROM target, others WHERE selection ORDER BY order LIMIT limit`.
    fn query(&self, values: Vec<Expr>, others: Vec<TableWithJoins>, which: RowSelection) -> Result<Query> {
        let RowSelection { selection, order_by, limit } = which;
        let mut query = empty_query()?;
        let SetExpr::Select(select) = query.body.as_mut() else {
            return Err(Error::internal("a query is not a SELECT"));
        };
        let select: &mut Select = select;
        let places = [self.column(CHUNK), self.column(ROW)];
        select.projection = numbered_items(places.into_iter().chain(values));
        select.from = std::iter::once(self.relation.clone()).chain(others).collect();
        select.selection = selection;
        // An order without a limit has no effect.
        if let Some(limit) = limit {
            let kind = OrderByKind::Expressions(order_by);
            let is_ordered = !matches!(&kind, OrderByKind::Expressions(by) if by.is_empty());
            query.order_by = is_ordered.then_some(OrderBy { kind, interpolate: None });
            query.limit_clause =
                Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
        }
        Ok(query)
    }
}

/// Selects expressions under distinct names, because two columns may be set to the same expression.
pub(super) fn numbered_items(values: impl Iterator<Item = Expr>) -> Vec<SelectItem> {
    let named = |(position, expr): (usize, Expr)| SelectItem::ExprWithAlias {
        expr,
        alias: Ident::new(format!("\u{1}{position}")),
    };
    values.enumerate().map(named).collect()
}

pub(super) fn empty_query() -> Result<Query> {
    let statements = Parser::parse_sql(&GenericDialect, "SELECT 1").map_err(|error| Error::internal(error.to_string()));
    match statements?.pop() {
        Some(Ast::Query(query)) => Ok(*query),
        _ => Err(Error::internal("a SELECT is not a query")),
    }
}
