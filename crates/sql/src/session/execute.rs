//! Dispatches statements to the parts of the session that execute them.

use super::insert_on_conflict::may_have_conflict_clause;
use super::schemas::is_search_path;
use super::show::{describe_query, show_create, show_functions, show_tables};
use super::state::Session;
use super::transaction::TransactionStatement;
use crate::ddl::absent_objects::DropAbsent;
use crate::ddl::alter_constraint::AlterConstraints;
use crate::ddl::create_table::{notice_of_time, on_commit, table_definition};
use crate::ddl::enumerations::EnumerationStatement;
use crate::ddl::identity::AlterIdentity;
use crate::ddl::schemas::SchemaChange;
use crate::ddl::sequences::SequenceStatement;
use crate::ddl::set_constraints::SetConstraints;
use crate::ddl::unkept::UnkeptChange;
use crate::ddl::views::ViewStatement;
use crate::dml::target::Target;
use crate::resident::plain_select::PlainSelect;
use crate::rollup::syntax::RollupStatement;
use crate::run::answer::{Answer, AnswerRows, ColumnsCheck};
use crate::run::function_hints::with_function_hint;
use crate::run::permission::Permission;
use crate::run::query::Query;
use crate::run::worker::{Started, read_directly};
use crate::scan::direct::ReadLength;
use crate::write::insert::append_rows;
use atsdb_core::{ErrorKind, Result, Table};
use atsdb_dialect::functions::session::advisory_locks::is_lock_function;
use atsdb_dialect::functions::session::sequences::CHANGING;
use atsdb_dialect::parse::refuse::{is_load_data, refuse_unsupported, refused};
use atsdb_dialect::parse::statement::parse_declaring;
use atsdb_dialect::parse::with_clause::main_word;
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error, with_statement_hint};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::recursive_views::plain_view;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::select_into::{SelectInto, is_select_into};
use atsdb_dialect::text::table_names::{Scope, TableName, unknown_table};
use atsdb_dialect::text::verbs::{VerbKind, verb_kind, verb_of};
use atsdb_dialect::text::words::{Word, Words};
use atsdb_engine::Batch;
use datafusion::sql::sqlparser::ast::{
    CreateTable, Expr, ObjectName, ObjectType, Set, ShowCreateObject, ShowStatementOptions, Statement as Ast,
};
use std::sync::atomic::Ordering;

impl Session {
    /// Executes one statement. `params` are names and texts for the `$name`s in it. Each becomes a literal: a number if
    /// the text is one and is not compared with text, otherwise text. Errors: [`ErrorKind::Sql`] for an invalid or
    /// unsupported statement, [`ErrorKind::InvalidValue`] for values that do not fit, [`ErrorKind::Resources`],
    /// [`ErrorKind::Interrupted`], and the errors of the engine.
    pub fn execute(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        self.execute_with(statement, &Parameters::Texts(params.into()), &|_| Ok(()))
    }

    /// Executes a statement. If it changes rows and answers with rows, nothing is committed before `check` has accepted
    /// the columns of the answer.
    pub(super) fn execute_with(
        &self,
        statement: &Statement,
        parameters: &Parameters,
        check: ColumnsCheck<'_>,
    ) -> Result<Answer> {
        self.interrupt.reset();
        self.begin_times();
        let answer = self.execute_once(statement, parameters, check).map_err(with_function_hint);
        let answer = answer.map_err(|error| with_statement_hint(error, statement.text()));
        if answer.is_err() && may_change(statement.text()) {
            self.fail_transaction();
        }
        answer
    }

    fn execute_once(&self, statement: &Statement, parameters: &Parameters, check: ColumnsCheck<'_>) -> Result<Answer> {
        if let Some(into) = SelectInto::read(statement.text()) {
            self.require(Permission::Define)?;
            self.skipped.lock().clear();
            return self.select_into(&into, statement.position(), parameters);
        }
        let word = main_word(statement.text());
        self.require(Permission::needed(&word))?;
        if let Some(row_count) = self.insert_literals(statement.text(), parameters)? {
            return Ok(Answer::Done { verb: "INSERT", row_count: Some(row_count) });
        }
        if let Some(answer) = self.with_changes(statement, parameters, check)? {
            return Ok(answer);
        }
        match word.as_str() {
            "INSERT" | "REPLACE" if may_have_conflict_clause(statement.text()) => {
                self.insert_on_conflict(statement, parameters, check)
            }
            // Its rows may have been read before the definition of the table changed.
            "INSERT" | "REPLACE" => self.retried(|| self.query(statement, parameters)),
            "UPDATE" | "DELETE" | "MERGE" => self.change(statement, parameters, check),
            "SELECT" => self.select(statement, parameters),
            "WITH" | "VALUES" | "FROM" | "TABLE" | "EXPLAIN" | "" => self.query(statement, parameters),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => {
                match TransactionStatement::of(statement.text())? {
                    Some(bracket) => self.bracket(bracket),
                    None => self.declare(statement, parameters),
                }
            }
            "SUMMARIZE" => self.summarize(statement),
            "DESCRIBE" | "DESC" => self.describe_statement(statement, parameters),
            "CHECKPOINT" => self.checkpoint(statement.text(), statement.position()),
            _ => self.declare(statement, parameters),
        }
    }

    fn select(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        let query = self.query_of(statement, parameters)?;
        let has_tables_in_memory = query.snapshot.tables().iter().any(|table| table.definition.is_in_memory());
        if has_tables_in_memory
            && let Some(plain) = PlainSelect::read(statement.text())
            && let Some(table) = plain.table(Scope::of(&query.snapshot))
            && let Some(rows) = plain.answer(&query.snapshot, table)?
        {
            return Ok(Answer::Rows(AnswerRows::fixed(rows)));
        }
        let Some(direct) = self.worker.plans().direct_read(&query) else { return self.query_with_constants(query) };
        match read_directly(&direct, &query.snapshot, &query.parameters, ReadLength::Any, &self.interrupt)? {
            Some(batches) => {
                self.interrupt.check()?;
                Ok(Answer::Rows(AnswerRows::read(direct.schema(), batches)))
            }
            // The read that queries with its template are needs a plan with its constants, too.
            None => self.run_query(query),
        }
    }

    pub(super) fn query(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        self.run_query(self.query_of(statement, parameters)?)
    }

    fn query_of(&self, statement: &Statement, parameters: &Parameters) -> Result<Query> {
        let (snapshot, scope) =
            if reads_no_table(statement.text()) { self.passing_snapshot()? } else { self.snapshot()? };
        let (text, position, parameters) = (statement.text().to_owned(), statement.position(), parameters.clone());
        Ok(Query { text, position, parameters, snapshot, files: self.query_files(), scope: Some(scope) })
    }

    pub(super) fn run_query(&self, query: Query) -> Result<Answer> {
        let has_effects = has_effects(&query.text);
        let Started { insert, change, rows, .. } = self.worker.start(query, &self.interrupt)?;
        let rows = AnswerRows::query(rows);
        if let Some(change) = change {
            return Err(not_supported(format_args!("{} in this form", change.verb)));
        }
        match insert {
            Some(target) => {
                self.require(Permission::Change)?;
                self.insert_rows(&target, rows)
            }
            // Rows that nobody reads are not computed, and the effects must not depend on that.
            None if has_effects => Ok(Answer::Rows(AnswerRows::read(rows.schema(), rows.collect::<Result<_>>()?))),
            None => Ok(Answer::Rows(rows)),
        }
    }

    /// Inserts the rows of a query, by position.
    fn insert_rows(&self, target: &Target, rows: AnswerRows) -> Result<Answer> {
        let (table, _) = target.resolve_among(&self.tables()?)?;
        self.insert(|batch| append_rows(batch, &table, target, rows))
    }

    /// Runs a function that appends rows. The result counts them, without those that are left out because their key
    /// exists.
    pub(super) fn insert(&self, append: impl FnOnce(&mut Batch) -> Result<u64>) -> Result<Answer> {
        let (row_count, before, skipped_rows) = self.with_batch(|batch| {
            let skipped_rows = batch.skipped_rows();
            let before = skipped_rows.load(Ordering::Relaxed);
            Ok((append(batch)?, before, skipped_rows))
        })?;
        let skipped_rows = skipped_rows.load(Ordering::Relaxed) - before;
        Ok(Answer::Done { verb: "INSERT", row_count: Some(row_count.saturating_sub(skipped_rows)) })
    }

    fn declare(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        self.skipped.lock().clear();
        let recursive = plain_view(statement);
        let statement = recursive.as_ref().unwrap_or(statement);
        match main_word(statement.text()).as_str() {
            "COPY" => return self.copy(statement.text(), statement.position(), parameters),
            "LOAD" if is_load_data(statement.text()) => return self.load(statement.text(), statement.position()),
            _ => {}
        }
        if let Some(dropped) = DropAbsent::of(statement.text()) {
            return Ok(self.drop_absent(dropped));
        }
        refuse_unsupported(statement.text())?;
        match self.execute_with_own_syntax(statement)? {
            Some(answer) => Ok(answer),
            None => self.execute_parsed(statement, parameters),
        }
    }

    /// Executes a statement whose syntax DataFusion's parser does not know; `None` if it is another one.
    fn execute_with_own_syntax(&self, statement: &Statement) -> Result<Option<Answer>> {
        let (text, position) = (statement.text(), statement.position());
        if let Some(change) = UnkeptChange::of(text) {
            return self.leave_out(&change).map(Some);
        }
        if let Some(set) = SetConstraints::of(text, position)? {
            return self.set_constraints(&set).map(Some);
        }
        if let Some(sequence) = SequenceStatement::of(text, position)? {
            return self.sequence_statement(&sequence).map(Some);
        }
        if let Some(statement) = EnumerationStatement::of(text, position)? {
            return self.enumeration_statement(&statement).map(Some);
        }
        if let Some(change) = SchemaChange::of(text, position)? {
            return self.change_schema(&change).map(Some);
        }
        if let Some(view) = ViewStatement::of(text, position)? {
            return self.view_statement(&view, position).map(Some);
        }
        if let Some(alter) = AlterConstraints::of(text, position)? {
            return self.alter_constraints(&alter).map(Some);
        }
        if let Some(alter) = AlterIdentity::of(text, position)? {
            return self.alter_identity(&alter).map(Some);
        }
        if let Some(rollup) = RollupStatement::of(text, position)? {
            return self.rollup_statement(&rollup).map(Some);
        }
        Ok(None)
    }

    fn execute_parsed(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        match parse_declaring(statement.text(), statement.position(), parameters)? {
            Ast::CreateTable(create) if create.query.is_some() => self.create_table_as(statement, &create, parameters),
            Ast::CreateTable(create) if !create.external => self.create_table(&create),
            Ast::CreateView(create) => self.create_view(statement, &create),
            Ast::CreateIndex(create) => self.create_index(&create),
            Ast::AlterTable(alter) => self.alter_table(&alter),
            Ast::Truncate(truncate) => self.truncate(&truncate),
            dropped @ Ast::Drop { .. } => self.drop_objects(dropped),
            Ast::CreateSchema {
                schema_name,
                if_not_exists,
                with: None,
                options: None,
                default_collate_spec: None,
                clone: None,
            } => self.create_schema(&schema_name, if_not_exists),
            Ast::ShowTables { show_options, .. } if is_plain(&show_options) => show_tables(&self.tables()?),
            Ast::ShowFunctions { filter } => show_functions(filter.as_ref()),
            Ast::ShowTables { .. } => Err(not_supported("SHOW TABLES with conditions")),
            Ast::ShowCreate { obj_type: ShowCreateObject::Table | ShowCreateObject::View, obj_name } => {
                show_create(&self.continued(self.table(&obj_name)?)?)
            }
            Ast::ShowColumns { show_options, .. } => match show_options.show_in.and_then(|of| of.parent_name) {
                Some(name) => self.describe(&name),
                None => Err(sql_error("SHOW COLUMNS of which table?").with_hint("SHOW COLUMNS FROM table")),
            },
            Ast::ExplainTable { table_name, .. } => self.describe(&table_name),
            Ast::Query(_) | Ast::Explain { .. } | Ast::Insert(_) => self.query(statement, parameters),
            Ast::Analyze(analyze) => {
                // Statistics are always complete, and belong to the chunks.
                analyze.table_name.iter().try_for_each(|name| self.table(name).map(drop))?;
                Ok(Answer::Done { verb: "ANALYZE", row_count: None })
            }
            Ast::Comment { .. } => Ok(Answer::Done { verb: "COMMENT", row_count: None }),
            Ast::ShowVariable { variable } if matches!(variable.as_slice(), [name] if is_search_path(&name.value)) => {
                self.show_search_path()
            }
            Ast::Set(Set::SingleAssignment { scope, variable, values, .. })
                if is_search_path(&variable.to_string()) =>
            {
                self.set_path(scope, &values)
            }
            Ast::Set(set) if sets_default(&set) => Ok(Answer::Done { verb: "SET", row_count: None }),
            other => Err(refused(&other)),
        }
    }

    fn drop_objects(&self, statement: Ast) -> Result<Answer> {
        match statement {
            Ast::Drop {
                object_type: ObjectType::Table,
                if_exists,
                names,
                temporary: false,
                table: None,
                cascade,
                ..
            } => self.drop_relations(&names, if_exists, RelationKind::Table, cascade),
            Ast::Drop {
                object_type: ObjectType::View,
                if_exists,
                names,
                temporary: false,
                table: None,
                cascade,
                ..
            } => self.drop_relations(&names, if_exists, RelationKind::View, cascade),
            Ast::Drop { object_type: ObjectType::Index, if_exists, names, temporary: false, table, purge, .. } => {
                // What CONCURRENTLY was written as for the parser.
                if purge {
                    self.refuse_in_transaction("DROP INDEX CONCURRENTLY")?;
                }
                self.drop_index(&names, table.as_ref(), if_exists)
            }
            Ast::Drop { object_type: ObjectType::Schema, if_exists, names, cascade, .. } => {
                self.drop_schemas(&names, if_exists, cascade)
            }
            Ast::Drop { object_type, .. } => Err(not_supported(format_args!("DROP {object_type}"))),
            other => Err(refused(&other)),
        }
    }

    /// `DESCRIBE table`; of a query or a file, the columns of its rows.
    fn describe_statement(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        let text = statement.text();
        let rest = text[verb_of(text).len()..].trim_start();
        let query = match verb_of(rest).as_str() {
            "SELECT" | "WITH" | "VALUES" | "FROM" => rest.to_owned(),
            "" if rest.starts_with('(') => rest.to_owned(),
            "" if rest.starts_with('\'') => format!("SELECT * FROM {rest}"),
            _ => return self.declare(statement, parameters),
        };
        match self.prepare(&query, &[])?.schema() {
            Some(schema) => describe_query(schema),
            None => Err(sql_error("DESCRIBE takes a table, a query or a file")),
        }
    }

    fn create_table(&self, create: &CreateTable) -> Result<Answer> {
        let done = Answer::Done { verb: "CREATE TABLE", row_count: None };
        let name = self.new_name(&create.name, create.temporary)?;
        // Before anything else: an error of the batch would end the transaction.
        if create.if_not_exists && self.of_same_kind(&name, create.temporary)?.is_some() {
            self.skip_existing(&create.name);
            return Ok(done);
        }
        let (definition, on_commit) = (table_definition(create)?, on_commit(create)?);
        let mut definition = name.give(definition);
        self.find_sequences(&mut definition, None)?;
        self.find_enumerations(&mut definition, None)?;
        self.find_parents(&mut definition, None)?;
        definition.check().map_err(as_sql_error)?;
        self.check_conditions(&definition)?;
        let notice = notice_of_time(create, &definition)?;
        match self.create_kept(&definition, on_commit) {
            // Another session has created it in the meantime.
            Err(error) if error.kind() == ErrorKind::Exists && create.if_not_exists && !self.in_transaction() => {
                self.skip_existing(&create.name);
            }
            Err(error) if error.kind() == ErrorKind::Exists => {
                return Err(error.with_hint("CREATE TABLE IF NOT EXISTS leaves it as it is"));
            }
            created => {
                created.map_err(as_sql_error)?;
                *self.notice.lock() = notice;
            }
        }
        Ok(done)
    }

    /// Drops tables, views or materialized views. All of them must exist before the first one is dropped.
    pub(super) fn drop_relations(
        &self,
        names: &[ObjectName],
        if_exists: bool,
        kind: RelationKind,
        cascade: bool,
    ) -> Result<Answer> {
        self.retried(|| self.drop_relations_once(names, if_exists, kind, cascade))?;
        Ok(Answer::Done { verb: kind.drop_verb(), row_count: None })
    }

    fn drop_relations_once(
        &self,
        names: &[ObjectName],
        if_exists: bool,
        kind: RelationKind,
        cascade: bool,
    ) -> Result<()> {
        let mut tables: Vec<Table> = Vec::new();
        for name in names {
            match self.table(name) {
                Ok(table) => {
                    kind.require(&table.definition, RelationKind::drop_verb)?;
                    if tables.iter().all(|other| other.id != table.id) {
                        tables.push(table);
                    }
                }
                Err(error) if if_exists && error.kind() == ErrorKind::Sql => self.skip_missing(kind.noun(), name),
                Err(error) => return Err(error),
            }
        }
        let tables = self.with_views(self.with_rollups(tables, cascade)?, cascade)?;
        self.drop_referenced(&tables, cascade)
    }

    pub(super) fn table(&self, name: &ObjectName) -> Result<Table> {
        self.table_of(&TableName::of(name)?)
    }

    /// The table with a name in a schema or, if none is given, on the search path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Sql`] with the most similar name, without such a table.
    pub fn find_table(&self, schema: Option<&str>, name: &str) -> Result<Table> {
        self.table_of(&TableName::of_parts(schema, name))
    }

    /// The table that a name means.
    pub(super) fn table_of(&self, name: &TableName) -> Result<Table> {
        let tables = self.tables()?;
        let found = name.find_by(&self.search_path(), &tables);
        found.cloned().ok_or_else(|| unknown_table(name, &tables))
    }
}

/// Returns whether a statement is a query that is certain to read no table.
fn reads_no_table(text: &str) -> bool {
    let names_one = |word: Word| matches!(word, Word::Name(name) if matches!(name.as_str(), "from" | "table"));
    main_word(text) == "SELECT" && !Words::new(text).any(names_one)
}

/// Returns whether a query may call a function that changes a sequence or a lock.
fn has_effects(text: &str) -> bool {
    let has_one = |name: &str| CHANGING.contains(&name) || is_lock_function(name);
    Words::new(text).any(|word| matches!(word, Word::Name(name) if has_one(&name)))
}

/// Returns whether a statement is neither a query nor about the transaction itself.
fn may_change(text: &str) -> bool {
    let verb = main_word(text);
    match verb_kind(&verb) {
        Some(VerbKind::Query) => is_select_into(text),
        Some(VerbKind::Transaction) => false,
        Some(VerbKind::Change) => verb != "CHECKPOINT",
        Some(VerbKind::Definition) => true,
        None => !verb.is_empty(),
    }
}

/// The names of the only time zone of a session.
const UTC: [&str; 5] = ["UTC", "Etc/UTC", "GMT", "Z", "DEFAULT"];

/// Returns whether a `SET` sets what always holds: times in UTC, text in UTF-8.
fn sets_default(set: &Set) -> bool {
    let text = |value: &Expr| match value {
        Expr::Value(value) => value.value.clone().into_string(),
        Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    };
    let is_one_of = |value: &Expr, known: &[&str]| {
        text(value).is_some_and(|text| known.iter().any(|one| text.eq_ignore_ascii_case(one)))
    };
    match set {
        Set::SetTimeZone { value, .. } => is_one_of(value, &UTC),
        Set::SingleAssignment { variable, values, hivevar: false, .. } => {
            let known: &[&str] = match variable.to_string().to_ascii_lowercase().as_str() {
                "timezone" => &UTC,
                "client_encoding" => &["UTF8", "UTF-8", "DEFAULT"],
                "standard_conforming_strings" => &["on", "true", "DEFAULT"],
                _ => return false,
            };
            values.iter().all(|value| is_one_of(value, known))
        }
        _ => false,
    }
}

fn is_plain(options: &ShowStatementOptions) -> bool {
    options.show_in.is_none() && options.filter_position.is_none() && options.limit.is_none()
}
