//! Transactions and appenders: what somebody has done that nobody else sees yet.

use super::database::{Database, Row, TableModel};
use super::{Verdict, cells_of, change};
use crate::action::{Action, Cells, Language, Policy};
use crate::execute::name;
use crate::shape::policy_of;
use atsdb_core::{ConflictPolicy, TableDefinition};
use std::collections::{BTreeMap, BTreeSet};

/// Rows on their way into a table.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) table: u64,
    pub(crate) policy: Option<ConflictPolicy>,
    pub(crate) rows: Vec<BTreeMap<u16, Option<i64>>>,
    /// Which definition of the table they were made by.
    pub(crate) defined: u64,
}

/// What a transaction has done since it first looked at the store.
#[derive(Debug, Clone)]
struct Looked {
    /// What the store was then.
    base: Database,
    /// The same with what the transaction has done.
    view: Database,
    /// Tables of which it has looked at rows in order to change them.
    touched: BTreeSet<u64>,
}

/// A transaction: snapshot isolation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transaction {
    /// Before it has looked: rows without keys.
    pending: Vec<Pending>,
    looked: Option<Looked>,
    marks: Vec<(u8, Vec<Pending>, Option<Looked>)>,
    has_failed: bool,
}

impl Transaction {
    /// One that has done a statement, over this state of the store.
    pub(crate) fn of_statement(action: &Action, database: &Database, language: Language) -> Option<Self> {
        let mut open = Self::default();
        open.looked = Some(open.look(database)?.0);
        let ends = open.statement(database, action, language);
        ends.into_iter().find(|(verdict, _)| *verdict == Verdict::Done).map(|(_, open)| open)
    }

    /// One that has appended rows, over this state of the store.
    pub(crate) fn of_pending(pending: Pending, database: &Database) -> Option<Self> {
        let mut open = Self { pending: vec![pending], ..Self::default() };
        open.looked = Some(open.look(database)?.0);
        Some(open)
    }

    pub(crate) fn view(&self) -> Option<&Database> {
        self.looked.as_ref().map(|looked| &looked.view)
    }

    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(crate) fn signature(&self) -> String {
        let shown =
            |looked: &Looked| format!("{}{}{:?}", looked.base.signature(), looked.view.signature(), looked.touched);
        let marks = self.marks.iter();
        let marks: Vec<_> = marks.map(|(mark, pending, looked)| (mark, pending, looked.as_ref().map(shown))).collect();
        format!("{:?}{:?}{marks:?}{}", self.pending, self.looked.as_ref().map(shown), self.has_failed)
    }

    /// What a statement leads to, over the present state of the store.
    pub(crate) fn statement(&self, database: &Database, action: &Action, language: Language) -> Vec<(Verdict, Self)> {
        let is_sql = language == Language::Sql;
        match action {
            // How it is written depends on the definition, which a transaction does not show.
            Action::Alter { .. } if is_sql => return vec![(Verdict::Nothing, self.clone())],
            Action::Upsert { .. } if !is_sql => return vec![(Verdict::Nothing, self.clone())],
            _ => {}
        }
        // A transaction goes on after a question that cannot be answered, and after a name that no mark has.
        let is_harmless =
            is_sql && matches!(action, Action::Read { .. } | Action::ReturnTo { .. } | Action::ReleaseMark { .. });
        let failed = || (Verdict::Refused, Self { has_failed: self.has_failed || !is_harmless, ..self.clone() });
        if let Action::ReturnTo { mark, .. } = action {
            let Some(at) = self.marks.iter().rposition(|(name, ..)| name == mark) else { return vec![failed()] };
            let mut next = self.clone();
            next.marks.truncate(at + 1);
            (next.pending, next.looked) = (next.marks[at].1.clone(), next.marks[at].2.clone());
            next.has_failed = false;
            return vec![(Verdict::Done, next)];
        }
        if self.has_failed {
            return vec![failed()];
        }
        // Statements of SQL may look at the store although they need not.
        let unlooked = self.without_a_look(database, action, is_sql);
        if !is_sql && let Some(next) = unlooked {
            return vec![(Verdict::Done, next)];
        }
        let (mut next, mut may_conflict) = (self.clone(), false);
        if next.looked.is_none() {
            let Some((looked, may)) = next.look(database) else {
                let unlooked = unlooked.map(|next| (Verdict::Done, next));
                return std::iter::once(failed()).chain(unlooked).collect();
            };
            may_conflict = may;
            next.looked = Some(looked);
        }
        let Some(looked) = &mut next.looked else { return Vec::new() };
        may_conflict |= is_sql && looked.has_rows_on_their_way(database);
        let mut ends = match action {
            Action::Mark { mark, .. } => {
                next.marks.push((*mark, Vec::new(), Some(looked.clone())));
                vec![(Verdict::Done, next)]
            }
            Action::ReleaseMark { mark, .. } => match next.marks.iter().rposition(|(name, ..)| name == mark) {
                None => vec![failed()],
                Some(at) => {
                    next.marks.truncate(at);
                    vec![(Verdict::Done, next)]
                }
            },
            _ => {
                // A table of the transaction's own is changed only as long as it is empty and older than no mark.
                may_conflict |= looked.is_own_table(action) || looked.needs_what_is_gone(action, database);
                match change(&mut looked.view, action, &mut looked.touched) {
                    Some(true) => vec![(Verdict::Done, next)],
                    Some(false) => vec![(Verdict::Nothing, next)],
                    // The question has looked at the store, although there is no such table.
                    None if is_harmless => vec![(Verdict::Refused, next), failed()],
                    None => vec![failed()],
                }
            }
        };
        if may_conflict {
            ends.push(failed());
        }
        ends.extend(unlooked.map(|next| (Verdict::Done, next)));
        ends
    }

    /// After a statement that needs no look at the store, if the transaction has not looked yet.
    fn without_a_look(&self, database: &Database, action: &Action, is_sql: bool) -> Option<Self> {
        let mut next = Self { looked: self.looked.is_none().then_some(None)?, ..self.clone() };
        match action {
            Action::Append { table, policy, rows, .. } => {
                let table = database.table(name(*table)).filter(|table| !table.definition.has_unique())?;
                let pending = Pending::new(table, *policy, rows);
                // Of rows that do not fit the statement is told at once.
                database.clone().append_pending(&pending)?;
                next.pending.push(pending);
            }
            Action::Mark { mark, .. } if is_sql => next.marks.push((*mark, self.pending.clone(), None)),
            Action::ReleaseMark { mark, .. } if is_sql => {
                let at = next.marks.iter().rposition(|(name, ..)| name == mark)?;
                next.marks.truncate(at);
            }
            _ => return None,
        }
        Some(next)
    }

    /// Looks at the store for the first time.
    fn look(&self, database: &Database) -> Option<(Looked, bool)> {
        let mut may_conflict = false;
        let mut view = database.clone();
        for pending in &self.pending {
            may_conflict |= view.append_pending(pending)?;
        }
        Some((Looked { base: database.clone(), view, touched: BTreeSet::new() }, may_conflict))
    }

    /// The store after the commit, and whether it may be refused as well; `None` if it must be.
    pub(crate) fn merge(&self, present: &Database) -> Option<(Database, bool)> {
        let Some(looked) = &self.looked else {
            let (mut merged, mut may_conflict) = (present.clone(), false);
            for pending in &self.pending {
                may_conflict |= merged.append_pending(pending)?;
            }
            return Some((merged, may_conflict));
        };
        looked.merge(present)
    }
}

impl Looked {
    /// Whether a definition or a table would change that the transaction has made itself.
    fn is_own_table(&self, action: &Action) -> bool {
        let (Action::Alter { table, .. } | Action::Drop { table, .. }) = action else { return false };
        self.view.table(name(*table)).is_some_and(|table| self.base.by_uid(table.uid).is_none())
    }

    /// Whether rows that were inserted may be refused by a later statement, with which they go on their way: others have
    /// dropped or changed their table.
    fn has_rows_on_their_way(&self, present: &Database) -> bool {
        self.view.tables.iter().any(|table| {
            let Some(base) = self.base.by_uid(table.uid) else { return false };
            let has_changed = present.by_uid(table.uid).is_none_or(|now| now.defined != base.defined);
            has_changed && !difference(base, Some(table)).1.is_empty()
        })
    }

    /// Whether it needs the dictionaries of a table that somebody else has dropped: for rows of the transaction's own.
    fn needs_what_is_gone(&self, action: &Action, present: &Database) -> bool {
        let Some(table) = action.table().and_then(|table| self.view.table(name(table))) else { return false };
        let has_own_rows = self.base.by_uid(table.uid).is_some_and(|base| !difference(base, Some(table)).1.is_empty());
        present.by_uid(table.uid).is_none()
            && (has_own_rows || matches!(action, Action::Append { .. } | Action::Upsert { .. }))
    }

    fn merge(&self, present: &Database) -> Option<(Database, bool)> {
        let (mut merged, mut may_conflict) = (present.clone(), false);
        for before in &self.base.tables {
            let (uid, after) = (before.uid, self.view.by_uid(before.uid));
            let (removed, added) = difference(before, after);
            let is_redefined = after.is_some_and(|after| after.definition != before.definition);
            let touched = self.touched.contains(&uid);
            if !touched && added.is_empty() {
                continue;
            }
            let Some(now) = merged.by_uid_mut(uid) else {
                // What was looked at and not changed need not be there any more.
                if removed.is_empty() && added.is_empty() && !is_redefined && after.is_some() {
                    may_conflict = true;
                    continue;
                }
                return None;
            };
            may_conflict |= now.defined != before.defined || (touched && now.rewritten != before.rewritten);
            may_conflict |= before.definition.has_unique() && now.added != before.added;
            if (is_redefined || after.is_none()) && now.defined != before.defined {
                return None;
            }
            let Some(after) = after else {
                merged.tables.retain(|table| table.uid != uid);
                continue;
            };
            if removed.iter().any(|id| now.rows.iter().all(|row| row.id != *id)) {
                return None;
            }
            if is_redefined {
                now.redefine(after.definition.clone());
            }
            now.rows.retain(|row| !removed.contains(&row.id));
            now.rewritten += u64::from(!removed.is_empty());
            now.added += u64::from(!added.is_empty());
            now.rows.extend(added);
            if now.has_duplicates() {
                return None;
            }
        }
        let created = self.view.tables.iter().filter(|table| self.base.by_uid(table.uid).is_none());
        merged.tables.extend(created.cloned());
        let mut names: Vec<&str> = merged.tables.iter().map(|table| table.definition.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        (names.len() == count).then_some((merged, may_conflict))
    }
}

/// The numbers of the rows that went, and the rows that came.
fn difference(before: &TableModel, after: Option<&TableModel>) -> (Vec<u64>, Vec<Row>) {
    let rows = after.map_or(&[][..], |after| &after.rows);
    let removed = before.rows.iter().filter(|row| rows.iter().all(|other| other.id != row.id)).map(|row| row.id);
    let added = rows.iter().filter(|row| before.rows.iter().all(|other| other.id != row.id));
    (removed.collect(), added.cloned().collect())
}

impl Pending {
    fn new(table: &TableModel, policy: Option<Policy>, rows: &[Cells]) -> Self {
        let policy = policy.map(policy_of);
        Self { table: table.uid, policy, rows: cells_of(&table.definition, rows), defined: table.defined }
    }
}

/// An appender with rows that are not flushed.
#[derive(Debug, Clone)]
pub(crate) struct Appender {
    definition: TableDefinition,
    pending: Pending,
    /// Whether rows were dropped that a flush must report.
    is_broken: bool,
}

impl Appender {
    pub(crate) fn new(table: &TableModel) -> Self {
        let pending = Pending::new(table, None, &[]);
        Self { definition: table.definition.clone(), pending, is_broken: false }
    }

    /// Takes rows; whether all were taken.
    pub(crate) fn push(&mut self, rows: &[Cells], together: bool) -> bool {
        if self.is_broken {
            return false;
        }
        let (before, rows) = (self.pending.rows.len(), cells_of(&self.definition, rows));
        for row in rows {
            let is_null = |column: &atsdb_core::Column| !column.nullable && row.get(&column.id.0) == Some(&None);
            if self.definition.columns.iter().any(is_null) {
                self.pending.rows.truncate(if together { before } else { usize::MAX });
                return false;
            }
            self.pending.rows.push(row);
        }
        true
    }

    /// Whether its table is as it was when it was opened.
    pub(crate) fn is_present(&self, database: &Database) -> bool {
        database.by_uid(self.pending.table).is_some_and(|table| table.defined == self.pending.defined)
    }

    pub(crate) fn break_off(&mut self) {
        self.is_broken = true;
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// What was pushed, which is then forgotten; `None` if rows were dropped.
    pub(crate) fn empty(&mut self) -> Option<Pending> {
        let pending = self.pending.clone();
        self.pending.rows.clear();
        (!std::mem::take(&mut self.is_broken)).then_some(pending)
    }
}
