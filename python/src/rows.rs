//! The results of a statement: rows that are read once, as Python objects or as a stream of Arrow batches.

use crate::capsule::{export_schema, export_stream};
use crate::cells::{objects, python_type};
use crate::failure::{exception, raised};
use crate::process::OwnerProcess;
use crate::waiting::{is_main_thread, wait_for};
use atsdb::arrow::array::{RecordBatch, RecordBatchReader};
use atsdb::arrow::datatypes::{Schema, SchemaRef};
use atsdb::arrow::error::ArrowError;
use atsdb::sql::{Answer, InterruptHandle, Session, batch_with_durations, with_durations};
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use std::collections::VecDeque;
use std::iter::Fuse;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// The maximum number of batches that wait for a slow reader.
const WAITING_BATCHES: usize = 2;

/// The answer of one statement.
#[pyclass(frozen, module = "atsdb._atsdb")]
pub(crate) struct Rows {
    schema: Option<SchemaRef>,
    verb: &'static str,
    row_count: Option<u64>,
    reading: Mutex<Option<UnreadRows>>,
    interrupt: InterruptHandle,
    failure: Arc<Mutex<Option<StreamFailure>>>,
    process: OwnerProcess,
}

/// Why a stream ended early: the stream itself can pass on no more than a message.
enum StreamFailure {
    /// A signal's handler raised an exception.
    Raised(PyErr),
    /// The query failed.
    Query(Error),
}

impl Drop for Rows {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // Ending the query would wait for its threads, which only the parent has.
            std::mem::forget(self.reading.get_mut().take());
        }
    }
}

/// Rows that are not read yet.
struct UnreadRows {
    rows: Fuse<atsdb::sql::AnswerRows>,
    /// The batches that come before those of `rows`: what is left of one that is being read, and peeked rows.
    ahead: VecDeque<RecordBatch>,
    /// Keeps the session for as long as it is read from.
    session: Arc<Session>,
}

impl Rows {
    pub(crate) fn of(answer: Answer, session: Arc<Session>) -> Self {
        let interrupt = session.interrupt_handle();
        let (failure, process) = (Arc::default(), OwnerProcess::current());
        match answer {
            Answer::Rows(rows) => {
                let schema = Some(rows.schema());
                let unread = UnreadRows { rows: rows.fuse(), ahead: VecDeque::new(), session };
                let reading = Mutex::new(Some(unread));
                Self { schema, verb: "SELECT", row_count: None, reading, interrupt, failure, process }
            }
            Answer::Done { verb, row_count } => {
                Self { schema: None, verb, row_count, reading: Mutex::new(None), interrupt, failure, process }
            }
        }
    }

    fn schema_or_empty(&self) -> SchemaRef {
        self.schema.clone().unwrap_or_else(|| Arc::new(Schema::empty()))
    }
}

#[pymethods]
impl Rows {
    /// The kind of statement: `SELECT` for rows.
    #[getter]
    fn verb(&self) -> &'static str {
        self.verb
    }

    /// The number of changed rows; `None` for a query.
    #[getter]
    fn row_count(&self) -> Option<u64> {
        self.row_count
    }

    /// Name, Python type, SQL type and nullability of each column; `None` without rows.
    #[getter]
    fn description(&self) -> Option<Vec<(String, &'static str, String, bool)>> {
        let fields = self.schema.as_ref()?.fields().iter();
        let described = fields.map(|field| {
            let data_type = field.data_type();
            (field.name().clone(), python_type(data_type), data_type.to_string(), field.is_nullable())
        });
        Some(described.collect())
    }

    /// Whether all rows are read.
    #[getter]
    fn is_done(&self) -> bool {
        self.reading.lock().is_none()
    }

    /// At most `count` rows as tuples; fewer only at the end.
    #[pyo3(signature = (count = None))]
    fn fetch<'py>(&self, py: Python<'py>, count: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        raised(py, self.process.check())?;
        let fetched = PyList::empty(py);
        let Some(mut reading) = self.reading.lock().take() else { return Ok(fetched) };
        let wanted = count.unwrap_or(usize::MAX);
        while fetched.len() < wanted {
            let Some(batch) = reading.ahead.pop_front() else {
                let next = wait_for(py, || self.interrupt.interrupt(), || reading.rows.next().transpose())?;
                match next {
                    Some(batch) => reading.ahead.push_back(batch),
                    // Dropping it frees the session.
                    None => return Ok(fetched),
                }
                continue;
            };
            let count = batch.num_rows().min(wanted - fetched.len());
            append_rows(py, &batch.slice(0, count), &fetched)?;
            if count < batch.num_rows() {
                reading.ahead.push_front(batch.slice(count, batch.num_rows() - count));
            }
        }
        *self.reading.lock() = Some(reading);
        Ok(fetched)
    }

    /// The next rows, at most `count`, as tuples; fewer only at the end. They stay unread.
    fn peek<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        raised(py, self.process.check())?;
        let peeked = PyList::empty(py);
        let Some(mut reading) = self.reading.lock().take() else { return Ok(peeked) };
        let mut known: usize = reading.ahead.iter().map(RecordBatch::num_rows).sum();
        while known < count {
            let next = wait_for(py, || self.interrupt.interrupt(), || reading.rows.next().transpose())?;
            let Some(batch) = next else { break };
            known += batch.num_rows();
            reading.ahead.push_back(batch);
        }
        for batch in &reading.ahead {
            let shown = batch.num_rows().min(count - peeked.len());
            append_rows(py, &batch.slice(0, shown), &peeked)?;
        }
        *self.reading.lock() = Some(reading);
        Ok(peeked)
    }

    /// The rest of the rows as a stream in a capsule. With `durations`, intervals are durations.
    #[pyo3(signature = (durations = false))]
    fn stream<'py>(&self, py: Python<'py>, durations: bool) -> PyResult<Bound<'py, PyCapsule>> {
        raised(py, self.process.check())?;
        let schema = self.schema_or_empty();
        let schema = if durations { with_durations(&schema) } else { schema };
        let taken = self.reading.lock().take();
        if taken.is_none() && self.schema.is_some() {
            let error = Error::new(ErrorKind::Usage, "the rows of this result were read already");
            return Err(exception(py, &error.with_hint("run the query again")));
        }
        let session = taken.as_ref().map(|reading| Arc::clone(&reading.session));
        let source = match taken {
            None => BatchSource::Empty,
            Some(reading) if is_main_thread() => BatchSource::pumped(reading).map_err(|error| exception(py, &error))?,
            Some(reading) => BatchSource::direct(reading),
        };
        let failure = Arc::clone(&self.failure);
        export_stream(py, Box::new(StreamReader { schema, durations, source, session, failure }))
    }

    /// The schema in a capsule.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema_or_empty())
    }

    /// Raises the exception for which a stream ended early, if one did.
    fn check_raised(&self, py: Python<'_>) -> PyResult<()> {
        let failure = self.failure.lock().take();
        match failure {
            None => Ok(()),
            Some(StreamFailure::Raised(raised)) => Err(raised),
            Some(StreamFailure::Query(error)) => Err(exception(py, &error)),
        }
    }

    /// Discards the rows that are not read.
    fn close(&self) {
        if self.process.is_current() {
            drop(self.reading.lock().take());
        }
    }
}

/// Adds the rows of a batch to a list, as tuples.
fn append_rows(py: Python<'_>, batch: &RecordBatch, list: &Bound<'_, PyList>) -> PyResult<()> {
    let columns = batch.columns().iter().map(|column| objects(py, column)).collect::<PyResult<Vec<_>>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    for _ in 0..batch.num_rows() {
        list.append(PyTuple::new(py, columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>())?)?;
    }
    Ok(())
}

/// The rest of a result's rows, for the reader of the stream.
struct StreamReader {
    schema: SchemaRef,
    /// Whether the schema has durations in place of intervals.
    durations: bool,
    source: BatchSource,
    session: Option<Arc<Session>>,
    failure: Arc<Mutex<Option<StreamFailure>>>,
}

impl StreamReader {
    fn interrupt(session: Option<&Arc<Session>>) {
        if let Some(session) = session {
            session.interrupt_handle().interrupt();
        }
    }

    /// Keeps an error, unless an exception was the cause, and passes on its message.
    fn failed(&self, error: Error) -> ArrowError {
        let message = error.to_string();
        self.failure.lock().get_or_insert(StreamFailure::Query(error));
        ArrowError::ExternalError(message.into())
    }
}

impl Drop for StreamReader {
    /// A query whose rows nobody reads stops, even if another thread waits for it. In a transaction, whose session runs
    /// other statements, it ends with its next rows.
    fn drop(&mut self) {
        let is_alone = self.session.as_ref().is_some_and(|session| !session.in_transaction());
        if is_alone && matches!(self.source, BatchSource::Pumped(_)) {
            Self::interrupt(self.session.as_ref());
        }
    }
}

enum BatchSource {
    Empty,
    /// The calling thread reads the rows.
    Direct(Box<UnreadRows>),
    /// A separate thread reads the rows, so that the calling one, Python's main thread, can check for Ctrl-C in the
    /// meantime.
    Pumped(Mutex<Receiver<Result<RecordBatch>>>),
}

impl BatchSource {
    fn direct(reading: UnreadRows) -> Self {
        Self::Direct(Box::new(reading))
    }

    fn pumped(reading: UnreadRows) -> Result<Self> {
        let (sender, receiver) = sync_channel(WAITING_BATCHES);
        let pump = move || {
            let UnreadRows { rows, ahead, session } = reading;
            for batch in ahead.into_iter().map(Ok).chain(rows) {
                if sender.send(batch).is_err() {
                    break;
                }
            }
            drop(session);
        };
        std::thread::Builder::new().name("atsdb-stream".into()).spawn(pump).map_err(|error| {
            Error::new(ErrorKind::Resources, format!("cannot start a thread: {error}")).with_source(error)
        })?;
        Ok(Self::Pumped(Mutex::new(receiver)))
    }
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.source {
            BatchSource::Empty => return None,
            BatchSource::Direct(reading) => reading.ahead.pop_front().map(Ok).or_else(|| reading.rows.next()),
            BatchSource::Pumped(batches) => {
                let batches = batches.get_mut();
                match crate::waiting::receive(batches, || Self::interrupt(self.session.as_ref())) {
                    Ok(next) => next,
                    Err(raised) => {
                        *self.failure.lock() = Some(StreamFailure::Raised(raised));
                        Some(Err(Error::new(ErrorKind::Interrupted, "the query was interrupted")))
                    }
                }
            }
        };
        let next = match next {
            Some(Ok(batch)) if self.durations => Some(batch_with_durations(&batch, &self.schema)),
            other => other,
        };
        if !matches!(next, Some(Ok(_))) {
            self.source = BatchSource::Empty;
        }
        next.map(|batch| batch.map_err(|error| self.failed(error)))
    }
}

impl RecordBatchReader for StreamReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
