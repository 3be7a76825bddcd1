//! The task of a query: it plans the query, runs the plan and sends the rows, batch by batch. Not owned: the threads
//! that run tasks, and the reader of the messages ([`worker`](super::worker)).

use super::context::{BATCH_ROWS, task_context};
use super::explain::ExplainOptions;
use super::plan_cache::{CachedPlan, PlanCache};
use super::planned::{Planned, Request, planned, planned_before};
use super::running::RunningQuery;
use super::threads::no_thread;
use crate::dml::change::Change;
use crate::dml::target::Target;
use crate::scan::numbered_scan::NumberedScan;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, Result};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::workarounds::batch_rows;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use futures::{FutureExt, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A message of a task to the reader of its rows.
pub(super) enum Message {
    Started {
        insert: Option<Box<Target>>,
        change: Option<Box<Change>>,
        spellings: SharedSpellings,
        schema: SchemaRef,
    },
    Batch(RecordBatch),
    /// The rows of the work table have been processed, and there may be more.
    Round,
    Failed(Error),
    Finished,
}

/// Runs a query, and sends its messages but for the last one, which is returned. A panic is an error. With a kept plan,
/// the state may be that of other queries, too.
pub(super) async fn run_query(
    request: Request,
    kept: Option<Arc<CachedPlan>>,
    state: Arc<SessionState>,
    plans: &PlanCache,
    memory_bytes: usize,
    running: &RunningQuery,
    sender: &mpsc::Sender<Message>,
) -> Message {
    let sending = send_messages(request, kept, state, plans, memory_bytes, running, sender);
    match AssertUnwindSafe(sending).catch_unwind().await {
        Ok(Ok(())) => Message::Finished,
        Ok(Err(error)) => Message::Failed(error),
        Err(panic) => Message::Failed(from_panic(panic.as_ref())),
    }
}

async fn send_messages(
    request: Request,
    kept: Option<Arc<CachedPlan>>,
    mut state: Arc<SessionState>,
    plans: &PlanCache,
    memory_bytes: usize,
    running: &RunningQuery,
    sender: &mpsc::Sender<Message>,
) -> Result<()> {
    let Planned { plan, headings, insert, mut change, spellings, work_table, mut more, explained, candidate } =
        match kept {
            Some(kept) => planned_before(&kept, request.snapshot())?,
            None => planned(request, Arc::make_mut(&mut state), plans)?,
        };
    let batch_rows = batch_rows(&plan, memory_bytes, BATCH_ROWS).map_err(from_datafusion)?;
    if state.config().batch_size() != batch_rows {
        let state = Arc::make_mut(&mut state);
        *state.config_mut() = state.config().clone().with_batch_size(batch_rows);
    }
    let mut plan = match explained {
        Some(explained) => explained.physical_plan(&plan, &state).await?,
        None => state.query_planner().create_physical_plan(&plan, &*state).await.map_err(from_datafusion)?,
    };
    if let Some(candidate) = candidate {
        plans.learn(*candidate, &plan, state.config().target_partitions());
    }
    if let Some(change) = &mut change {
        change.source = NumberedScan::of(&plan);
        // The rows of a MERGE are sorted by their actions.
        if let (Some(source), Some(_)) = (&mut change.source, &change.merge) {
            source.partitions_in_order = None;
        }
    }
    running.note_plan(Some(Arc::clone(&plan)));
    let task_context = task_context(&state, &running.memory);
    let schema = headings.apply(&plan.schema());
    let schema = match explained {
        Some(explained) => explained.schema(schema),
        None => schema,
    };
    let started = Message::Started { insert, change, spellings, schema: Arc::clone(&schema) };
    if sender.send(started).await.is_err() {
        return Ok(());
    }
    loop {
        let rows = execute_stream(Arc::clone(&plan), Arc::clone(&task_context)).map_err(from_datafusion)?;
        if !send_rows(rows, &schema, explained, sender).await? {
            return Ok(());
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

/// Sends the rows of one execution of a plan, under the names of the answer. Returns false if nobody reads them any
/// more.
async fn send_rows(
    mut rows: SendableRecordBatchStream,
    schema: &SchemaRef,
    explained: Option<ExplainOptions>,
    sender: &mpsc::Sender<Message>,
) -> Result<bool> {
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(from_datafusion)?;
        if batch.num_rows() == 0 {
            continue;
        }
        let batch = match explained {
            Some(explained) => explained.rows(&batch)?,
            None => batch,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let named = RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?;
        if sender.send(Message::Batch(named)).await.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn from_panic(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    no_thread(text).unwrap_or_else(|| {
        Error::internal(format!("the query panicked: {text}"))
            .with_hint("this is a bug of atsdb: please report it with the statement")
    })
}
