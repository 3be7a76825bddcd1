//! A session: executes statements over an engine, each on one consistent snapshot.

mod change;
mod checkpoint;
mod copy_to;
mod deciding;
mod declare;
mod inserting;
mod load;
mod rollup;
mod savepoint;
mod store;
mod transaction;

use self::deciding::may_decide;
use self::transaction::{Bracket, Transaction};
use crate::answer::{Answer, Rows};
use crate::ddl::{table_definition, table_name};
use crate::error::{as_sql_error, not_supported, sql_error};
use crate::files::{FileReader, FileWriter};
use crate::insert::{Target, append_rows};
use crate::parse::parse_declaring;
use crate::provider::unknown_table;
use crate::refuse::{reads_a_file, refuse_files, refused};
use crate::resident::PlainSelect;
use crate::rollup::{RollupChore, RollupStatement};
use crate::runtime::{Interrupt, Query, Started, Worker};
use crate::script::{Statement, Statements};
use crate::show::{show_create, show_tables};
use atsdb_core::name::same_name;
use atsdb_core::{Error, ErrorKind, Result, Table};
use atsdb_engine::{Batch, Engine, ReadSnapshot};
use datafusion::sql::sqlparser::ast::{
    CreateTable, ObjectName, ObjectType, ShowCreateObject, ShowStatementOptions, Statement as Ast,
};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most bytes that running queries may hold, together; beyond it they write temporary files, or fail with
    /// [`ErrorKind::Resources`].
    pub memory_bytes: usize,
    /// How many threads work on queries.
    pub threads: usize,
    /// Whether statements may name files, which the reader of [`Session::with_files`] opens; a server says `false`.
    pub file_access: bool,
    /// The longest that a query may take until its last row is read; beyond it fails with [`ErrorKind::Resources`].
    /// `None`: as long as it takes.
    pub time_limit: Option<Duration>,
}

impl Default for SessionOptions {
    /// 2 GiB, a thread for each processor, no files, no limit of time.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { memory_bytes: 2 << 30, threads, file_access: false, time_limit: None }
    }
}

/// Executes SQL. May be shared by threads; [`interrupt_handle`](Self::interrupt_handle) then stops what any of
/// them waits for.
pub struct Session {
    engine: Engine,
    options: SessionOptions,
    /// Made by the first query: a program that only inserts and declares starts without.
    worker: Mutex<Option<Arc<Worker>>>,
    interrupt: Interrupt,
    /// What has been begun and is not committed.
    transaction: Mutex<Option<Transaction>>,
    /// Who opens the files that statements name; without, none is opened.
    files: Option<Arc<dyn FileReader>>,
    /// Who writes them.
    file_writer: Option<Arc<dyn FileWriter>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("engine", &self.engine).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Stops what a session is doing, from any thread.
#[derive(Debug, Clone)]
pub struct InterruptHandle(Interrupt);

impl InterruptHandle {
    /// The running statement, and the rows that are being read, end with [`ErrorKind::Interrupted`]. Without one
    /// nothing happens: the next statement begins afresh.
    pub fn interrupt(&self) {
        self.0.ask();
    }
}

impl Session {
    /// A session over an engine. Cheap: threads are started by the first query.
    pub fn new(engine: Engine, options: SessionOptions) -> Result<Self> {
        engine.set_maintenance_task(Arc::new(RollupChore::new(&options)));
        Ok(Self {
            engine,
            options,
            worker: Mutex::new(None),
            interrupt: Interrupt::default(),
            transaction: Mutex::new(None),
            files: None,
            file_writer: None,
        })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Splits a script into its statements, one by one. An error names line and column; nothing follows it.
    pub fn statements<'a>(&self, text: &'a str) -> Statements<'a> {
        Statements::new(text)
    }

    /// A handle that stops what this session is doing.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }

    /// Executes one statement. `params` are names and texts for the `$name`s in it: each becomes a literal, a number
    /// where the text is one and what stands beside it is no text.
    ///
    /// Errors: [`ErrorKind::Sql`] for what is wrong with the text or not supported, [`ErrorKind::InvalidValue`]
    /// for values that do not fit, [`ErrorKind::Resources`], [`ErrorKind::Interrupted`], and what the engine says.
    pub fn execute(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        self.interrupt.reset();
        let answer = self.execute_once(statement, params);
        if answer.is_err() && may_change(statement.text()) {
            self.fail_transaction();
        }
        answer
    }

    fn execute_once(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        if let Some(row_count) = self.insert_literals(statement.text(), params)? {
            return Ok(Answer::Done { verb: "INSERT", row_count: Some(row_count) });
        }
        match first_word(statement.text()).as_str() {
            "INSERT" | "REPLACE" if may_decide(statement.text()) => self.insert_deciding(statement, params),
            "INSERT" | "REPLACE" => self.query(statement, params),
            "UPDATE" | "DELETE" => self.change(statement, params),
            "SELECT" => self.select(statement, params),
            "WITH" | "VALUES" | "FROM" | "TABLE" | "EXPLAIN" | "" => self.query(statement, params),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => {
                match Bracket::of(statement.text())? {
                    Some(bracket) => self.bracket(bracket),
                    None => self.declare(statement, params),
                }
            }
            "CHECKPOINT" => self.checkpoint(statement.text(), statement.place()),
            _ => self.declare(statement, params),
        }
    }

    fn select(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        let snapshot = self.snapshot()?;
        if let Some(plain) = PlainSelect::read(statement.text())
            && let Some(table) = plain.table(snapshot.tables())
            && let Some(answer) = plain.answer(&snapshot, table)?
        {
            return Ok(answer);
        }
        self.query_over(snapshot, statement, params)
    }

    fn query(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        self.query_over(self.snapshot()?, statement, params)
    }

    fn query_over(&self, snapshot: ReadSnapshot, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        let query =
            Query { text: statement.text().to_owned(), place: statement.place(), params: params.to_vec(), snapshot };
        let Started { insert, rows, .. } = self.worker()?.start(query, &self.interrupt)?;
        let rows = Rows::query(rows);
        match insert {
            Some(target) => self.insert_rows(&target, rows),
            None => Ok(Answer::Rows(rows)),
        }
    }

    /// Inserts what a query answers, by position.
    fn insert_rows(&self, target: &Target, rows: Rows) -> Result<Answer> {
        let (table, _) = target.resolve_among(&self.tables()?)?;
        self.insert(|batch| append_rows(batch, &table, target, rows))
    }

    /// Does what appends rows. They count but for those that are left out as their key is there.
    fn insert(&self, append: impl FnOnce(&mut Batch) -> Result<u64>) -> Result<Answer> {
        let (row_count, before, kept_out) = self.with_batch(|batch| {
            let kept_out = batch.skipped_rows();
            let before = kept_out.load(Ordering::Relaxed);
            Ok((append(batch)?, before, kept_out))
        })?;
        let kept_out = kept_out.load(Ordering::Relaxed) - before;
        Ok(Answer::Done { verb: "INSERT", row_count: Some(row_count.saturating_sub(kept_out)) })
    }

    fn worker(&self) -> Result<Arc<Worker>> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.as_ref().filter(|worker| !worker.is_abandoned()) {
            Some(worker) => Ok(Arc::clone(worker)),
            None => Ok(Arc::clone(worker.insert(Arc::new(Worker::new(&self.options)?)))),
        }
    }

    fn declare(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        if reads_a_file(statement.text()) {
            return self.load(statement.text(), statement.place(), params);
        }
        refuse_files(statement.text())?;
        if let Some(rollup) = RollupStatement::of(statement.text(), statement.place())? {
            return self.rollup_statement(&rollup);
        }
        match parse_declaring(statement.text(), statement.place(), params)? {
            Ast::CreateTable(create) if create.query.is_some() => self.create_table_as(statement, &create, params),
            Ast::CreateTable(create) if !create.external => self.create_table(&create),
            Ast::CreateView(create) => self.create_view(statement, &create),
            Ast::CreateIndex(create) => self.create_index(&create),
            Ast::AlterTable(alter) => self.alter_table(&alter),
            Ast::Truncate(truncate) => self.truncate(&truncate),
            Ast::Drop {
                object_type: ObjectType::Table,
                if_exists,
                names,
                temporary: false,
                table: None,
                cascade,
                ..
            } => self.drop_tables(&names, if_exists, Dropped::Table, cascade),
            Ast::Drop { object_type: ObjectType::View, if_exists, names, temporary: false, table: None, .. } => {
                self.drop_tables(&names, if_exists, Dropped::View, false)
            }
            Ast::Drop { object_type: ObjectType::Index, if_exists, names, temporary: false, table, .. } => {
                self.drop_index(&names, table.as_ref(), if_exists)
            }
            Ast::Drop { object_type, .. } => Err(not_supported(format_args!("DROP {object_type}"))),
            Ast::ShowTables { show_options, .. } if is_plain(&show_options) => show_tables(&self.tables()?),
            Ast::ShowTables { .. } => Err(not_supported("SHOW TABLES with conditions")),
            Ast::ShowCreate { obj_type: ShowCreateObject::Table | ShowCreateObject::View, obj_name } => {
                show_create(&self.table(&obj_name)?.definition)
            }
            Ast::ShowColumns { show_options, .. } => match show_options.show_in.and_then(|of| of.parent_name) {
                Some(name) => self.describe(&name),
                None => Err(sql_error("SHOW COLUMNS of which table?").with_hint("SHOW COLUMNS FROM table")),
            },
            Ast::ExplainTable { table_name, .. } => self.describe(&table_name),
            Ast::Query(_) | Ast::Explain { .. } | Ast::Insert(_) => self.query(statement, params),
            other => Err(refused(&other)),
        }
    }

    fn create_table(&self, create: &CreateTable) -> Result<Answer> {
        let definition = table_definition(create)?;
        match self.create(&definition) {
            Err(error) if error.kind() == ErrorKind::Exists && create.if_not_exists => {}
            Err(error) if error.kind() == ErrorKind::Exists => {
                return Err(error.with_hint("CREATE TABLE IF NOT EXISTS leaves it as it is"));
            }
            created => drop(created.map_err(as_sql_error)?),
        }
        Ok(Answer::Done { verb: "CREATE TABLE", row_count: None })
    }

    /// All of them must be there before the first one goes.
    fn drop_tables(&self, names: &[ObjectName], if_exists: bool, kind: Dropped, cascade: bool) -> Result<Answer> {
        let mut tables: Vec<Table> = Vec::new();
        for name in names {
            match self.table(name) {
                Ok(table) if table.definition.rollup.is_some() => {
                    let name = &table.definition.name;
                    return Err(sql_error(format!("{name} is a rollup")).with_hint(format!("DROP ROLLUP {name}")));
                }
                Ok(table) if table.definition.view.is_some() != (kind == Dropped::View) => {
                    return Err(kind.refuse(&table.definition.name));
                }
                Ok(table) if tables.iter().all(|other| other.id != table.id) => tables.push(table),
                Ok(_) => {}
                Err(error) if if_exists && error.kind() == ErrorKind::Sql => {}
                Err(error) => return Err(error),
            }
        }
        self.drop_all(&self.with_rollups(tables, cascade)?)?;
        Ok(Answer::Done { verb: kind.verb(), row_count: None })
    }

    fn table(&self, name: &ObjectName) -> Result<Table> {
        let name = table_name(name)?;
        let tables = self.tables()?;
        match tables.iter().find(|table| same_name(&table.definition.name, &name)) {
            Some(table) => Ok(table.clone()),
            None => Err(unknown_table(&name, &tables)),
        }
    }
}

/// What a `DROP` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    Table,
    View,
}

impl Dropped {
    fn verb(self) -> &'static str {
        match self {
            Self::Table => "DROP TABLE",
            Self::View => "DROP VIEW",
        }
    }

    /// The error for what is of the other kind.
    fn refuse(self, name: &str) -> Error {
        match self {
            Self::Table => sql_error(format!("{name} is a view")).with_hint(format!("DROP VIEW {name}")),
            Self::View => sql_error(format!("{name} is a table")).with_hint(format!("DROP TABLE {name}")),
        }
    }
}

/// The word a statement begins with, in capitals; empty if it begins with none, such as `(`.
fn first_word(text: &str) -> String {
    text.chars().take_while(|character| character.is_ascii_alphabetic()).collect::<String>().to_ascii_uppercase()
}

/// Whether a statement is neither a question nor about the transaction itself.
fn may_change(text: &str) -> bool {
    const OTHERS: [&str; 18] = [
        "",
        "SELECT",
        "WITH",
        "VALUES",
        "FROM",
        "TABLE",
        "EXPLAIN",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "BEGIN",
        "START",
        "COMMIT",
        "END",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "CHECKPOINT",
    ];
    !OTHERS.contains(&first_word(text).as_str())
}

fn is_plain(options: &ShowStatementOptions) -> bool {
    options.show_in.is_none() && options.filter_position.is_none() && options.limit.is_none()
}
