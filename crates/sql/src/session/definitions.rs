//! Declarations: tables created from queries, changes of tables, indexes.

use super::schemas::require_schema;
use super::show::{describe, describe_query};
use super::state::Session;
use crate::ddl::alter::{added_count, altered};
use crate::ddl::constraint_changes::{drop_index, index_names, refuse_index_of_constraint};
use crate::ddl::constraints::{add_unique, check_index_type, column_ids, column_names};
use crate::ddl::create_table::{on_commit, refuse_other_clauses, table_options};
use crate::ddl::from_query::{definition_of, named, names_of_columns, with_room};
use crate::ddl::identity::AlterIdentity;
use crate::ddl::view_columns::ColumnChange;
use crate::ddl::views::{RenameView, materialized_as, without_data_clause};
use crate::dml::target::Target;
use crate::plan::files::QueryFiles;
use crate::run::answer::{Answer, AnswerRows};
use crate::run::describe::describe as describe_statement;
use crate::run::query::Query;
use crate::run::worker::Started;
use crate::write::insert::append_rows;
use atsdb_core::name::unknown_name;
use atsdb_core::{Column, CurrentTimes, ErrorKind, Index, Result, Table, TableDefinition, Unique, Value};
use atsdb_dialect::parse::query_text::query_of;
use atsdb_dialect::parse::refuse::refuse_unsupported;
use atsdb_dialect::parse::statement::parse_declaring;
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::select_into::SelectInto;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{NamedSchema, Scope, TableName, exact_name, refuse_sequence};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, CascadeOption, CreateIndex, CreateTable, ObjectName, Statement as Ast, Truncate,
    TruncateIdentityOption,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::Tokenizer;

impl Session {
    /// The rows of a query, which runs until they are dropped.
    pub(super) fn rows_of(&self, text: &str, position: SourcePosition, parameters: &Parameters) -> Result<AnswerRows> {
        let query = self.question(text, position, parameters, self.query_files())?;
        let Started { rows, .. } = self.worker.start(query, &self.interrupt)?;
        Ok(AnswerRows::query(rows))
    }

    /// The columns of a query of tables, which is planned but not run: it might change sequences.
    pub(super) fn columns_of(&self, text: &str, position: SourcePosition) -> Result<SchemaRef> {
        self.planned_columns(self.question(text, position, &Parameters::none(), None)?)
    }

    fn planned_columns(&self, query: Query) -> Result<SchemaRef> {
        Ok(self.worker.plan(move |state| describe_statement(&query, state))?.schema)
    }

    fn question(
        &self,
        text: &str,
        position: SourcePosition,
        parameters: &Parameters,
        files: Option<QueryFiles>,
    ) -> Result<Query> {
        let (snapshot, _) = self.snapshot()?;
        let (text, parameters) = (text.to_owned(), parameters.clone());
        Ok(Query { text, position, parameters, snapshot, files, scope: None })
    }

    /// `CREATE TABLE ... AS`: the table and its rows appear together.
    pub(super) fn create_table_as(
        &self,
        statement: &Statement,
        create: &CreateTable,
        parameters: &Parameters,
    ) -> Result<Answer> {
        let Some((text, position)) = query_of(statement.text(), statement.position())? else {
            return Err(sql_error("CREATE TABLE without columns"));
        };
        let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location();
        let tokens = tokens.map_err(|error| sql_error(error.to_string()))?;
        let (query, with_data) = without_data_clause(text, &tokens);
        self.create_table_of((query, position), with_data, create, parameters)
    }

    /// `SELECT ... INTO table`, which means `CREATE TABLE table AS SELECT ...`.
    pub(super) fn select_into(
        &self,
        into: &SelectInto,
        position: SourcePosition,
        parameters: &Parameters,
    ) -> Result<Answer> {
        let declaration = format!("{} AS SELECT 1", into.declaration);
        refuse_unsupported(&declaration)?;
        let Ast::CreateTable(create) = parse_declaring(&declaration, position, &Parameters::none())? else {
            return Err(not_supported("this INTO of a SELECT").with_hint("write CREATE TABLE ... AS SELECT ..."));
        };
        self.create_table_of((into.query.as_str(), position), true, &create, parameters)
    }

    /// Creates a table from a query, which has a text and a position. Without data, the query does not run.
    fn create_table_of(
        &self,
        (query, position): (&str, SourcePosition),
        with_data: bool,
        create: &CreateTable,
        parameters: &Parameters,
    ) -> Result<Answer> {
        let mut without_query = create.clone();
        without_query.query = None;
        refuse_other_clauses(&without_query)?;
        let on_commit = on_commit(create)?;
        if !create.columns.is_empty() || !create.constraints.is_empty() {
            return Err(not_supported("CREATE TABLE (...) AS")
                .with_hint("leave the columns out, or CREATE TABLE first and INSERT INTO it SELECT ..."));
        }
        let new = self.new_name(&create.name, create.temporary)?;
        let name = new.shown();
        if self.of_same_kind(&new, create.temporary)?.is_some() {
            return match create.if_not_exists {
                true => {
                    self.skip_existing(&create.name);
                    Ok(Answer::Done { verb: "CREATE TABLE", row_count: None })
                }
                false => {
                    let message = format!("a table named {name} already exists");
                    Err(atsdb_core::Error::new(ErrorKind::Exists, message))
                }
            };
        }
        let rows = if with_data { Some(self.rows_of(query, position, parameters)?) } else { None };
        let schema = match &rows {
            Some(rows) => rows.schema(),
            None => self.planned_columns(self.question(query, position, parameters, self.query_files())?)?,
        };
        let schema = with_room(&schema, || self.computed_columns(query, position, parameters))?;
        let schema = named(schema, names_of_columns(create))?;
        let definition = new.give(definition_of(&name, &schema)?);
        let definition = table_options(create)?.apply(definition).map_err(as_sql_error)?;
        definition.check().map_err(as_sql_error)?;
        self.with_batch(|batch| {
            let table = match on_commit {
                Some(on_commit) => batch.create_temporary(&definition, on_commit)?,
                None => {
                    require_schema(batch, &definition)?;
                    batch.create_table(&definition)?
                }
            };
            let row_count = rows.map(|rows| append_rows(batch, &table, &Target::all_of(&table), rows)).transpose()?;
            Ok(Answer::Done { verb: "CREATE TABLE", row_count })
        })
    }

    /// Returns for each column of a query whether it is computed.
    pub(super) fn computed_columns(
        &self,
        text: &str,
        position: SourcePosition,
        parameters: &Parameters,
    ) -> Result<Vec<bool>> {
        let query = self.question(text, position, parameters, self.query_files())?;
        self.worker.plan(move |state| describe_statement(&query, state).map(|described| described.computed))
    }

    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<Answer> {
        let done = Answer::Done { verb: "ALTER TABLE", row_count: None };
        if alter.on_cluster.is_some() || alter.location.is_some() || alter.table_type.is_some() {
            return Err(not_supported("a clause of this ALTER TABLE"));
        }
        if let Some(rename) = self.rename_of_view(alter) {
            return self.rename_view(&rename).map(|_| done);
        }
        let altered = self.retried(|| {
            let table = match self.base_table(&alter.name) {
                Err(error) if alter.if_exists && error.kind() == ErrorKind::Sql => {
                    self.skip_missing("relation", &alter.name);
                    return Ok(None);
                }
                table => table?,
            };
            let from = self.engine.with_unused_numbers(&table, added_count(&alter.operations))?;
            let times = self.interrupt.times().unwrap_or_else(|| CurrentTimes::at(self.engine.now_us()));
            let mut skipped = Vec::new();
            let mut definition = altered(&from, &alter.operations, times, &mut skipped)?;
            skipped.into_iter().for_each(|skipped| self.note_skipped(skipped));
            self.find_sequences(&mut definition, Some(&table))?;
            self.find_enumerations(&mut definition, Some(&table))?;
            self.find_parents(&mut definition, Some(&table))?;
            for column in &mut definition.columns {
                self.enter_missing(&table, column)?;
            }
            if definition != from {
                self.check_conditions(&definition)?;
            }
            match definition == from {
                true => Ok(None),
                false => self.put_definition(&table, definition).map(Some),
            }
        })?;
        altered.map_or(Ok(()), |(table, new)| self.build(&table, &new))?;
        Ok(done)
    }

    /// The other name of a view or its column that an `ALTER TABLE` gives; `None` if it does something else.
    fn rename_of_view(&self, alter: &AlterTable) -> Option<RenameView> {
        let [operation @ (AlterTableOperation::RenameTable { .. } | AlterTableOperation::RenameColumn { .. })] =
            alter.operations.as_slice()
        else {
            return None;
        };
        let is_view = self.table(&alter.name).is_ok_and(|table| table.definition.view.is_some());
        let (name, operation) = (alter.name.clone(), operation.clone());
        is_view.then_some(RenameView { kind: RelationKind::View, name, if_exists: alter.if_exists, operation })
    }

    /// Puts a definition in the place of a table's, and returns the table and its new indexes, which have no pages
    /// yet.
    pub(super) fn put_definition(&self, table: &Table, definition: TableDefinition) -> Result<(Table, Vec<Index>)> {
        let definition = materialized_as(&table.definition, definition)?;
        self.check_rollups(table, &definition)?;
        let columns = ColumnChange::between(&table.definition, &definition);
        let views = self.views_after(table, &definition, &columns)?;
        self.check_sequence_names(&definition)?;
        let is_new = |index: &&Index| !table.definition.indexes.contains(index);
        let new = definition.indexes.iter().filter(is_new).cloned().collect();
        Ok((self.redefine_with_views(table, definition, views, &[])?, new))
    }

    /// Turns the text that older rows have in a new mapped column into its index.
    fn enter_missing(&self, table: &Table, column: &mut Column) -> Result<()> {
        if let (Some(width), Some(Value::Text(text))) = (column.map, &column.missing) {
            let indices = self.engine.store().map_values(table.id, column.id, width.capacity(), &[text.as_bytes()])?;
            column.missing = indices.first().map(|index| Value::UInt(u64::from(*index)));
        }
        Ok(())
    }

    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<Answer> {
        let done = Answer::Done { verb: "CREATE INDEX", row_count: None };
        check_index_type(create.using.as_ref())?;
        if create.concurrently {
            self.refuse_in_transaction("CREATE INDEX CONCURRENTLY")?;
        }
        let refused = [
            (create.predicate.is_some(), "an index with WHERE", "leave it out"),
            (!create.with.is_empty(), "an index WITH options", "leave them out"),
            (create.nulls_distinct.is_some() && !create.unique, "NULLS DISTINCT", "leave it out"),
        ];
        if let Some((_, what, hint)) = refused.into_iter().find(|(found, ..)| *found) {
            return Err(not_supported(what).with_hint(hint));
        }
        let name = create.name.as_ref().map(index_name).transpose()?;
        let created = self.retried(|| {
            let table = self.base_table(&create.table_name)?;
            let mut definition = table.definition.clone();
            let is_taken = |name: &&String| definition.index(name).is_some() || definition.key_position(name).is_some();
            if let Some(name) = name.as_ref().filter(is_taken) {
                return match create.if_not_exists {
                    true => {
                        if let Some(name) = &create.name {
                            self.skip_existing(name);
                        }
                        Ok(None)
                    }
                    false => {
                        let message = format!("table {} already has an index named {name}", definition.name);
                        Err(atsdb_core::Error::new(ErrorKind::Exists, message))
                    }
                };
            }
            let columns = column_names(&create.columns, !create.unique)?;
            let columns = column_ids(&definition, &columns).map_err(as_sql_error)?;
            // INCLUDE has no effect, but its columns must exist.
            for included in &create.include {
                definition.column(&included.value).map_err(as_sql_error)?;
            }
            match create.unique {
                true => {
                    let (name, nulls_equal) = (name.clone(), create.nulls_distinct == Some(false));
                    add_unique(&mut definition, Unique { name, nulls_equal, index: true, ..Unique::new(columns) });
                }
                false => drop(definition.add_index(name.as_deref(), columns)),
            }
            definition.check().map_err(as_sql_error)?;
            self.put_definition(&table, definition).map(Some)
        })?;
        created.map_or(Ok(()), |(table, new)| self.build(&table, &new))?;
        Ok(done)
    }

    /// `DROP INDEX name [ON table]`. Without a schema and a table, the index is that of the first schema of the search
    /// path that has one of this name, and only one table of this schema may have it. The index of a constraint is
    /// dropped with the constraint; with a table, as MySQL writes it, `DROP INDEX` drops the constraint. If one of
    /// several indexes cannot be dropped, none is.
    pub(super) fn drop_index(
        &self,
        names: &[ObjectName],
        table: Option<&ObjectName>,
        if_exists: bool,
    ) -> Result<Answer> {
        self.retried(|| self.drop_indexes_once(names, table, if_exists))?;
        Ok(Answer::Done { verb: "DROP INDEX", row_count: None })
    }

    fn drop_indexes_once(&self, names: &[ObjectName], table: Option<&ObjectName>, if_exists: bool) -> Result<()> {
        let before = match table {
            Some(name) => vec![self.base_table(name)?],
            None => self.tables()?,
        };
        let path = self.search_path();
        // With the definitions that the statement leaves.
        let mut tables = before.clone();
        for name in names {
            let (written, named) = (name, TableName::of(name)?);
            let schemas = if table.is_some() { vec![named.schema.clone()] } else { named.schemas(&path) };
            let name = named.name;
            let holds = |of: &TableDefinition| of.index(&name).is_some() || of.key_position(&name).is_some();
            let all_holders: Vec<usize> = (0..tables.len()).filter(|at| holds(&tables[*at].definition)).collect();
            let holders_in = |schema: &NamedSchema| {
                all_holders.iter().copied().filter(|at| schema.has(&tables[*at])).collect::<Vec<usize>>()
            };
            let found = schemas.iter().map(holders_in).find(|holders| !holders.is_empty());
            match found.unwrap_or_default().as_slice() {
                [holder] => {
                    if table.is_none() {
                        refuse_index_of_constraint(&tables[*holder], &name)?;
                    }
                    drop_index(&mut tables[*holder].definition, &name)?;
                }
                [] if if_exists => self.skip_missing("index", written),
                [] => {
                    let searched = tables.iter().filter(|table| schemas.iter().any(|schema| schema.has(table)));
                    let names: Vec<String> = searched.flat_map(|table| index_names(&table.definition)).collect();
                    let unknown = as_sql_error(unknown_name("index", &name, names.iter().map(String::as_str)));
                    return Err(match all_holders.as_slice() {
                        [] => unknown,
                        [other, ..] => unknown.with_hint(format!(
                            "table {} has one of this name: write its schema, too",
                            exact_name(&tables[*other])
                        )),
                    });
                }
                holders @ [first, ..] => {
                    return Err(sql_error(format!("{} tables have an index named {name}", holders.len()))
                        .with_hint(format!("say which: DROP INDEX {name} ON {}", exact_name(&tables[*first]))));
                }
            }
        }
        self.with_batch(|batch| {
            let mut changed = before.iter().zip(&tables).filter(|(from, to)| from.definition != to.definition);
            changed.try_for_each(|(from, to)| batch.redefine(from, to.definition.clone()).map(drop))
        })
    }

    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Answer> {
        if truncate.partitions.is_some() || truncate.on_cluster.is_some() {
            return Err(not_supported("a clause of this TRUNCATE"));
        }
        let mut tables = Vec::new();
        for target in &truncate.table_names {
            match self.base_table(&target.name) {
                Err(error) if truncate.if_exists && error.kind() == ErrorKind::Sql => {}
                table => tables.push(table?),
            }
        }
        let tables = self.with_children(tables, truncate.cascade == Some(CascadeOption::Cascade))?;
        self.empty(&tables, truncate.identity == Some(TruncateIdentityOption::Restart))?;
        Ok(Answer::Done { verb: "TRUNCATE", row_count: None })
    }

    /// `ALTER TABLE ... ALTER COLUMN`, or `ALTER SEQUENCE`, of an identity column.
    pub(super) fn alter_identity(&self, alter: &AlterIdentity) -> Result<Answer> {
        let path = self.search_path();
        self.retried(|| match alter.apply(Scope { tables: &self.tables()?, path: &path })? {
            Some((table, mut definition)) if definition != table.definition => {
                self.numbers.begin_counters(&table, &mut definition)?;
                self.put_definition(&table, definition).map(drop)
            }
            Some(_) => Ok(()),
            None => {
                self.skip_missing("relation", alter.relation());
                Ok(())
            }
        })?;
        Ok(Answer::Done { verb: alter.verb(), row_count: None })
    }

    /// A table whose identity columns begin where counting continues now: what its declaration says to a new store.
    pub(super) fn continued(&self, table: Table) -> Result<Table> {
        self.engine.continued(table)
    }

    /// The columns of a table, or those of a view's query.
    pub(super) fn describe(&self, name: &ObjectName) -> Result<Answer> {
        let table = self.table(name)?;
        match &table.definition.view {
            None => describe(&table.definition),
            Some(_) => {
                let text = format!("SELECT * FROM {}", exact_name(&table));
                describe_query(&self.columns_of(&text, SourcePosition::START)?)
            }
        }
    }

    /// A table that has its own rows.
    pub(super) fn base_table(&self, name: &ObjectName) -> Result<Table> {
        let table = self.table(name)?;
        refuse_sequence(&table)?;
        match table.definition.view {
            Some(_) => Err(sql_error(format!("{} is a view", table.definition.name))
                .with_hint("CREATE OR REPLACE VIEW changes it")),
            None => Ok(table),
        }
    }
}

/// The name of a new index, which is in the schema of its table.
fn index_name(name: &ObjectName) -> Result<String> {
    TableName::of(name).map(|name| name.name)
}
