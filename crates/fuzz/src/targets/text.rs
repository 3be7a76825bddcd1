//! SQL, URLs and line protocol.

use super::corpus::{committed, without_checksum};
use crate::target::Target;
use atsdb_core::ErrorKind;
use atsdb_engine::{Engine, EngineOptions};
use atsdb_lineproto::{LineOptions, LineParser, Precision};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Answer, Session, SessionOptions, Statements, is_complete, parse_create_table};
use atsdb_sqlstore::{CACHE_OPTIONS, ServerUrl, take_options};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) fn all() -> Vec<Target> {
    vec![
        Target {
            name: "sql",
            test_count: 1_500,
            corpus: || committed("sql"),
            reseal: without_checksum,
            read: read_sql,
        },
        Target {
            name: "jsonpath",
            test_count: 1_500,
            corpus: json_paths,
            reseal: without_checksum,
            read: read_json_path,
        },
        Target { name: "url", test_count: 20_000, corpus: urls, reseal: without_checksum, read: read_url },
        Target {
            name: "line-protocol",
            test_count: 20_000,
            corpus: || committed("line-protocol"),
            reseal: without_checksum,
            read: read_lines,
        },
    ]
}

fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(|| {
        let options = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).expect("an engine");
        let limits = SessionOptions {
            memory_bytes: 64 << 20,
            time_limit: Some(Duration::from_secs(5)),
            ..SessionOptions::default()
        };
        let session = Session::new(engine, limits).expect("a session");
        for sql in ["CREATE TABLE t (time TIMESTAMP, tag TEXT, n BIGINT, x DOUBLE)", "CREATE TABLE u (a INT, b TEXT)"] {
            let statement = session.statements(sql).next().expect("a statement").expect("SQL");
            session.execute(&statement, &[]).expect("a table");
        }
        session
    })
}

/// Statements are split and planned, but not run, because a mutated one may take too long.
fn read_sql(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (is_complete(&text), parse_create_table(&text));
    let mut passed = 0;
    for statement in Statements::new(&text) {
        let Ok(statement) = statement else { break };
        passed += 1;
        assert!(passed <= text.len() + 1, "cutting comes to an end");
        let explained = format!("EXPLAIN {}", statement.text());
        let Some(Ok(explained)) = Statements::new(&explained).next() else { continue };
        match session().execute(&explained, &[]) {
            Ok(Answer::Rows(rows)) => rows.take(10).for_each(drop),
            Ok(Answer::Done { .. }) => {}
            Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}: {}", statement.text()),
        }
    }
}

/// Each line is a path and a document, with a tab between them.
fn json_paths() -> Vec<Vec<u8>> {
    let text = committed("jsonpath").concat();
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Every path is refused, or finds items, which are JSON.
fn read_json_path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).replace('\'', "''");
    let (path, document) = text.split_once('\t').unwrap_or((text.as_str(), "{}"));
    let sql = format!("SELECT jsonb_path_query_array('{document}', '{path}')::JSON, '{path}'::jsonpath::jsonpath");
    let Some(Ok(statement)) = Statements::new(&sql).next() else { return };
    match session().execute(&statement, &[]) {
        Ok(Answer::Rows(rows)) => {
            for batch in rows {
                let error = batch.err().map(|error| error.kind());
                assert_ne!(error, Some(ErrorKind::Internal), "{sql}");
            }
        }
        Ok(Answer::Done { .. }) => {}
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}: {sql}"),
    }
}

fn urls() -> Vec<Vec<u8>> {
    let text = committed("urls").concat();
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Every line is accepted or refused, and the accepted ones are rows.
fn read_lines(bytes: &[u8]) {
    let options = LineOptions { precision: Precision::NANOSECOND, now_ns: 1_700_000_000_000_000_000 };
    let mut parser = LineParser::new(bytes, options).with_block_values(64);
    let mut row_count = 0;
    while let Some(blocks) = parser.next_block(&|_| None) {
        row_count += blocks.iter().map(|block| block.rows.num_rows() as u64).sum::<u64>();
    }
    let line_count = bytes.split(|byte| *byte == b'\n').count() as u64;
    assert_eq!(row_count, parser.accepted_lines(), "an accepted line is a row");
    assert!(parser.accepted_lines() + parser.refused_lines() <= line_count, "no line is read twice");
}

/// The displayed form of a URL never contains the password.
fn read_url(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let known = ["sslmode", "host", "socket", "sslrootcert"];
    let _ = take_options(&text, CACHE_OPTIONS.as_slice());
    let _ = atsdb_sqlite::SplitLayout::parse(&text);
    let _ = atsdb_archive::is_archive(&text);
    if let Ok(url) = ServerUrl::parse(&text, &known)
        && let Some(password) = &url.password
        && password.reveal().len() > 12
    {
        let others = format!("{:?}{:?}{:?}", url.user, url.addresses, (&url.database, &url.options));
        assert!(
            others.contains(password.reveal()) || !url.shown().contains(password.reveal()),
            "the password is shown"
        );
    }
}
