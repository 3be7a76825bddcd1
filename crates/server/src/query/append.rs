//! `POST /api/append?table=T`: an Arrow stream whose rows are added to a table in one batch.

use super::context::Query;
use super::error::{answer, refuse, refused_body};
use crate::ingest::body::{HeldBody, read_body};
use atsdb::arrow::error::ArrowError;
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
    let database = query.state.database().clone();
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
    let Ok(reader) = StreamReader::try_new(Cursor::new(bytes), None) else { return };
    for rows in reader {
        let Ok(rows) = rows else { return };
        assert!(rows.columns().iter().all(|column| column.len() == rows.num_rows()), "columns of one length");
    }
}

type Reader<'a> = StreamReader<Cursor<&'a Vec<u8>>>;

fn reader(body: &HeldBody) -> Result<Reader<'_>> {
    StreamReader::try_new(Cursor::new(&body.bytes), None).map_err(malformed)
}

fn malformed(error: ArrowError) -> Error {
    Error::invalid("the body is no Arrow stream").with_source(error)
}

fn row_count(body: &HeldBody) -> Result<u64> {
    reader(body)?.try_fold(0, |count, rows| Ok(count + rows.map_err(malformed)?.num_rows() as u64))
}

fn store_once(database: &Database, table: &str, id: Option<&BatchId>, body: &HeldBody) -> Result<(u64, CommitOutcome)> {
    let reader = reader(body)?;
    let table = database.engine().table(table)?;
    let mut batch = database.batch(id.cloned());
    let mut row_count = 0;
    for rows in reader {
        let rows = rows.map_err(malformed)?;
        row_count += rows.num_rows() as u64;
        batch.append(&table, &rows)?;
    }
    Ok((row_count, batch.commit()?))
}
