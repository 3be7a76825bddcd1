//! Computing a rollup: its stale buckets, in steps, each one commit.

use super::check::describe_rollup;
use crate::plan::buckets::{Bucketing, at_most};
use crate::plan::rollups::PlanFocus;
use crate::run::answer::AnswerRows;
use crate::run::interrupt::Interrupt;
use crate::run::query::Query;
use crate::run::worker::Worker;
use atsdb_core::{ErrorKind, Result, Rollup, RollupState, Table, TableId};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::exact_name;
use atsdb_engine::times::Times;
use atsdb_engine::times::{joined, without};
use atsdb_engine::{Engine, ReadSnapshot};
use std::sync::Arc;

/// A step ends after the slice in which it has read this many rows of the source.
const STEP_ROWS: u64 = 8_000_000;

/// The maximum number of stale time ranges that are computed in one step.
const STRETCHES_MAX: usize = 64;

/// The maximum number of stale time ranges that are stored. Beyond it, the nearest ranges are merged.
const REMEMBERED_MAX: usize = 256;

/// The maximum number of chunks in the log of a source. If there are more, a rollup's state takes them over, even if
/// there is nothing to compute.
const LOG_CHUNKS_MAX: usize = 64;

/// The maximum number of attempts at a step, one after the other, if other writers are faster.
const ATTEMPTS_MAX: usize = 100;

/// The stale buckets that are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// All stale buckets.
    All,
    /// Stale buckets that have ended. Others would soon be stale again.
    Ended,
}

/// The result of a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefreshReport {
    /// The number of commits.
    pub steps: u64,
    /// The number of computed rows.
    pub rows: u64,
}

/// Computes rollups.
pub(crate) struct Refresh<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) worker: &'a Arc<Worker>,
    pub(crate) interrupt: &'a Interrupt,
}

/// The work of one step.
struct RefreshStep {
    times: Vec<Times>,
    state: RollupState,
    /// Whether there is more to do.
    more: bool,
}

impl Refresh<'_> {
    /// Computes one rollup, as long as `may_continue` returns true.
    pub(crate) fn run(
        &self,
        rollup: TableId,
        effort: Effort,
        may_continue: &dyn Fn() -> bool,
    ) -> Result<RefreshReport> {
        let (mut report, mut attempts) = (RefreshReport::default(), 0);
        while may_continue() {
            self.interrupt.check()?;
            match self.step(rollup, effort) {
                Ok(None) => break,
                Ok(Some((rows, more))) => {
                    (report.steps, report.rows, attempts) = (report.steps + 1, report.rows + rows, 0);
                    if !more {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Conflict && attempts < ATTEMPTS_MAX => attempts += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// Makes one commit. Returns the number of computed rows, and whether there is more to do; `None` if there was
    /// nothing to do.
    fn step(&self, rollup: TableId, effort: Effort) -> Result<Option<(u64, bool)>> {
        let mut batch = self.engine.batch(None);
        let snapshot = batch.snapshot()?;
        let Some(table) = snapshot.tables().iter().find(|table| table.id == rollup).cloned() else { return Ok(None) };
        let Some(of) = &table.definition.rollup else { return Ok(None) };
        let source = snapshot.source_of(of)?.clone();
        let described = {
            let (query, source, snapshot) = (of.query.clone(), source.clone(), snapshot.clone());
            self.worker.plan(move |state| describe_rollup(&query, &source, state, &snapshot))
        };
        let described = described.map_err(|error| error.context(format_args!("rollup {}", table.definition.name)))?;
        let now_ms = self.engine.now_ms();
        let Some(step) = plan_step(&snapshot, &table, of, &source, &described.bucketing, effort, now_ms)? else {
            return Ok(None);
        };
        let rows = match step.times.is_empty() {
            true => None,
            false => {
                let text = format!("SELECT * FROM {}", exact_name(&table));
                let (position, parameters) = (SourcePosition::START, Parameters::none());
                let query = Query { text, position, parameters, snapshot, files: None, scope: None };
                let focus = PlanFocus { computed: Some((table.id, step.times.clone().into())), ..PlanFocus::default() };
                Some(AnswerRows::query(self.worker.start_focused(query, focus, self.interrupt)?.rows))
            }
        };
        let row_count = batch.refresh_rollup(&table, &step.times, rows.into_iter().flatten(), step.state)?;
        batch.commit()?;
        Ok(Some((row_count, step.more)))
    }
}

/// Plans the next step; `None` if there is nothing to do.
fn plan_step(
    snapshot: &ReadSnapshot,
    table: &Table,
    rollup: &Rollup,
    source: &Table,
    bucketing: &Bucketing,
    effort: Effort,
    now_ms: i64,
) -> Result<Option<RefreshStep>> {
    let stale = snapshot.stale_times(rollup)?;
    let definition = &source.definition;
    let unit = definition.time_unit();
    let now = i128::from(now_ms) * i128::from(unit.per_second()) / 1_000;
    let open_from = bucketing.bucket(i64::try_from(now).unwrap_or(i64::MAX)).0;
    let due = match effort {
        Effort::All => bucketing.whole(&stale),
        Effort::Ended => without(&bucketing.whole(&stale), &[(open_from, i64::MAX)]),
    };
    let mut times = at_most(due.clone(), STRETCHES_MAX);
    let until = end_of_step(snapshot, source, &times, bucketing)?;
    times = without(&times, &until.map(|until| vec![(until, i64::MAX)]).unwrap_or_default());
    // Buckets in which neither table has rows are not stale. The time of a rollup's row is the start of its bucket.
    let all = [(i64::MIN, i64::MAX)];
    let filled = joined([times_of(snapshot, source)?, times_of(snapshot, table)?].concat());
    let empty = without(&all, &bucketing.whole(&filled));
    let left = without(&without(&stale, &times), &empty);
    let closed_before = closing(snapshot, rollup, source, bucketing, &left, now_ms)?;
    let mut state = RollupState { accounted: snapshot.newest_chunk()?, stale: Vec::new(), closed_before };
    let left = left.into_iter().filter_map(|times| state.open_part(times)).collect();
    state.stale = at_most(left, REMEMBERED_MAX);
    let has_closed = closed_before != rollup.state.closed_before;
    if times.is_empty() && !has_closed && snapshot.log_length(rollup)? <= LOG_CHUNKS_MAX {
        return Ok(None);
    }
    Ok(Some(RefreshStep { times, state, more: until.is_some() }))
}

fn times_of(snapshot: &ReadSnapshot, table: &Table) -> Result<Vec<Times>> {
    Ok(snapshot.chunks(table)?.iter().map(|entry| (entry.time_min, entry.time_max)).collect())
}

/// The end of a step that would otherwise read too much: a boundary after a slice of the source.
fn end_of_step(snapshot: &ReadSnapshot, source: &Table, times: &[Times], bucketing: &Bucketing) -> Result<Option<i64>> {
    let mut entries = snapshot.chunks(source)?;
    let is_read = |range: (i64, i64)| times.iter().any(|(first, last)| *first <= range.1 && range.0 <= *last);
    entries.retain(|entry| is_read((entry.time_min, entry.time_max)));
    entries.sort_by_key(|entry| entry.slice_start);
    let mut rows = 0_u64;
    for (at, entry) in entries.iter().enumerate() {
        rows += u64::from(entry.row_count);
        let ends = entries.get(at + 1).is_none_or(|next| next.slice_start != entry.slice_start);
        if rows >= STEP_ROWS && ends {
            let last = bucketing.bucket(source.definition.slice_of(entry.time_min).last).1;
            let more = times.iter().any(|(_, end)| *end > last);
            return Ok(last.checked_add(1).filter(|_| more));
        }
    }
    Ok(None)
}

/// The new time before which buckets are closed. All their rows have passed the source's retention, and none of these
/// buckets is stale. It is advanced only if the source can then drop rows.
fn closing(
    snapshot: &ReadSnapshot,
    rollup: &Rollup,
    source: &Table,
    bucketing: &Bucketing,
    left: &[Times],
    now_ms: i64,
) -> Result<Option<i64>> {
    let definition = &source.definition;
    let before = rollup.state.closed_before;
    let Some(retention) = definition.retention else { return Ok(before) };
    let boundary = bucketing.bucket(retention.cutoff(now_ms, definition.time_unit())).0;
    if before.is_some_and(|before| before >= boundary) || left.iter().any(|(first, _)| *first < boundary) {
        return Ok(before);
    }
    let goes = |time: i64| definition.slice_of(time).last < boundary;
    let can_go = snapshot.chunks(source)?.iter().any(|entry| goes(entry.time_min) && entry.time_max < boundary);
    Ok(if can_go { Some(boundary) } else { before })
}

/// The rollup with this name in a snapshot, or all rollups without a name.
pub(crate) fn rollups_named(snapshot: &ReadSnapshot, name: Option<&str>) -> Result<Vec<Table>> {
    let mut rollups = snapshot.tables().iter().filter(|table| table.definition.rollup.is_some());
    match name {
        None => Ok(rollups.cloned().collect()),
        Some(name) => match rollups.find(|table| atsdb_core::name::same_name(&table.definition.name, name)) {
            Some(table) => Ok(vec![table.clone()]),
            None => {
                Err(sql_error(format!("no rollup named {name}")).with_hint("SELECT name FROM atsdb.rollups lists them"))
            }
        },
    }
}
