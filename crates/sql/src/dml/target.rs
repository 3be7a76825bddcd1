//! The target of an `INSERT`.

use super::conflict::OnDuplicate;
use super::returning::Returning;
use atsdb_core::name::same_name;
use atsdb_core::{Column, Error, Result, Table};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::table_names::{TableName, refuse_sequence, unknown_table};
use atsdb_dialect::workarounds::{OVERRIDING_SYSTEM, OVERRIDING_USER};
use datafusion::sql::sqlparser::ast::{Expr, Insert, ObjectName, SelectItem, SetExpr, TableObject};

/// The table and the columns that an `INSERT` adds rows to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) table: TableName,
    /// The name of the table in the statement.
    pub(crate) alias: String,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) returning: Option<Returning>,
    /// The `OVERRIDING` clause, for values that are given for identity columns; `None` without one.
    pub(crate) overriding: Option<Overriding>,
    /// Identity columns whose given values do not count, so that the table numbers the rows.
    pub(crate) generated: Vec<String>,
}

/// `OVERRIDING ... VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// Given values are stored, also in a column that is `GENERATED ALWAYS`.
    System,
    /// Given values are ignored.
    User,
}

impl Overriding {
    /// The clause of a statement, in the form that its tokens were given: the parser does not know it.
    fn of(insert: &Insert) -> Result<Option<Self>> {
        match insert.partitioned.as_deref() {
            None => Ok(None),
            Some([Expr::Identifier(mark)]) if mark.value == OVERRIDING_SYSTEM => Ok(Some(Self::System)),
            Some([Expr::Identifier(mark)]) if mark.value == OVERRIDING_USER => Ok(Some(Self::User)),
            Some(_) => Err(not_supported("PARTITION")),
        }
    }
}

impl Target {
    /// The target of a parsed `INSERT`. Unsupported clauses are refused.
    pub(crate) fn of(insert: &Insert) -> Result<Self> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(not_supported("INSERT INTO anything but a table"));
        };
        let refused = [
            (insert.output.is_some(), "OUTPUT"),
            (insert.overwrite, "INSERT OVERWRITE"),
            (!insert.assignments.is_empty(), "INSERT ... SET"),
            (!insert.after_columns.is_empty(), "a second list of columns"),
            (insert.format_clause.is_some() || insert.settings.is_some(), "FORMAT"),
        ];
        if let Some((_, what)) = refused.into_iter().find(|(found, _)| *found) {
            return Err(not_supported(what));
        }
        let last = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone());
        let columns: Option<Vec<String>> = insert.columns.iter().map(last).collect();
        let columns = columns.filter(|columns| !columns.is_empty());
        let table = TableName::of(name)?;
        let written =
            || insert.table_alias.as_ref().map_or_else(|| last(name), |alias| Some(alias.alias.value.clone()));
        let alias = written().unwrap_or_else(|| table.name.clone());
        let returning = insert.returning.clone().map(|items| Returning::new(items, alias.clone()));
        let (on_duplicate, overriding) = (OnDuplicate::of(insert)?, Overriding::of(insert)?);
        Ok(Self { table, alias, columns, on_duplicate, returning, overriding, generated: Vec::new() })
    }

    /// A table, under its own name.
    pub(crate) fn new(table: TableName, columns: Option<Vec<String>>, on_duplicate: OnDuplicate) -> Self {
        let (alias, returning, overriding, generated) = (table.name.clone(), None, None, Vec::new());
        Self { alias, table, columns, on_duplicate, returning, overriding, generated }
    }

    /// Names the first columns of its table if the statement names none, and its rows have fewer values than the table
    /// has columns.
    pub(crate) fn name_first_columns(&mut self, tables: &[Table], rows: &SetExpr) {
        if self.columns.is_none()
            && let Some(width) = width_of(rows)
        {
            self.columns = self.table.find(tables).and_then(|table| first_columns(table, width));
        }
    }

    /// All columns of a table.
    pub(crate) fn all_of(table: &Table) -> Self {
        Self::new(TableName::of_table(table), None, OnDuplicate::default())
    }

    /// The table, and the positions of the columns in it.
    pub(crate) fn resolve_among(&self, tables: &[Table]) -> Result<(Table, Vec<usize>)> {
        let table = self.table.find(tables).ok_or_else(|| unknown_table(&self.table, tables))?;
        refuse_sequence(table)?;
        if table.definition.view.is_some() {
            return Err(sql_error(format!("{} is a view: rows cannot be inserted into it", table.definition.name))
                .with_hint("INSERT INTO the table it reads"));
        }
        table.definition.refuse_change()?;
        let positions = self.positions(table)?;
        Ok((table.clone(), positions))
    }

    /// Refuses values for identity columns that number all rows themselves. `positions` are those of the columns that
    /// the statement gives.
    pub(crate) fn refuse_identity_values(&self, table: &Table, positions: &[usize]) -> Result<()> {
        if self.overriding.is_some() {
            return Ok(());
        }
        let columns = positions.iter().map(|position| &table.definition.columns[*position]);
        let always = |column: &&Column| column.identity.is_some_and(|identity| identity.always);
        match columns.filter(always).find(|column| !self.is_generated(column)) {
            None => Ok(()),
            Some(column) => {
                let name = &column.name;
                let message =
                    format!("cannot insert a non-DEFAULT value into column \"{name}\": it is GENERATED ALWAYS");
                Err(sql_error(message)
                    .with_hint("leave the column out, or write OVERRIDING SYSTEM VALUE before VALUES or SELECT"))
            }
        }
    }

    /// Returns whether values that are given for a column do not count.
    pub(crate) fn is_generated(&self, column: &Column) -> bool {
        self.generated.iter().any(|name| same_name(name, &column.name))
    }

    /// The positions of the columns that rows with this number of values are for.
    pub(crate) fn positions_of(&self, table: &Table, width: usize) -> Result<Vec<usize>> {
        match (&self.columns, first_columns(table, width)) {
            (None, columns @ Some(_)) => Self { columns, ..self.clone() }.positions(table),
            _ => self.positions(table),
        }
    }

    fn positions(&self, table: &Table) -> Result<Vec<usize>> {
        let definition = &table.definition;
        let Some(columns) = &self.columns else { return Ok((0..definition.columns.len()).collect()) };
        let mut positions: Vec<usize> = Vec::with_capacity(columns.len());
        for name in columns {
            let position = definition.position(name).map_err(as_sql_error)?;
            if positions.contains(&position) {
                return Err(sql_error(format!("column {name} appears twice in the INSERT into {}", definition.name)));
            }
            positions.push(position);
        }
        let missing = |(position, column): (usize, _)| {
            let column: &Column = column;
            let has_value = column.nullable || column.has_default_value() || column.identity.is_some();
            let has_value = has_value || column.sequence.is_some() || positions.contains(&position);
            (!has_value).then_some(column)
        };
        match definition.columns.iter().enumerate().find_map(missing) {
            Some(column) => Err(Error::invalid(format!(
                "table {}: column {} is NOT NULL, and the INSERT gives it no value",
                definition.name, column.name
            ))),
            None => Ok(positions),
        }
    }
}

/// The first columns of a table that has more of them.
pub(crate) fn first_columns(table: &Table, width: usize) -> Option<Vec<String>> {
    let columns = &table.definition.columns;
    let is_part = width > 0 && width < columns.len();
    is_part.then(|| columns.iter().take(width).map(|column| column.name.clone()).collect())
}

/// The number of columns of a query, as far as its text shows it.
fn width_of(rows: &SetExpr) -> Option<usize> {
    match rows {
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        SetExpr::Query(query) => width_of(&query.body),
        SetExpr::SetOperation { left, .. } => width_of(left),
        SetExpr::Select(select) => {
            let is_one =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_one).then_some(select.projection.len())
        }
        _ => None,
    }
}
