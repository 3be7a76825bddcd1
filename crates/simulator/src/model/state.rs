//! One possible state of everything: the store, the memory of each process, open transactions, held snapshots and
//! backups.

use super::database::Database;
use super::pending::Appender;
use super::table::Row;
use super::transaction::Transaction;
use crate::action::Action;
use crate::compare::SeenDatabase;
use crate::outcome::Answer;
use crate::setting::{Language, PROCESSES};
use crate::subject::{WhichBackup, rollup_name, table_name};
use std::collections::{BTreeMap, BTreeSet};

/// The rows that one process has of a table in memory.
#[derive(Debug, Clone)]
struct Resident {
    rows: Vec<Row>,
    added: u64,
    rewritten: u64,
}

/// The contents of a held snapshot.
#[derive(Debug, Clone)]
struct HeldSnapshot {
    database: Database,
    /// The tables in memory that the process had not used when the snapshot was taken.
    unused: BTreeSet<u64>,
}

/// One possible state.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(super) language: Language,
    /// The store. For tables in memory it holds the saved rows.
    pub(super) database: Database,
    /// The rows of used tables in memory, by process and table.
    residents: BTreeMap<(usize, u64), Resident>,
    pub(super) transactions: BTreeMap<usize, Transaction>,
    pub(super) appenders: BTreeMap<usize, Appender>,
    held: BTreeMap<usize, HeldSnapshot>,
    pub(super) batches: BTreeSet<u8>,
    /// Backups by the time they were taken, oldest first.
    backups: Vec<(i64, Database)>,
    pub(super) now_ms: i64,
}

impl Model {
    pub(crate) fn new(language: Language) -> Self {
        let (database, residents, transactions, appenders, held) = Default::default();
        let (batches, backups) = Default::default();
        Self { language, database, residents, transactions, appenders, held, batches, backups, now_ms: 0 }
    }

    /// Returns the database as a process sees it, with its own rows of tables in memory.
    pub(super) fn view_of(&self, process: usize) -> Database {
        let mut view = self.database.clone();
        for table in view.tables.iter_mut().filter(|table| table.is_in_memory()) {
            if let Some(resident) = self.residents.get(&(process, table.uid)) {
                table.rows.clone_from(&resident.rows);
                (table.added, table.rewritten) = (resident.added, resident.rewritten);
            }
        }
        view
    }

    /// Takes over the database as a process has changed it.
    pub(super) fn put(&mut self, process: usize, mut view: Database) {
        for table in view.tables.iter_mut().filter(|table| table.is_in_memory()) {
            let saved = self.database.by_uid(table.uid);
            let key = (process, table.uid);
            let is_new = saved.is_none() && table.added > 0;
            let is_used = self.residents.contains_key(&key) || is_new;
            if is_used || saved.is_some_and(|saved| (saved.added, saved.rewritten) != (table.added, table.rewritten)) {
                let rows = std::mem::take(&mut table.rows);
                self.residents.insert(key, Resident { rows, added: table.added, rewritten: table.rewritten });
            }
            table.rows = saved.map_or_else(Vec::new, |saved| saved.rows.clone());
            (table.added, table.rewritten) = saved.map_or((0, 0), |saved| (saved.added, saved.rewritten));
        }
        self.residents.retain(|(_, table), _| view.by_uid(*table).is_some());
        self.database = view;
    }

    /// The tables in memory that a process has not used.
    pub(super) fn unused_by(&self, process: usize) -> BTreeSet<u64> {
        let tables = self.database.tables.iter().filter(|table| table.is_in_memory()).map(|table| table.uid);
        tables.filter(|table| !self.residents.contains_key(&(process, *table))).collect()
    }

    /// Notes that a process uses a table in memory for the first time, beginning with these rows.
    fn begin(&mut self, process: usize, table: u64, from: &Database) {
        if let (Some(from), Some(_)) = (from.by_uid(table), self.database.by_uid(table)) {
            let resident = Resident { rows: from.rows.clone(), added: from.added, rewritten: from.rewritten };
            self.residents.entry((process, table)).or_insert(resident);
        }
    }

    /// Notes that a process has read all tables, so that it now uses those with saved rows.
    fn begin_saved(&mut self, process: usize) {
        let saved = self.database.clone();
        for table in self.unused_by(process) {
            if saved.by_uid(table).is_some_and(|table| !table.rows.is_empty()) {
                self.begin(process, table, &saved);
            }
        }
    }

    /// Returns this state, and the states in which the process of an action begins to use tables in memory during the
    /// action. They differ in which tables these are.
    pub(super) fn beginnings(&self, action: &Action) -> Vec<Self> {
        let process = action.process();
        let unused = self.unused_by(process);
        let mut states = vec![self.clone()];
        if unused.is_empty() {
            return states;
        }
        let mut all = self.clone();
        all.begin_saved(process);
        states.push(all);
        let changed: Vec<u64> = match action {
            Action::Commit { .. } | Action::Flush { .. } => unused.into_iter().collect(),
            _ => {
                let table = action.table().and_then(|table| self.database.table(table_name(table)));
                table.map(|table| table.uid).into_iter().filter(|table| unused.contains(table)).collect()
            }
        };
        let mut used = self.clone();
        changed.iter().for_each(|table| used.begin(process, *table, &self.database));
        states.push(used);
        // A transaction that reads such a table finds the rows that were saved at its first read.
        if let Some(open) = action.session().and_then(|session| self.transactions.get(&session)) {
            let mut read = self.clone();
            for table in open.unused() {
                if !table.rows.is_empty() && self.database.by_uid(table.uid).is_some() {
                    let resident =
                        Resident { rows: table.rows.clone(), added: table.added, rewritten: table.rewritten };
                    read.residents.entry((process, table.uid)).or_insert(resident);
                }
            }
            states.push(read);
        }
        let mut signatures = BTreeSet::new();
        states.retain(|state| signatures.insert(state.signature()));
        states
    }

    /// Replaces the saved rows of one table in memory, or of all, by those of a process.
    pub(super) fn save(&mut self, process: usize, table: Option<u64>) {
        for saved in self.database.tables.iter_mut().filter(|saved| table.is_none_or(|table| table == saved.uid)) {
            if let Some(resident) = self.residents.get_mut(&(process, saved.uid)) {
                saved.rows.clone_from(&resident.rows);
                saved.rewritten = super::table::number();
                saved.added = resident.added;
                resident.rewritten = saved.rewritten;
            }
        }
    }

    /// Backs up the database of a process. With `keep`, only this many backups are kept.
    pub(super) fn back_up(&mut self, process: usize, keep: Option<usize>) {
        self.backups.push((self.now_ms, self.view_of(process)));
        let gone = keep.map_or(0, |keep| self.backups.len().saturating_sub(keep));
        self.backups.drain(..gone);
    }

    /// The selected backup.
    pub(super) fn backup(&self, which: WhichBackup) -> Option<&Database> {
        let until = which.until_ms(self.now_ms);
        self.backups.iter().rfind(|(taken, _)| *taken <= until).map(|(_, database)| database)
    }

    /// Takes and holds a snapshot of a process.
    pub(super) fn hold(&mut self, process: usize) {
        let held = HeldSnapshot { database: self.view_of(process), unused: self.unused_by(process) };
        self.held.insert(process, held);
    }

    /// Sets the time.
    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// Ends all processes: no transaction, appender or snapshot is left.
    pub(crate) fn restart(&mut self) {
        (0..PROCESSES).for_each(|process| *self = self.clone().without_process(process));
    }

    /// Returns whether this is what a process reads. Also decides which expired rows have been dropped.
    pub(crate) fn agrees(&mut self, process: usize, seen: &SeenDatabase) -> bool {
        let mut view = self.view_of(process);
        if !view.agrees(seen) {
            return false;
        }
        self.put(process, view);
        self.begin_saved(process);
        true
    }

    /// Returns whether these are the contents of the snapshot that a process holds.
    pub(crate) fn agrees_held(&mut self, process: usize, seen: Option<&SeenDatabase>) -> bool {
        let (Some(held), Some(seen)) = (self.held.get_mut(&process), seen) else {
            return self.held.contains_key(&process) == seen.is_some();
        };
        if !held.database.agrees(seen) {
            return false;
        }
        // If a process reads a table in memory for the first time, in this or any snapshot, it begins with the rows of
        // that snapshot.
        let held = held.clone();
        for table in held.unused {
            if held.database.by_uid(table).is_some_and(|table| !table.rows.is_empty()) {
                self.begin(process, table, &held.database);
            }
        }
        true
    }

    /// The visible state, for people.
    pub(crate) fn shown(&self) -> String {
        let shown = |((process, table), resident): (&(usize, u64), &Resident)| {
            let Some(table) = self.database.by_uid(*table) else { return String::new() };
            let rows: Vec<_> = resident.rows.iter().map(|row| table.values(row)).collect();
            format!("\n  process {process} has of {}: {rows:?}", table.definition.name)
        };
        let residents: String = self.residents.iter().map(shown).collect();
        format!("{}{residents}", self.database.shown())
    }

    pub(crate) fn shown_held(&self, process: usize) -> String {
        self.held.get(&process).map_or_else(String::new, |held| held.database.shown())
    }

    /// A text that is the same for indistinguishable states.
    pub(crate) fn signature(&self) -> String {
        let transactions: Vec<String> = self.transactions.values().map(Transaction::signature).collect();
        let shown = |held: &HeldSnapshot| format!("{}{:?}", held.database.signature(), held.unused);
        let held: Vec<String> = self.held.values().map(shown).collect();
        let backups: Vec<String> =
            self.backups.iter().map(|(taken, of)| format!("{taken}{}", of.signature())).collect();
        let counters = if self.transactions.is_empty() { String::new() } else { self.database.counters() };
        let store = format!("{}{counters}{}", self.database.signature(), self.shown());
        format!("{store}{transactions:?}{held:?}{backups:?}{:?}{:?}", self.appenders, self.batches)
    }

    pub(super) fn without_process(mut self, process: usize) -> Self {
        self.transactions.retain(|session, _| session % PROCESSES != process);
        self.appenders.retain(|session, _| session % PROCESSES != process);
        self.held.remove(&process);
        self.residents.retain(|(of, _), _| *of != process);
        self
    }

    /// Returns the state after an action that failed for an external reason.
    pub(super) fn failed(mut self, action: &Action) -> Self {
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
        self.note_closable(action);
        if matches!(action, Action::Retain { .. } | Action::Look { .. }) {
            self.database.expire(self.now_ms);
        }
        if matches!(action, Action::Seal { .. } | Action::Index { .. } | Action::Retain { .. } | Action::Look { .. }) {
            self.database.note_rewritten();
        }
        self
    }

    /// Notes that an action computes rollups, which may close buckets.
    pub(super) fn note_closable(&mut self, action: &Action) {
        match action {
            Action::Look { .. } => self.database.note_closable(None, self.now_ms),
            Action::CreateRollup { rollup, .. } | Action::Refresh { rollup, .. } => {
                self.database.note_closable(Some(rollup_name(*rollup)), self.now_ms);
            }
            _ => {}
        }
    }

    pub(super) fn has_read(&self, action: &Action, answer: Option<&Answer>) -> bool {
        match (action, answer) {
            (Action::Read { session, table }, Some(Answer::Table(seen))) => {
                let mut view = self.view(*session);
                let limit = view.table(table_name(*table)).map_or(i64::MAX, |table| view.dropped_before(table.uid));
                view.table_mut(table_name(*table)).is_some_and(|table| table.agrees(seen, limit))
            }
            (Action::Read { session, table }, Some(Answer::Rows(names, rows))) => {
                let mut view = self.view(*session);
                let limit = view.table(table_name(*table)).map_or(i64::MAX, |table| view.dropped_before(table.uid));
                let table = view.table_mut(table_name(*table));
                table.is_some_and(|table| table.has_names(names) && table.has_rows(rows, limit))
            }
            (Action::ReadRollup { session, rollup }, Some(Answer::Rows(_, rows))) => {
                self.view(*session).rollup_rows(rollup_name(*rollup)).as_ref() == Some(rows)
            }
            (Action::ReadReferences { session }, Some(Answer::Rows(_, rows))) => {
                self.view(*session).references.joined().as_ref() == Some(rows)
            }
            (Action::Copy { process }, Some(Answer::Tables(seen))) => self.view_of(process % PROCESSES).agrees(seen),
            (Action::Restore { which, .. }, Some(Answer::Tables(seen))) => {
                self.backup(*which).is_some_and(|backup| backup.clone().agrees(seen))
            }
            _ => true,
        }
    }

    /// The state that a session sees.
    fn view(&self, session: usize) -> Database {
        let open = self.transactions.get(&session).and_then(Transaction::view);
        open.cloned().unwrap_or_else(|| self.view_of(session % PROCESSES))
    }
}
