//! Portals that are executed in several parts, and again after their end.

use crate::hostile::{STARTUP, answer, message};
use crate::support::Served;

/// The messages that a client gets: a word for each row, the tags of commands, and the codes of errors.
fn outcome(served: &Served, messages: &[Vec<u8>]) -> Vec<String> {
    let answer = answer(served, &[STARTUP, &messages.concat()].concat());
    let (mut rest, mut found) = (answer.as_slice(), Vec::new());
    while let [kind, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let (body, next) = after.split_at(length);
        match kind {
            b'D' => found.push("row".to_owned()),
            b's' => found.push("suspended".to_owned()),
            b'I' => found.push("empty".to_owned()),
            b'C' => found.push(String::from_utf8_lossy(&body[..length - 1]).into_owned()),
            b'E' => {
                let code = body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"C"));
                found.push(String::from_utf8_lossy(code.unwrap()).into_owned());
            }
            _ => {}
        }
        rest = next;
    }
    found
}

fn parse(statement: &str) -> Vec<u8> {
    message(b'P', format!("\0{statement}\0\0\0").as_bytes())
}

/// Binds the unnamed statement, which has no parameters.
fn bind(portal: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0\0\0\0\0\0\0\0").as_bytes())
}

fn execute(portal: &str, row_max: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &row_max.to_be_bytes()].concat())
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

#[test]
fn the_tag_counts_the_rows_of_the_last_part() {
    let served = Served::with_tables();
    let in_parts = |statement: &str, sizes: &[u32]| {
        let mut messages = vec![parse(statement), bind("")];
        messages.extend(sizes.iter().map(|size| execute("", *size)));
        messages.push(sync());
        outcome(&served, &messages)
    };
    let rows = "SELECT count FROM readings ORDER BY count";
    assert_eq!(in_parts(rows, &[0]), ["row", "row", "row", "SELECT 3"]);
    assert_eq!(in_parts(rows, &[2, 2, 2]), ["row", "row", "suspended", "row", "SELECT 1", "SELECT 0"]);
    // Whether there are more rows is only known when they are asked for.
    assert_eq!(in_parts(rows, &[3, 1]), ["row", "row", "row", "suspended", "SELECT 0"]);
    assert_eq!(in_parts("SHOW timezone", &[1, 1, 1]), ["row", "suspended", "SHOW", "SHOW"]);
    let insert = "INSERT INTO sensors VALUES (7, 'x', 1), (8, 'y', 1), (9, 'z', 1) RETURNING id";
    assert_eq!(in_parts(insert, &[2, 2, 2]), ["row", "row", "suspended", "row", "INSERT 0 1", "INSERT 0 0"]);
    assert_eq!(served.count("sensors"), 5);
    // The tag is that of the statement behind WITH.
    let changed = "WITH a AS (UPDATE sensors SET height = 2 WHERE id > 7 RETURNING id)";
    let update = format!("{changed} UPDATE readings SET count = count + 10 WHERE count < 2 RETURNING count");
    assert_eq!(in_parts(&update, &[0]), ["row", "UPDATE 1"]);
    let insert = format!("{changed} INSERT INTO readings (time, count) SELECT '2024-01-02', id FROM a RETURNING count");
    assert_eq!(in_parts(&insert, &[0]), ["row", "row", "INSERT 0 2"]);
    assert_eq!(in_parts(&format!("{changed} SELECT * FROM a"), &[0]), ["row", "row", "SELECT 2"]);
}

#[test]
fn a_statement_without_rows_runs_once() {
    let served = Served::with_tables();
    let insert = parse("INSERT INTO sensors VALUES (7, 'x', 1)");
    let twice = [insert, bind(""), execute("", 0), execute("", 0), sync()];
    assert_eq!(outcome(&served, &twice), ["INSERT 0 1", "55000"]);
    assert_eq!(served.count("sensors"), 2, "the error undoes everything since the last Sync");
    let nothing = [parse(" -- nothing"), bind(""), execute("", 0), execute("", 0), sync()];
    assert_eq!(outcome(&served, &nothing), ["empty", "empty"]);
}

#[test]
fn a_portal_of_a_failed_transaction_returns_no_more_rows() {
    let served = Served::with_tables();
    let messages = [
        message(b'Q', b"BEGIN\0"),
        parse("SELECT count FROM readings ORDER BY count"),
        bind("p"),
        execute("p", 1),
        sync(),
        message(b'Q', b"SELECT 1 / 0\0"),
        execute("p", 1),
        sync(),
        message(b'Q', b"ROLLBACK\0"),
    ];
    assert_eq!(outcome(&served, &messages), ["BEGIN", "row", "suspended", "22012", "25P02", "ROLLBACK"]);
}
