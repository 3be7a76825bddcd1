//! Statements that change something: executed once, or once for each row of values.

use super::context::Flight;
use super::error::{IntoStatus, StatusResult};
use super::handle::{StatementHandle, TransactionScope};
use super::query::values_of;
use super::session::StatementSession;
use crate::access::caller::Caller;
use crate::shared::outlet::{Stop, StopOnDrop};
use crate::shared::permits::StatementPermit;
use crate::shared::running::Sender;
use atsdb::arrow::array::RecordBatch;
use atsdb::sql::{Answer, Prepared};
use tonic::Status;

impl Flight {
    /// Does work with a session on a thread that may block. It is interrupted if the client goes away.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        caller: &Caller,
        transaction: TransactionScope<'_>,
        text: &str,
        work: impl FnOnce(&mut StatementSession, StatementPermit) -> StatusResult<(T, u64)> + Send + 'static,
    ) -> StatusResult<T> {
        let (mut session, permit) = self.admit(caller, transaction).await?;
        self.metrics().statements.increment();
        let stop = Stop::new(session.interrupt_handle());
        let _guard = StopOnDrop(stop.clone());
        let (state, user, text) = (self.state().clone(), caller.user.clone(), text.to_owned());
        let done = tokio::task::spawn_blocking(move || {
            let sender = Sender { protocol: "flight", user: user.as_deref(), process: None };
            let listed = state.running().begin(sender, &text, session.interrupt_handle());
            let done = work(&mut session, permit);
            if let Some(notice) = session.take_notice() {
                listed.log_notice(&notice);
            }
            if let Ok((_, row_count)) = &done {
                listed.add_rows(*row_count);
            }
            drop(listed);
            stop.disarm();
            // A transaction that was left open is rolled back here.
            drop(session);
            done
        });
        let done = done.await.map_err(|error| Status::internal(error.to_string()))?;
        done.map(|(done, _)| done)
    }

    /// Executes a statement, with the values that are bound to it. Returns the number of rows that it has changed.
    pub(super) async fn execute(&self, caller: &Caller, handle: StatementHandle) -> StatusResult<Option<u64>> {
        let named = handle.clone();
        let work = move |session: &mut StatementSession, _permit| {
            let mut rows = handle.parameters().or_status()?.into_iter();
            let row_count = for_each_row(session, &handle.text, || Ok(rows.next()))?;
            Ok((row_count, row_count.unwrap_or(0)))
        };
        self.work(caller, named.scope(), &named.text, work).await
    }
}

/// Executes a statement for each row of values: all of them, or none. Without values it is executed once.
pub(super) fn for_each_row(
    session: &mut StatementSession,
    text: &str,
    mut next: impl FnMut() -> StatusResult<Option<RecordBatch>>,
) -> StatusResult<Option<u64>> {
    let first = loop {
        match next()? {
            Some(batch) if batch.num_columns() == 0 || batch.num_rows() == 0 => {}
            first => break first,
        }
    };
    let Some(first) = first else {
        return row_count(session.execute_for_client(text).or_status()?);
    };
    let mut second = next()?;
    if second.is_none() && first.num_rows() == 1 {
        let prepared = session.prepare_for_client(text).or_status()?;
        return execute_row(session, &prepared, &first, 0);
    }
    session.all_or_nothing(|session| {
        let prepared = session.prepare_for_client(text).or_status()?;
        let (mut batch, mut changed) = (Some(first), None);
        while let Some(rows) = batch {
            for row in 0..rows.num_rows() {
                let row_count = execute_row(session, &prepared, &rows, row)?;
                changed = Some(changed.unwrap_or(0) + row_count.unwrap_or(0));
            }
            batch = match second.take() {
                None => next()?,
                second => second,
            };
        }
        Ok(changed)
    })
}

fn execute_row(
    session: &StatementSession,
    prepared: &Prepared,
    rows: &RecordBatch,
    row: usize,
) -> StatusResult<Option<u64>> {
    let values = values_of(rows, row).or_status()?;
    row_count(session.execute_prepared(prepared, &values).or_status()?)
}

/// The number of rows that a statement has changed, or that it has answered.
fn row_count(answer: Answer) -> StatusResult<Option<u64>> {
    match answer {
        Answer::Done { row_count, .. } => Ok(row_count),
        Answer::Rows(rows) => {
            let counts = rows.map(|batch| Ok(batch?.num_rows() as u64));
            counts.sum::<atsdb::Result<u64>>().or_status().map(Some)
        }
    }
}
