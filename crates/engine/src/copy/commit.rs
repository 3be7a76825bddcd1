//! The commit of a copy: everything becomes visible at once, and what is no longer the source's goes.
//!
//! Tables come out of the stage first, then they get what refers to other tables, in the same call of
//! [`Store::commit`](atsdb_core::Store::commit): nobody sees them in between.

use crate::chunk::change_log::log_definition;
use crate::copy::cut::Cut;
use crate::copy::options::CopyReport;
use crate::copy::plan::{Fate, Plan};
use crate::copy::stage::{Filled, Staged};
use crate::shared::environment::Environment;
use atsdb_core::{
    Change, ChunkGuard, ChunkId, DefinitionGuard, DefinitionVersion, Error, ErrorKind, Origin, Redefinition, Result,
    Store, Table, TableDefinition, TableId, TimeRange,
};
use std::collections::BTreeMap;

pub(super) fn commit(
    cut: &Cut,
    plan: &Plan,
    mut staged: Staged<'_>,
    filled: Vec<Filled>,
    environment: &dyn Environment,
    report: &mut CopyReport,
) -> Result<()> {
    let newest = plan.newest;
    let numbers: BTreeMap<TableId, TableId> =
        cut.tables().iter().zip(&filled).map(|(table, filled)| (table.table.id, filled.id)).collect();
    let logs = Logs::make(cut, plan, &mut staged)?;
    let mut change = Change { drop: plan.drop.iter().map(|table| table.id).collect(), ..Change::default() };
    change.based_on.extend(plan.drop.iter().map(based_on));
    // A log goes by what its table says of it, which is looked at below.
    change.drop.extend(&logs.unneeded);
    let (mut later, mut finals) = (Change::default(), Vec::new());
    for ((table, fate), filled) in cut.tables().iter().zip(&plan.fates).zip(filled) {
        let mut to = table.table.definition.clone();
        to.change_log = logs.of(table.table.id);
        if let Some(rollup) = &mut to.rollup {
            let missing =
                || Error::internal(format!("the source of rollup {} is not copied", table.table.definition.name));
            rollup.source = *numbers.get(&rollup.source).ok_or_else(missing)?;
            // What the commit brings has higher numbers: until that is settled, fresh chunks count as news.
            rollup.state.accounted = newest;
        }
        let fingerprint = filled.fingerprint(&to)?;
        to.origin = Some(Origin {
            store: cut.source_name(),
            table: table.table.id,
            copied_ms: cut.taken_ms,
            from: table.range.start,
            to: table.range.end,
            fingerprint: Some(fingerprint),
        });
        let version = match fate {
            Fate::Update(there) => there.version,
            Fate::Create => DefinitionVersion::FIRST,
        };
        finals.push(Table { id: filled.id, version: version.next(), definition: to.clone() });
        match fate {
            Fate::Update(there) => {
                change.based_on.push(based_on(there));
                change.redefine.push(Redefinition { table: there.id, from: there.definition.clone(), to });
                change.guards.push(ChunkGuard { table: there.id, newest });
                change.remove.extend(filled.remove.iter().map(|chunk| (there.id, *chunk)));
                change.amend.extend(filled.amend);
            }
            Fate::Create => {
                let from = staged.tables.get(&table.table.id).map(|table| table.definition.clone());
                let from = from.ok_or_else(|| Error::internal("a table that is not in the stage"))?;
                later.based_on.push(DefinitionGuard { table: filled.id, version });
                later.redefine.push(Redefinition { table: filled.id, from, to });
            }
        }
    }
    for (source, log) in &logs.made {
        let owner = *numbers.get(source).ok_or_else(|| Error::internal("a log of no table"))?;
        later.redefine.push(Redefinition { table: log.id, from: log.definition.clone(), to: log_definition(owner) });
    }
    change.stage = staged.stage;
    report.tables_dropped = plan.drop.iter().filter(|table| table.definition.logs.is_none()).count() as u64;
    for outcome in staged.store.commit(&[change, later], environment.now_ms())? {
        outcome.map_err(|error| explain(error, staged.store))?;
    }
    settle_rollups(staged.store, &finals, environment)
}

fn based_on(table: &Table) -> DefinitionGuard {
    DefinitionGuard { table: table.id, version: table.version }
}

fn explain(error: Error, target: &dyn Store) -> Error {
    match error.kind() {
        ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Exists => {
            Error::new(ErrorKind::Conflict, format!("{} was changed while it was copied to", target.url()))
                .with_hint("copy again when nobody writes there: what was moved is used")
                .with_source(error)
        }
        _ => error,
    }
}

/// The change logs of tables that have rollups.
struct Logs {
    /// New ones, by the number of their table in the cut; they lie in the stage.
    made: BTreeMap<TableId, Table>,
    /// Those that are there, by the same.
    kept: BTreeMap<TableId, TableId>,
    /// Those of tables whose last rollup is gone.
    unneeded: Vec<TableId>,
}

impl Logs {
    fn make(cut: &Cut, plan: &Plan, staged: &mut Staged<'_>) -> Result<Self> {
        let mut logs = Self { made: BTreeMap::new(), kept: BTreeMap::new(), unneeded: Vec::new() };
        for (table, fate) in cut.tables().iter().zip(&plan.fates) {
            let number = table.table.id;
            let mut rollups = cut.tables().iter().filter_map(|other| other.table.definition.rollup.as_ref());
            let has_rollup = rollups.any(|rollup| rollup.source == number);
            let there = match fate {
                Fate::Update(there) => there.definition.change_log,
                Fate::Create => None,
            };
            match (has_rollup, there) {
                (true, Some(log)) => drop(logs.kept.insert(number, log)),
                (true, None) => {
                    let stage = staged.open()?;
                    // Named after a number that the target may use for another table, it gets its own with the commit.
                    let definition = TableDefinition {
                        name: format!("changes of table {} of {}", number.0, cut.source_name()),
                        ..log_definition(number)
                    };
                    let log = staged.store.create_table(&definition, Some(stage))?;
                    logs.made.insert(number, log);
                }
                (false, Some(log)) => logs.unneeded.push(log),
                (false, None) => {}
            }
        }
        Ok(logs)
    }

    fn of(&self, table: TableId) -> Option<TableId> {
        self.made.get(&table).map(|log| log.id).or_else(|| self.kept.get(&table).copied())
    }
}

/// Once the chunks of the commit have their numbers, a rollup accounts for them, but for what was stale of it in the
/// source. If somebody was faster with a change of its own, fresh chunks stay news: the rollup is then computed a little
/// more than it would have to be.
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
            change.based_on.push(based_on(table));
            change.redefine.push(Redefinition { table: table.id, from: table.definition.clone(), to });
        }
    }
    match store.commit(&[change], environment.now_ms())?.pop() {
        Some(Err(error)) if error.kind() != ErrorKind::Conflict => Err(error),
        _ => Ok(()),
    }
}
