//! Executes actions as a program does that uses the engine: by batches, appenders, snapshots and scans.

pub(crate) mod archive;
mod change;
mod push;

use crate::action::Action;
use crate::compare::observe_table;
use crate::outcome::Answer;
use crate::setting::Language;
use crate::shape::{altered, batch_of, definition, indexed, policy_of};
use crate::sql;
use crate::subject::{Alteration, Cells, Policy, table_name};
use archive::OutsideStores;
use atsdb_core::{BatchId, CommitOutcome, Error, ErrorKind, Result, Table, TableDefinition};
use atsdb_engine::{Appender, Batch, CopyOptions, Engine, Maintenance, ReadSnapshot, Selection};
use atsdb_testkit::faulty::Faults;
use change::change;
use push::push;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A process, which has the store open.
pub(crate) struct Process {
    number: usize,
    pub(crate) engine: Engine,
    pub(crate) faults: Arc<Faults>,
    caretaker: Maintenance,
    sessions: BTreeMap<usize, Session>,
    pub(crate) held: Option<ReadSnapshot>,
    places: Arc<OutsideStores>,
    language: Language,
}

#[derive(Default)]
struct Session {
    transaction: Option<Transaction>,
    /// The appender, and the definition with which its rows are pushed.
    appender: Option<(TableDefinition, Appender)>,
    sql: Option<atsdb_sql::Session>,
}

struct Transaction {
    batch: Batch,
    /// Whether it uses the state of the store at its first read.
    has_looked: bool,
    has_failed: bool,
}

impl Process {
    pub(crate) fn new(
        number: usize,
        engine: Engine,
        faults: Arc<Faults>,
        places: Arc<OutsideStores>,
        language: Language,
    ) -> Self {
        let caretaker = engine.maintenance();
        Self { number, engine, faults, caretaker, sessions: BTreeMap::new(), held: None, places, language }
    }
}

/// Executes an action.
pub(crate) fn perform(process: &mut Process, action: &Action) -> Result<Answer> {
    debug_assert_eq!(process.number, action.process());
    let engine = process.engine.clone();
    let sessions = &mut process.sessions;
    if let (Language::Sql, Some(number)) = (process.language, action.speaker()) {
        let session = session(sessions, number);
        let speaks = match session.sql.take() {
            Some(speaks) => speaks,
            None => sql::session(&engine)?,
        };
        let done = sql::perform(session.sql.insert(speaks), action);
        if let Some(done) = done {
            return done;
        }
    }
    match action {
        Action::Upsert { .. }
        | Action::CreateRollup { .. }
        | Action::DropRollup { .. }
        | Action::Refresh { .. }
        | Action::ReadRollup { .. }
        | Action::Refer { .. }
        | Action::ReadReferences { .. } => Ok(Answer::Nothing),
        Action::Append { session: number, table, policy, batch, rows } => {
            append(&engine, session(sessions, *number), table_name(*table), *policy, *batch, rows)
        }
        Action::OpenAppender { session: number, table } => {
            session(sessions, *number).appender = None;
            let table = engine.table(table_name(*table))?;
            session(sessions, *number).appender = Some((table.definition.clone(), engine.appender(&table)));
            Ok(Answer::Done)
        }
        Action::Push { session: number, together, rows } => match &mut session(sessions, *number).appender {
            None => Ok(Answer::Nothing),
            Some((definition, appender)) => push(&engine, definition, appender, *together, rows),
        },
        Action::Flush { session: number } => match &mut session(sessions, *number).appender {
            None => Ok(Answer::Nothing),
            Some((_, appender)) => appender.flush().map(|()| Answer::Done),
        },
        Action::Begin { session: number } => {
            let session = session(sessions, *number);
            if session.transaction.is_some() {
                return Ok(Answer::Nothing);
            }
            let batch = engine.batch(None);
            session.transaction = Some(Transaction { batch, has_looked: false, has_failed: false });
            Ok(Answer::Done)
        }
        Action::Commit { session: number } => match session(sessions, *number).transaction.take() {
            None => Ok(Answer::Nothing),
            Some(open) if open.has_failed => Err(has_failed()),
            Some(open) => open.batch.commit().map(|_| Answer::Done),
        },
        Action::Rollback { session: number } => {
            session(sessions, *number).transaction = None;
            Ok(Answer::Done)
        }
        Action::Mark { session: number, mark } => in_transaction(session(sessions, *number), |batch| {
            batch.savepoint(&mark.to_string()).map(|()| Answer::Done)
        }),
        Action::ReturnTo { session: number, mark } => match &mut session(sessions, *number).transaction {
            None => Ok(Answer::Nothing),
            Some(open) => {
                let done = open.batch.rollback_to_savepoint(&mark.to_string());
                open.has_failed = done.is_err();
                done.map(|_| Answer::Done)
            }
        },
        Action::ReleaseMark { session: number, mark } => in_transaction(session(sessions, *number), |batch| {
            batch.release_savepoint(&mark.to_string()).map(|_| Answer::Done)
        }),
        Action::Delete { session: number, table, rows } => {
            in_batch(&engine, session(sessions, *number), |batch| change(batch, table_name(*table), *rows, None))
        }
        Action::Update { session: number, table, rows, note } => {
            in_batch(&engine, session(sessions, *number), |batch| change(batch, table_name(*table), *rows, Some(*note)))
        }
        Action::Truncate { session: number, table } => in_batch(&engine, session(sessions, *number), |batch| {
            let table = table_of(batch, table_name(*table))?;
            batch.truncate(&table).map(|_| Answer::Done)
        }),
        Action::Read { session: number, table } => {
            let read = |snapshot: &ReadSnapshot| {
                Ok(Answer::Table(Box::new(observe_table(snapshot, snapshot.table(table_name(*table))?)?)))
            };
            match session(sessions, *number) {
                Session { transaction: None, .. } => read(&engine.snapshot()?),
                session => in_transaction(session, |batch| read(&batch.snapshot()?)),
            }
        }
        Action::Create { session: number, table, shape, policy, is_checked } => {
            create(&engine, session(sessions, *number), &definition(*table, *shape, *policy, *is_checked))
        }
        Action::Drop { session: number, table, .. } => match session(sessions, *number) {
            Session { transaction: None, .. } => {
                let table = engine.table(table_name(*table))?;
                engine.drop_table(&table).map(|()| Answer::Done)
            }
            session => in_transaction(session, |batch| {
                let table = table_of(batch, table_name(*table))?;
                batch.drop_table(&table).map(|()| Answer::Done)
            }),
        },
        Action::Alter { session: number, table, alteration } => {
            in_batch(&engine, session(sessions, *number), |batch| alter(batch, table_name(*table), *alteration))
        }
        Action::Index { table, .. } => index(&engine, table_name(*table)),
        Action::Seal { .. } => engine.recompress(None).map(|_| Answer::Done),
        Action::Look { .. } => process.caretaker.run_once().map(|_| Answer::Done),
        Action::Retain { .. } => engine.retain(None).map(|_| Answer::Done),
        Action::Hold { .. } => {
            process.held = None;
            process.held = Some(engine.snapshot()?);
            Ok(Answer::Done)
        }
        Action::Copy { .. } => {
            let cut = engine.cut(&Selection::default())?;
            let options = CopyOptions { overwrite: true, allow_non_empty: true, verify: true, ..Default::default() };
            let target = process.places.copies();
            target.copy_from(&cut, &options)?;
            Ok(Answer::Tables(archive::observe_all(&target, process.language)?))
        }
        Action::Checkpoint { session: number, table } => {
            if session(sessions, *number).transaction.is_some() {
                return Err(Error::new(ErrorKind::Sql, "rows are saved outside of a transaction"));
            }
            checkpoint(&engine, *table)
        }
        Action::Backup { keep, .. } => process.places.back_up(&engine, *keep).map(|()| Answer::Done),
        Action::Restore { which, afresh, .. } => {
            process.places.restore(engine.now_ms(), *which, *afresh, process.language).map(Answer::Tables)
        }
        Action::Tick { .. } | Action::Crash { .. } => Err(Error::internal("the world does it")),
    }
}

fn session(sessions: &mut BTreeMap<usize, Session>, number: usize) -> &mut Session {
    sessions.entry(number).or_default()
}

fn has_failed() -> Error {
    Error::new(ErrorKind::Sql, "the transaction has failed")
}

/// Runs a function in the session's transaction, if there is one.
fn in_transaction(session: &mut Session, work: impl FnOnce(&mut Batch) -> Result<Answer>) -> Result<Answer> {
    let Some(open) = &mut session.transaction else { return Ok(Answer::Nothing) };
    if open.has_failed {
        return Err(has_failed());
    }
    let looked = match open.has_looked {
        true => Ok(()),
        false => open.batch.snapshot().map(drop),
    };
    open.has_looked = true;
    let done = looked.and_then(|()| work(&mut open.batch));
    open.has_failed = done.is_err();
    done
}

/// Runs a function in the session's transaction, or in a separate batch.
fn in_batch(engine: &Engine, session: &mut Session, work: impl FnOnce(&mut Batch) -> Result<Answer>) -> Result<Answer> {
    if session.transaction.is_some() {
        return in_transaction(session, work);
    }
    let mut batch = engine.batch(None);
    let answer = work(&mut batch)?;
    batch.commit()?;
    Ok(answer)
}

/// Returns a table as a batch sees it.
fn table_of(batch: &mut Batch, name: &str) -> Result<Table> {
    let found = batch.tables()?.into_iter().find(|table| table.definition.name == name);
    found.ok_or_else(|| Error::not_found(format!("no table {name}")))
}

fn append(
    engine: &Engine,
    session: &mut Session,
    name: &str,
    policy: Option<Policy>,
    batch_id: Option<u8>,
    rows: &[Cells],
) -> Result<Answer> {
    let put = |batch: &mut Batch, table: &Table| {
        let rows = batch_of(&table.definition, rows);
        match policy {
            Some(policy) => batch.append_with(table, &rows, policy_of(policy)),
            None => batch.append(table, &rows),
        }
    };
    let Some(open) = &mut session.transaction else {
        let table = engine.table(name)?;
        let mut batch = engine.batch(batch_id.map(|id| BatchId::new(id.to_string())).transpose()?);
        put(&mut batch, &table)?;
        return Ok(match batch.commit()? {
            CommitOutcome::Committed => Answer::Done,
            CommitOutcome::Duplicate => Answer::Duplicate,
        });
    };
    // Rows without keys are appended without reading the store.
    if !open.has_looked && !open.has_failed {
        let table = engine.table(name);
        let is_unknown = table.as_ref().is_err_and(|error| error.kind() != ErrorKind::NotFound);
        if is_unknown || table.as_ref().is_ok_and(|table| table.definition.unique.is_empty()) {
            let done = table.and_then(|table| put(&mut open.batch, &table));
            open.has_failed = done.is_err();
            return done.map(|()| Answer::Done);
        }
    }
    in_transaction(session, |batch| {
        let table = table_of(batch, name)?;
        put(batch, &table)?;
        batch.settle_keys().map(|()| Answer::Done)
    })
}

fn create(engine: &Engine, session: &mut Session, definition: &TableDefinition) -> Result<Answer> {
    if session.transaction.is_none() {
        return engine.create_table(definition).map(|_| Answer::Done);
    }
    in_transaction(session, |batch| batch.create_table(definition).map(|_| Answer::Done))
}

fn alter(batch: &mut Batch, name: &str, alteration: Alteration) -> Result<Answer> {
    let table = table_of(batch, name)?;
    match altered(&table.definition, alteration) {
        None => Ok(Answer::Nothing),
        Some(to) => batch.redefine(&table, to).map(|_| Answer::Done),
    }
}

fn index(engine: &Engine, name: &str) -> Result<Answer> {
    let table = engine.table(name)?;
    let to = indexed(&table.definition);
    let mut batch = engine.batch(None);
    let table = batch.redefine(&table, to)?;
    batch.commit()?;
    table.definition.indexes.first().map_or(Ok(()), |index| engine.build_index(&table, index).map(drop))?;
    Ok(Answer::Done)
}

fn checkpoint(engine: &Engine, table: Option<usize>) -> Result<Answer> {
    let tables = match table.map(table_name) {
        None => engine.tables()?.into_iter().filter(|table| table.definition.is_in_memory()).collect(),
        Some(name) => {
            let table = engine.table(name)?;
            if !table.definition.is_in_memory() {
                return Err(Error::new(ErrorKind::Sql, "the table is not in memory"));
            }
            vec![table]
        }
    };
    engine.save_resident(&tables).map(|_| Answer::Done)
}
