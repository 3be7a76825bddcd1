//! Transactions: changes that only their session can see.

use super::database::Database;
use super::pending::Pending;
use super::references::{Deferral, REFERENCES, References};
use super::statement::{Verdict, cells_of, change};
use super::table::{Row, TableModel};
use crate::action::Action;
use crate::references::ReferenceChange;
use crate::setting::Language;
use crate::shape::policy_of;
use crate::subject::{rollup_name, table_name};
use atsdb_core::ConflictPolicy;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that were added to a table in memory, under one policy.
type Addition = (Vec<BTreeMap<u16, Option<i64>>>, ConflictPolicy);

/// The changes of a transaction since its first read of the store.
#[derive(Debug, Clone)]
struct TransactionView {
    /// The store at that time.
    base: Database,
    /// The store with the changes of the transaction.
    view: Database,
    /// The tables whose rows it has read in order to change them.
    touched: BTreeSet<u64>,
    /// The tables that other statements than appends have changed, or might have.
    changed: BTreeSet<u64>,
    /// The rows added to tables in memory; `None` if there were other changes, which require that the tables are
    /// unchanged at the commit.
    additions: BTreeMap<u64, Option<Vec<Addition>>>,
    /// The tables in memory that its process had not used at that time.
    unused: BTreeSet<u64>,
}

/// A transaction: snapshot isolation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transaction {
    /// Rows without keys that were added before its first read.
    pending: Vec<Pending>,
    looked: Option<TransactionView>,
    /// When the foreign key is checked, as set by `SET CONSTRAINTS` before the first read.
    deferral: Deferral,
    marks: Vec<(u8, Vec<Pending>, Deferral, Option<TransactionView>)>,
    has_failed: bool,
}

impl Transaction {
    /// A transaction that has executed one statement on this state of the store.
    pub(crate) fn of_statement(action: &Action, database: &Database, language: Language) -> Option<Self> {
        let mut open = Self::default();
        open.looked = Some(open.look(database, &BTreeSet::new())?.0);
        let ends = open.statement(database, &BTreeSet::new(), action, language);
        ends.into_iter().find(|(verdict, _)| *verdict == Verdict::Done).map(|(_, open)| open)
    }

    /// A transaction that has appended rows to this state of the store.
    pub(crate) fn of_pending(pending: Pending, database: &Database) -> Option<Self> {
        let mut open = Self { pending: vec![pending], ..Self::default() };
        open.looked = Some(open.look(database, &BTreeSet::new())?.0);
        Some(open)
    }

    pub(crate) fn view(&self) -> Option<&Database> {
        self.looked.as_ref().map(|looked| &looked.view)
    }

    /// The tables in memory that its process had not used at its first read, as they were saved then.
    pub(crate) fn unused(&self) -> impl Iterator<Item = &TableModel> {
        let looked = self.looked.iter();
        looked.flat_map(|looked| looked.unused.iter().filter_map(|table| looked.base.by_uid(*table)))
    }

    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(crate) fn signature(&self) -> String {
        let shown = |looked: &TransactionView| {
            let (base, view) = (&looked.base, &looked.view);
            let (touched, changed) = (&looked.touched, &looked.changed);
            format!("{}{}{}{touched:?}{changed:?}", base.signature(), base.counters(), view.signature())
        };
        let marks = self.marks.iter();
        let shown_mark = |(mark, pending, deferral, looked): &(u8, Vec<Pending>, Deferral, Option<TransactionView>)| {
            format!("{mark}{pending:?}{deferral:?}{:?}", looked.as_ref().map(shown))
        };
        let marks: Vec<String> = marks.map(shown_mark).collect();
        let (pending, deferral, looked) = (&self.pending, self.deferral, self.looked.as_ref().map(shown));
        format!("{pending:?}{deferral:?}{looked:?}{marks:?}{}", self.has_failed)
    }

    /// The possible results of a statement over the present state of the store. `unused` are the tables in memory that
    /// its process has not used.
    pub(crate) fn statement(
        &self,
        database: &Database,
        unused: &BTreeSet<u64>,
        action: &Action,
        language: Language,
    ) -> Vec<(Verdict, Self)> {
        let is_sql = language == Language::Sql;
        match action {
            Action::Checkpoint { .. } => return vec![(Verdict::Refused, self.clone())],
            Action::Refer { change, .. } if change.is_declaration() => return vec![(Verdict::Nothing, self.clone())],
            action if !is_sql && action.is_of_sql() => return vec![(Verdict::Nothing, self.clone())],
            _ => {}
        }
        // A transaction continues after a failed query, and after an unknown savepoint name.
        let is_harmless =
            is_sql && (action.is_question() || matches!(action, Action::ReturnTo { .. } | Action::ReleaseMark { .. }));
        let failed = || (Verdict::Refused, Self { has_failed: self.has_failed || !is_harmless, ..self.clone() });
        if let Action::ReturnTo { mark, .. } = action {
            let Some(at) = self.marks.iter().rposition(|(name, ..)| name == mark) else { return vec![failed()] };
            let mut next = self.clone();
            next.marks.truncate(at + 1);
            (_, next.pending, next.deferral, next.looked) = next.marks[at].clone();
            next.has_failed = false;
            let Some(seen) = self.looked.as_ref().filter(|_| next.looked.is_none()) else {
                return vec![(Verdict::Done, next)];
            };
            // It still sees the state of the store that it has read since.
            let refused = || (Verdict::Refused, Self { has_failed: true, ..self.clone() });
            let Some((looked, may_conflict)) = next.look(&seen.base, &seen.unused) else { return vec![refused()] };
            next.looked = Some(looked);
            return std::iter::once((Verdict::Done, next)).chain(may_conflict.then(refused)).collect();
        }
        if self.has_failed {
            return vec![failed()];
        }
        // In SQL, a statement may read the store even if it does not need to. So may rows that are added to a table in
        // memory, whose definition may have changed since the transaction added others.
        let unlooked = self.without_a_look(database, action, is_sql);
        let table = action.table().and_then(|table| database.table(table_name(table)));
        let may_look = is_sql || table.is_some_and(TableModel::is_in_memory);
        if !may_look && let Some(next) = unlooked {
            return vec![(Verdict::Done, next)];
        }
        let (mut next, mut may_conflict) = (self.clone(), false);
        if next.looked.is_none() {
            let Some((looked, may)) = next.look(database, unused) else {
                let unlooked = unlooked.map(|next| (Verdict::Done, next));
                return std::iter::once(failed()).chain(unlooked).collect();
            };
            may_conflict = may;
            next.looked = Some(looked);
        }
        let Some(looked) = &mut next.looked else { return Vec::new() };
        may_conflict |= is_sql && looked.has_rows_to_be_refused(database);
        let mut ends = match action {
            Action::Mark { mark, .. } => {
                next.marks.push((*mark, Vec::new(), next.deferral, Some(looked.clone())));
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
                // A table that the transaction created can be altered only while it is empty and was created after all
                // savepoints.
                may_conflict |= looked.is_own_table(action) || looked.needs_dropped_dictionaries(action, database);
                may_conflict |= looked.uses_other_references(action, database);
                let additions = looked.additions.clone();
                looked.note_additions(action);
                looked.note_changed(action);
                match change(&mut looked.view, action, &mut looked.touched) {
                    Some(true) => vec![(Verdict::Done, next)],
                    Some(false) => {
                        looked.additions = additions;
                        vec![(Verdict::Nothing, next)]
                    }
                    // The query has read the store, although there is no such table.
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

    /// Returns the transaction after a statement that does not need to read the store, if it has not read it before.
    fn without_a_look(&self, database: &Database, action: &Action, is_sql: bool) -> Option<Self> {
        let mut next = Self { looked: self.looked.is_none().then_some(None)?, ..self.clone() };
        match action {
            Action::Append { table, policy, rows, .. } => {
                let table = database.table(table_name(*table)).filter(|table| !table.definition.has_unique())?;
                let pending = Pending::new(table, *policy, rows);
                // If rows do not fit, their own statement reports it.
                pending.append_to(&mut database.clone())?;
                next.pending.push(pending);
            }
            Action::Mark { mark, .. } if is_sql => {
                next.marks.push((*mark, self.pending.clone(), self.deferral, None));
            }
            Action::Refer { change: ReferenceChange::SetConstraints { deferred }, .. } if is_sql => {
                next.deferral = if *deferred { Deferral::Deferred } else { Deferral::Immediate };
            }
            Action::ReleaseMark { mark, .. } if is_sql => {
                let at = next.marks.iter().rposition(|(name, ..)| name == mark)?;
                next.marks.truncate(at);
            }
            _ => return None,
        }
        Some(next)
    }

    /// Reads the store for the first time.
    fn look(&self, database: &Database, unused: &BTreeSet<u64>) -> Option<(TransactionView, bool)> {
        let (mut may_conflict, mut view) = (false, database.clone());
        view.references.begin(self.deferral);
        let mut additions: BTreeMap<u64, Option<Vec<Addition>>> = BTreeMap::new();
        for pending in &self.pending {
            may_conflict |= pending.append_to(&mut view)?;
            if let Some(table) = view.by_uid(pending.table).filter(|table| table.is_in_memory()) {
                let addition = (pending.rows.clone(), pending.policy.unwrap_or(table.definition.on_conflict));
                additions.entry(pending.table).or_insert(Some(Vec::new())).iter_mut().for_each(|of| {
                    of.push(addition.clone());
                });
            }
        }
        let (base, touched, changed, unused) = (database.clone(), BTreeSet::new(), BTreeSet::new(), unused.clone());
        Some((TransactionView { base, view, touched, changed, additions, unused }, may_conflict))
    }

    /// Returns the store after the commit, and whether the commit may also be refused; `None` if it must be.
    pub(crate) fn merge(&self, present: &Database) -> Option<(Database, bool)> {
        let Some(looked) = &self.looked else {
            let (mut merged, mut may_conflict) = (present.clone(), false);
            for pending in &self.pending {
                may_conflict |= pending.append_to(&mut merged)?;
            }
            return Some((merged, may_conflict));
        };
        looked.merge(present)
    }
}

impl TransactionView {
    /// Records the change that a statement is about to make to a table in memory.
    fn note_additions(&mut self, action: &Action) {
        let Some(table) = action.table().and_then(|table| self.view.table(table_name(table))) else { return };
        if !table.is_in_memory() || matches!(action, Action::Read { .. }) {
            return;
        }
        let additions = self.additions.entry(table.uid).or_insert(Some(Vec::new()));
        match (action, additions) {
            (Action::Append { policy, rows, .. }, Some(additions)) => {
                let policy = policy.map_or(table.definition.on_conflict, policy_of);
                additions.push((cells_of(&table.definition, rows), policy));
            }
            (_, additions) => *additions = None,
        }
    }

    /// Records the table of a statement that does not just append rows.
    fn note_changed(&mut self, action: &Action) {
        if matches!(action, Action::Append { .. } | Action::Read { .. }) {
            return;
        }
        if let Action::Refer { change, .. } = action
            && !change.is_addition()
            && !matches!(change, ReferenceChange::SetConstraints { .. })
        {
            self.changed.insert(REFERENCES);
        }
        let table = action.table().and_then(|table| self.view.table(table_name(table)));
        self.changed.extend(table.map(|table| table.uid));
    }

    /// Returns whether the action would change a table that the transaction itself has created.
    fn is_own_table(&self, action: &Action) -> bool {
        let (Action::Alter { table, .. } | Action::Drop { table, .. }) = action else { return false };
        self.view.table(table_name(*table)).is_some_and(|table| self.base.by_uid(table.uid).is_none())
    }

    /// Returns whether a later statement may report that inserted rows are refused, because others have dropped or
    /// changed their table.
    fn has_rows_to_be_refused(&self, present: &Database) -> bool {
        self.view.tables.iter().any(|table| {
            let Some(base) = self.base.by_uid(table.uid) else { return false };
            let has_changed = present.by_uid(table.uid).is_none_or(|now| now.defined != base.defined);
            has_changed && !difference(base, Some(table)).1.is_empty()
        })
    }

    /// Returns whether an action needs the dictionaries of a table that another session has dropped, for the
    /// transaction's own rows.
    fn needs_dropped_dictionaries(&self, action: &Action, present: &Database) -> bool {
        if let Action::ReadRollup { rollup, .. } = action {
            let rollup = self.view.rollup(rollup_name(*rollup));
            return rollup.is_some_and(|rollup| present.by_uid(rollup.source).is_none());
        }
        let Some(table) = action.table().and_then(|table| self.view.table(table_name(table))) else { return false };
        let has_own_rows = self.base.by_uid(table.uid).is_some_and(|base| !difference(base, Some(table)).1.is_empty());
        present.by_uid(table.uid).is_none()
            && (has_own_rows || matches!(action, Action::Append { .. } | Action::Upsert { .. }))
    }

    /// Returns whether an action, or rows that wait, use parents and children whose definitions another session has
    /// changed.
    fn uses_other_references(&self, action: &Action, present: &Database) -> bool {
        let is_used = matches!(action, Action::Refer { .. } | Action::ReadReferences { .. });
        (is_used || self.touched.contains(&REFERENCES)) && self.base.references.is_redefined_in(&present.references)
    }

    fn merge(&self, present: &Database) -> Option<(Database, bool)> {
        let (mut merged, mut may_conflict) = (present.clone(), false);
        if self.touched.contains(&REFERENCES) {
            let only_adds = !self.changed.contains(&REFERENCES);
            let (base, view) = (&self.base.references, &self.view.references);
            (merged.references, may_conflict) = References::merge(base, view, &present.references, only_adds)?;
        }
        let dropped = self.base.rollups.iter().filter(|rollup| self.view.rollup(&rollup.name).is_none());
        for rollup in dropped {
            may_conflict = true;
            merged.rollups.retain(|other| other.name != rollup.name);
        }
        for before in &self.base.tables {
            let (uid, after) = (before.uid, self.view.by_uid(before.uid));
            let (removed, added) = difference(before, after);
            let is_redefined = after.is_some_and(|after| after.definition != before.definition);
            let touched = self.touched.contains(&uid);
            if !touched && added.is_empty() {
                // A change of a table in memory relies on its definition even if it leaves the rows as they are.
                let is_redefined = || merged.by_uid(uid).is_none_or(|now| now.defined != before.defined);
                may_conflict |= self.additions.contains_key(&uid) && is_redefined();
                continue;
            }
            if let Some(additions) = self.additions.get(&uid)
                && let Some(now) = merged.by_uid(uid).filter(|now| !now.is_as(before))
            {
                may_conflict |= additions.is_none() || self.unused.contains(&uid) || now.defined != before.defined;
                // Rows that were only added are added to the present rows.
                if let Some(additions) = additions {
                    for (rows, policy) in additions {
                        merged.append(uid, rows, *policy).ok()?;
                    }
                    continue;
                }
            }
            may_conflict |= self.unused.contains(&uid);
            let Some(now) = merged.by_uid_mut(uid) else {
                // Data that was only read need not exist any more.
                if removed.is_empty() && added.is_empty() && !is_redefined && after.is_some() {
                    may_conflict = true;
                    continue;
                }
                return None;
            };
            may_conflict |= now.defined != before.defined;
            // Rows that were only added conflict with nothing but rows of the same key.
            if self.changed.contains(&uid) || !removed.is_empty() {
                let has_key =
                    before.definition.has_unique() || after.is_some_and(|after| after.definition.has_unique());
                may_conflict |= touched && now.rewritten != before.rewritten;
                may_conflict |= has_key && now.added != before.added;
            }
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

/// Returns the numbers of the removed rows, and the added rows.
fn difference(before: &TableModel, after: Option<&TableModel>) -> (Vec<u64>, Vec<Row>) {
    let rows = after.map_or(&[][..], |after| &after.rows);
    let removed = before.rows.iter().filter(|row| rows.iter().all(|other| other.id != row.id)).map(|row| row.id);
    let added = rows.iter().filter(|row| before.rows.iter().all(|other| other.id != row.id));
    (removed.collect(), added.cloned().collect())
}
