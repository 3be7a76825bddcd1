//! Advisory locks of connections, as migration tools use them, and the user beside a table.

use crate::support::Served;
use atsdb_server::{ServerOptions, StatementOptions};
use postgres::{Client, NoTls};
use std::time::{Duration, Instant};

fn connect(served: &Served) -> Client {
    let port = served.pg().port();
    Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap()
}

fn is_taken(client: &mut Client, key: i64) -> bool {
    let row = client.query_one("SELECT pg_try_advisory_lock($1)", &[&key]).unwrap();
    row.get(0)
}

#[test]
fn a_lock_is_held_until_the_connection_ends_or_gives_it_back() {
    let served = Served::new();
    let (mut first, mut second) = (connect(&served), connect(&served));
    first.query("SELECT pg_advisory_lock($1)", &[&7_i64]).unwrap();
    assert!(is_taken(&mut first, 7) && !is_taken(&mut second, 7));
    second.batch_execute("SET statement_timeout = '50ms'").unwrap();
    let error = second.batch_execute("SELECT pg_advisory_lock(7)").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014", "{error}");
    let error = second.batch_execute("SELECT pg_sleep(100000)").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014", "{error}");
    second.batch_execute("SET statement_timeout = 0").unwrap();
    drop(first);
    // The server notices the end of the connection at some time.
    second.batch_execute("SELECT pg_advisory_lock(7)").unwrap();
    let mut third = connect(&served);
    assert!(!is_taken(&mut third, 7));
    second.batch_execute("DISCARD ALL").unwrap();
    assert!(is_taken(&mut third, 7));
    third.batch_execute("SELECT pg_advisory_unlock_all()").unwrap();
    assert!(is_taken(&mut second, 7));
}

#[test]
fn a_lock_of_a_transaction_ends_with_it() {
    let served = Served::new();
    let (mut first, mut second) = (connect(&served), connect(&served));
    let mut transaction = first.transaction().unwrap();
    transaction.query("SELECT pg_advisory_xact_lock($1, $2)", &[&1, &2]).unwrap();
    let try_it = "SELECT pg_try_advisory_xact_lock(1, 2)";
    assert!(!second.query_one(try_it, &[]).unwrap().get::<_, bool>(0));
    transaction.rollback().unwrap();
    assert!(second.query_one(try_it, &[]).unwrap().get::<_, bool>(0));
    assert!(first.query_one(try_it, &[]).unwrap().get::<_, bool>(0));
}

#[test]
fn held_locks_are_listed_with_their_process() {
    let served = Served::new();
    let (mut first, mut second) = (connect(&served), connect(&served));
    first.batch_execute("SELECT pg_advisory_lock(-1); SELECT pg_advisory_lock_shared(2, -3)").unwrap();
    let process: i32 = first.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    let text = "SELECT classid::int8, objid::int8, objsubid::int4, mode, pid FROM pg_locks WHERE locktype = 'advisory' \
                AND granted ORDER BY objsubid";
    let rows = second.query(text, &[]).unwrap();
    let rows: Vec<(i64, i64, i32, &str, i32)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))).collect();
    let half = 0xffff_ffff;
    let expected = [(half, half, 1, "ExclusiveLock", process), (2, half - 2, 2, "ShareLock", process)];
    assert_eq!(rows, expected);
    first.batch_execute("SELECT pg_advisory_unlock_all()").unwrap();
    assert!(second.query(text, &[]).unwrap().is_empty());
}

#[test]
fn statements_that_wait_leave_their_turn_to_others() {
    let statements = StatementOptions { running_max: 1, ..StatementOptions::default() };
    let served = Served::with_options(&[], ServerOptions { statements, ..ServerOptions::default() });
    let mut holder = connect(&served);
    holder.query("SELECT pg_advisory_lock(7)", &[]).unwrap();
    let mut sleeper = connect(&served);
    let waking = sleeper.cancel_token();
    std::thread::scope(|scope| {
        let wait = || connect(&served).batch_execute("SELECT pg_advisory_lock(7)");
        let waiters: Vec<_> = (0..3).map(|_| scope.spawn(wait)).collect();
        let sleeping = scope.spawn(move || sleeper.batch_execute("SELECT pg_sleep(100000)"));
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_%'";
        let begun = Instant::now();
        while holder.query_one(waiting, &[]).unwrap().get::<_, i64>(0) < 4 {
            assert!(begun.elapsed() < Duration::from_secs(300), "they do not begin to wait");
            std::thread::sleep(Duration::from_millis(10));
        }
        let sum = holder.query_one("SELECT sum(value) FROM generate_series(1, 10)", &[]).unwrap();
        assert_eq!(sum.get::<_, i64>(0), 55);
        // Each of them has the lock in its turn, until its connection ends.
        assert!(holder.query_one("SELECT pg_advisory_unlock(7)", &[]).unwrap().get::<_, bool>(0));
        for waiter in waiters {
            waiter.join().unwrap().unwrap();
        }
        waking.cancel_query(NoTls).unwrap();
        let error = sleeping.join().unwrap().unwrap_err();
        assert_eq!(error.code().unwrap().code(), "57014", "{error}");
    });
}

#[test]
fn the_user_and_the_database_are_known_beside_a_table() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE t (id INT PRIMARY KEY, owner TEXT)").unwrap();
    client.batch_execute("INSERT INTO t VALUES (1, current_user)").unwrap();
    let row = client.query_one("SELECT owner, session_user, current_database(), current_schema FROM t", &[]).unwrap();
    let found: Vec<String> = (0..row.len()).map(|at| row.get(at)).collect();
    assert_eq!(found, ["me", "me", "air", "public"]);
    assert_eq!(client.query("SELECT id FROM t WHERE owner = current_user", &[]).unwrap().len(), 1);
}
