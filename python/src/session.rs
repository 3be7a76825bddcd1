//! A session: statements, and rows that are appended, each ended by Ctrl-C.

use crate::capsule::import_batches;
use crate::declare::TableDeclaration;
use crate::failure::{exception, raised};
use crate::parameters::BoundText;
use crate::process::OwnerProcess;
use crate::row_source::RowSource;
use crate::rows::Rows;
use crate::stop::StoppableCalls;
use crate::waiting::wait_for;
use atsdb::arrow::array::RecordBatch;
use atsdb::name::same_name;
use atsdb::sql::Answer;
use atsdb::{BatchId, Column, CommitOutcome, Error, ErrorKind, Result, SearchPath, Table};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Executes statements. Its transaction is its own.
#[pyclass(frozen, module = "atsdb._atsdb")]
pub(crate) struct Session {
    session: Arc<atsdb::sql::Session>,
    /// Appends, which the session itself does not stop.
    calls: StoppableCalls,
    process: OwnerProcess,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // Ending it would wait for its threads, which only the parent has.
            std::mem::forget(Arc::clone(&self.session));
        }
    }
}

impl Session {
    pub(crate) fn new(session: atsdb::sql::Session) -> Self {
        Self { session: Arc::new(session), calls: StoppableCalls::default(), process: OwnerProcess::current() }
    }

    fn wait_for<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        raised(py, self.process.check())?;
        let interrupt = self.session.interrupt_handle();
        wait_for(py, move || interrupt.interrupt(), work)
    }
}

#[pymethods]
impl Session {
    /// Executes one or several statements and returns the answer of the last one.
    #[pyo3(signature = (text, parameters = None))]
    fn execute(&self, py: Python<'_>, text: &str, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Rows> {
        let asked = crate::parameters::bound(py, text, parameters)?;
        let session = Arc::clone(&self.session);
        let (answer, notices) = self.wait_for(py, || last_answer(&session, &asked))?;
        warn(py, &notices)?;
        Ok(Rows::of(answer, session))
    }

    /// Whether a transaction is open.
    #[getter]
    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Whether no rows of the session are being read: then it may be used for something else.
    #[getter]
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.session) == 1
    }

    /// Whether the session has temporary tables.
    #[getter]
    fn has_temporary_tables(&self) -> bool {
        self.session.has_temporary_tables()
    }

    /// Whether names that say no schema are looked up elsewhere than by default.
    #[getter]
    fn has_search_path(&self) -> bool {
        self.session.search_path() != SearchPath::DEFAULT
    }

    /// Stops what the session is doing, from any thread.
    fn interrupt(&self) {
        self.session.interrupt_handle().interrupt();
        self.calls.stop();
    }

    /// Appends the batches of objects that export Arrow, all of them or none. Returns the number of rows and whether
    /// they were stored.
    #[pyo3(signature = (table, frames, id = None))]
    fn append_arrow(
        &self,
        py: Python<'_>,
        table: &str,
        frames: &Bound<'_, PyAny>,
        id: Option<&str>,
    ) -> PyResult<(u64, bool)> {
        let call = self.calls.begin("the append");
        let mut target = raised(py, AppendTarget::new(self, table, id))?;
        for (number, frame) in frames.try_iter()?.enumerate() {
            let frame = frame?;
            let Some(batches) = import_batches(&frame)? else {
                let (number, found) = (number + 1, frame.get_type().name()?);
                let error = format!("item {number} is of type {found}, and does not export Arrow as those before it");
                return Err(PyTypeError::new_err(error));
            };
            let flag = call.flag();
            call.wait_for(py, || {
                for batch in batches {
                    target.append(&batch.map_err(of_source)?)?;
                    flag.check()?;
                }
                Ok(())
            })?;
        }
        call.wait_for(py, || target.commit())
    }

    /// Appends rows of an iterable: tuples, lists, dicts, or objects with these attributes. `columns` names the columns
    /// that tuples or attributes give.
    #[pyo3(signature = (table, rows, columns = None, attributes = None, id = None))]
    fn append_rows(
        &self,
        py: Python<'_>,
        table: &str,
        rows: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        attributes: Option<Vec<Bound<'_, PyString>>>,
        id: Option<&str>,
    ) -> PyResult<(u64, bool)> {
        let call = self.calls.begin("the append");
        let mut target = raised(py, AppendTarget::new(self, table, id))?;
        let mut source = RowSource::new(rows, &target.table.definition, columns, attributes)?;
        let flag = call.flag();
        while let Some(batch) = source.next_batch()? {
            call.wait_for(py, || target.append(&batch).and_then(|()| flag.check()))?;
        }
        call.wait_for(py, || target.commit())
    }

    /// Appends rows of a sequence, all of which are converted before the first one is stored. The table supplies
    /// columns that are not named, as in an INSERT. `None` if a row cannot be converted, or if an INSERT would refuse
    /// the rows for a column that always numbers them or that is not named and must not be NULL.
    fn append_all(
        &self,
        py: Python<'_>,
        table: &str,
        rows: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Option<u64>> {
        let mut target = raised(py, AppendTarget::new(self, table, None))?;
        let is_named = |column: &Column| {
            columns.as_ref().is_none_or(|names| names.iter().any(|name| same_name(name, &column.name)))
        };
        let is_refused = |column: &Column| {
            if is_named(column) {
                column.identity.is_some_and(|identity| identity.always)
            } else {
                !column.nullable && !column.is_filled()
            }
        };
        if target.table.definition.columns.iter().any(is_refused) {
            return Ok(None);
        }
        let mut source = RowSource::new(rows, &target.table.definition, columns, None)?;
        let mut batches = Vec::new();
        loop {
            match source.next_batch() {
                Ok(Some(batch)) => batches.push(batch),
                Ok(None) => break,
                Err(_) => return Ok(None),
            }
        }
        let work = || batches.iter().try_for_each(|batch| target.append(batch)).and_then(|()| target.commit());
        self.wait_for(py, work).map(|(row_count, _)| Some(row_count))
    }

    /// The name of a table in SQL, with its schema.
    fn sql_name(&self, py: Python<'_>, table: &str) -> PyResult<String> {
        raised(py, self.process.check())?;
        let table = raised(py, table_named(&self.session, table))?;
        Ok(atsdb::sql::exact_name(&table))
    }

    /// The names of a table's columns.
    fn columns(&self, py: Python<'_>, table: &str) -> PyResult<Vec<String>> {
        raised(py, self.process.check())?;
        let table = raised(py, table_named(&self.session, table))?;
        Ok(table.definition.columns.into_iter().map(|column| column.name).collect())
    }

    /// Creates a table, unless one with the same columns exists. Returns the statement that declares it. The name `s.t`
    /// means the table `t` of the schema `s`, if that schema exists.
    fn create_table(&self, py: Python<'_>, declaration: TableDeclaration) -> PyResult<String> {
        raised(py, self.process.check())?;
        let definition = raised(py, declaration.definition().and_then(|definition| self.session.placed(definition)))?;
        let statement = BoundText { text: atsdb::sql::create_table_sql(&definition), values: Vec::new() };
        match table_named(&self.session, &definition.name) {
            Ok(table) => raised(py, atsdb::check_same_columns(&table.definition, &definition))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (_, notices) = self.wait_for(py, || last_answer(&self.session, &statement))?;
                warn(py, &notices)?;
            }
            Err(error) => return Err(exception(py, &error)),
        }
        Ok(statement.text)
    }
}

/// Shows the notices of statements as warnings, at the line that called the package. They are exceptions if the program
/// makes them errors.
fn warn(py: Python<'_>, notices: &[String]) -> PyResult<()> {
    for notice in notices {
        let category = py.import("atsdb.errors")?.getattr("NoticeWarning")?;
        py.import("warnings")?.call_method1("warn", (notice.as_str(), category, 2))?;
    }
    Ok(())
}

/// Executes statements one by one. The rows of all but the last one are read and dropped. Returns their notices, too.
fn last_answer(session: &atsdb::sql::Session, asked: &BoundText) -> Result<(Answer, Vec<String>)> {
    let declared = asked.declared_types();
    let (mut answer, mut notices) = (None, Vec::new());
    for statement in session.statements(&asked.text) {
        if let Some(Answer::Rows(rows)) = answer.take() {
            for batch in rows {
                batch?;
            }
        }
        let statement = statement?;
        answer = Some(if asked.values.is_empty() {
            session.execute(&statement, &[])?
        } else {
            session.execute_prepared(&session.prepare_statement(&statement, &declared)?, &asked.values)?
        });
        notices.extend(session.take_notice());
    }
    let answer = answer.ok_or_else(|| Error::new(ErrorKind::Sql, "there is no statement in the text"))?;
    Ok((answer, notices))
}

/// The table with this name, or with this one after the name of its schema: on the session's search path, or in any
/// schema.
fn table_named(session: &atsdb::sql::Session, name: &str) -> Result<Table> {
    if session.search_path() == SearchPath::DEFAULT {
        return session.table_named(name);
    }
    let unknown = match session.find_table(None, name) {
        Ok(table) => return Ok(table),
        Err(error) if error.kind() == ErrorKind::Sql => error,
        Err(error) => return Err(error),
    };
    let is_it = |table: &Table| table.definition.schema.is_some() && same_name(&table.definition.name, name);
    session.tables()?.into_iter().find(is_it).ok_or_else(|| {
        let error = Error::not_found(unknown.message());
        match unknown.hint() {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

/// The error for a failure of the exporter of a stream.
fn of_source(error: atsdb::arrow::error::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidValue, format!("reading the rows failed: {error}")).with_source(error)
}

/// The destination of rows: the open transaction, or a separate batch.
struct AppendTarget {
    session: Arc<atsdb::sql::Session>,
    table: Table,
    /// `None` in a transaction.
    batch: Option<atsdb::Batch>,
    row_count: u64,
}

impl AppendTarget {
    fn new(session: &Session, table: &str, id: Option<&str>) -> Result<Self> {
        session.process.check()?;
        let id = id.map(BatchId::new).transpose()?;
        let is_inside = session.session.in_transaction();
        if is_inside && id.is_some() {
            return Err(Error::usage("rows of a transaction cannot be a batch with an id")
                .with_hint("append them outside of the transaction"));
        }
        let table = table_named(&session.session, table)?;
        let batch = (!is_inside).then(|| session.session.begin_batch(&table, id)).transpose()?;
        Ok(Self { session: Arc::clone(&session.session), table, batch, row_count: 0 })
    }

    fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        self.row_count += match &mut self.batch {
            Some(batch) => batch.append(&self.table, rows).map(|()| rows.num_rows() as u64)?,
            None => self.session.append_to(&self.table, rows)?,
        };
        Ok(())
    }

    /// The number of rows, and whether they were stored: `false` means that a batch with this id was committed before.
    fn commit(mut self) -> Result<(u64, bool)> {
        let row_count = std::mem::take(&mut self.row_count);
        let Some(batch) = self.batch.take() else { return Ok((row_count, true)) };
        let skipped_rows = batch.skipped_rows();
        let outcome = batch.commit()?;
        let row_count = row_count.saturating_sub(skipped_rows.load(Ordering::Relaxed));
        Ok((row_count, outcome == CommitOutcome::Committed))
    }
}

impl Drop for AppendTarget {
    /// The rows of an append that has failed are not committed, also if some of them are in the transaction already.
    fn drop(&mut self) {
        if self.batch.is_none() && self.row_count > 0 {
            self.session.fail_transaction();
        }
    }
}
