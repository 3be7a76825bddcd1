//! Actions as a program does them that uses the engine: by batches, appenders, snapshots and scans.

use crate::action::{Action, Alteration, Cells, Language, Policy, Rows, Shape, TABLE_NAMES};
use crate::compare::{Seen, SeenTable, see, see_table};
use crate::shape::{
    Kind, altered, array, batch_of, definition, indexed, kind, policy_of, rows_of, seconds, text, value,
};
use arrow::array::{BooleanArray, UInt32Array};
use atsdb_core::{BatchId, CommitOutcome, Error, ErrorKind, Result, Table, TableDefinition};
use atsdb_engine::{
    Appender, Batch, ColumnSpec, CopyOptions, Engine, Maintenance, ReadSnapshot, Record, Rewrite, RowReader, RowWriter,
    ScanRequest, Selection,
};
use atsdb_testkit::faulty::Faults;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an action that was done says.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    /// A batch of the same name had been committed.
    Duplicate,
    /// There was nothing to do it with: no transaction, no appender, no such column.
    Nothing,
    /// A table was read by SQL: the names of its columns, and its rows, sorted.
    Rows(Vec<String>, Vec<Vec<Option<i64>>>),
    /// A table was read.
    Table(Box<SeenTable>),
    /// All tables were read.
    Tables(Seen),
}

/// A program that has the store open.
pub(crate) struct Process {
    number: usize,
    pub(crate) engine: Engine,
    pub(crate) faults: Arc<Faults>,
    caretaker: Maintenance,
    sessions: BTreeMap<usize, Session>,
    pub(crate) held: Option<ReadSnapshot>,
    target: Engine,
    language: Language,
}

#[derive(Default)]
struct Session {
    transaction: Option<Transaction>,
    /// With the definition that its rows are pushed by.
    appender: Option<(TableDefinition, Appender)>,
    sql: Option<atsdb_sql::Session>,
}

struct Transaction {
    batch: Batch,
    /// Whether it goes by what the store was when it first looked.
    has_looked: bool,
    has_failed: bool,
}

impl Process {
    pub(crate) fn new(number: usize, engine: Engine, faults: Arc<Faults>, target: Engine, language: Language) -> Self {
        let caretaker = engine.maintenance();
        Self { number, engine, faults, caretaker, sessions: BTreeMap::new(), held: None, target, language }
    }
}

/// Does an action.
pub(crate) fn perform(process: &mut Process, action: &Action) -> Result<Answer> {
    debug_assert_eq!(process.number, action.process());
    let engine = process.engine.clone();
    let sessions = &mut process.sessions;
    if let (Language::Sql, Some(number)) = (process.language, action.speaker()) {
        let session = session(sessions, number);
        let speaks = match session.sql.take() {
            Some(speaks) => speaks,
            None => crate::sql::session(&engine)?,
        };
        let done = crate::sql::perform(&engine, session.sql.insert(speaks), action);
        if let Some(done) = done {
            return done;
        }
    }
    match action {
        Action::Upsert { .. } => Ok(Answer::Nothing),
        Action::Append { session: number, table, policy, batch, rows } => {
            append(&engine, session(sessions, *number), name(*table), *policy, *batch, rows)
        }
        Action::OpenAppender { session: number, table } => {
            session(sessions, *number).appender = None;
            let table = engine.table(name(*table))?;
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
            in_batch(&engine, session(sessions, *number), |batch| change(batch, name(*table), *rows, None))
        }
        Action::Update { session: number, table, rows, note } => {
            in_batch(&engine, session(sessions, *number), |batch| change(batch, name(*table), *rows, Some(*note)))
        }
        Action::Truncate { session: number, table } => in_batch(&engine, session(sessions, *number), |batch| {
            let table = table_of(batch, name(*table))?;
            batch.truncate(&table).map(|_| Answer::Done)
        }),
        Action::Read { session: number, table } => {
            let read = |snapshot: &ReadSnapshot| {
                Ok(Answer::Table(Box::new(see_table(snapshot, snapshot.table(name(*table))?)?)))
            };
            match session(sessions, *number) {
                Session { transaction: None, .. } => read(&engine.snapshot()?),
                session => in_transaction(session, |batch| read(&batch.snapshot()?)),
            }
        }
        Action::Create { session: number, table, shape, policy } => {
            create(&engine, session(sessions, *number), *table, *shape, *policy)
        }
        Action::Drop { session: number, table } => match session(sessions, *number) {
            Session { transaction: None, .. } => {
                let table = engine.table(name(*table))?;
                engine.drop_table(&table).map(|()| Answer::Done)
            }
            session => in_transaction(session, |batch| {
                let table = table_of(batch, name(*table))?;
                batch.drop_table(&table).map(|()| Answer::Done)
            }),
        },
        Action::Alter { session: number, table, alteration } => {
            in_batch(&engine, session(sessions, *number), |batch| alter(batch, name(*table), *alteration))
        }
        Action::Index { table, .. } => index(&engine, name(*table)),
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
            process.target.copy_from(&cut, &options)?;
            Ok(Answer::Tables(see(&process.target.snapshot()?)?))
        }
        Action::Tick { .. } | Action::Crash { .. } => Err(Error::internal("the world does it")),
    }
}

fn session(sessions: &mut BTreeMap<usize, Session>, number: usize) -> &mut Session {
    sessions.entry(number).or_default()
}

pub(crate) fn name(table: usize) -> &'static str {
    TABLE_NAMES[table % TABLE_NAMES.len()]
}

fn has_failed() -> Error {
    Error::new(ErrorKind::Sql, "the transaction has failed")
}

/// Does work in the session's transaction, if there is one.
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

/// Does work in the session's transaction, or in a batch of its own.
fn in_batch(engine: &Engine, session: &mut Session, work: impl FnOnce(&mut Batch) -> Result<Answer>) -> Result<Answer> {
    if session.transaction.is_some() {
        return in_transaction(session, work);
    }
    let mut batch = engine.batch(None);
    let answer = work(&mut batch)?;
    batch.commit()?;
    Ok(answer)
}

/// A table as a batch has it.
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
    // Rows without keys are appended without a look at the store.
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

/// A row as a record of a definition.
struct Pushed<'a>(&'a TableDefinition, &'a Cells);

impl Record for Pushed<'_> {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        use atsdb_engine::Field;
        let columns = self.0.columns.iter().filter(|column| kind(column) != Kind::Time);
        for (position, column) in columns.enumerate() {
            match (value(self.1, column), kind(column)) {
                (None, _) => row.put_null(position),
                (Some(number), Kind::Sensor | Kind::Note) => row.put_text(position, &text(number)),
                (Some(number), _) => (number as i32).write(row, position),
            }
        }
    }

    fn read(_: &RowReader<'_>) -> Result<Self> {
        Err(Error::internal("rows are only written here"))
    }
}

fn push(
    engine: &Engine,
    definition: &TableDefinition,
    appender: &mut Appender,
    together: bool,
    rows: &[Cells],
) -> Result<Answer> {
    // The names of a batch's columns are right for one definition.
    let is_present = || -> Result<bool> {
        let tables = engine.tables()?;
        Ok(tables.iter().any(|table| table.id == appender.table().id && table.definition == *definition))
    };
    if together && is_present()? {
        return appender.append(&batch_of(definition, rows)).map(|()| Answer::Done);
    }
    for row in rows {
        let record = Pushed(definition, row);
        match definition.time {
            Some(_) => appender.push(seconds(row.time), &record)?,
            None => appender.push_plain(&record)?,
        }
    }
    Ok(Answer::Done)
}

/// Deletes rows, or sets their note.
fn change(batch: &mut Batch, name: &str, rows: Rows, note: Option<Option<i64>>) -> Result<Answer> {
    let snapshot = batch.snapshot()?;
    let table = snapshot.table(name)?.clone();
    let definition = &table.definition;
    let scan = snapshot.scan(&table, &ScanRequest::all(&table))?;
    for position in 0..scan.chunks().len() {
        let Some(batch_rows) = scan.read(position)? else { continue };
        let meant: Vec<bool> = rows_of(&batch_rows).iter().map(|row| is_meant(definition, row, rows)).collect();
        if !meant.contains(&true) {
            continue;
        }
        let chunk = scan.chunks()[position].entry.id;
        let rewrite = match note {
            None => {
                let keep: Vec<bool> = meant.iter().map(|meant| !meant).collect();
                Rewrite { keep: Some(BooleanArray::from(keep)), set: Vec::new() }
            }
            Some(note) => {
                let Some(column) = definition.columns.iter().position(|column| kind(column) == Kind::Note) else {
                    return Ok(Answer::Nothing);
                };
                let numbers = meant.iter().enumerate().filter(|(_, meant)| **meant).map(|(number, _)| number as u32);
                let numbers: UInt32Array = numbers.collect();
                let values = array(&definition.columns[column], &vec![note; numbers.len()]);
                let values = batch.stored(&table, column, &values)?;
                Rewrite { keep: None, set: vec![(column, scan.replaced(position, column, &numbers, &values)?)] }
            }
        };
        batch.replace(&table, chunk, scan.rewrite(position, &rewrite)?)?;
    }
    Ok(Answer::Done)
}

/// Whether a row is one of those.
pub(crate) fn is_meant(definition: &TableDefinition, row: &[Option<i64>], rows: Rows) -> bool {
    let cell = |wanted: Kind| {
        let position = definition.columns.iter().position(|column| kind(column) == wanted);
        position.and_then(|position| row[position])
    };
    match rows {
        Rows::All => true,
        Rows::Before(time) if definition.time.is_some() => cell(Kind::Time).is_some_and(|cell| cell < seconds(time)),
        Rows::Before(count) => cell(Kind::Count).is_some_and(|cell| cell < count),
        Rows::Sensor(sensor) => cell(Kind::Sensor) == Some(sensor),
        Rows::Count(count) => cell(Kind::Count) == Some(count),
        Rows::NoNote => cell(Kind::Note).is_none(),
    }
}

fn create(engine: &Engine, session: &mut Session, table: usize, shape: Shape, policy: Policy) -> Result<Answer> {
    let definition = definition(table, shape, policy);
    if session.transaction.is_none() {
        return engine.create_table(&definition).map(|_| Answer::Done);
    }
    in_transaction(session, |batch| batch.create_table(&definition).map(|_| Answer::Done))
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
