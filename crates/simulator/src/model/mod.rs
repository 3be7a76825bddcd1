//! The possible states after each step, as plain lists of rows. A model is one possible state ([`state`]). An action
//! and its result in the world lead to the states that are possible afterwards. If there is none, the world has broken
//! a guarantee. Usually there is exactly one; two are possible if an answer was lost, a process ended, or another
//! process acted in the middle of an action. `ends` owns the possible results of each action, `statement` its effect on
//! tables, `transaction` and `pending` the changes that are not visible yet, and `database`, `table`, `rollup`,
//! `references` and `row_list` the visible state.

mod database;
mod ends;
mod pending;
mod references;
mod rollup;
mod row_list;
mod state;
mod statement;
mod table;
mod transaction;

use crate::action::Action;
use crate::outcome::{Answer, Observed};
use crate::setting::{Language, PROCESSES};
use atsdb_core::ErrorKind;
use atsdb_testkit::faulty::Fails;
use ends::End;
use statement::Verdict;
use transaction::Transaction;

pub(crate) use state::Model;

impl Model {
    /// The states that are possible after an action. `is_disturbed` means that another process acted during it.
    pub(crate) fn after(&self, action: &Action, observed: &Observed, is_disturbed: bool) -> Vec<Self> {
        let beginnings = self.beginnings(action);
        beginnings.iter().flat_map(|state| state.after_using(action, observed, is_disturbed)).collect()
    }

    /// The same for a state in which it is decided which tables in memory the process uses.
    fn after_using(&self, action: &Action, observed: &Observed, is_disturbed: bool) -> Vec<Self> {
        let ends = self.ends(action, is_disturbed);
        let effects = |ends: Vec<End>| {
            ends.into_iter().filter(|(verdict, _)| *verdict != Verdict::Refused).map(|(_, model)| model)
        };
        if observed.has_crashed {
            let possible = std::iter::once(self.clone()).chain(effects(ends));
            return possible.map(|model| model.without_process(action.process())).collect();
        }
        let failed = |model: &Self| model.clone().failed(action);
        // A failed query leaves the transaction unchanged, except for rows that are not in its batch yet.
        if action.is_question() && observed.outcome.is_err() && self.language == Language::Sql {
            let is_refused = observed.failed.is_some() || ends.iter().any(|(verdict, _)| *verdict == Verdict::Refused);
            let refused = ends.into_iter().filter(|(verdict, _)| *verdict == Verdict::Refused).map(|(_, model)| model);
            let states: Vec<Self> = [self.clone(), failed(self)].into_iter().chain(refused).collect();
            return if is_refused { states } else { Vec::new() };
        }
        // Rows that an appender has before a failing batch stay, unless some of them were processed with the batch.
        if let ((Err(_), Some(_)), Action::Push { .. }) = ((&observed.outcome, observed.failed), action) {
            return vec![self.clone(), failed(self)];
        }
        match (&observed.outcome, observed.failed) {
            (Err(error), _) if matches!(error.kind(), ErrorKind::Internal | ErrorKind::Corrupt) => Vec::new(),
            (Err(_), Some(Fails::Before)) if !action.has_several_commits() => vec![failed(self)],
            (Err(_), Some(_)) => {
                let done = effects(ends).map(|model| failed(&model));
                std::iter::once(failed(self)).chain(done).collect()
            }
            (outcome, _) => {
                let actual = match outcome {
                    Err(_) => Verdict::Refused,
                    Ok(Answer::Duplicate) => Verdict::Duplicate,
                    Ok(Answer::Nothing) => Verdict::Nothing,
                    Ok(Answer::Done | Answer::Rows(..) | Answer::Table(_) | Answer::Tables(_)) => Verdict::Done,
                };
                let ends = ends.into_iter().filter(|(verdict, _)| *verdict == actual);
                ends.filter(|(_, model)| model.has_read(action, outcome.as_ref().ok()))
                    .map(|(_, model)| model)
                    .collect()
            }
        }
    }

    /// The states that are possible after an action that read the store before another process acted, and was committed
    /// afterwards: what it decided by rows that it did not change may be outdated, as under snapshot isolation.
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
            let merged = open.merge(&next.view_of(action.process()))?.0;
            next.put(action.process(), merged);
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

    /// The effect of an action outside of a transaction, as a separate transaction.
    fn as_transaction(&self, action: &Action) -> Option<Transaction> {
        if let Action::Flush { session } = action {
            let pending = self.appenders.get(session)?.clone().empty()?;
            return Transaction::of_pending(pending, &self.view_of(session % PROCESSES));
        }
        action.session().filter(|session| !self.transactions.contains_key(session))?;
        match action {
            Action::Append { batch: Some(batch), .. } if self.batches.contains(batch) => None,
            _ => Transaction::of_statement(action, &self.view_of(action.process()), self.language),
        }
    }

    /// A description of the expected result for people.
    pub(crate) fn expected(&self, action: &Action) -> String {
        let verdicts: Vec<Verdict> = self.ends(action, false).into_iter().map(|(verdict, _)| verdict).collect();
        format!("{verdicts:?}")
    }
}
