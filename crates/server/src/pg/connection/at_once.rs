//! Messages that take only a moment, such as reads of a few rows. They are handled on the thread that has received
//! them, which must not block: handing them to another thread would take about as long as they do.
//!
//! The store is asked first. If it has an answer at once, the message is handled like any other, with this answer.
//! Otherwise nothing has happened yet, and a thread that may block handles the message.

use super::answer_at_once::AnswerAtOnce;
use super::bind::{Plan, Portal, Progress};
use super::block::Block;
use super::session::{AfterWork, Connection};
use crate::pg::catalogue::has_sign;
use crate::pg::error::Failure;
use crate::pg::wire::incoming::{Incoming, Target};
use crate::shared::batch_size::byte_count;
use arrow::array::RecordBatch;
use atsdb::sql::{Answer, PresentState};

/// The maximum number of rows that are sent without blocking.
const ROWS_MAX: usize = 200;

/// The maximum size of these rows in bytes. A single text may be far longer.
const BYTES_MAX: usize = 64 << 10;

/// The maximum number of reads in one turn. Meanwhile the other connections of the same thread wait.
const READS_MAX: usize = 32;

impl Connection {
    /// Handles what has arrived, as long as all of it takes only a moment. `None` if messages that may take longer are
    /// left. The output is not sent.
    pub(super) fn work_at_once(&mut self) -> Option<AfterWork> {
        let has_changed = self.access.generation() != self.generation || self.key.termination().is_requested();
        if self.block != Block::None || has_changed {
            return None;
        }
        self.io.may_block = false;
        let after = self.messages_at_once();
        self.io.may_block = true;
        after
    }

    /// Sends the output of [`work_at_once`](Self::work_at_once), and says what the connection does then.
    pub(super) async fn send_at_once(&mut self, after: AfterWork) -> AfterWork {
        if self.io.send().await.is_err() {
            return AfterWork::End;
        }
        self.io.rest();
        self.show_state();
        after
    }

    fn messages_at_once(&mut self) -> Option<AfterWork> {
        // All these messages have arrived before the state is taken, so it is the present one for each of them.
        let mut present = PresentState::default();
        let mut read_count = 0;
        loop {
            let Some((message, length)) = self.io.peek_short() else {
                return matches!(self.io.next_kind(), Ok(None)).then_some(AfterWork::Wait);
            };
            let has_turn = read_count < READS_MAX && !self.io.is_full();
            if !has_turn || self.has_open_rows() || !self.begin_at_once(&message, &mut present) {
                return None;
            }
            read_count += usize::from(matches!(message, Incoming::Query(_) | Incoming::Execute { .. }));
            self.io.advance(length);
            match self.answer(message) {
                Ok(AfterWork::Wait) => {}
                Ok(AfterWork::End) | Err(Failure::Gone) => return Some(AfterWork::End),
                Err(Failure::Error(error)) => {
                    if self.fail_with(&error) == AfterWork::End {
                        return Some(AfterWork::End);
                    }
                }
            }
        }
    }

    /// Returns whether a portal has rows that were not read, which closing it would end.
    fn has_open_rows(&self) -> bool {
        let is_open = |portal: &Portal| matches!(portal.progress, Progress::Running { .. } | Progress::Cursor(_));
        self.portals.values().any(is_open)
    }

    /// Begins to handle a message: takes the permit and the answer of the store that it needs, if that takes only a
    /// moment. Returns whether the rest takes only a moment, too.
    fn begin_at_once(&mut self, message: &Incoming, present: &mut PresentState) -> bool {
        match message {
            Incoming::Sync | Incoming::Close(Target::Statement(_)) => true,
            Incoming::Bind(_) | Incoming::Describe(_) => true,
            // After an error, these are skipped.
            Incoming::Parse { .. } | Incoming::Execute { .. } if self.skips_to_sync => true,
            Incoming::Parse { .. } => {
                self.at_once = self.answer_of_store(message, present);
                self.at_once.is_some()
            }
            Incoming::Query(_) | Incoming::Execute { .. } => {
                let permission = self.caller.role.permission();
                let Some(permit) = self.state.permits().try_take(permission) else { return false };
                let Some(answer) = self.answer_of_store(message, present) else { return false };
                let is_short = has_few_rows(&answer);
                // If there are many rows, the thread that sends them has this answer, too.
                (self.io.permit, self.at_once) = (Some(permit), Some(answer));
                if !is_short {
                    self.deadline = self.begin_deadline();
                }
                is_short
            }
            _ => false,
        }
    }

    /// Returns the store's answer to a message; `None` if that would take more than a moment, or if the store does not
    /// answer such a message.
    fn answer_of_store(&self, message: &Incoming, present: &mut PresentState) -> Option<AnswerAtOnce> {
        match message {
            // The connection itself computes the calls about the session and the catalogue in such a text, and then
            // plans it.
            Incoming::Query(text) | Incoming::Parse { text, .. } if has_sign(text) => None,
            Incoming::Query(text) => self.session.execute_at_once(text, present).map(AnswerAtOnce::Executed),
            Incoming::Parse { text, types, .. } => {
                let statements = self.session.statements(text).ok()?;
                let [statement] = statements.as_slice() else { return None };
                self.session.prepare_at_once(statement, types, present).map(AnswerAtOnce::Prepared)
            }
            Incoming::Execute { portal, .. } => {
                let portal = self.portals.get(portal)?;
                let (Plan::Store(prepared), Progress::Bound) = (&portal.statement.plan, &portal.progress) else {
                    return None;
                };
                let answer = self.session.execute_prepared_at_once(prepared, &portal.values, present)?;
                Some(AnswerAtOnce::Executed(answer))
            }
            _ => None,
        }
    }
}

fn has_few_rows(answer: &AnswerAtOnce) -> bool {
    match answer {
        AnswerAtOnce::Executed(Answer::Rows(rows)) => rows.ready().is_some_and(|batches| {
            let row_count: usize = batches.iter().map(RecordBatch::num_rows).sum();
            row_count <= ROWS_MAX && batches.iter().map(byte_count).sum::<usize>() <= BYTES_MAX
        }),
        AnswerAtOnce::Executed(Answer::Done { .. }) | AnswerAtOnce::Prepared(_) => true,
    }
}
