//! Rollups, modelled by their answers: buckets computed from the existing rows, and closed ones with their last
//! contents.

use super::table::{Row, TableModel};
use crate::shape::{ColumnKind, kind};
use crate::subject::Summary;
use std::collections::BTreeMap;

/// The rows of a rollup's answer, with the bucket first.
type Answered = Vec<Vec<Option<i64>>>;

/// A rollup.
#[derive(Debug, Clone)]
pub(crate) struct RollupModel {
    pub(crate) name: String,
    /// The number of the table that it summarises.
    pub(crate) source: u64,
    pub(crate) summary: Summary,
    /// Buckets before this time are closed.
    closed_before: Option<i64>,
    /// The contents of closed buckets.
    closed: Answered,
    /// The time up to which buckets may have been closed, and the answer at that moment.
    closable: Option<(i64, Answered)>,
}

/// The values computed from the rows of one bucket and sensor.
#[derive(Default)]
struct Group {
    total: Option<i64>,
    rows: i64,
    counted: i64,
    notes: i64,
}

impl RollupModel {
    pub(crate) fn new(name: &str, source: u64, summary: Summary) -> Self {
        let (closed_before, closed, closable) = Default::default();
        Self { name: name.to_owned(), source, summary, closed_before, closed, closable }
    }

    /// Returns the rows of the rollup that follow from the rows of its source, sorted.
    pub(crate) fn answer(&self, source: &TableModel) -> Answered {
        let mut groups: BTreeMap<(i64, Option<i64>), Group> = BTreeMap::new();
        for row in &source.rows {
            let Some(bucket) = self.bucket_of(source, row) else { continue };
            let sensor = cell(source, row, ColumnKind::Sensor).filter(|_| self.summary.by_sensor);
            let group = groups.entry((bucket, sensor)).or_default();
            if let Some(count) = cell(source, row, ColumnKind::Count) {
                group.total = Some(group.total.unwrap_or(0) + count);
                group.counted += 1;
            }
            group.rows += 1;
            group.notes += i64::from(cell(source, row, ColumnKind::Note).is_some());
        }
        let computed = groups.into_iter().map(|((bucket, sensor), group)| {
            let mut row = vec![Some(bucket)];
            row.extend(self.summary.by_sensor.then_some(sensor));
            row.extend([group.total, Some(group.rows), Some(group.counted)]);
            row.extend(self.summary.notes.then_some(Some(group.notes)));
            row
        });
        let mut rows: Answered = computed.chain(self.closed.iter().cloned()).collect();
        rows.sort();
        rows
    }

    /// Notes that it may have been closed from now on, up to the time before which its source drops rows.
    pub(crate) fn note_closable(&mut self, source: &TableModel, now_ms: i64) {
        let definition = &source.definition;
        let (Some(retention), Some(time)) = (definition.retention, definition.time) else { return };
        let boundary = self.summary.bucket(retention.cutoff(now_ms, time.unit));
        self.closable = Some((boundary, self.answer(source)));
    }

    /// Closes it up to the time that was read, if it may be closed up to that. Returns whether it may.
    pub(crate) fn settle(&mut self, closed_before: Option<i64>) -> bool {
        let closable = self.closable.take();
        if closed_before == self.closed_before {
            return true;
        }
        let (Some(now), Some((boundary, rows))) = (closed_before, closable) else { return false };
        if now > boundary || self.closed_before.is_some_and(|before| before > now) {
            return false;
        }
        self.closed = rows.into_iter().filter(|row| row[0] < Some(now)).collect();
        self.closed_before = Some(now);
        true
    }

    /// The time before which rows of the source may be dropped.
    pub(crate) fn allows_drop_before(&self) -> i64 {
        self.closed_before.unwrap_or(i64::MIN)
    }

    pub(crate) fn shown(&self) -> String {
        let Self { name, summary, closed_before, closed, .. } = self;
        format!("  rollup {name} {summary:?} closed before {closed_before:?}: {closed:?}")
    }

    /// A text that is the same for indistinguishable rollups.
    pub(crate) fn signature(&self) -> String {
        format!("{}{:?}", self.shown(), self.closable)
    }

    /// The bucket of a row that is not closed.
    fn bucket_of(&self, source: &TableModel, row: &Row) -> Option<i64> {
        let bucket = self.summary.bucket(cell(source, row, ColumnKind::Time)?);
        self.closed_before.is_none_or(|closed| bucket >= closed).then_some(bucket)
    }
}

/// Returns a row's value in a column that every table has.
fn cell(source: &TableModel, row: &Row, wanted: ColumnKind) -> Option<i64> {
    let column = source.definition.columns.iter().find(|column| kind(column) == wanted)?;
    row.cells.get(&column.id.0).copied().flatten()
}
