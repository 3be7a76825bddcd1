//! Cursors in all directions, and after their transaction. The answers are those of PostgreSQL 15.

use crate::hostile::{STARTUP, answer, message};
use crate::support::Served;
use atsdb_server::{ServerOptions, StatementOptions};

/// Checks the rows and the errors' codes of a script, which `psql` writes in this order.
fn check(script: &str, rows: &[&str], codes: &[&str]) {
    let served = Served::new();
    let Some(found) = served.psql(&["-t"], script) else { return };
    let codes: Vec<String> = codes.iter().map(|code| format!("ERROR:  {code}")).collect();
    let expected: Vec<&str> = rows.iter().copied().chain(codes.iter().map(String::as_str)).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_cursor_with_scroll_reads_in_any_direction() {
    let script = "\\set VERBOSITY sqlstate
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT n FROM generate_series(1, 5) AS g(n) ORDER BY n;
FETCH PRIOR FROM c;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH BACKWARD ALL FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 2 FROM c;
FETCH RELATIVE 2 FROM c;
FETCH RELATIVE -3 FROM c;
FETCH ABSOLUTE -2 FROM c;
FETCH 0 FROM c;
FETCH RELATIVE 0 FROM c;
FETCH FIRST FROM c;
FETCH ABSOLUTE 9 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 0 FROM c;
FETCH FORWARD ALL FROM c;
FETCH FORWARD -2 FROM c;
MOVE BACKWARD ALL FROM c;
MOVE 2 FROM c;
MOVE ABSOLUTE 4 FROM c;
MOVE 0 FROM c;
MOVE LAST FROM c;
MOVE FORWARD ALL IN c;
MOVE BACKWARD 3 IN c;
FETCH 1 FROM c;
CLOSE c;
FETCH 1 FROM c;
ROLLBACK;
";
    let rows =
        &["1", "2", "1", "5", "5", "2", "4", "1", "4", "4", "4", "1", "5", "4", "1", "2", "3", "4", "5", "5", "4", "4"];
    check(script, rows, &["34000"]);
}

#[test]
fn a_cursor_without_scroll_reads_forward() {
    let script = "\\set VERBOSITY sqlstate
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT n FROM generate_series(1, 5) AS g(n) ORDER BY n;
FETCH ABSOLUTE 2 FROM c;
FETCH RELATIVE 2 FROM c;
SAVEPOINT s;
FETCH PRIOR FROM c;
ROLLBACK TO s;
FETCH ABSOLUTE 5 FROM c;
FETCH NEXT FROM c;
FETCH 0 FROM c;
FETCH ABSOLUTE 0 FROM c;
ROLLBACK;
";
    let rows = &["2", "4"];
    check(script, rows, &["55000", "55000", "25P02", "25P02", "25P02"]);
}

#[test]
fn a_cursor_with_hold_survives_its_transaction() {
    let script = "\\set VERBOSITY sqlstate
DECLARE h CURSOR FOR SELECT 1;
BEGIN;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT n FROM generate_series(1, 5) AS g(n) ORDER BY n;
DECLARE lost CURSOR FOR SELECT 1;
FETCH 2 FROM h;
COMMIT;
FETCH 2 FROM h;
FETCH PRIOR FROM h;
FETCH 1 FROM lost;
BEGIN;
DECLARE undone SCROLL CURSOR WITH HOLD FOR SELECT 1;
ROLLBACK;
FETCH 1 FROM undone;
SELECT name, is_holdable, is_scrollable FROM pg_cursors;
FETCH ALL FROM h;
CLOSE h;
DECLARE s SCROLL CURSOR WITH HOLD FOR SELECT n FROM generate_series(1, 3) AS g(n) ORDER BY n;
FETCH LAST FROM s;
FETCH BACKWARD ALL FROM s;
SELECT name, is_holdable, is_scrollable FROM pg_cursors;
CLOSE ALL;
FETCH 1 FROM s;
";
    let rows = &["1", "2", "3", "4", "h|t|f", "3", "2", "1", "s|t|t"];
    check(script, rows, &["25P01", "55000", "34000", "34000", "55000", "34000"]);
}

#[test]
fn a_binary_cursor_is_fetched_in_binary_by_simple_queries() {
    let served = Served::new();
    let declare = b"BEGIN; DECLARE c BINARY CURSOR FOR SELECT 258::int AS n;\
        SELECT name FROM pg_cursors WHERE is_binary; FETCH c; COMMIT\0";
    let found = answer(&served, &[STARTUP, &message(b'Q', declare)].concat());
    let has = |part: &[u8]| found.windows(part.len()).any(|window| window == part);
    // The format 1 at the end of the description, and a row with the four bytes of 258.
    assert!(has(b"\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x01"), "{found:?}");
    assert!(has(b"D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\x01\x02"), "{found:?}");
    assert!(has(b"D\0\0\0\x0b\0\x01\0\0\0\x01c"), "{found:?}");
}

#[test]
fn the_rows_of_a_cursor_that_scrolls_count_against_the_memory() {
    let statements = StatementOptions { memory_bytes: 16 << 20, ..StatementOptions::default() };
    let served = Served::with_options(&[], ServerOptions { statements, ..ServerOptions::default() });
    let script = |options: &str, count: &str| {
        let query = "SELECT n, repeat('x', 1000) AS t FROM generate_series(1, 100000) AS g(n)";
        format!("BEGIN;\nDECLARE c {options} FOR {query};\nMOVE {count} FROM c;\nCOMMIT;\nSELECT 'next';\n")
    };
    for (options, count) in [("SCROLL CURSOR", "ALL"), ("CURSOR WITH HOLD", "1")] {
        let Some(found) = served.psql(&["-t"], &script(options, count)) else { return };
        assert!(found.contains("53200") && found.contains("a cursor without SCROLL and WITH HOLD"), "{found}");
        assert!(found.starts_with("next\n"), "{found}");
    }
    // The rows that are read once take no memory.
    assert_eq!(served.psql(&["-t"], &script("CURSOR", "ALL")).unwrap(), "next\n");
}
