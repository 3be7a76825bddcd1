//! The worker that runs queries: a tokio runtime with DataFusion's context, created for the first query. Several
//! sessions may share one worker.
//!
//! Parsing, planning and execution of a query are one task on threads with large stacks; the caller's thread only
//! waits for batches, so that it can be interrupted, may be of any kind, and sees a panic as an error.

use super::context::context;
use super::describe::TypesAndColumns;
use super::interrupt::{Interrupt, interrupted};
use super::kept_memory::KeptMemory;
use super::memory::{QueryMemory, SharedMemory};
use super::options::SessionOptions;
use super::plan_cache::{CachedResult, PlanCache, PlanKey};
use super::planned::Request;
use super::query::{DefinitionScope, Query};
use super::query_limits::QueryLimits;
use super::query_session::set_session_functions;
use super::query_task::{Message, run_query};
use super::query_times::set_times;
use super::running::{RunningQueries, RunningQuery, out_of_memory};
use super::threads::Threads;
use super::wait::block_on;
use super::with_rows::StepRequest;
use crate::dml::change::Change;
use crate::dml::target::Target;
use crate::plan::rollups::PlanFocus;
use crate::plan::work_table::WorkQuery;
use crate::scan::direct::{DirectRead, ReadLength};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::functions::session::lock_table::{LockTable, OpenScope};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_engine::ReadSnapshot;
use atsdb_temporary::TemporarySpace;
use datafusion::execution::context::SessionContext;
use datafusion::execution::session_state::SessionState;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The number of batches that may wait for a slow reader.
const WAITING_BATCHES_MAX: usize = 2;

/// Runs the queries of one or several sessions.
pub(crate) struct Worker {
    options: SessionOptions,
    plans: Arc<PlanCache>,
    /// The advisory locks of the sessions.
    locks: Arc<LockTable>,
    resources: Arc<SharedResources>,
}

/// The memory, threads and temporary space that the workers of several stores may share.
struct SharedResources {
    memory: Arc<SharedMemory>,
    temporary_space: Arc<TemporarySpace>,
    running: RunningQueries,
    /// Created for the first query. A program that only inserts and declares does not need it.
    started: Mutex<Option<ThreadsAndContext>>,
    /// Whether a stopped query may still occupy a thread.
    has_stopped: AtomicBool,
}

/// The threads and DataFusion's context.
#[derive(Clone)]
struct ThreadsAndContext {
    threads: Arc<Threads>,
    context: SessionContext,
    /// The state with which kept plans are executed. They hold the functions that they call.
    state: Arc<SessionState>,
}

/// The properties of a query that has started.
pub(crate) struct Started {
    /// The target of the rows, if it is an INSERT.
    pub(crate) insert: Option<Target>,
    /// The change of the rows, if it is an UPDATE, DELETE or MERGE.
    pub(crate) change: Option<Change>,
    /// The spelling of names in the statement.
    pub(crate) spellings: SharedSpellings,
    pub(crate) rows: QueryRows,
}

impl Worker {
    /// Creates a worker. This is cheap, because threads are started for the first query.
    pub(crate) fn new(options: &SessionOptions) -> Self {
        let resources = SharedResources {
            memory: SharedMemory::new(options.memory_bytes),
            temporary_space: Arc::new(TemporarySpace::in_default_folder(options.temp_bytes)),
            running: RunningQueries::default(),
            started: Mutex::default(),
            has_stopped: AtomicBool::new(false),
        };
        let (plans, locks) = (Arc::default(), Arc::default());
        Self { options: options.clone(), plans, locks, resources: Arc::new(resources) }
    }

    /// Creates a worker for another store, on the same threads and memory. It has its own plans, because the numbers of
    /// tables and their versions are those of one store, and its own locks.
    pub(crate) fn for_other_store(&self) -> Self {
        self.share();
        let (plans, locks) = (Arc::default(), Arc::default());
        Self { options: self.options.clone(), plans, locks, resources: Arc::clone(&self.resources) }
    }

    /// The space of temporary files.
    pub(crate) fn temporary_space(&self) -> &Arc<TemporarySpace> {
        &self.resources.temporary_space
    }

    /// Marks the worker as shared by several sessions.
    pub(crate) fn share(&self) {
        self.resources.memory.share();
    }

    /// Returns threads that are free, and the context. A stopped query may occupy a thread until it next yields. If all
    /// threads are occupied like this, new threads are started, and the old ones stay with the queries that run on
    /// them.
    fn parts(&self) -> Result<ThreadsAndContext> {
        let mut started = self.resources.started.lock();
        match started.as_mut() {
            None => {
                let threads = Threads::start(self.options.threads.max(1))?;
                let context = context(&self.options, &self.resources.temporary_space)?;
                let state = Arc::new(context.state());
                Ok(started.insert(ThreadsAndContext { threads, context, state }).clone())
            }
            Some(parts) => {
                if self.resources.has_stopped.swap(false, Ordering::Relaxed) && !parts.threads.has_free_thread() {
                    parts.threads = Threads::start(self.options.threads.max(1))?;
                }
                Ok(parts.clone())
            }
        }
    }

    /// Starts a query and waits until its columns are known.
    pub(crate) fn start(self: &Arc<Self>, query: Query, interrupt: &Interrupt) -> Result<Started> {
        self.start_focused(query, PlanFocus::default(), interrupt)
    }

    /// Plans something on a thread of the runtime, whose stack is large.
    pub(crate) fn plan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SessionState) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let ThreadsAndContext { threads, context, .. } = self.parts()?;
        let state = context.state();
        block_on(threads.spawn(async move { work(&state) })?)
            .unwrap_or_else(|error| Err(Error::internal(format!("planning panicked: {error}"))))
    }

    /// The cached description of a statement.
    pub(crate) fn kept_description(
        &self,
        key: &PlanKey,
        tables: &[Table],
        scope: DefinitionScope,
    ) -> Option<TypesAndColumns> {
        match self.plans.get(key, tables, scope) {
            Some(CachedResult::Described(described)) => Some(described.as_ref().clone()),
            _ => None,
        }
    }

    pub(crate) fn keep_description(
        &self,
        key: PlanKey,
        described: &TypesAndColumns,
        tables: &[Table],
        scope: DefinitionScope,
    ) {
        self.plans.put(key, CachedResult::Described(Arc::new(described.clone())), tables, scope);
    }

    /// The plans and other results that are kept.
    pub(crate) fn plans(&self) -> &PlanCache {
        &self.plans
    }

    /// The advisory locks of the sessions.
    pub(crate) fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }

    /// Starts a query that covers only some times.
    pub(crate) fn start_focused(
        self: &Arc<Self>,
        query: Query,
        focus: PlanFocus,
        interrupt: &Interrupt,
    ) -> Result<Started> {
        self.begin(Request::Text(Box::new((query, focus))), interrupt)
    }

    /// Starts one step of a statement whose `WITH` changes rows.
    pub(crate) fn start_step(
        self: &Arc<Self>,
        query: Query,
        step: StepRequest,
        interrupt: &Interrupt,
    ) -> Result<Started> {
        self.begin(Request::Step(Box::new((query, step))), interrupt)
    }

    /// Starts a query over a work table.
    pub(crate) fn start_on_work_table(
        self: &Arc<Self>,
        query: WorkQuery,
        snapshot: &ReadSnapshot,
        interrupt: &Interrupt,
    ) -> Result<QueryRows> {
        self.begin(Request::WorkTable(Box::new(query), snapshot.clone()), interrupt).map(|started| started.rows)
    }

    /// Memory for rows that outlive their query.
    pub(crate) fn kept_memory(&self) -> KeptMemory {
        KeptMemory::of(&self.resources.memory)
    }

    fn begin(self: &Arc<Self>, request: Request, interrupt: &Interrupt) -> Result<Started> {
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES_MAX);
        let ThreadsAndContext { threads, context, state } = self.parts()?;
        let (memory_bytes, plans) = (self.options.memory_bytes, Arc::clone(&self.plans));
        let kept = request.kept_plan(&plans);
        let state = match kept {
            Some(_) => state,
            None => Arc::new(planning_state(&context, &request, interrupt)?),
        };
        let lock_scope = interrupt.locks().and_then(|locks| locks.begin_statement());
        let limits = QueryLimits::begin(memory_bytes, interrupt.time_limit());
        let query = self.resources.running.begin(QueryMemory::new(&self.resources.memory));
        let running = Arc::clone(&query);
        let task = async move {
            let last = run_query(request, kept, state, &plans, memory_bytes, &running, &sender).await;
            // The reader may have been dropped. Then the message is not needed.
            let _ = sender.send(last).await;
        };
        let task = threads.spawn(task)?.abort_handle();
        let _ = query.task.set(task.clone());
        let mut messages = Messages {
            receiver,
            task,
            interrupt: interrupt.clone(),
            limits,
            worker: Arc::clone(self),
            query,
            lock_scope,
            _threads: threads,
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

/// The state with which a query is planned: with its times, and with the functions of its session.
fn planning_state(context: &SessionContext, request: &Request, interrupt: &Interrupt) -> Result<SessionState> {
    let mut state = context.state();
    set_times(&mut state, interrupt.times())?;
    set_session_functions(&mut state, interrupt, request.snapshot())?;
    Ok(state)
}

/// Executes a direct read on the caller's thread, until it is interrupted or its time is over. `None` if a plan is
/// needed after all, or if the read would take longer than it may.
pub(crate) fn read_directly(
    direct: &DirectRead,
    snapshot: &ReadSnapshot,
    parameters: &Parameters,
    length: ReadLength,
    interrupt: &Interrupt,
) -> Result<Option<Vec<RecordBatch>>> {
    let limits = QueryLimits::of_time(interrupt.time_limit());
    direct.read(snapshot, parameters, length, &|| interrupt.check().and_then(|()| limits.check_time()))
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

    /// The result for the present rows of the work table, which can then be replaced.
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

/// The messages of a query's task, received by a blocking thread.
struct Messages {
    receiver: mpsc::Receiver<Message>,
    task: AbortHandle,
    interrupt: Interrupt,
    limits: QueryLimits,
    worker: Arc<Worker>,
    query: Arc<RunningQuery>,
    /// Holds the locks of a statement outside of a transaction until its last row was read.
    lock_scope: Option<OpenScope>,
    /// Keeps the threads alive while the rows are read.
    _threads: Arc<Threads>,
    finished: bool,
}

impl Messages {
    fn next(&mut self) -> Message {
        let Self { receiver, interrupt, limits, worker, query, .. } = self;
        let mut stopped = false;
        let message = block_on(poll_fn(|context| {
            let outcome = match limits.check() {
                _ if interrupt.poll(context) => Err(interrupted()),
                Ok(None) => Ok(()),
                Ok(Some(now)) => {
                    worker.resources.running.end_largest(now);
                    Ok(())
                }
                Err(error) => Err(error),
            };
            let outcome = match outcome {
                Ok(()) if query.is_ended() => Err(out_of_memory(worker.options.memory_bytes)),
                outcome => outcome,
            };
            if let Err(error) = outcome {
                stopped = true;
                return Poll::Ready(Message::Failed(error));
            }
            receiver.poll_recv(context).map(|message| {
                message.unwrap_or_else(|| {
                    Message::Failed(match query.is_ended() {
                        true => out_of_memory(worker.options.memory_bytes),
                        false => Error::internal("the query ended without an answer"),
                    })
                })
            })
        }));
        if matches!(message, Message::Failed(_) | Message::Finished) {
            self.finished = true;
            self.task.abort();
            self.query.note_plan(None);
            drop(self.lock_scope.take());
            self.worker.resources.has_stopped.fetch_or(stopped, Ordering::Relaxed);
        }
        message
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.task.abort();
    }
}
