//! Stores a group of requests in one commit.

use super::plan::Plan;
use super::request::{LineReport, LineRequest};
use atsdb::{Database, Error, ErrorKind, Result};
use atsdb_lineproto::{LineParser, TableBlock};

/// How often a group is read and stored again while other writers change the same tables.
const ATTEMPTS_MAX: usize = 20;

/// Stores the rows of requests. All are durable when this returns; after an error, none is stored.
pub(crate) fn store(database: &Database, group: &[LineRequest]) -> Result<Vec<LineReport>> {
    let mut attempt = 1;
    loop {
        match store_once(database, group) {
            // Another process has changed a definition, created a table, or added rows of the same keys.
            Err(error) if is_race(&error) && attempt < ATTEMPTS_MAX => attempt += 1,
            done => return done,
        }
    }
}

fn is_race(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Exists)
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
