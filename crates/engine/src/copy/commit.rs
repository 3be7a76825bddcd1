//! The commit of a copy: everything becomes visible at once, and everything that the source no longer has is removed.
//!
//! A first change publishes the tables of the stage, a second one sets the references to other tables. Both are in the
//! same call of [`Store::commit`](atsdb_core::Store::commit), so that no reader sees the state in between.

use crate::chunk::change_log::log_definition;
use crate::copy::cut::{Cut, CutTable};
use crate::copy::options::CopyReport;
use crate::copy::plan::{Plan, TableAction};
use crate::copy::stage::{CopyStage, TargetTable};
use crate::shared::environment::Environment;
use atsdb_core::{
    Change, ChunkGuard, ChunkId, DefinitionGuard, DefinitionVersion, Error, ErrorKind, Origin, Redefinition, Result,
    Snapshot, Store, Table, TableDefinition, TableId, TimeRange,
};
use std::collections::BTreeMap;

pub(super) fn commit(
    cut: &Cut,
    plan: &Plan,
    mut staged: CopyStage<'_>,
    targets: Vec<TargetTable>,
    environment: &dyn Environment,
    report: &mut CopyReport,
) -> Result<()> {
    let numbers = cut.tables().iter().zip(&targets).map(|(table, target)| (table.table.id, target.id)).collect();
    let logs = ChangeLogs::create(cut, plan, &mut staged)?;
    let last = LastDefinitions { cut, newest: plan.newest, numbers, logs };
    let mut change = Change { drop: plan.drop.iter().map(|table| table.id).collect(), ..Change::default() };
    change.based_on.extend(plan.drop.iter().map(DefinitionGuard::of));
    // A change log is guarded by its table's definition, which is named below.
    change.drop.extend(&last.logs.unneeded);
    let (mut later, mut finals) = (Change::default(), Vec::new());
    for ((table, action), target) in cut.tables().iter().zip(&plan.actions).zip(targets) {
        let to = last.of(table, action, &target, staged.store)?;
        let version = match action {
            TableAction::Update(there) => there.version,
            TableAction::Create => DefinitionVersion::FIRST,
        };
        finals.push(Table { id: target.id, version: version.next(), definition: to.clone() });
        match action {
            TableAction::Update(there) => {
                change.based_on.push(DefinitionGuard::of(there));
                change.redefine.push(Redefinition { table: there.id, from: there.definition.clone(), to });
                change.guards.push(ChunkGuard { table: there.id, newest: plan.newest });
                change.remove.extend(target.remove.iter().map(|chunk| (there.id, *chunk)));
                change.amend.extend(target.amend);
            }
            TableAction::Create => {
                let from = staged.tables.get(&table.table.id).map(|table| table.definition.clone());
                let from = from.ok_or_else(|| Error::internal("a created table is not in the stage"))?;
                later.based_on.push(DefinitionGuard { table: target.id, version, name: from.name.clone() });
                later.redefine.push(Redefinition { table: target.id, from, to });
            }
        }
    }
    for (source, log) in &last.logs.created {
        let owner = *last.numbers.get(source).ok_or_else(|| Error::internal("a change log belongs to no table"))?;
        later.redefine.push(Redefinition { table: log.id, from: log.definition.clone(), to: log_definition(owner) });
    }
    change.stage = staged.stage;
    report.tables_dropped = plan.drop.iter().filter(|table| table.definition.logs.is_none()).count() as u64;
    for outcome in staged.store.commit(&[change, later], environment.now_ms())? {
        outcome.map_err(|error| explain(error, staged.store))?;
    }
    settle_rollups(staged.store, &finals, environment)
}

/// The definitions that the tables of the target have after the commit.
struct LastDefinitions<'a> {
    cut: &'a Cut,
    /// The newest chunk of the target before the commit.
    newest: ChunkId,
    /// The numbers of the tables in the target, by those in the cut.
    numbers: BTreeMap<TableId, TableId>,
    logs: ChangeLogs,
}

impl LastDefinitions<'_> {
    fn of(
        &self,
        table: &CutTable,
        action: &TableAction,
        target: &TargetTable,
        store: &dyn Store,
    ) -> Result<TableDefinition> {
        let mut to = table.table.definition.clone();
        to.change_log = self.logs.of(table.table.id);
        to.foreign_keys.retain(|key| self.cut.has_all_of(&key.parent));
        if let TableAction::Update(there) = action {
            restart_counters(&mut to, there, &*store.snapshot()?)?;
        }
        if let Some(rollup) = &mut to.rollup {
            let missing =
                || Error::internal(format!("the source of rollup {} is not copied", table.table.definition.name));
            rollup.source = *self.numbers.get(&rollup.source).ok_or_else(missing)?;
            // The committed chunks get higher numbers: until `settle_rollups`, fresh ones count as news.
            rollup.state.accounted = self.newest;
        }
        let before = match action {
            TableAction::Update(there) => there.definition.origin.as_ref(),
            TableAction::Create => None,
        };
        let later_copies = before.map_or(0, |before| before.later_copies.saturating_add(1));
        let fingerprint = target.fingerprint(&to)?;
        to.origin = Some(Origin {
            store: self.cut.source_name(),
            table: table.table.id,
            copied_ms: self.cut.taken_ms,
            from: table.range.start,
            to: table.range.end,
            later_copies,
            fingerprint: Some(fingerprint),
        });
        Ok(to)
    }
}

/// Makes the counters of an earlier copy, which may have been restarted or set there, follow the source's.
fn restart_counters(to: &mut TableDefinition, there: &Table, target: &dyn Snapshot) -> Result<()> {
    for column in &mut to.columns {
        let before = there.definition.column_by_id(column.id).and_then(|before| before.identity);
        if let (Some(identity), Some(before)) = (&mut column.identity, before) {
            identity.restarts = identity.restarts.max(before.restarts);
            if let Some(counter) = target.counter(there.id, column.id)?
                && counter.restarts > identity.restarts
            {
                identity.restarts = counter.restarts.saturating_add(1);
            }
        }
    }
    Ok(())
}

fn explain(error: Error, target: &dyn Store) -> Error {
    match error.kind() {
        ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Exists => {
            Error::new(ErrorKind::Conflict, format!("{} was changed during the copy", target.url()))
                .with_hint("stop other writers there, and copy again: the copy resumes with what was transferred")
                .with_source(error)
        }
        _ => error,
    }
}

/// The change logs of tables with rollups.
struct ChangeLogs {
    /// New logs in the stage, by the number of their table in the cut.
    created: BTreeMap<TableId, Table>,
    /// Existing logs, by the number of their table in the cut.
    kept: BTreeMap<TableId, TableId>,
    /// The logs of tables that have no rollup any more.
    unneeded: Vec<TableId>,
}

impl ChangeLogs {
    fn create(cut: &Cut, plan: &Plan, staged: &mut CopyStage<'_>) -> Result<Self> {
        let mut logs = Self { created: BTreeMap::new(), kept: BTreeMap::new(), unneeded: Vec::new() };
        for (table, action) in cut.tables().iter().zip(&plan.actions) {
            let number = table.table.id;
            let mut rollups = cut.tables().iter().filter_map(|other| other.table.definition.rollup.as_ref());
            let has_rollup = rollups.any(|rollup| rollup.source == number);
            let there = match action {
                TableAction::Update(there) => there.definition.change_log,
                TableAction::Create => None,
            };
            match (has_rollup, there) {
                (true, Some(log)) => drop(logs.kept.insert(number, log)),
                (true, None) => {
                    let stage = staged.open()?;
                    // Another table of the target may have this number. The commit gives the log its final name.
                    let definition = TableDefinition {
                        name: format!("changes of table {} of {}", number.0, cut.source_name()),
                        ..log_definition(number)
                    };
                    let log = staged.store.create_table(&definition, Some(stage))?;
                    logs.created.insert(number, log);
                }
                (false, Some(log)) => logs.unneeded.push(log),
                (false, None) => {}
            }
        }
        Ok(logs)
    }

    fn of(&self, table: TableId) -> Option<TableId> {
        self.created.get(&table).map(|log| log.id).or_else(|| self.kept.get(&table).copied())
    }
}

/// Makes rollups account for the chunks of the commit, whose numbers are known now, except for the times that were
/// stale in the source. If another writer is faster, fresh chunks still count as new, and slightly more of the rollup
/// is computed than necessary.
fn settle_rollups(store: &dyn Store, finals: &[Table], environment: &dyn Environment) -> Result<()> {
    if finals.iter().all(|table| table.definition.rollup.is_none()) {
        return Ok(());
    }
    let after = store.snapshot()?;
    let newest: ChunkId = after.newest_chunk()?;
    let tables = after.tables()?;
    let mut change = Change::default();
    for table in finals {
        let Some(rollup) = &table.definition.rollup else { continue };
        let Some(source) = tables.iter().find(|other| other.id == rollup.source) else { continue };
        let is_as_copied = crate::shared::origin::is_unchanged_copy(after.as_ref(), source)?;
        let log = source.definition.change_log;
        let has_news = log.map(|log| after.chunks(log, TimeRange::ALL)).transpose()?.is_some_and(|log| !log.is_empty());
        if is_as_copied && !has_news {
            let mut to = table.definition.clone();
            if let Some(rollup) = &mut to.rollup {
                rollup.state.accounted = newest;
            }
            change.based_on.push(DefinitionGuard::of(table));
            change.redefine.push(Redefinition { table: table.id, from: table.definition.clone(), to });
        }
    }
    match store.commit(&[change], environment.now_ms())?.pop() {
        Some(Err(error)) if error.kind() != ErrorKind::Conflict => Err(error),
        _ => Ok(()),
    }
}
