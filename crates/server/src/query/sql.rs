//! Executes the statements of a request, and sends the answer of the last one.

use super::answer_writer::{AnswerStart, AnswerWriter, StartSender};
use super::context::Query;
use super::encoding::Encoding;
use super::error::{answer, refuse};
use super::format::Format;
use super::request::SqlRequest;
use super::stream::parts;
use super::table::error_line;
use crate::access::caller::Caller;
use crate::shared::outlet::{Stop, StopOnDrop};
use crate::shared::running::{ListedStatement, Sender};
use crate::shared::unknown_verb::explained;
use atsdb::arrow::array::RecordBatch;
use atsdb::sql::{
    Answer, AnswerRows, CHANGES_AFTER_WITH, ParameterValue, Permission, Session, VerbKind, Word, Words, is_select_into,
    verb_kind, verb_of,
};
use atsdb::{Error, ErrorKind, Result};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::io;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The maximum duration of a statement until its last row is sent, unless the server has a time limit.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Answers a request of a caller. Statements beyond the permission are refused with the reason. Rows as text may be
/// compressed with an encoding.
pub(crate) async fn run(
    query: Query,
    request: SqlRequest,
    caller: Caller,
    (permission, reason): (Permission, String),
    encoding: Option<Encoding>,
) -> Response {
    let Caller { user, role } = caller;
    let Ok(permit) = query.state.permits().take(role.permission()).await else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many statements are running: retry later");
    };
    let session = query.state.session_of(user.as_deref());
    permit.follow_waits(&session);
    session.set_time_limit(query.state.statements().time_limit_of(role.permission()).or(Some(TIME_MAX)));
    session.restrict(permission, reason);
    query.metrics.statements.increment();
    let format = request.format;
    let encoding = encoding.filter(|_| format.is_compressible());
    let stop = Stop::new(session.interrupt_handle());
    let guard = StopOnDrop(stop.clone());
    let (writer, reader) = parts(Handle::current(), query.options.read_time_max, permit);
    let (begin, begun) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let running = query.state.running();
        let sender = Sender { protocol: "http", user: user.as_deref(), process: None };
        let listed = running.begin(sender, &request.sql, session.interrupt_handle());
        execute(&session, &request, &listed, begin, |begin| AnswerWriter::new(writer, encoding, begin));
        drop(listed);
        stop.disarm();
        // A transaction that the request has left open is rolled back here.
        drop(session);
    });
    match begun.await {
        Ok(Ok(AnswerStart::Rows { encoding })) => {
            let mut response = ([(CONTENT_TYPE, format.media_type())], reader.into_body(guard)).into_response();
            if format.is_compressible() {
                response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
            }
            if let Some(encoding) = encoding {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
            }
            response
        }
        Ok(Ok(AnswerStart::Done { verb, row_count, notices })) => {
            let mut body = json!({ "verb": verb, "rows": row_count });
            if !notices.is_empty() {
                body["notices"] = json!(notices);
            }
            ([(CONTENT_TYPE, Format::Json.media_type())], body.to_string()).into_response()
        }
        Ok(Err(error)) => answer(&error),
        Err(_) => answer(&Error::new(ErrorKind::Internal, "the statement ended without an answer")),
    }
}

/// Executes the statements, and sends the answer.
fn execute(
    session: &Session,
    request: &SqlRequest,
    listed: &ListedStatement,
    begin: StartSender,
    writer: impl FnOnce(StartSender) -> io::Result<AnswerWriter>,
) {
    let mut notices = Vec::new();
    let begun = begin_answer(session, request, listed, &mut notices);
    if !matches!(begun, Ok((Answer::Done { .. }, _))) {
        // The answer has no place for them.
        notices.iter().for_each(|notice| listed.log_notice(notice));
    }
    let (mut rows, first) = match begun {
        Ok((Answer::Done { verb, row_count }, _)) => {
            listed.add_rows(row_count.unwrap_or(0));
            let _ = begin.send(Ok(AnswerStart::Done { verb, row_count, notices }));
            return;
        }
        Ok((Answer::Rows(rows), first)) => (rows, first),
        Err(error) => {
            let _ = begin.send(Err(error));
            return;
        }
    };
    // Otherwise the client has disconnected.
    let Ok(mut writer) = writer(begin) else { return };
    if let Err(error) = send_rows(request.format, &mut rows, first, listed, &mut writer) {
        // The query ends before the client hears of it.
        drop(rows);
        match request.format {
            Format::Table => writer.end_with(&error_line(&error)),
            _ => writer.fail(error),
        }
    }
}

/// Executes all statements, and the last one until its first rows, which are returned: most errors are known by then.
/// Collects the statements' notices.
fn begin_answer(
    session: &Session,
    request: &SqlRequest,
    listed: &ListedStatement,
    notices: &mut Vec<String>,
) -> Result<(Answer, Option<RecordBatch>)> {
    let (mut last, mut last_changes) = (None, false);
    let mut statements = session.statements(&request.sql).peekable();
    while let Some(statement) = statements.next() {
        let statement = statement?;
        if listed.is_cancelled() {
            return Err(Error::new(ErrorKind::Interrupted, "the query was interrupted"));
        }
        if !request.values.is_empty() && (statements.peek().is_some() || last.is_some()) {
            return Err(Error::new(ErrorKind::Usage, "parameters are for a single statement"));
        }
        if let Some(Answer::Rows(mut rows)) = last.take() {
            rows.try_for_each(|batch| batch.map(drop))?;
        }
        let answer = match request.values.as_slice() {
            [] => session.execute(&statement, &[]),
            values => with_values(session, statement.text(), values),
        };
        last = Some(answer.map_err(|error| explained(error, &statement))?);
        notices.extend(session.take_notice());
        last_changes = may_change(statement.text());
    }
    let mut answer = last.ok_or_else(|| Error::new(ErrorKind::Sql, "there is no statement in the text"))?;
    // This must not look like a change that is stored.
    if session.in_transaction() && (last_changes || matches!(answer, Answer::Done { .. })) {
        let error = Error::new(ErrorKind::Usage, "the request leaves its transaction open: it is rolled back");
        return Err(error.with_hint("end the text with COMMIT or ROLLBACK"));
    }
    let first = match &mut answer {
        Answer::Rows(rows) => rows.next().transpose()?,
        Answer::Done { .. } => None,
    };
    Ok((answer, first))
}

/// Returns whether a statement changes rows, or may do so in its WITH clause.
fn may_change(text: &str) -> bool {
    match verb_of(text).as_str() {
        "SELECT" | "WITH" if is_select_into(text) => true,
        "WITH" => Words::new(text).any(|word| match word {
            Word::Name(name) => CHANGES_AFTER_WITH.iter().any(|verb| verb.eq_ignore_ascii_case(&name)),
            _ => false,
        }),
        verb => verb_kind(verb) != Some(VerbKind::Query) && !verb.is_empty(),
    }
}

fn with_values(session: &Session, text: &str, values: &[ParameterValue]) -> Result<Answer> {
    let prepared = session.prepare(text, &[])?;
    session.execute_prepared(&prepared, values)
}

fn send_rows(
    format: Format,
    rows: &mut AnswerRows,
    first: Option<RecordBatch>,
    listed: &ListedStatement,
    out: &mut AnswerWriter,
) -> Result<()> {
    let holds = out.parts().holds();
    let mut writer = format.writer(&rows.schema(), &mut *out)?;
    for batch in first.into_iter().map(Ok).chain(rows) {
        let batch = batch?;
        listed.add_rows(batch.num_rows() as u64);
        holds.note(&batch);
        writer.write(&batch)?;
    }
    writer.finish()?;
    drop(writer);
    out.finish().map_err(|error| Error::new(ErrorKind::Unavailable, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::log::{Log, LogLevel, LogOptions};
    use crate::shared::running::{ProcessNumbers, Running};
    use crate::shared::traces::Traces;
    use atsdb::sql::SessionOptions;

    #[test]
    fn a_notice_that_the_answer_has_no_place_for_is_logged() {
        let database = atsdb::open("memory:").unwrap();
        let session = database.session(SessionOptions::default()).unwrap();
        let (log, written) = Log::in_memory(LogOptions { level: LogLevel::Info, ..LogOptions::default() });
        let running = Running::new(ProcessNumbers::default(), log, Traces::default(), None);
        for (table, rest, is_logged) in [("a", "", false), ("b", "; SELECT 1", true), ("c", "; SELECT nothing", true)] {
            let sql = format!("CREATE TABLE {table} (id INT PRIMARY KEY, deleted_at TIMESTAMP){rest}");
            let sender = Sender { protocol: "http", user: Some("me"), process: None };
            let listed = running.begin(sender, &sql, session.interrupt_handle());
            let request = SqlRequest { sql, values: Vec::new(), format: Format::Json };
            let (begin, _begun) = oneshot::channel();
            execute(&session, &request, &listed, begin, |_| Err(io::ErrorKind::BrokenPipe.into()));
            let notice = format!("protocol=http user=me notice=\"column deleted_at becomes the time of table {table}");
            assert_eq!(written.text().contains(&notice), is_logged, "{table}: {}", written.text());
        }
    }
}
