//! Where queries run: a tokio runtime with DataFusion's context, made when the first query comes.
//!
//! Parsing, planning and execution of a query are one task on threads with large stacks; the caller's thread only
//! waits for batches, so that it can be interrupted, may be of any kind, and sees a panic as an error.

use crate::asof;
use crate::bounded_functions::bound_functions;
use crate::change::{Change, Numbered, query_of_change};
use crate::compare_times::CompareTimes;
use crate::ddl::in_statements::source_with_defaults;
use crate::error::{from_datafusion, not_supported, sql_error};
use crate::exact_casts::ExactCasts;
use crate::explain::one_row_a_line;
use crate::extension::StepPlanner;
use crate::functions::Extract;
use crate::gapfill;
use crate::given::{Given, Over};
use crate::group_by_index::GroupByIndex;
use crate::guard::{Guard, LOOK_EVERY};
use crate::headings::Headings;
use crate::identifiers::SharedSpellings;
use crate::in_lists::CompareLists;
use crate::insert::Target;
pub(crate) use crate::interrupt::Interrupt;
use crate::interrupt::interrupted;
use crate::latest_first::LatestFirst;
use crate::latest_rows::LatestRows;
use crate::long_literals::batch_rows;
use crate::meaning::{LengthArithmetic, Lengths, PostgresCasts, UnknownMembers};
use crate::overflow::{CheckIntegers, check_sums};
use crate::parse::parse_over;
use crate::plain_results::plain_results;
use crate::plain_values::PlainValues;
use crate::planner::logical_plan;
use crate::resident::JoinByIndex;
use crate::rollup::Focus;
use crate::script::Place;
use crate::session::SessionOptions;
use crate::similar_to::SimilarTo;
use crate::stoppable::Stoppable;
use crate::threads::{no_thread, start_runtime};
use crate::unambiguous_filters::keep_filters_unambiguous;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, Result, Table};
use atsdb_engine::ReadSnapshot;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::optimizer::{Analyzer, Optimizer};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use futures::{FutureExt, StreamExt};
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Address space, not memory: a page is taken when it is first touched.
const STACK_BYTES: usize = 64 << 20;

/// Rows that DataFusion's operators work on at a time.
const BATCH_ROWS: usize = 8_192;

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

/// One query on its way.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) place: Place,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) snapshot: ReadSnapshot,
}

/// What a worker works on.
enum Work {
    Text(Box<(Query, Focus)>),
    Over(Box<Over>, ReadSnapshot),
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
    /// The rows that were given have been read, and there may be more.
    Round,
    Failed(Error),
    Finished,
}

impl Worker {
    pub(crate) fn new(options: &SessionOptions) -> Result<Self> {
        let threads = options.threads.max(1);
        let runtime = start_runtime(threads, STACK_BYTES)?;
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(options.memory_bytes)))
            .build_arc()
            .map_err(from_datafusion)?;
        let mut config = SessionConfig::new()
            .with_target_partitions(threads)
            .with_batch_size(BATCH_ROWS)
            .with_information_schema(false)
            .with_create_default_catalog_and_schema(false);
        let parser = &mut config.options_mut().sql_parser;
        parser.enable_ident_normalization = false;
        parser.map_string_types_to_utf8view = false;
        let mut analyzer = Analyzer::new();
        analyzer.rules.insert(0, Arc::new(SimilarTo));
        analyzer.rules.insert(0, Arc::new(CompareLists));
        analyzer.rules.insert(0, Arc::new(CompareTimes));
        analyzer.rules.insert(0, Arc::new(Lengths));
        analyzer.rules.insert(0, Arc::new(UnknownMembers));
        analyzer.rules.insert(0, Arc::new(asof::JoinAsOf));
        analyzer.rules.push(Arc::new(CheckIntegers));
        analyzer.rules.push(Arc::new(gapfill::FillGaps));
        analyzer.rules.push(Arc::new(ExactCasts));
        analyzer.rules.push(Arc::new(PostgresCasts));
        let mut logical = Optimizer::new();
        logical.rules.insert(0, Arc::new(asof::JoinAsOf));
        logical.rules.push(Arc::new(PlainValues));
        logical.rules.push(Arc::new(LatestRows));
        logical.rules.push(Arc::new(GroupByIndex));
        let mut optimizer = PhysicalOptimizer::new();
        keep_filters_unambiguous(&mut optimizer);
        optimizer.rules.insert(0, Arc::new(LatestFirst));
        optimizer.rules.insert(0, Arc::new(JoinByIndex));
        optimizer.rules.push(Arc::new(Stoppable));
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(environment)
            .with_default_features()
            .with_query_planner(Arc::new(StepPlanner))
            .with_analyzer_rules(analyzer.rules)
            .with_optimizer_rules(logical.rules)
            .with_physical_optimizer_rules(optimizer.rules);
        let planners = state.expr_planners().get_or_insert_default();
        planners.insert(0, Arc::new(Extract));
        planners.insert(0, Arc::new(LengthArithmetic));
        let context = SessionContext::new_with_state(state.build());
        context.register_udf(asof::mark());
        gapfill::functions().into_iter().for_each(|function| context.register_udf(function.as_ref().clone()));
        crate::functions::register(&context).map_err(from_datafusion)?;
        bound_functions(&context, options.memory_bytes);
        plain_results(&context);
        check_sums(&context);
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

    /// Starts a query over given rows.
    pub(crate) fn start_over(
        self: &Arc<Self>,
        over: Over,
        snapshot: &ReadSnapshot,
        interrupt: &Interrupt,
    ) -> Result<QueryRows> {
        self.begin(Work::Over(Box::new(over), snapshot.clone()), interrupt).map(|started| started.rows)
    }

    fn begin(self: &Arc<Self>, work: Work, interrupt: &Interrupt) -> Result<Started> {
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES_MAX);
        let Some(runtime) = &self.runtime else { return Err(Error::internal("the session is closed")) };
        let (context, memory_bytes) = (self.context.clone(), self.options.memory_bytes);
        let guard = Guard::begin(&self.options);
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
        let mut messages =
            Messages { receiver, task, interrupt: interrupt.clone(), guard, worker: Arc::clone(self), finished: false };
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

/// A statement that is a query now, and what its rows are for.
struct Readable {
    statement: Ast,
    insert: Option<Box<Target>>,
    change: Option<Box<Change>>,
    spellings: SharedSpellings,
    focus: Focus,
    given: Option<Arc<Given>>,
    more: Option<mpsc::UnboundedReceiver<RecordBatch>>,
}

impl Readable {
    fn of_text(query: &Query, focus: Focus) -> Result<Self> {
        let tables = query.snapshot.tables();
        let (mut statement, spellings) = parse_over(&query.text, query.place, &query.params, tables)?;
        let change = query_of_change(&mut statement, tables, &spellings)?;
        let (statement, insert, change) = match change {
            Some((query, change)) => (Ast::Query(Box::new(query)), None, Some(Box::new(change))),
            None => {
                let (statement, insert) = readable(statement, tables)?;
                (statement, insert.map(Box::new), None)
            }
        };
        let spellings = SharedSpellings::new(spellings);
        Ok(Self { statement, insert, change, spellings, focus, given: None, more: None })
    }

    fn over(over: Over) -> Self {
        let Over { query, spellings, given, more } = over;
        let (statement, focus) = (Ast::Query(Box::new(query)), Focus::default());
        Self { statement, insert: None, change: None, spellings, focus, given: Some(given), more }
    }
}

async fn run(work: Work, context: SessionContext, memory_bytes: usize, sender: mpsc::Sender<Message>) -> Result<()> {
    let (readable, snapshot) = match work {
        Work::Text(asked) => {
            let (query, focus) = *asked;
            (Readable::of_text(&query, focus)?, query.snapshot)
        }
        Work::Over(over, snapshot) => (Readable::over(*over), snapshot),
    };
    let Readable { mut statement, insert, mut change, spellings, focus, given, mut more } = readable;
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
    let plan = logical_plan(statement, &state, &snapshot, &spellings, &focus, given.as_ref());
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
        change.source = Numbered::of(&plan);
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
        let (Some(more), Some(given)) = (&mut more, &given) else { return Ok(()) };
        if sender.send(Message::Round).await.is_err() {
            return Ok(());
        }
        match more.recv().await {
            Some(rows) => given.give(&rows)?,
            None => return Ok(()),
        }
        plan = reset_plan_states(plan).map_err(from_datafusion)?;
    }
}

/// The statement to plan: a query, or what explains one; of an INSERT its query.
fn readable(statement: Ast, tables: &[Table]) -> Result<(Ast, Option<Target>)> {
    match statement {
        Ast::Query(_) => Ok((statement, None)),
        Ast::Explain { statement: inner, .. } if !matches!(*inner, Ast::Query(_)) => {
            Err(not_supported("EXPLAIN of anything but a query"))
        }
        Ast::Explain { .. } => Ok((statement, None)),
        Ast::ExplainTable { .. } => Err(sql_error("EXPLAIN takes a query").with_hint("write DESCRIBE table")),
        Ast::Insert(mut insert) => {
            let target = Target::of(&insert)?;
            let source = source_with_defaults(&mut insert, &target, tables)?;
            Ok((Ast::Query(source), Some(target)))
        }
        other => Err(crate::refuse::refused(&other)),
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

    /// The rows that come of what was given; more can be given then.
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
    guard: Guard,
    /// Keeps the runtime alive for as long as it is read from.
    worker: Arc<Worker>,
    finished: bool,
}

impl Messages {
    fn next(&mut self) -> Message {
        let (receiver, interrupt, guard) = (&mut self.receiver, &self.interrupt, &mut self.guard);
        let mut stopped = false;
        let message = block_on(poll_fn(|context| {
            if interrupt.poll(context) {
                stopped = true;
                return Poll::Ready(Message::Failed(interrupted()));
            }
            if let Err(error) = guard.check() {
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

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread, whatever thread it is, and asks it now and then.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park_timeout(LOOK_EVERY),
        }
    }
}
