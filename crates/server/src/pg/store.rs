//! The store as a connection uses it: one session of `atsdb::sql`, which is independent of the protocol.

use super::error::PgError;
use super::types::input::arrow_type;
use super::types::known;
use crate::ingest::request_memory::MemoryReservation;
use crate::shared::permits::StatementPermit;
use crate::shared::state::DatabaseState;
use crate::shared::unknown_verb::explained;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use atsdb::sql::{
    Answer, FileReader, FileRequest, HeldLock, InterruptHandle, KeptMemory, ParameterValue, Permission, Prepared,
    PresentState, Session, SkipNotice, TransactionSnapshot,
};
use atsdb::{Engine, Error, ErrorKind, Result, SearchPath, Table};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::Statement;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// The name of the only file that a connection's session may read: the rows that the client sends.
const STDIN: &str = "rows that the client sends";

/// Rows of a COPY, and the memory that is reserved for them until they are stored.
pub(in crate::pg) struct CopyBatch {
    pub(in crate::pg) rows: RecordBatch,
    pub(in crate::pg) reservation: MemoryReservation,
}

/// A batch of a COPY on its way into the store, or the reason why none follows.
pub(in crate::pg) type CopyPiece = std::result::Result<CopyBatch, Error>;

/// The store as one connection uses it.
#[derive(Debug)]
pub(in crate::pg) struct StoreSession {
    session: Session,
    stdin: Arc<Stdin>,
    state: DatabaseState,
}

impl StoreSession {
    /// Opens a session of a user, in a database of this name.
    pub(in crate::pg) fn open(state: &DatabaseState, user: &str, database: &str) -> Self {
        let stdin = Arc::new(Stdin::default());
        let files: Arc<dyn FileReader> = stdin.clone();
        let session = state.session().with_files(files);
        session.set_identity(user, database);
        Self { session, stdin, state: state.clone() }
    }

    /// A session for functions that concern no table. It may change nothing.
    pub(in crate::pg) fn for_functions(&self) -> Session {
        let session = self.state.session();
        session.restrict(Permission::Read, "functions in queries about the catalogue only compute values".to_owned());
        session
    }

    pub(in crate::pg) fn interrupt_handle(&self) -> InterruptHandle {
        self.session.interrupt_handle()
    }

    /// Begins work that an interrupt of the session should end.
    pub(in crate::pg) fn begin_interruptible(&self) {
        self.session.begin_interruptible();
    }

    /// Fails if the session was interrupted since.
    pub(in crate::pg) fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    /// Memory for rows that the connection keeps.
    pub(in crate::pg) fn kept_memory(&self) -> KeptMemory {
        self.session.kept_memory()
    }

    /// Lets others use a permit while a statement waits for an advisory lock or a time.
    pub(in crate::pg) fn use_permit(&self, permit: &StatementPermit) {
        permit.follow_waits(&self.session);
    }

    /// Sets the rights of the following statements. Other statements are refused with the reason.
    pub(in crate::pg) fn restrict(&self, permission: Permission, reason: String) {
        self.session.restrict(permission, reason);
    }

    /// Refuses a statement that the session's rights do not allow.
    pub(in crate::pg) fn require(&self, permission: Permission) -> Result<()> {
        self.session.require(permission)
    }

    /// The texts of the statements of a script.
    pub(in crate::pg) fn statements(&self, text: &str) -> std::result::Result<Vec<String>, PgError> {
        let statements = self.session.statements(text);
        statements.map(|statement| Ok(statement?.text().to_owned())).collect()
    }

    /// Determines the types of a statement's parameters and result. `types` are those that the client declares, by
    /// number.
    pub(in crate::pg) fn prepare(&self, text: &str, types: &[u32]) -> Result<Prepared> {
        self.session.prepare(text, &declared(types))
    }

    /// [`prepare`](Self::prepare) if that takes only a moment; otherwise `None`.
    pub(in crate::pg) fn prepare_at_once(
        &self,
        text: &str,
        types: &[u32],
        present: &mut PresentState,
    ) -> Option<Prepared> {
        self.session.prepare_at_once(text, &declared(types), present)
    }

    /// Executes a prepared statement. If it changes rows and answers with rows, nothing is stored before `check` has
    /// accepted the columns of the answer.
    pub(in crate::pg) fn execute_prepared(
        &self,
        prepared: &Prepared,
        values: &[ScalarValue],
        check: &dyn Fn(&SchemaRef) -> Result<()>,
    ) -> Result<Answer> {
        let answer = self.session.execute_prepared_checked(prepared, &parameter_values(values)?, check);
        answer.map_err(|error| explained(error, prepared.statement()))
    }

    /// [`execute_prepared`](Self::execute_prepared) if that takes only a moment; otherwise `None`.
    pub(in crate::pg) fn execute_prepared_at_once(
        &self,
        prepared: &Prepared,
        values: &[ScalarValue],
        present: &mut PresentState,
    ) -> Option<Answer> {
        self.session.execute_prepared_at_once(prepared, &parameter_values(values).ok()?, present)
    }

    /// Executes the only statement of a text if that takes only a moment; otherwise `None`.
    pub(in crate::pg) fn execute_at_once(&self, text: &str, present: &mut PresentState) -> Option<Answer> {
        let mut statements = self.session.statements(text);
        let statement = statements.next()?.ok()?;
        if statements.next().is_some() {
            return None;
        }
        self.session.execute_at_once(&statement, present)
    }

    /// Executes the single statement of a text, without parameters.
    pub(in crate::pg) fn execute(&self, text: &str) -> Result<Answer> {
        match self.session.statements(text).next().transpose()? {
            Some(statement) => self.session.execute(&statement, &[]).map_err(|error| explained(error, &statement)),
            None => Err(Error::new(ErrorKind::Sql, "there is no statement in the text")),
        }
    }

    /// Takes what the client should know about the table that was created last, or about the commit.
    pub(in crate::pg) fn take_notice(&self) -> Option<String> {
        self.session.take_notice()
    }

    /// Takes what the last definition has left out.
    pub(in crate::pg) fn take_skipped(&self) -> Vec<SkipNotice> {
        self.session.take_skipped()
    }

    /// The state that the open transaction reads, for others; `None` without a transaction.
    pub(in crate::pg) fn export_snapshot(&self) -> Result<Option<TransactionSnapshot>> {
        self.session.export_snapshot()
    }

    /// Lets the open transaction read a state that another one reads. Returns `false` if it is too late.
    pub(in crate::pg) fn import_snapshot(&self, snapshot: &TransactionSnapshot) -> Result<bool> {
        self.session.import_snapshot(snapshot)
    }

    pub(in crate::pg) fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// The number of savepoints of the open transaction.
    pub(in crate::pg) fn savepoint_count(&self) -> usize {
        self.session.savepoint_count()
    }

    /// Forgets the numbers that the session has drawn from sequences.
    pub(in crate::pg) fn forget_numbers(&self) {
        self.session.forget_numbers();
    }

    /// The advisory locks that sessions of the database hold.
    pub(in crate::pg) fn advisory_locks(&self) -> Vec<HeldLock> {
        self.session.advisory_locks()
    }

    /// Sets the number of the connection's process, by which lists of locks name it.
    pub(in crate::pg) fn set_process(&self, process: i32) {
        self.session.set_process(process);
    }

    /// Gives back the session's advisory locks.
    pub(in crate::pg) fn unlock_all(&self) {
        self.session.unlock_all();
    }

    /// Drops the temporary tables and views.
    pub(in crate::pg) fn drop_temporary(&self) -> Result<()> {
        self.session.drop_temporary()
    }

    /// The tables that the session sees.
    pub(in crate::pg) fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.session.tables()?.into_iter().filter(|table| table.definition.logs.is_none()).collect())
    }

    /// The columns of a view.
    pub(in crate::pg) fn columns_of_view(&self, view: &Table) -> Result<SchemaRef> {
        let text = format!("SELECT * FROM {}", atsdb::sql::exact_name(view));
        let prepared = self.session.prepare(&text, &[])?;
        prepared.schema().cloned().ok_or_else(|| Error::new(ErrorKind::Internal, "a view has columns"))
    }

    pub(in crate::pg) fn engine(&self) -> &Engine {
        self.session.engine()
    }

    /// The table that a name in a statement means, with or without a schema.
    pub(in crate::pg) fn table(&self, parts: &[String]) -> Result<Table> {
        match parts {
            [name] => self.session.find_table(None, name),
            [schema, name] => self.session.find_table(Some(schema), name),
            _ => Err(Error::new(ErrorKind::Sql, format!("no table named {}", parts.join(".")))),
        }
    }

    /// The table that a name means, as the server has seen it last, without asking the store.
    pub(in crate::pg) fn last_seen(&self, parts: &[String]) -> Option<Arc<Table>> {
        match parts {
            [name] => self.session.last_seen(None, name),
            [schema, name] => self.session.last_seen(Some(schema), name),
            _ => None,
        }
    }

    /// The syntax tree of a statement, to see what its answer shows; `None` if it cannot be parsed.
    pub(in crate::pg) fn parsed_answer(&self, text: &str) -> Option<Arc<Statement>> {
        self.state.answers().of(text)
    }

    /// The entries of the enumerated types.
    pub(in crate::pg) fn enumerations(&self) -> Result<Vec<Table>> {
        self.session.enumerations()
    }

    /// The schemas besides `public`.
    pub(in crate::pg) fn schemas(&self) -> Result<Vec<String>> {
        self.session.schemas()
    }

    /// Sets the schemas in which names that say none are looked up.
    pub(in crate::pg) fn set_search_path(&self, path: SearchPath) -> Result<()> {
        self.session.set_search_path(path)
    }

    /// Adds rows to columns of a table, if they satisfy a condition, as one statement: all or none. `table` is its name
    /// as in a statement.
    pub(in crate::pg) fn load(
        &self,
        table: &str,
        columns: &[String],
        condition: Option<&str>,
        pieces: Receiver<CopyPiece>,
    ) -> Result<u64> {
        let columns: Vec<String> = columns.iter().map(|column| atsdb::sql::quoted(column)).collect();
        let columns = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
        let condition = condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"));
        let text = format!("COPY {table} {columns} FROM '{STDIN}'{condition}");
        *self.stdin.pieces.lock() = Some(pieces);
        let done = self.execute(&text);
        self.stdin.pieces.lock().take();
        match done? {
            Answer::Done { row_count, .. } => Ok(row_count.unwrap_or(0)),
            Answer::Rows(_) => Err(Error::new(ErrorKind::Internal, "a COPY answered with rows")),
        }
    }
}

/// The declared types of parameters.
fn declared(types: &[u32]) -> Vec<Option<DataType>> {
    types.iter().map(|id| if *id == known::UNKNOWN { None } else { arrow_type(*id) }).collect()
}

fn parameter_values(values: &[ScalarValue]) -> Result<Vec<ParameterValue>> {
    let value = |value: &ScalarValue| {
        let array = value.to_array().map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        ParameterValue::from_array(array.as_ref(), 0)
    };
    values.iter().map(value).collect()
}

/// A file reader that only reads the rows that the client is sending.
#[derive(Default)]
struct Stdin {
    pieces: Mutex<Option<Receiver<CopyPiece>>>,
}

impl FileReader for Stdin {
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let pieces = self.pieces.lock().take().filter(|_| request.path == STDIN);
        let Some(pieces) = pieces else {
            return Err(Error::new(ErrorKind::Sql, "SQL that came over the network may not read files"));
        };
        pieces.into_iter().try_for_each(|piece| {
            let CopyBatch { rows: batch, reservation } = piece?;
            let stored = rows(batch);
            drop(reservation);
            stored
        })
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stdin")
    }
}
