//! Where queries run: a tokio runtime with DataFusion's context, made when the first query comes.
//!
//! Parsing, planning and execution of a query are one task on threads with large stacks; the caller's thread only
//! waits for batches, so that it can be interrupted, may be of any kind, and sees a panic as an error.

use super::context::{BATCH_ROWS, context};
use super::explain::one_row_a_line;
use super::interrupt::{Interrupt, interrupted};
use super::options::SessionOptions;
use super::query::Query;
use super::query_limits::QueryLimits;
use super::statement_query::StatementQuery;
use super::threads::{no_thread, start_runtime};
use super::wait::block_on;
use crate::dml::change::Change;
use crate::dml::target::Target;
use crate::parse::headings::Headings;
use crate::plan::names::{GivenTables, logical_plan};
use crate::plan::rollups::Focus;
use crate::plan::work_table::WorkQuery;
use crate::scan::numbered_scan::NumberedScan;
use crate::text::datafusion_errors::from_datafusion;
use crate::text::identifiers::SharedSpellings;
use crate::workarounds::batch_rows;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, Result};
use atsdb_engine::ReadSnapshot;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use futures::{FutureExt, StreamExt};
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Address space, not memory: a page is taken when it is first touched.
const STACK_BYTES: usize = 64 << 20;

/// Batches that wait for a slow reader.
const WAITING_BATCHES_MAX: usize = 2;

/// The runtime and DataFusion's context.
pub(crate) struct Worker {
    runtime: Option<Runtime>,
    context: SessionContext,
    options: SessionOptions,
    /// Whether a query was stopped here that may go on until it next looks up.
    abandoned: AtomicBool,
}

/// What a worker works on.
enum Work {
    Text(Box<(Query, Focus)>),
    WorkTable(Box<WorkQuery>, ReadSnapshot),
}

/// What a query turned out to be, when it has begun.
pub(crate) struct Started {
    /// Where the rows go, if it is an INSERT.
    pub(crate) insert: Option<Target>,
    /// What becomes of the rows, if it is an UPDATE or DELETE.
    pub(crate) change: Option<Change>,
    /// How the statement spells names.
    pub(crate) spellings: SharedSpellings,
    pub(crate) rows: QueryRows,
}

enum Message {
    Started {
        insert: Option<Box<Target>>,
        change: Option<Box<Change>>,
        spellings: SharedSpellings,
        schema: SchemaRef,
    },
    Batch(RecordBatch),
    /// The rows of the work table have been read, and there may be more.
    Round,
    Failed(Error),
    Finished,
}

impl Worker {
    pub(crate) fn new(options: &SessionOptions) -> Result<Self> {
        let runtime = start_runtime(options.threads.max(1), STACK_BYTES)?;
        let context = context(options)?;
        Ok(Self { runtime: Some(runtime), context, options: options.clone(), abandoned: AtomicBool::new(false) })
    }

    /// Whether the next query goes elsewhere, as a stopped one may still hold threads here.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Starts a query and waits until its columns are known.
    pub(crate) fn start(self: &Arc<Self>, query: Query, interrupt: &Interrupt) -> Result<Started> {
        self.start_focused(query, Focus::default(), interrupt)
    }

    /// Plans something on a thread of the runtime, whose stack is large.
    pub(crate) fn plan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SessionState) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(runtime) = &self.runtime else { return Err(Error::internal("the session is closed")) };
        let state = self.context.state();
        block_on(runtime.spawn(async move { work(&state) }))
            .unwrap_or_else(|error| Err(Error::internal(format!("planning failed inside: {error}"))))
    }

    /// Starts a query about some times.
    pub(crate) fn start_focused(
        self: &Arc<Self>,
        query: Query,
        focus: Focus,
        interrupt: &Interrupt,
    ) -> Result<Started> {
        self.begin(Work::Text(Box::new((query, focus))), interrupt)
    }

    /// Starts a query over a work table.
    pub(crate) fn start_on_work_table(
        self: &Arc<Self>,
        query: WorkQuery,
        snapshot: &ReadSnapshot,
        interrupt: &Interrupt,
    ) -> Result<QueryRows> {
        self.begin(Work::WorkTable(Box::new(query), snapshot.clone()), interrupt).map(|started| started.rows)
    }

    fn begin(self: &Arc<Self>, work: Work, interrupt: &Interrupt) -> Result<Started> {
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES_MAX);
        let Some(runtime) = &self.runtime else { return Err(Error::internal("the session is closed")) };
        let (context, memory_bytes) = (self.context.clone(), self.options.memory_bytes);
        let limits = QueryLimits::begin(&self.options);
        let task = async move {
            let outcome = AssertUnwindSafe(run(work, context, memory_bytes, sender.clone())).catch_unwind().await;
            let last = match outcome {
                Ok(Ok(())) => Message::Finished,
                Ok(Err(error)) => Message::Failed(error),
                Err(panic) => Message::Failed(from_panic(panic.as_ref())),
            };
            // The reader may have gone: then nobody wants to know.
            let _ = sender.send(last).await;
        };
        let task = runtime.spawn(task).abort_handle();
        let mut messages = Messages {
            receiver,
            task,
            interrupt: interrupt.clone(),
            limits,
            worker: Arc::clone(self),
            finished: false,
        };
        match messages.next() {
            Message::Started { insert, change, spellings, schema } => {
                let rows = QueryRows { schema, messages };
                let (insert, change) = (insert.map(|insert| *insert), change.map(|change| *change));
                Ok(Started { insert, change, spellings, rows })
            }
            Message::Failed(error) => Err(error),
            Message::Batch(_) | Message::Round | Message::Finished => {
                Err(Error::internal("a query answered before it started"))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Does not wait: the last owner may be a thread of the runtime.
            runtime.shutdown_background();
        }
    }
}

async fn run(work: Work, context: SessionContext, memory_bytes: usize, sender: mpsc::Sender<Message>) -> Result<()> {
    let (asked, snapshot) = match work {
        Work::Text(text) => {
            let (query, focus) = *text;
            (StatementQuery::of_text(&query, focus)?, query.snapshot)
        }
        Work::WorkTable(query, snapshot) => (StatementQuery::on_work_table(*query), snapshot),
    };
    let StatementQuery { mut statement, insert, mut change, spellings, focus, work_table, files, mut more } = asked;
    let explains = matches!(statement, Ast::Explain { .. });
    let headings = match &mut statement {
        Ast::Query(query) => Headings::take(query, &spellings),
        _ => Headings::default(),
    };
    let mut state = context.state();
    if change.is_some() {
        // The rows of a chunk come one after the other.
        state.config_mut().options_mut().optimizer.enable_round_robin_repartition = false;
    }
    let given = GivenTables { work_table: work_table.as_ref(), files: &files };
    let plan = logical_plan(statement, &state, &snapshot, &spellings, &focus, given);
    let plan = plan.map_err(from_datafusion)?;
    drop(snapshot);
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(from_datafusion)?;
    let plan = state.optimize(&plan).map_err(from_datafusion)?;
    let batch_rows = batch_rows(&plan, memory_bytes, BATCH_ROWS).map_err(from_datafusion)?;
    *state.config_mut() = state.config().clone().with_batch_size(batch_rows);
    let mut plan = state.query_planner().create_physical_plan(&plan, &state).await.map_err(from_datafusion)?;
    if let Some(change) = &mut change {
        change.source = NumberedScan::of(&plan);
    }
    let schema = headings.apply(&plan.schema());
    let started = Message::Started { insert, change, spellings, schema: Arc::clone(&schema) };
    if sender.send(started).await.is_err() {
        return Ok(());
    }
    loop {
        let mut stream = execute_stream(Arc::clone(&plan), state.task_ctx()).map_err(from_datafusion)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(from_datafusion)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let batch = if explains { one_row_a_line(&batch)? } else { batch };
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let named = RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options);
            let named = named.map_err(|error| Error::internal(error.to_string()))?;
            if sender.send(Message::Batch(named)).await.is_err() {
                return Ok(());
            }
        }
        let (Some(more), Some(work_table)) = (&mut more, &work_table) else { return Ok(()) };
        if sender.send(Message::Round).await.is_err() {
            return Ok(());
        }
        match more.recv().await {
            Some(rows) => work_table.replace(&rows)?,
            None => return Ok(()),
        }
        plan = reset_plan_states(plan).map_err(from_datafusion)?;
    }
}

fn from_panic(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    no_thread(text).unwrap_or_else(|| {
        Error::internal(format!("the query failed inside: {text}")).with_hint("please report it with the statement")
    })
}

/// The rows of a query while it runs.
pub(crate) struct QueryRows {
    schema: SchemaRef,
    messages: Messages,
}

impl QueryRows {
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The rows that come of the work table as it is; its rows can be replaced then.
    pub(crate) fn round(&mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        loop {
            match self.messages.next() {
                Message::Batch(batch) => batches.push(batch),
                Message::Round => return Ok(batches),
                Message::Failed(error) => return Err(error),
                Message::Started { .. } | Message::Finished => return Err(Error::internal("a round without an end")),
            }
        }
    }
}

impl Iterator for QueryRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.messages.finished {
            return None;
        }
        match self.messages.next() {
            Message::Batch(batch) => Some(Ok(batch)),
            Message::Failed(error) => Some(Err(error)),
            Message::Finished => None,
            Message::Started { .. } | Message::Round => Some(Err(Error::internal("a query started twice"))),
        }
    }
}

/// What a query's task sends, waited for by a blocking thread.
struct Messages {
    receiver: mpsc::Receiver<Message>,
    task: AbortHandle,
    interrupt: Interrupt,
    limits: QueryLimits,
    /// Keeps the runtime alive for as long as it is read from.
    worker: Arc<Worker>,
    finished: bool,
}

impl Messages {
    fn next(&mut self) -> Message {
        let (receiver, interrupt, limits) = (&mut self.receiver, &self.interrupt, &mut self.limits);
        let mut stopped = false;
        let message = block_on(poll_fn(|context| {
            if interrupt.poll(context) {
                stopped = true;
                return Poll::Ready(Message::Failed(interrupted()));
            }
            if let Err(error) = limits.check() {
                stopped = true;
                return Poll::Ready(Message::Failed(error));
            }
            receiver.poll_recv(context).map(|message| {
                message.unwrap_or_else(|| Message::Failed(Error::internal("the query ended without an answer")))
            })
        }));
        if matches!(message, Message::Failed(_) | Message::Finished) {
            self.finished = true;
            self.task.abort();
            self.worker.abandoned.fetch_or(stopped, Ordering::Relaxed);
        }
        message
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.task.abort();
    }
}
