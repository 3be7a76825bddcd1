//! `*` and `u.*` in `RETURNING` beside other tables, as in `UPDATE t ... FROM u ... RETURNING *`: they are written as
//! the columns of these tables.

use atsdb_core::Table;
use atsdb_core::name::same_name;
use atsdb_dialect::text::identifiers::Spellings;
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins,
    WildcardAdditionalOptions,
};

/// The other tables of a statement, with their names in it.
pub(super) struct OtherTables<'a>(Vec<(Ident, &'a Table)>);

impl<'a> OtherTables<'a> {
    /// The tables that a statement names; `None` if there are queries, views or joins among them, whose columns are not
    /// known before the statement is planned.
    pub(super) fn of(others: &[TableWithJoins], tables: &'a [Table]) -> Option<Self> {
        let named = |other: &TableWithJoins| match &other.relation {
            TableFactor::Table { name, alias, args: None, .. } if other.joins.is_empty() => {
                let table = TableName::of(name).ok()?.find(tables)?;
                let definition = &table.definition;
                if definition.view.is_some() || definition.rollup.is_some() || definition.sequence {
                    return None;
                }
                let shown = match alias {
                    Some(alias) if alias.columns.is_empty() => alias.name.clone(),
                    Some(_) => return None,
                    None => name.0.last()?.as_ident()?.clone(),
                };
                Some((shown, table))
            }
            _ => None,
        };
        others.iter().map(named).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Writes the stars as columns. `alias` is the name of the table that changes, whose columns come first.
    pub(super) fn write_stars(&self, items: &mut Vec<SelectItem>, alias: &Ident, spellings: &Spellings) {
        for item in std::mem::take(items) {
            match &item {
                SelectItem::Wildcard(options) if is_plain(options) => {
                    let name = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![alias.clone()]));
                    items.push(SelectItem::QualifiedWildcard(name, options.clone()));
                    for (name, table) in &self.0 {
                        items.extend(columns(name, table, spellings));
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if let Some((name, table)) = self.named(name).filter(|_| is_plain(options)) =>
                {
                    items.extend(columns(name, table, spellings));
                }
                _ => items.push(item),
            }
        }
    }

    fn named(&self, name: &ObjectName) -> Option<&(Ident, &'a Table)> {
        let last = name.0.last()?.as_ident()?;
        self.0.iter().find(|(other, _)| same_name(&other.value, &last.value))
    }
}

/// Returns whether a star has no `EXCLUDE` or the like after it.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    *options == WildcardAdditionalOptions::default()
}

fn columns(name: &Ident, table: &Table, spellings: &Spellings) -> Vec<SelectItem> {
    let column = |column: &str| Expr::CompoundIdentifier(vec![name.clone(), Ident::new(spellings.spell(column))]);
    let columns = table.definition.columns.iter();
    columns.map(|of_table| SelectItem::UnnamedExpr(column(&of_table.name))).collect()
}
