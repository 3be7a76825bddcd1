//! What the state may be after each step, as plain lists of rows.
//!
//! A model is one possible state. An action, with what the world said of it, leads to the states that are possible then;
//! if there is none, the world has broken a promise. Mostly there is one: two are possible where an answer was lost, a
//! process ended, or another process acted in the middle of an action.

mod database;
mod transaction;

use crate::action::{Action, Cells, Language, PROCESSES, Policy, Rows};
use crate::compare::Seen;
use crate::execute::{Answer, name};
use crate::shape::{altered, definition, indexed, policy_of, value};
use crate::world::Observed;
use atsdb_core::{ErrorKind, TableDefinition};
use atsdb_testkit::faulty::Fails;
use database::{Change, Database};
use std::collections::{BTreeMap, BTreeSet};
use transaction::{Appender, Transaction};

/// One possible state.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    language: Language,
    database: Database,
    transactions: BTreeMap<usize, Transaction>,
    appenders: BTreeMap<usize, Appender>,
    held: BTreeMap<usize, Database>,
    batches: BTreeSet<u8>,
    now_ms: i64,
}

/// What an action may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Done,
    Duplicate,
    Nothing,
    /// It is refused, with an error of any kind but those that say that something is wrong with the program.
    Refused,
}

/// A possible end of an action.
type End = (Verdict, Model);

impl Model {
    pub(crate) fn new(language: Language) -> Self {
        let (database, transactions, appenders, held) = Default::default();
        Self { language, database, transactions, appenders, held, batches: BTreeSet::new(), now_ms: 0 }
    }

    /// The states that are possible after an action. `is_disturbed` says that another process acted meanwhile.
    pub(crate) fn after(&self, action: &Action, observed: &Observed, is_disturbed: bool) -> Vec<Self> {
        let ends = self.ends(action, is_disturbed);
        let effects = |ends: Vec<End>| {
            ends.into_iter().filter(|(verdict, _)| *verdict != Verdict::Refused).map(|(_, model)| model)
        };
        if observed.has_crashed {
            let possible = std::iter::once(self.clone()).chain(effects(ends));
            return possible.map(|model| model.without_process(action.process())).collect();
        }
        let failed = |model: &Self| model.clone().failed(action);
        // A question that fails leaves the transaction as it was, but for rows that are on their way into it.
        if matches!((&observed.outcome, action), (Err(_), Action::Read { .. })) && self.language == Language::Sql {
            let is_refused = observed.failed.is_some() || ends.iter().any(|(verdict, _)| *verdict == Verdict::Refused);
            let refused = ends.into_iter().filter(|(verdict, _)| *verdict == Verdict::Refused).map(|(_, model)| model);
            let states: Vec<Self> = [self.clone(), failed(self)].into_iter().chain(refused).collect();
            return if is_refused { states } else { Vec::new() };
        }
        // What an appender has before a batch that fails stays, unless the batch took some of it along.
        if let ((Err(_), Some(_)), Action::Push { .. }) = ((&observed.outcome, observed.failed), action) {
            return vec![self.clone(), failed(self)];
        }
        match (&observed.outcome, observed.failed) {
            (Err(error), _) if matches!(error.kind(), ErrorKind::Internal | ErrorKind::Corrupt) => Vec::new(),
            (Err(_), Some(Fails::Before)) if !matches!(action, Action::Index { .. }) => vec![failed(self)],
            (Err(_), Some(_)) => {
                let done = effects(ends).map(|model| failed(&model));
                std::iter::once(failed(self)).chain(done).collect()
            }
            (outcome, _) => {
                let said = match outcome {
                    Err(_) => Verdict::Refused,
                    Ok(Answer::Duplicate) => Verdict::Duplicate,
                    Ok(Answer::Nothing) => Verdict::Nothing,
                    Ok(Answer::Done | Answer::Rows(..) | Answer::Table(_) | Answer::Tables(_)) => Verdict::Done,
                };
                let ends = ends.into_iter().filter(|(verdict, _)| *verdict == said);
                ends.filter(|(_, model)| model.has_read(action, outcome.as_ref().ok()))
                    .map(|(_, model)| model)
                    .collect()
            }
        }
    }

    /// The states that are possible after an action that saw the store as it was before another process acted, and was
    /// committed after it: what it decided by rows that it did not change may be outdated, as under snapshot isolation.
    pub(crate) fn overlapped(
        &self,
        action: &Action,
        observed: &Observed,
        other: &Action,
        others: &Observed,
    ) -> Vec<Self> {
        let is_done = observed.has_crashed || matches!(observed.outcome, Ok(Answer::Done));
        let Some(open) = self.as_transaction(action).filter(|_| is_done) else { return Vec::new() };
        let merged = self.after(other, others, false).into_iter().filter_map(|mut next| {
            next.database = open.merge(&next.database)?.0;
            match action {
                Action::Append { batch, .. } => next.batches.extend(*batch),
                Action::Flush { session } => {
                    next.appenders.get_mut(session)?.empty();
                }
                _ => {}
            }
            Some(if observed.has_crashed { next.without_process(action.process()) } else { next })
        });
        merged.collect()
    }

    /// What an action that is no part of a transaction has done, as one of its own.
    fn as_transaction(&self, action: &Action) -> Option<Transaction> {
        if let Action::Flush { session } = action {
            return Transaction::of_pending(self.appenders.get(session)?.clone().empty()?, &self.database);
        }
        action.session().filter(|session| !self.transactions.contains_key(session))?;
        match action {
            Action::Append { batch: Some(batch), .. } if self.batches.contains(batch) => None,
            _ => Transaction::of_statement(action, &self.database, self.language),
        }
    }

    /// What it says for people, of what should have come.
    pub(crate) fn expected(&self, action: &Action) -> String {
        let verdicts: Vec<Verdict> = self.ends(action, false).into_iter().map(|(verdict, _)| verdict).collect();
        format!("{verdicts:?}")
    }

    /// Time goes by.
    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// Nothing is open any more.
    pub(crate) fn restart(&mut self) {
        (0..PROCESSES).for_each(|process| *self = self.clone().without_process(process));
    }

    /// Whether this is what a process reads; what may have expired is settled by it.
    pub(crate) fn agrees(&mut self, seen: &Seen) -> bool {
        self.database.agrees(seen)
    }

    /// Whether this is what the snapshot shows that a process holds.
    pub(crate) fn agrees_held(&mut self, process: usize, seen: Option<&Seen>) -> bool {
        match (self.held.get_mut(&process), seen) {
            (Some(held), Some(seen)) => held.agrees(seen),
            (held, seen) => held.is_none() == seen.is_none(),
        }
    }

    /// What is visible, for people.
    pub(crate) fn shown(&self) -> String {
        self.database.shown()
    }

    pub(crate) fn shown_held(&self, process: usize) -> String {
        self.held.get(&process).map_or_else(String::new, Database::shown)
    }

    /// The same text for states that nobody can tell apart.
    pub(crate) fn signature(&self) -> String {
        let transactions: Vec<String> = self.transactions.values().map(Transaction::signature).collect();
        let held: Vec<String> = self.held.values().map(Database::signature).collect();
        format!("{}{transactions:?}{held:?}{:?}{:?}", self.database.signature(), self.appenders, self.batches)
    }

    fn without_process(mut self, process: usize) -> Self {
        self.transactions.retain(|session, _| session % PROCESSES != process);
        self.appenders.retain(|session, _| session % PROCESSES != process);
        self.held.remove(&process);
        self
    }

    /// The state when an action failed, for a reason that is not its own.
    fn failed(mut self, action: &Action) -> Self {
        match action {
            Action::Commit { session } | Action::Rollback { session } => {
                self.transactions.remove(session);
            }
            Action::OpenAppender { session, .. } => {
                self.appenders.remove(session);
            }
            Action::Push { session, .. } => {
                if let Some(appender) = self.appenders.get_mut(session) {
                    appender.break_off();
                }
            }
            Action::Flush { session } => {
                if let Some(appender) = self.appenders.get_mut(session) {
                    appender.empty();
                }
            }
            Action::Hold { process } => {
                self.held.remove(&(process % PROCESSES));
            }
            _ => {
                if let Some(open) = action.session().and_then(|session| self.transactions.get_mut(&session)) {
                    open.fail();
                }
            }
        }
        if matches!(action, Action::Retain { .. } | Action::Look { .. }) {
            self.database.expire(self.now_ms);
        }
        if matches!(action, Action::Seal { .. } | Action::Index { .. } | Action::Retain { .. } | Action::Look { .. }) {
            self.database.note_rewritten();
        }
        self
    }

    fn has_read(&self, action: &Action, answer: Option<&Answer>) -> bool {
        match (action, answer) {
            (Action::Read { session, table }, Some(Answer::Table(seen))) => {
                let mut view = self.view(*session).clone();
                view.table_mut(name(*table)).is_some_and(|table| table.agrees(seen))
            }
            (Action::Read { session, table }, Some(Answer::Rows(names, rows))) => {
                let mut view = self.view(*session).clone();
                view.table_mut(name(*table)).is_some_and(|table| table.has_names(names) && table.has_rows(rows))
            }
            (Action::Copy { .. }, Some(Answer::Tables(seen))) => self.database.clone().agrees(seen),
            _ => true,
        }
    }

    /// What a session sees.
    fn view(&self, session: usize) -> &Database {
        self.transactions.get(&session).and_then(Transaction::view).unwrap_or(&self.database)
    }

    fn ends(&self, action: &Action, is_disturbed: bool) -> Vec<End> {
        let refused = || (Verdict::Refused, self.clone().failed(action));
        let mut ends = match action {
            Action::Tick { .. } | Action::Crash { .. } | Action::Copy { .. } => vec![(Verdict::Done, self.clone())],
            Action::Seal { .. } => {
                let mut next = self.clone();
                next.database.note_rewritten();
                vec![(Verdict::Done, next)]
            }
            Action::Retain { .. } | Action::Look { .. } => {
                let mut next = self.clone();
                next.database.expire(self.now_ms);
                next.database.note_rewritten();
                vec![(Verdict::Done, next)]
            }
            Action::Hold { process } => {
                let mut next = self.clone();
                next.held.insert(process % PROCESSES, self.database.clone());
                vec![(Verdict::Done, next)]
            }
            Action::Begin { session } => {
                let mut next = self.clone();
                match next.transactions.contains_key(session) {
                    true => vec![(Verdict::Nothing, next)],
                    false => {
                        next.transactions.insert(*session, Transaction::default());
                        vec![(Verdict::Done, next)]
                    }
                }
            }
            Action::Rollback { session } => {
                let mut next = self.clone();
                next.transactions.remove(session);
                vec![(Verdict::Done, next)]
            }
            Action::Commit { session } => self.commit(*session, is_disturbed),
            Action::OpenAppender { session, table } => match self.database.table(name(*table)) {
                None => vec![refused()],
                Some(table) => {
                    let mut next = self.clone();
                    next.appenders.insert(*session, Appender::new(table));
                    vec![(Verdict::Done, next)]
                }
            },
            Action::Push { session, rows, together } => self.push(*session, rows, *together),
            Action::Flush { session } => self.flush(*session),
            Action::Append { session, table, policy, batch, rows } if !self.transactions.contains_key(session) => {
                self.append_alone(name(*table), *policy, *batch, rows, is_disturbed)
            }
            Action::Index { table, .. } => self.index(name(*table), is_disturbed),
            _ => self.statement(action),
        };
        // Of what is done in the middle of something else either may be refused, and then has done nothing.
        if is_disturbed {
            ends.push(refused());
            if matches!(action, Action::Push { .. }) {
                ends.push((Verdict::Refused, self.clone()));
            }
        }
        ends
    }

    fn index(&self, table: &str, is_disturbed: bool) -> Vec<End> {
        let mut next = self.clone();
        let Some(table) = next.database.table_mut(table) else {
            return vec![(Verdict::Refused, self.clone())];
        };
        let to = indexed(&table.definition);
        table.redefine(to);
        table.rewritten += 1;
        // Another process may drop the index while it is built.
        match is_disturbed {
            true => vec![(Verdict::Done, next.clone()), (Verdict::Refused, next)],
            false => vec![(Verdict::Done, next)],
        }
    }

    fn append_alone(
        &self,
        name: &str,
        policy: Option<Policy>,
        batch: Option<u8>,
        rows: &[Cells],
        is_disturbed: bool,
    ) -> Vec<End> {
        let Some(table) = self.database.table(name) else { return vec![(Verdict::Refused, self.clone())] };
        let policy = policy.map_or(table.definition.on_conflict, policy_of);
        if batch.is_some_and(|batch| self.batches.contains(&batch)) {
            return vec![(Verdict::Duplicate, self.clone())];
        }
        let mut variants = vec![cells_of(&table.definition, rows)];
        if is_disturbed {
            // A column that came meanwhile was not given: rows have what older ones have, or NULL.
            let extra = |id: &u16, value: Option<Option<i64>>| {
                let mut rows = variants[0].clone();
                rows.iter_mut().for_each(|row| match value {
                    Some(value) => drop(row.insert(*id, value)),
                    None => drop(row.remove(id)),
                });
                rows
            };
            let last = table.definition.columns.last().map_or(0, |column| column.id.0);
            let more = [extra(&last, None), extra(&last, Some(None))];
            variants.extend(more);
        }
        let uid = table.uid;
        let appended = variants.into_iter().map(|rows| {
            let mut next = self.clone();
            match next.database.append(uid, &rows, policy) {
                Ok(()) => {
                    next.batches.extend(batch);
                    (Verdict::Done, next)
                }
                Err(_) => (Verdict::Refused, self.clone()),
            }
        });
        appended.collect()
    }

    /// A statement that a transaction may hold.
    fn statement(&self, action: &Action) -> Vec<End> {
        let Some(session) = action.session() else { return Vec::new() };
        let Some(open) = self.transactions.get(&session) else {
            if matches!(action, Action::Mark { .. } | Action::ReturnTo { .. } | Action::ReleaseMark { .. }) {
                return vec![(Verdict::Nothing, self.clone())];
            }
            if matches!(action, Action::Upsert { .. }) && self.language == Language::Calls {
                return vec![(Verdict::Nothing, self.clone())];
            }
            let mut next = self.clone();
            let mut touched = BTreeSet::new();
            return match change(&mut next.database, action, &mut touched) {
                Some(true) => vec![(Verdict::Done, next)],
                Some(false) => vec![(Verdict::Nothing, self.clone())],
                None => vec![(Verdict::Refused, self.clone())],
            };
        };
        let ends = open.statement(&self.database, action, self.language);
        let put = |(verdict, open)| {
            let mut next = self.clone();
            next.transactions.insert(session, open);
            (verdict, next)
        };
        ends.into_iter().map(put).collect()
    }

    fn commit(&self, session: usize, is_disturbed: bool) -> Vec<End> {
        let mut next = self.clone();
        let Some(open) = next.transactions.remove(&session) else { return vec![(Verdict::Nothing, next)] };
        let refused = (Verdict::Refused, next.clone());
        if open.has_failed() {
            return vec![refused];
        }
        match open.merge(&self.database) {
            None => vec![refused],
            Some((merged, may_conflict)) => {
                next.database = merged;
                let done = (Verdict::Done, next);
                if may_conflict || is_disturbed { vec![done, refused] } else { vec![done] }
            }
        }
    }

    fn push(&self, session: usize, rows: &[Cells], together: bool) -> Vec<End> {
        let mut next = self.clone();
        let Some(appender) = next.appenders.get_mut(&session) else { return vec![(Verdict::Nothing, next)] };
        let mut failed = self.clone();
        if let Some(appender) = failed.appenders.get_mut(&session) {
            appender.break_off();
        }
        match appender.push(rows, together) {
            false if appender.is_broken() => vec![(Verdict::Refused, failed)],
            // Rows that were pushed one by one before the one that is refused stay; a batch is refused as a whole.
            false => vec![(Verdict::Refused, next)],
            true => {
                // What the table's dictionaries or definition do not take any more drops the rows before, too.
                let is_there = self.appenders.get(&session).is_some_and(|appender| appender.is_present(&self.database));
                let mut ends = vec![(Verdict::Done, next)];
                ends.extend((!is_there).then_some((Verdict::Refused, failed)));
                ends
            }
        }
    }

    fn flush(&self, session: usize) -> Vec<End> {
        let mut next = self.clone();
        let Some(appender) = next.appenders.get_mut(&session) else { return vec![(Verdict::Nothing, next)] };
        let pending = appender.empty();
        let mut refused = (Verdict::Refused, next.clone());
        if let Some(appender) = refused.1.appenders.get_mut(&session) {
            appender.empty();
        }
        match pending {
            None => vec![refused],
            Some(pending) => match next.database.append_pending(&pending) {
                None => vec![refused],
                Some(true) => vec![(Verdict::Done, next), refused],
                Some(false) => vec![(Verdict::Done, next)],
            },
        }
    }
}

/// A row's values by the numbers of its columns.
fn cells_of(definition: &TableDefinition, rows: &[Cells]) -> Vec<BTreeMap<u16, Option<i64>>> {
    let cells = |row| definition.columns.iter().map(|column| (column.id.0, value(row, column))).collect();
    rows.iter().map(cells).collect()
}

/// Does a statement; `None` if it is refused, `Some(false)` if it means nothing.
fn change(database: &mut Database, action: &Action, touched: &mut BTreeSet<u64>) -> Option<bool> {
    match action {
        Action::Append { table, policy, rows, .. } => {
            let table = database.table(name(*table))?;
            let (uid, definition) = (table.uid, table.definition.clone());
            if definition.has_unique() {
                touched.insert(uid);
            }
            let policy = policy.map_or(definition.on_conflict, policy_of);
            database.append(uid, &cells_of(&definition, rows), policy).ok()?;
        }
        Action::Delete { table, rows, .. } => {
            touched.insert(database.change_rows(name(*table), *rows, &Change::Delete)?);
        }
        Action::Update { table, rows, note, .. } => {
            touched.insert(database.change_rows(name(*table), *rows, &Change::Note(*note))?);
        }
        Action::Upsert { table, row, .. } => {
            let (uid, definition) = database.table(name(*table)).map(|table| (table.uid, table.definition.clone()))?;
            touched.insert(uid);
            database.upsert(uid, &cells_of(&definition, &[*row])[0]).ok()?;
        }
        Action::Truncate { table, .. } => {
            touched.insert(database.change_rows(name(*table), Rows::All, &Change::Delete)?);
        }
        Action::Read { table, .. } => {
            database.table(name(*table))?;
        }
        Action::Create { table, shape, policy, .. } => {
            database.create(definition(*table, *shape, *policy))?;
        }
        Action::Drop { table, .. } => {
            touched.insert(database.drop_table(name(*table))?);
        }
        Action::Alter { table, alteration, .. } => {
            let from = database.table(name(*table))?.definition.clone();
            let Some(to) = altered(&from, *alteration) else { return Some(false) };
            if to.name != from.name && database.table(&to.name).is_some() {
                return None;
            }
            let table = database.table_mut(name(*table))?;
            touched.insert(table.uid);
            table.redefine(to);
        }
        _ => return None,
    }
    Some(true)
}
