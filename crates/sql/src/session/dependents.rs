//! The materialized views that read tables which are to be dropped.

use super::state::Session;
use atsdb_core::{Result, Table, TableDefinition, TableId};
use atsdb_dialect::parse::query_text::relations_of;
use atsdb_dialect::parse::statement::parse_declaring;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::source_position::SourcePosition;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::collections::BTreeSet;

impl Session {
    /// Adds the materialized views that read tables which are to be dropped, before the tables. Without `cascade`,
    /// materialized views that are not among the tables are an error.
    pub(super) fn with_materialized(&self, mut dropped: Vec<Table>, cascade: bool) -> Result<Vec<Table>> {
        let all = self.tables()?;
        let mut others: Vec<&Table> = all.iter().filter(|table| table.definition.materialized.is_some()).collect();
        loop {
            let ids: BTreeSet<TableId> = dropped.iter().map(|table| table.id).collect();
            others.retain(|table| !ids.contains(&table.id));
            let reads_one = |view: &&Table| tables_read_by(view, &all).into_iter().find(|read| ids.contains(&read.id));
            let Some((view, read)) = others.iter().find_map(|view| Some((*view, reads_one(view)?))) else {
                return Ok(dropped);
            };
            if !cascade {
                let kind = RelationKind::of(&read.definition);
                let (name, view) = (&read.definition.name, &view.definition.name);
                let message = format!("cannot drop {} {name} because other objects depend on it", kind.noun());
                return Err(sql_error(format!("{message}: materialized view {view}"))
                    .with_hint(format!("{} ... CASCADE drops it, too", kind.drop_verb())));
            }
            dropped.insert(0, view.clone());
        }
    }
}

/// The tables that the query of a view names, and those that views among them read.
fn tables_read_by<'a>(view: &Table, all: &'a [Table]) -> Vec<&'a Table> {
    let (mut read, mut seen) = (named_by(&view.definition, all), BTreeSet::new());
    let mut at = 0;
    while let Some(table) = read.get(at).copied() {
        at += 1;
        if seen.insert(table.id) && table.definition.view.is_some() {
            read.extend(named_by(&table.definition, all));
        }
    }
    read
}

/// The tables that the stored query of a view names.
fn named_by<'a>(definition: &TableDefinition, all: &'a [Table]) -> Vec<&'a Table> {
    let of_view = definition.view.as_ref().map(|view| &view.query);
    let query = of_view.or_else(|| definition.materialized.as_ref().map(|materialized| &materialized.query));
    let parsed = query.and_then(|query| parse_declaring(query, SourcePosition::START, &Parameters::none()).ok());
    match parsed {
        Some(Ast::Query(query)) => relations_of(&query).iter().filter_map(|name| name.find(all)).collect(),
        _ => Vec::new(),
    }
}
