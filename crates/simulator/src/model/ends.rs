//! The possible results of an action in one possible state.

use super::pending::Appender;
use super::rollup::RollupModel;
use super::state::Model;
use super::statement::{Verdict, cells_of, change};
use super::transaction::Transaction;
use crate::action::Action;
use crate::setting::{Language, PROCESSES};
use crate::shape::{indexed, policy_of};
use crate::subject::{Cells, Policy, Summary, rollup_name, table_name};
use std::collections::BTreeSet;

/// A possible result of an action.
pub(super) type End = (Verdict, Model);

impl Model {
    pub(super) fn ends(&self, action: &Action, is_disturbed: bool) -> Vec<End> {
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
                next.note_closable(action);
                next.database.expire(self.now_ms);
                next.database.note_rewritten();
                vec![(Verdict::Done, next)]
            }
            Action::Hold { process } => {
                let mut next = self.clone();
                next.hold(process % PROCESSES);
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
            Action::OpenAppender { session, table } => match self.database.table(table_name(*table)) {
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
                self.append_alone(session % PROCESSES, table_name(*table), *policy, (*batch, rows), is_disturbed)
            }
            Action::Index { table, .. } => self.index(table_name(*table), is_disturbed),
            Action::Backup { process, keep } => {
                let mut next = self.clone();
                next.back_up(process % PROCESSES, *keep);
                vec![(Verdict::Done, next)]
            }
            Action::Restore { which, .. } => match self.backup(*which) {
                None => vec![refused()],
                Some(_) => vec![(Verdict::Done, self.clone())],
            },
            Action::Checkpoint { session, table } if !self.transactions.contains_key(session) => {
                self.checkpoint(session % PROCESSES, *table)
            }
            action if action.is_of_sql() && self.language == Language::Calls => {
                vec![(Verdict::Nothing, self.clone())]
            }
            Action::CreateRollup { session, rollup, table, summary } if !self.transactions.contains_key(session) => {
                self.create_rollup(action, rollup_name(*rollup), table_name(*table), *summary)
            }
            Action::DropRollup { session, rollup } if !self.transactions.contains_key(session) => {
                self.drop_rollup(rollup_name(*rollup))
            }
            Action::Refresh { session, rollup } if !self.transactions.contains_key(session) => {
                let mut next = self.clone();
                next.note_closable(action);
                match next.database.rollup(rollup_name(*rollup)) {
                    None => vec![refused()],
                    Some(_) => vec![(Verdict::Done, next)],
                }
            }
            _ => self.statement(action),
        };
        // If one action happens in the middle of another, either may be refused, and then has no effect.
        if is_disturbed {
            ends.push(refused());
            if matches!(action, Action::Push { .. }) {
                ends.push((Verdict::Refused, self.clone()));
            }
        }
        ends
    }

    fn checkpoint(&self, process: usize, table: Option<usize>) -> Vec<End> {
        let mut next = self.clone();
        let named = match table.map(table_name) {
            None => None,
            Some(name) => match self.database.table(name).filter(|table| table.is_in_memory()) {
                None => return vec![(Verdict::Refused, next)],
                Some(table) => Some(table.uid),
            },
        };
        next.save(process, named);
        vec![(Verdict::Done, next)]
    }

    fn create_rollup(&self, action: &Action, name: &str, table: &str, summary: Summary) -> Vec<End> {
        let mut next = self.clone();
        let is_series = |table: &&mut super::table::TableModel| table.definition.time.is_some();
        let source = next.database.table_mut(table).filter(is_series);
        let (Some(source), None) = (source, self.database.rollup(name)) else {
            return vec![(Verdict::Refused, next)];
        };
        // From now on its definition requires changes to be logged.
        source.defined += 1;
        let rollup = RollupModel::new(name, source.uid, summary);
        next.database.rollups.push(rollup);
        next.note_closable(action);
        vec![(Verdict::Done, next)]
    }

    fn drop_rollup(&self, name: &str) -> Vec<End> {
        let mut next = self.clone();
        let Some(rollup) = self.database.rollup(name) else { return vec![(Verdict::Refused, next)] };
        next.database.rollups.retain(|other| other.name != name);
        if let Some(source) = next.database.by_uid_mut(rollup.source) {
            source.defined += 1;
        }
        vec![(Verdict::Done, next)]
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
        process: usize,
        name: &str,
        policy: Option<Policy>,
        (batch, rows): (Option<u8>, &[Cells]),
        is_disturbed: bool,
    ) -> Vec<End> {
        let Some(table) = self.database.table(name) else { return vec![(Verdict::Refused, self.clone())] };
        let policy = policy.map_or(table.definition.on_conflict, policy_of);
        if batch.is_some_and(|batch| self.batches.contains(&batch)) {
            // The table may have changed meanwhile: rows that no longer fit are refused before the batch's name is
            // looked up, but not those that violate a constraint.
            let is_refused = cells_of(&table.definition, rows).iter().any(|cells| table.lacks_value(cells));
            let verdict = if is_refused { Verdict::Refused } else { Verdict::Duplicate };
            return vec![(verdict, self.clone())];
        }
        let mut variants = vec![cells_of(&table.definition, rows)];
        if is_disturbed {
            // The rows have no value for a column that was added in the meantime: they get that of older rows, or NULL.
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
            let (mut next, mut view) = (self.clone(), self.view_of(process));
            match view.append(uid, &rows, policy) {
                Ok(()) => {
                    next.put(process, view);
                    next.batches.extend(batch);
                    (Verdict::Done, next)
                }
                Err(_) => (Verdict::Refused, self.clone()),
            }
        });
        appended.collect()
    }

    /// A statement that may be part of a transaction.
    fn statement(&self, action: &Action) -> Vec<End> {
        let Some(session) = action.session() else { return Vec::new() };
        let process = session % PROCESSES;
        let Some(open) = self.transactions.get(&session) else {
            if matches!(action, Action::Mark { .. } | Action::ReturnTo { .. } | Action::ReleaseMark { .. }) {
                return vec![(Verdict::Nothing, self.clone())];
            }
            let (mut next, mut view) = (self.clone(), self.view_of(process));
            return match change(&mut view, action, &mut BTreeSet::new()) {
                Some(true) => {
                    next.put(process, view);
                    vec![(Verdict::Done, next)]
                }
                Some(false) => vec![(Verdict::Nothing, self.clone())],
                None => vec![(Verdict::Refused, self.clone())],
            };
        };
        let ends = open.statement(&self.view_of(process), &self.unused_by(process), action, self.language);
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
        let process = session % PROCESSES;
        match open.merge(&self.view_of(process)) {
            None => vec![refused],
            Some((merged, may_conflict)) => {
                next.put(process, merged);
                let done = (Verdict::Done, next);
                if may_conflict || is_disturbed { vec![done, refused] } else { vec![done] }
            }
        }
    }

    fn push(&self, session: usize, rows: &[Cells], together: bool) -> Vec<End> {
        let is_there = self.appenders.get(&session).is_some_and(|appender| appender.is_present(&self.database));
        // Rows of a batch are pushed one by one if the table no longer has the definition of the appender.
        let mut ends = self.push_rows(session, rows, together, is_there);
        if together && !is_there {
            ends.extend(self.push_rows(session, rows, false, is_there));
        }
        ends
    }

    fn push_rows(&self, session: usize, rows: &[Cells], together: bool, is_there: bool) -> Vec<End> {
        let mut next = self.clone();
        let Some(appender) = next.appenders.get_mut(&session) else { return vec![(Verdict::Nothing, next)] };
        let mut failed = self.clone();
        if let Some(appender) = failed.appenders.get_mut(&session) {
            appender.break_off();
        }
        match appender.push(rows, together) {
            false if appender.is_broken() => vec![(Verdict::Refused, failed)],
            // If rows are pushed one by one, those before the refused one are kept. A batch is refused as a whole.
            false => vec![(Verdict::Refused, next)],
            true => {
                // Rows that the table's dictionaries or definition no longer accept also drop the rows before them.
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
        let process = session % PROCESSES;
        let mut view = self.view_of(process);
        let Some(may_conflict) = pending.and_then(|pending| pending.append_to(&mut view)) else {
            return vec![refused];
        };
        next.put(process, view);
        let refused = may_conflict.then_some(refused);
        std::iter::once((Verdict::Done, next)).chain(refused).collect()
    }
}
