//! Declarations of views.

use super::state::Session;
use crate::ddl::from_query::check_names;
use crate::ddl::view_columns::ColumnChange;
use crate::ddl::views::{check_replacement, with_columns};
use crate::run::answer::Answer;
use atsdb_core::name::same_name;
use atsdb_core::{ErrorKind, Result, Table, TableDefinition};
use atsdb_dialect::parse::named_schemas::with_schemas;
use atsdb_dialect::parse::query_text::{query_of, relations_of};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{NamedSchema, Scope, exact_name};
use atsdb_engine::{OnCommit, TemporaryTables};
use datafusion::sql::sqlparser::ast::{CreateTableOptions, CreateView, Query as ParsedQuery};

impl Session {
    /// `CREATE VIEW`. The query is planned once, so that a view that cannot be read is refused.
    pub(super) fn create_view(&self, statement: &Statement, create: &CreateView) -> Result<Answer> {
        refuse_clauses_of_view(create)?;
        self.retried(|| self.create_view_once(statement, create))
    }

    fn create_view_once(&self, statement: &Statement, create: &CreateView) -> Result<Answer> {
        let new = self.new_name(&create.name, create.temporary)?;
        let name = new.shown();
        let tables = self.tables()?;
        let text = with_schemas(statement.text(), &create.query, Scope { tables: &tables, path: &self.search_path() });
        let Some((query, position)) = query_of(&text, statement.position())? else {
            return Err(sql_error("CREATE VIEW without a query"));
        };
        let renamed = match renamed_columns(create, query) {
            None if text != statement.text() => self.named_as_written(statement, query, position)?,
            renamed => renamed,
        };
        let query = renamed.as_deref().unwrap_or(query);
        let columns = self.columns_of(query, position)?;
        check_names(&format!("view {name}"), &columns)?;
        if columns.fields().is_empty() {
            return Err(sql_error(format!("view {name} has no columns")).with_hint("name some after SELECT"));
        }
        if let Some(read) = self.temporary_read_by(&create.query)?.filter(|_| !create.temporary) {
            return Err(sql_error(format!("view {name} would read the temporary table {read}"))
                .with_hint("CREATE TEMPORARY VIEW declares a view for this session"));
        }
        let query = self.with_present_columns(query, &columns)?;
        let definition = new.give(TableDefinition::new_view("", query));
        let existing = self.of_same_kind(&new, create.temporary)?;
        match &existing {
            Some(table) if create.or_replace && table.definition.view.is_some() => {
                let all = format!("SELECT * FROM {}", exact_name(table));
                let mut views = Vec::new();
                // A view that cannot be read any more has no columns to keep.
                if let Ok(before) = self.columns_of(&all, SourcePosition::START) {
                    check_replacement(&before, &columns)?;
                    views = self.views_after(table, &definition, &ColumnChange::extending(&before, &columns))?;
                }
                let seen: &[Table] = if create.temporary { &[] } else { &tables };
                self.redefine_with_views(table, definition, views, seen)?;
            }
            Some(_) if create.if_not_exists => self.skip_existing(&create.name),
            Some(table) => {
                let kind = RelationKind::of(&table.definition);
                let message = format!("a {} named {name} already exists", kind.noun());
                let error = atsdb_core::Error::new(ErrorKind::Exists, message);
                return Err(match kind {
                    RelationKind::View => error.with_hint("CREATE OR REPLACE VIEW puts the new one in its place"),
                    _ => error,
                });
            }
            None => {
                definition.check().map_err(as_sql_error)?;
                if create.temporary {
                    self.create_kept(&definition, Some(OnCommit::default()))?;
                } else {
                    self.create_stored_view(&definition, &tables)?;
                }
            }
        }
        Ok(Answer::Done { verb: "CREATE VIEW", row_count: None })
    }

    /// The query of a view, in which tables are named with their schemas, with its columns named as if they were not.
    /// `None` if the names are the same.
    fn named_as_written(&self, statement: &Statement, query: &str, position: SourcePosition) -> Result<Option<String>> {
        let Some((written, start)) = query_of(statement.text(), statement.position())? else { return Ok(None) };
        let (written, present) = (self.columns_of(written, start)?, self.columns_of(query, position)?);
        let is_same = written.fields().iter().zip(present.fields()).all(|(one, other)| one.name() == other.name());
        Ok((!is_same).then(|| with_columns(query, written.fields().iter().map(|field| field.name().as_str()))))
    }

    /// The name of a temporary table or view that a query reads.
    pub(super) fn temporary_read_by(&self, query: &ParsedQuery) -> Result<Option<String>> {
        let mut tables = self.tables()?;
        tables.retain(TemporaryTables::contain);
        if tables.is_empty() {
            return Ok(None);
        }
        let mut names = relations_of(query);
        names.retain(|name| matches!(name.schema, NamedSchema::Unsaid | NamedSchema::Temporary));
        let is_read = |table: &&Table| names.iter().any(|name| same_name(&name.name, &table.definition.name));
        Ok(tables.iter().find(is_read).map(|table| table.definition.name.clone()))
    }
}

/// The query of a view whose columns are named before `AS`.
fn renamed_columns(create: &CreateView, query: &str) -> Option<String> {
    if create.columns.is_empty() {
        return None;
    }
    Some(with_columns(query, create.columns.iter().map(|column| column.name.value.as_str())))
}

/// Refuses clauses of `CREATE VIEW` that change what a view is.
fn refuse_clauses_of_view(create: &CreateView) -> Result<()> {
    if create.materialized {
        return Err(sql_error("syntax error at or near \"MATERIALIZED\"")
            .with_hint("a materialized view is neither temporary nor replaced: write CREATE MATERIALIZED VIEW"));
    }
    let refused = [
        (create.columns.iter().any(|column| column.options.is_some()), "options of its columns"),
        (create.or_alter || create.secure || create.to.is_some() || create.params.is_some(), "a clause"),
        (create.options != CreateTableOptions::None || !create.cluster_by.is_empty(), "WITH"),
        (create.with_no_schema_binding || create.copy_grants, "a clause after the query"),
    ];
    if let Some((_, what)) = refused.into_iter().find(|(found, _)| *found) {
        return Err(not_supported(format_args!("CREATE VIEW with {what}")).with_hint("write CREATE VIEW v AS SELECT"));
    }
    Ok(())
}
