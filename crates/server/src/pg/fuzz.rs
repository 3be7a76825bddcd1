//! The entry points of the fuzz targets for PostgreSQL's protocol: bytes of a client, without a connection. Each
//! function reads or refuses them, and panics if a promise is broken.

use super::catalogue::CatalogueQuery;
use super::copy::reader::CopyReader;
use super::error::PgError;
use super::statement::kind::StatementKind;
use super::statement::storage::ignored_parameters;
use super::types::input::{Format, parameter};
use super::wire::incoming::{self, Incoming};
use super::wire::startup;
use atsdb::sql::CopyStatement;
use atsdb::{Column, ColumnId, ColumnType, TimeUnit};

/// The types of parameters, and some that do not exist.
const PARAMETER_TYPES: [u32; 34] = [
    0, 16, 17, 18, 19, 20, 21, 22, 23, 25, 26, 114, 700, 701, 1000, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1042,
    1043, 1082, 1083, 1114, 1115, 1182, 1184, 1185, 1186, 1700, 2950,
];

/// The heads of COPYs. The first byte of an input chooses one.
const COPIES: [&str; 7] = [
    "COPY t FROM STDIN",
    "COPY t FROM STDIN (DELIMITER '|', NULL 'x')",
    "COPY t FROM STDIN CSV HEADER",
    "COPY t FROM STDIN (FORMAT csv, QUOTE '''', ESCAPE '\\')",
    "COPY t FROM STDIN BINARY",
    "COPY t FROM STDIN (HEADER match)",
    "COPY t FROM STDIN (FORMAT csv, NULL 'n', FORCE_NULL (c2), FORCE_NOT_NULL (c3))",
];

/// Reads the first packet of a connection.
pub fn read_pg_startup(bytes: &[u8]) {
    match startup::head(bytes) {
        Ok(Some(length)) => {
            if let Some(body) = bytes.get(4..4 + length) {
                startup::read(body).map_or_else(|error| check(&error), drop);
            }
        }
        Ok(None) => assert!(bytes.len() < 4, "the head is there"),
        Err(error) => check(&error),
    }
}

/// Reads the frames of a client, and the kinds of the statements in them.
pub fn read_pg_frames(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let (kind, length) = match incoming::head(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(error) => return check(&error),
        };
        assert!(length <= incoming::FRAME_BYTES_MAX, "the limit holds");
        let Some(body) = rest.get(5..5 + length) else { return };
        match incoming::read(kind, body) {
            Ok(Incoming::Query(text) | Incoming::Parse { text, .. }) => read_statement(&text),
            Ok(Incoming::Bind(bind)) => {
                for (position, value) in bind.values.iter().enumerate() {
                    let type_id = PARAMETER_TYPES[position % PARAMETER_TYPES.len()];
                    let format = Format::at(&bind.formats, position);
                    let read = format.and_then(|format| parameter(type_id, format, value.as_deref()));
                    read.map_or_else(|error| check(&error), drop);
                }
            }
            Ok(_) => {}
            Err(error) => check(&error),
        }
        rest = &rest[5 + length..];
    }
}

fn read_statement(text: &str) {
    StatementKind::of(text).map_or_else(|error| check(&error), drop);
    let _ = (CatalogueQuery::read(text, &[], &|_, _| false), ignored_parameters(text));
}

/// Reads a value of every type, as text and in binary.
pub fn read_pg_parameters(bytes: &[u8]) {
    for type_id in PARAMETER_TYPES {
        for format in [Format::Text, Format::Binary] {
            parameter(type_id, format, Some(bytes)).map_or_else(|error| check(&error), drop);
        }
    }
}

/// Reads the rows of a COPY in pieces. The first byte chooses the format, the second one the length of the pieces.
pub fn read_copy(bytes: &[u8]) {
    let [choice, piece, rows @ ..] = bytes else { return };
    let copy = CopyStatement::parse(COPIES[usize::from(*choice) % COPIES.len()]).expect("a COPY");
    let types = [
        ColumnType::Timestamp(TimeUnit::Millisecond),
        ColumnType::Text,
        ColumnType::Int16,
        ColumnType::Float64,
        ColumnType::Bool,
        ColumnType::Binary,
        ColumnType::Date,
    ];
    let columns: Vec<Column> =
        (1..).zip(types).map(|(number, of)| Column::new(ColumnId(number), format!("c{number}"), of)).collect();
    let mut reader = CopyReader::new("t", &columns, &copy.options);
    for piece in rows.chunks(usize::from(*piece) + 1) {
        reader.push(piece);
        match reader.next_batch() {
            Ok(_) => assert!(reader.byte_count() <= rows.len(), "no more is held than has come"),
            Err(error) => return check(&error),
        }
    }
    match reader.finish() {
        Ok(batch) => assert!(batch.is_none_or(|batch| batch.num_rows() <= rows.len())),
        Err(error) => check(&error),
    }
}

/// Checks that an error has a code of five characters and a message.
fn check(error: &PgError) {
    assert!(error.code.len() == 5 && !error.message.is_empty(), "{error:?}");
}
