//! The origins of an answer's columns: which column of which table each one shows. Clients ask for them to edit rows.
//! They are read from the statement: a column that a subquery, a view, a function or a set operation returns has none.

use super::catalogue::number_of_table;
use super::headings::{is_surely_a_name, set_headings};
use super::store::StoreSession;
use super::wire::outgoing::{Origin, ResultColumn};
use atsdb::Table;
use atsdb::name::same_name;
use atsdb::sql::{items_of_answer, parse_answer};
use datafusion::sql::sqlparser::ast::{
    Expr, FromTable, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, TableObject, TableWithJoins, UpdateTableFromKind,
    WildcardAdditionalOptions,
};

/// Longer statements are not parsed for the origins of their columns, which would take as long as to execute them.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Gives the columns of a statement's answer PostgreSQL's headings, and their origins.
pub(in crate::pg) fn complete_columns(text: &str, columns: &mut [ResultColumn], session: &StoreSession) {
    let has_headings = columns.iter().all(|column| is_surely_a_name(&column.name));
    if has_headings && text.len() > TEXT_BYTES_MAX {
        return;
    }
    let Some(statement) = parse_answer(text) else { return };
    if !has_headings {
        set_headings(&statement, columns);
    }
    let table = |parts: &[String]| session.table(parts).ok();
    let origins = origins(&statement, &table).filter(|origins| origins.len() == columns.len());
    for (column, origin) in columns.iter_mut().zip(origins.into_iter().flatten()) {
        column.origin = origin;
    }
}

/// The origins of the columns of an answer; `None` if their number is not known.
fn origins(statement: &Statement, table: &dyn Fn(&[String]) -> Option<Table>) -> Option<Vec<Option<Origin>>> {
    let sources = sources_of(statement, table)?;
    let mut origins = Vec::new();
    for item in items_of_answer(statement)? {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                origins.push(sources.origin(expr));
            }
            SelectItem::Wildcard(options) if is_plain(options) => origins.extend(sources.all()?),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                origins.extend(sources.named(last(name)?)?.origins()?);
            }
            _ => return None,
        }
    }
    Some(origins)
}

/// What a statement reads from.
#[derive(Default)]
struct Sources {
    sources: Vec<Source>,
    /// Whether a join shows columns of both sides as one.
    has_merged: bool,
}

struct Source {
    /// The name by which the statement refers to it.
    name: Option<String>,
    /// `None` for a subquery and anything else but a table.
    table: Option<Table>,
}

impl Sources {
    fn add(&mut self, tables: &[TableWithJoins], table: &dyn Fn(&ObjectName) -> Option<Table>) {
        for from in tables {
            self.add_factor(&from.relation, table);
            for join in &from.joins {
                self.add_factor(&join.relation, table);
                self.has_merged |= constraint_of(&join.join_operator)
                    .is_none_or(|constraint| matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural));
            }
        }
    }

    fn add_factor(&mut self, factor: &TableFactor, table: &dyn Fn(&ObjectName) -> Option<Table>) {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let has_own_names = alias.as_ref().is_none_or(|alias| alias.columns.is_empty());
                let found = table(name).filter(|_| has_own_names);
                let alias = alias.as_ref().map(|alias| alias.name.value.as_str());
                let name = alias.or_else(|| last(name)).map(str::to_owned);
                self.sources.push(Source { name, table: found });
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.add(std::slice::from_ref(table_with_joins.as_ref()), table);
            }
            _ => self.sources.push(Source { name: None, table: None }),
        }
    }

    /// The origin of an expression, if it is a column.
    fn origin(&self, expr: &Expr) -> Option<Origin> {
        match expr {
            Expr::Nested(expr) => self.origin(expr),
            Expr::Identifier(column) => self.origin_of(column),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., source, column] => self.named(&source.value)?.origin(&column.value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The origin of a column without the name of its source. It has none if another source may have the column, too.
    fn origin_of(&self, column: &Ident) -> Option<Origin> {
        let mut found = None;
        for source in &self.sources {
            source.table.as_ref()?;
            if let Some(origin) = source.origin(&column.value)
                && found.replace(origin).is_some()
            {
                return None;
            }
        }
        found
    }

    /// The only source with a name.
    fn named(&self, name: &str) -> Option<&Source> {
        let is_named = |source: &&Source| source.name.as_deref().is_some_and(|other| same_name(other, name));
        let mut found = self.sources.iter().filter(is_named);
        found.next().filter(|_| found.next().is_none())
    }

    /// The origins of what `*` stands for.
    fn all(&self) -> Option<Vec<Option<Origin>>> {
        if self.has_merged {
            return None;
        }
        let origins: Option<Vec<_>> = self.sources.iter().map(Source::origins).collect();
        Some(origins?.into_iter().flatten().collect())
    }
}

impl Source {
    fn origin(&self, column: &str) -> Option<Origin> {
        let table = self.table.as_ref()?;
        let position = table.definition.columns.iter().position(|other| same_name(&other.name, column))?;
        origin(table, position)
    }

    fn origins(&self) -> Option<Vec<Option<Origin>>> {
        let table = self.table.as_ref()?;
        Some((0..table.definition.columns.len()).map(|position| origin(table, position)).collect())
    }
}

fn origin(table: &Table, position: usize) -> Option<Origin> {
    let table = u32::try_from(number_of_table(table)).ok()?;
    Some(Origin { table, position: i16::try_from(position + 1).ok()? })
}

/// What a query reads from, or the table that a statement changes and what it reads beside it.
fn sources_of(statement: &Statement, table: &dyn Fn(&[String]) -> Option<Table>) -> Option<Sources> {
    let stored = |name: &ObjectName| {
        let parts: Option<Vec<String>> =
            name.0.iter().map(|part| part.as_ident().map(|part| part.value.clone())).collect();
        // A view has columns of its own, and a sequence is no table.
        table(&parts?).filter(|table| table.definition.view.is_none() && !table.definition.sequence)
    };
    let mut sources = Sources::default();
    match statement {
        Statement::Query(query) => {
            let (select, items) = select_of(query)?;
            let table = |name: &ObjectName| match name.0.as_slice() {
                [_] if items.iter().any(|item| last(name).is_some_and(|name| same_name(name, item))) => None,
                _ => stored(name),
            };
            sources.add(&select.from, &table);
        }
        Statement::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else { return None };
            let alias = insert.table_alias.as_ref().map(|alias| alias.alias.value.as_str());
            let exposed = alias.or_else(|| last(name)).map(str::to_owned);
            sources.sources.push(Source { name: exposed, table: stored(name) });
        }
        Statement::Update(update) => {
            sources.add(std::slice::from_ref(&update.table), &stored);
            match &update.from {
                Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => {
                    sources.add(from, &stored);
                }
                None => {}
            }
        }
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            sources.add(from, &stored);
            sources.add(delete.using.as_deref().unwrap_or_default(), &stored);
        }
        _ => return None,
    }
    Some(sources)
}

/// The SELECT that a query is, and the names of the items of its `WITH`; `None` for a set operation.
fn select_of(query: &Query) -> Option<(&Select, Vec<&str>)> {
    let items = query.with.iter().flat_map(|with| &with.cte_tables);
    let mut items: Vec<&str> = items.map(|item| item.alias.name.value.as_str()).collect();
    match query.body.as_ref() {
        SetExpr::Select(select) => Some((select, items)),
        SetExpr::Query(inner) => {
            let (select, of_inner) = select_of(inner)?;
            items.extend(of_inner);
            Some((select, items))
        }
        _ => None,
    }
}

/// The last part of a name.
fn last(name: &ObjectName) -> Option<&str> {
    name.0.last()?.as_ident().map(|part| part.value.as_str())
}

/// Whether a `*` stands for all columns under their own names.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    let plain = WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() };
    *options == plain
}

/// The condition of a join whose result has the columns of both sides; `None` for other joins.
fn constraint_of(join: &JoinOperator) -> Option<&JoinConstraint> {
    match join {
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
