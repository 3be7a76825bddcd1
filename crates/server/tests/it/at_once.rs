//! Reads that take only a moment, which the server answers without handing them to another thread: their answers are
//! those of all other statements.

use crate::hostile::{STARTUP, answer, message};
use crate::support::Served;

/// The messages that a new connection gets after it is ready: their kinds and bodies.
fn replies(served: &Served, messages: &[Vec<u8>]) -> Vec<(u8, Vec<u8>)> {
    let answer = answer(served, &[STARTUP, &messages.concat()].concat());
    let (mut rest, mut found) = (answer.as_slice(), Vec::new());
    while let [kind, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let (body, next) = after.split_at(length);
        found.push((*kind, body.to_vec()));
        rest = next;
    }
    let ready = found.iter().position(|(kind, _)| *kind == b'Z').unwrap();
    found.split_off(ready + 1)
}

fn kinds(replies: &[(u8, Vec<u8>)]) -> String {
    replies.iter().map(|(kind, _)| char::from(*kind)).collect()
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

/// A statement without parameters in the extended protocol, with its values in binary.
fn extended(sql: &str) -> Vec<u8> {
    let parse = message(b'P', format!("\0{sql}\0\0\0").as_bytes());
    let bind = message(b'B', b"\0\0\0\0\0\0\0\x01\0\x01");
    let rest = [message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0"), message(b'S', b"")];
    [parse, bind, rest.concat()].concat()
}

fn point(sensor: &str, minute: u32) -> String {
    format!(
        "SELECT sensor, value, count FROM readings WHERE sensor = '{sensor}' AND time = '2024-01-01 00:{minute:02}:00'"
    )
}

#[test]
fn an_answer_stays_the_same() {
    let served = Served::with_tables();
    served
        .database
        .sql("INSERT INTO readings (time, count) SELECT '2024-01-02', n FROM generate_series(1, 1000) AS s(n)")
        .unwrap();
    for (sql, row_count) in [
        (point("s1", 0), 1),
        (point("s2", 1), 1),
        (point("s3", 1), 0),
        ("SELECT * FROM readings WHERE sensor = 's1' ORDER BY time DESC LIMIT 1".to_owned(), 1),
        ("SELECT sensor AS s FROM high WHERE value > 1".to_owned(), 1),
        ("SELECT 1 AS one, 'x' AS two".to_owned(), 1),
        ("SELECT name FROM sensors WHERE id = 2".to_owned(), 1),
        // More rows than are sent at once.
        ("SELECT count FROM readings WHERE count > 3".to_owned(), 997),
    ] {
        for message in [query(&sql), extended(&sql)] {
            let first = replies(&served, std::slice::from_ref(&message));
            assert_eq!(first.iter().filter(|(kind, _)| *kind == b'D').count(), row_count, "{sql}");
            for _ in 0..4 {
                assert_eq!(replies(&served, std::slice::from_ref(&message)), first, "{sql}");
            }
            // Several of them, and one that takes longer in between.
            let other = query("SELECT avg(count + 1) FROM readings");
            let middle = replies(&served, std::slice::from_ref(&other));
            let expected = [first.clone(), middle, first.clone(), first.clone()].concat();
            assert_eq!(replies(&served, &[message.clone(), other, message.clone(), message]), expected, "{sql}");
        }
    }
}

#[test]
fn all_of_many_reads_are_answered_in_their_order() {
    let served = Served::with_tables();
    let reads: Vec<String> = (0..100).map(|number| format!("SELECT {number} AS n")).collect();
    for ask in [query, extended] {
        let messages: Vec<Vec<u8>> = reads.iter().map(|sql| ask(sql)).collect();
        let expected: Vec<_> = messages.iter().flat_map(|one| replies(&served, std::slice::from_ref(one))).collect();
        assert_eq!(replies(&served, &messages), expected);
    }
}

#[test]
fn an_error_between_them_ends_only_its_own_message() {
    let served = Served::with_tables();
    let sql = point("s1", 0);
    (0..4).for_each(|_| assert_eq!(kinds(&replies(&served, &[query(&sql)])), "TDCZ"));
    let found = replies(&served, &[query(&sql), query("SELECT nothing FROM readings"), query(&sql)]);
    assert_eq!(kinds(&found), "TDCZEZTDCZ");
    // A Bind with a value too many. What follows up to the Sync is skipped.
    let parse = message(b'P', format!("\0{sql}\0\0\0").as_bytes());
    let bind = message(b'B', b"\0\0\0\0\0\x01\0\0\0\x01x\0\0");
    let rest = [message(b'E', b"\0\0\0\0\0"), parse.clone(), message(b'S', b"")].concat();
    let found = replies(&served, &[parse, bind, rest, extended(&sql)]);
    assert_eq!(kinds(&found), "1EZ12TDCZ");
}

#[test]
fn what_others_have_committed_is_seen() {
    let served = Served::with_tables();
    let sql = point("s1", 5);
    (0..4).for_each(|_| assert_eq!(kinds(&replies(&served, &[query(&sql)])), "TCZ"));
    for count in 1..5 {
        served.database.sql("INSERT INTO readings VALUES ('2024-01-01 00:05:00', 's1', 'ok', 0.5, 1)").unwrap();
        for message in [query(&sql), extended(&sql)] {
            let found = replies(&served, &[message]);
            assert_eq!(found.iter().filter(|(kind, _)| *kind == b'D').count(), count);
        }
    }
    served.database.sql("ALTER TABLE readings RENAME COLUMN count TO number").unwrap();
    assert_eq!(kinds(&replies(&served, &[query(&sql), extended(&sql)])), "EZEZ");
}

#[test]
fn a_transaction_reads_its_own_rows() {
    let served = Served::with_tables();
    let sql = point("s1", 7);
    (0..4).for_each(|_| assert_eq!(kinds(&replies(&served, &[query(&sql)])), "TCZ"));
    let insert = query("INSERT INTO readings VALUES ('2024-01-01 00:07:00', 's1', 'ok', 0.5, 1)");
    let found = replies(&served, &[query("BEGIN"), insert, query(&sql), query("ROLLBACK"), query(&sql)]);
    assert_eq!(kinds(&found), "CZCZTDCZCZTCZ");
}
