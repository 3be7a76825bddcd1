//! The running queries, and the choice of the one that is ended when the process runs short of memory. Operators
//! reserve most of their memory, and one that gets none ends its own query. Some hold more than they reserve: rows that
//! a window function keeps, texts that an aggregate accumulates. The system does not show to which query such memory
//! belongs. So when the process uses too much memory, the query with the largest reservations is ended, where all bytes
//! that have gone into operators of these kinds count as reserved.

use super::memory::QueryMemory;
use atsdb_core::{Error, ErrorKind};
use atsdb_dialect::text::datafusion_errors::MORE_MEMORY;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricValue;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// The time after the end of a query for which no other one is ended, so that its memory can be freed.
const GIVING_BACK: Duration = Duration::from_secs(1);

/// Operators that may hold rows for which they have not reserved memory.
const HOLDERS: [&str; 3] = ["WindowAggExec", "BoundedWindowAggExec", "AggregateExec"];

/// One query.
pub(super) struct RunningQuery {
    pub(super) memory: Arc<QueryMemory>,
    plan: Mutex<Option<Arc<dyn ExecutionPlan>>>,
    pub(super) task: OnceLock<AbortHandle>,
    is_ended: AtomicBool,
}

impl RunningQuery {
    /// Returns whether it was ended because of too little memory.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Sets the plan that it executes; `None` once it has ended, because a plan holds a snapshot of the store.
    pub(super) fn note_plan(&self, plan: Option<Arc<dyn ExecutionPlan>>) {
        *self.plan.lock() = plan;
    }

    fn held(&self) -> usize {
        let plan = self.plan.lock();
        self.memory.used().saturating_add(plan.as_ref().map_or(0, |plan| held_in(plan.as_ref())))
    }
}

fn held_in(plan: &dyn ExecutionPlan) -> usize {
    let inputs = plan.children();
    let own: usize = match HOLDERS.contains(&plan.name()) {
        true => inputs.iter().map(|input| bytes_of(input.as_ref())).sum(),
        false => 0,
    };
    inputs.iter().fold(own, |held, input| held.saturating_add(held_in(input.as_ref())))
}

/// The number of bytes that an operator has output so far.
fn bytes_of(plan: &dyn ExecutionPlan) -> usize {
    let bytes = plan.metrics().and_then(|metrics| metrics.sum(|of| matches!(of.value(), MetricValue::OutputBytes(_))));
    bytes.map_or(0, |bytes| bytes.as_usize())
}

/// All queries of a worker.
#[derive(Default)]
pub(super) struct RunningQueries(Mutex<QueryList>);

#[derive(Default)]
struct QueryList {
    queries: Vec<Weak<RunningQuery>>,
    ended: Option<Instant>,
}

impl RunningQueries {
    pub(super) fn begin(&self, memory: Arc<QueryMemory>) -> Arc<RunningQuery> {
        let (plan, task, is_ended) = (Mutex::default(), OnceLock::new(), AtomicBool::new(false));
        let query = Arc::new(RunningQuery { memory, plan, task, is_ended });
        let mut state = self.0.lock();
        state.queries.retain(|other| other.strong_count() > 0);
        state.queries.push(Arc::downgrade(&query));
        query
    }

    /// Ends the query that holds most, unless one was ended a moment ago.
    pub(super) fn end_largest(&self, now: Instant) {
        let mut state = self.0.lock();
        if state.ended.is_some_and(|ended| now.duration_since(ended) < GIVING_BACK) {
            return;
        }
        let running = state.queries.iter().filter_map(Weak::upgrade).filter(|query| !query.is_ended());
        if let Some(largest) = running.max_by_key(|query| query.held()) {
            largest.is_ended.store(true, Ordering::Relaxed);
            if let Some(task) = largest.task.get() {
                task.abort();
            }
            state.ended = Some(now);
        }
    }
}

/// The error of a query that was ended because of too little memory.
pub(super) fn out_of_memory(memory_bytes: usize) -> Error {
    let message = format!("the query needs more memory than its limit: {memory_bytes} bytes");
    Error::new(ErrorKind::Resources, message).with_hint(MORE_MEMORY)
}
