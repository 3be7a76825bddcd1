//! Stores a group of requests with lines in one commit.

use super::attempts;
use super::plan::Plan;
use super::queue::{GroupQueue, GroupWriter};
use super::request::{LineReport, LineRequest};
use atsdb::{Database, Result};
use atsdb_lineproto::{LineParser, TableBlock};

/// The waiting requests with lines.
pub(crate) type LineQueue = GroupQueue<LineWriter>;

/// Stores lines.
pub(crate) struct LineWriter {
    database: Database,
    worker_count_max: usize,
}

impl LineWriter {
    pub(crate) fn new(database: Database) -> Self {
        let worker_count_max = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
        Self { database, worker_count_max }
    }
}

impl GroupWriter for LineWriter {
    type Request = LineRequest;
    type Report = LineReport;

    fn worker_count_max(&self) -> usize {
        self.worker_count_max
    }

    fn byte_count(request: &LineRequest) -> usize {
        request.body.bytes.len()
    }

    fn stands_alone(request: &LineRequest) -> bool {
        request.batch.is_some()
    }

    fn store(&self, group: &[LineRequest]) -> Result<Vec<LineReport>> {
        attempts::repeat(|| store_once(&self.database, group))
    }
}

fn store_once(database: &Database, group: &[LineRequest]) -> Result<Vec<LineReport>> {
    let mut plan = Plan::new(database.snapshot()?);
    let (mut all_blocks, mut reports) = (Vec::new(), Vec::new());
    for request in group {
        let (blocks, report) = read(&plan, request);
        if report.is_stored {
            blocks.iter().try_for_each(|block| plan.cover(block))?;
            all_blocks.extend(blocks);
        }
        reports.push(report);
    }
    if all_blocks.is_empty() {
        return Ok(reports);
    }
    let id = group.first().and_then(|request| request.batch.clone());
    let mut batch = database.batch(id);
    plan.apply(&mut batch)?;
    for block in &all_blocks {
        batch.append(plan.table(&block.name)?, &block.rows)?;
    }
    drop(all_blocks);
    batch.commit()?;
    Ok(reports)
}

fn read(plan: &Plan, request: &LineRequest) -> (Vec<TableBlock>, LineReport) {
    let mut parser = LineParser::new(&request.body.bytes, request.options);
    let mut blocks = Vec::new();
    while let Some(more) = parser.next_block(&|name| plan.definition(name)) {
        blocks.extend(more);
    }
    let report = LineReport {
        accepted: parser.accepted_lines(),
        refused: parser.refused_lines(),
        errors: parser.errors().to_vec(),
        is_stored: request.accept_partial || parser.refused_lines() == 0,
    };
    (blocks, report)
}
