//! `POST /api/append?table=T`: an Arrow stream whose rows are added to a table in one batch.

use super::context::Query;
use super::error::{answer, refuse, refused_body};
use crate::ingest::body::{HeldBody, read_body};
use atsdb::arrow::ipc::reader::StreamReader;
use atsdb::{BatchId, CommitOutcome, Database, Error, ErrorKind, Result};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::HashMap;
use std::io::Cursor;

/// The header that names a batch.
const BATCH_HEADER: &str = "x-atsdb-batch";
/// The maximum number of attempts while other writers change the table.
const ATTEMPTS_MAX: usize = 20;

/// Reads and stores the rows of a request. The answer is sent when they are durable.
pub(crate) async fn append(
    query: Query,
    parameters: HashMap<String, String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(table) = parameters.get("table").cloned().filter(|table| !table.is_empty()) else {
        return refuse(StatusCode::BAD_REQUEST, "the parameter table is missing");
    };
    let in_header = headers.get(BATCH_HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let batch = match in_header.or_else(|| parameters.get("batch").cloned()).map(BatchId::new).transpose() {
        Ok(batch) => batch,
        Err(error) => return answer(&error),
    };
    let body = match read_body(&headers, body, &query.gate, &query.ingest).await {
        Ok(body) => body,
        Err(refused) => return refused_body(&refused),
    };
    let database = query.database.clone();
    let stored = tokio::task::spawn_blocking(move || store(&database, &table, batch.as_ref(), &body));
    match stored.await {
        Ok(Ok((row_count, outcome))) => {
            query.metrics.appended_rows.add(row_count);
            let body = json!({ "rows": row_count, "duplicate": outcome == CommitOutcome::Duplicate });
            ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
        }
        Ok(Err(error)) => answer(&error),
        Err(_) => refuse(StatusCode::BAD_REQUEST, "the body is no Arrow stream"),
    }
}

fn store(database: &Database, table: &str, batch: Option<&BatchId>, body: &HeldBody) -> Result<(u64, CommitOutcome)> {
    let mut attempt = 1;
    loop {
        match store_once(database, table, batch, body) {
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS_MAX => attempt += 1,
            done => return done,
        }
    }
}

fn store_once(database: &Database, table: &str, id: Option<&BatchId>, body: &HeldBody) -> Result<(u64, CommitOutcome)> {
    let malformed = |error| Error::invalid("the body is no Arrow stream").with_source(error);
    let reader = StreamReader::try_new(Cursor::new(&body.bytes), None).map_err(malformed)?;
    let table = database.engine().table(table)?;
    let mut batch = database.batch(id.cloned());
    for rows in reader {
        batch.append(&table, &rows.map_err(malformed)?)?;
    }
    let row_count = batch.row_count();
    Ok((row_count, batch.commit()?))
}
