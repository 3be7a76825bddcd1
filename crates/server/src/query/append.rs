//! `POST /api/append?table=T`: an Arrow stream whose rows are added to a table in one batch.

use super::context::Query;
use super::error::{answer, refuse, refused_body};
use crate::ingest::body::{HeldBody, read_body};
use crate::shared::arrow_stream::ArrowStream;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::buffer::Buffer;
use atsdb::arrow::error::ArrowError;
use atsdb::{BatchId, CommitOutcome, Database, Error, ErrorKind, Result};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::HashMap;

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
    let HeldBody { bytes, reservation } = match read_body(&headers, body, &query.memory, &query.ingest).await {
        Ok(body) => body,
        Err(refused) => return refused_body(&refused),
    };
    let database = query.state.database().clone();
    let stored = tokio::task::spawn_blocking(move || {
        let stored = store(&database, &table, batch.as_ref(), &Buffer::from_vec(bytes));
        drop(reservation);
        stored
    });
    match stored.await {
        Ok(Ok((row_count, outcome))) => {
            query.metrics.appended_rows.add(row_count);
            let body = json!({ "rows": row_count, "duplicate": outcome == CommitOutcome::Duplicate });
            ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
        }
        Ok(Err(error)) => answer(&error),
        Err(_) => refuse(StatusCode::BAD_REQUEST, "the body is not an Arrow stream"),
    }
}

fn store(database: &Database, table: &str, batch: Option<&BatchId>, body: &Buffer) -> Result<(u64, CommitOutcome)> {
    let mut attempt = 1;
    loop {
        match store_once(database, table, batch, body) {
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS_MAX => attempt += 1,
            // The table may have been dropped or changed since the batch was stored.
            Err(_) if batch.is_some_and(|id| database.engine().has_committed(id)) => {
                return Ok((row_count(body)?, CommitOutcome::Duplicate));
            }
            done => return done,
        }
    }
}

/// Reads an Arrow stream as a request brings it. For the fuzz targets.
pub fn read_arrow(bytes: &[u8]) {
    for rows in ArrowStream::new(Buffer::from_vec(bytes.to_vec())) {
        let Ok(rows) = rows else { return };
        assert!(rows.columns().iter().all(|column| column.len() == rows.num_rows()), "columns of one length");
    }
}

/// The batches of a body, which may be read again.
fn batches_of(body: &Buffer) -> impl Iterator<Item = Result<RecordBatch>> {
    ArrowStream::new(body.clone()).map(|rows| rows.map_err(malformed))
}

fn malformed(error: ArrowError) -> Error {
    let message = match &error {
        ArrowError::IpcError(reason) => format!("the body is not an Arrow stream: {reason}"),
        _ => "the body is not an Arrow stream".to_owned(),
    };
    Error::invalid(message).with_source(error)
}

fn row_count(body: &Buffer) -> Result<u64> {
    batches_of(body).try_fold(0, |count, rows| Ok(count + rows?.num_rows() as u64))
}

fn store_once(database: &Database, table: &str, id: Option<&BatchId>, body: &Buffer) -> Result<(u64, CommitOutcome)> {
    let table = database.engine().table(table)?;
    let mut batch = database.batch(id.cloned());
    let mut row_count = 0;
    for rows in batches_of(body) {
        let rows = rows?;
        row_count += rows.num_rows() as u64;
        batch.append(&table, &rows)?;
    }
    Ok((row_count, batch.commit()?))
}
