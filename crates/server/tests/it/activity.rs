//! Sessions and statements are listed by SQL, and ended by those who may.

use crate::support::Served;
use atsdb_server::Role;
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use std::time::{Duration, Instant};

const SLOW: &str = "SELECT count(*) FROM points a, points b WHERE a.value + b.value < 0";

fn connect(served: &Served, user: &str) -> Client {
    let mut config = Config::new();
    config.host("127.0.0.1").port(served.pg().port()).user(user).password(user).dbname("air");
    config.application_name(&format!("program of {user}")).connect(NoTls).unwrap()
}

fn rows(client: &mut Client, text: &str) -> Vec<String> {
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect::<Vec<_>>().join("|"))
        }
        _ => None,
    };
    let answer = client.simple_query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    answer.into_iter().filter_map(row).collect()
}

/// Waits until a query has this answer.
fn wait_for(client: &mut Client, text: &str, expected: &[&str]) {
    let begun = Instant::now();
    loop {
        let found = rows(client, text);
        if found == expected {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{text}: {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn served() -> Served {
    let served = Served::with_users(
        &[("boss", Role::Admin, "boss"), ("one", Role::Read, "one"), ("two", Role::Read, "two")],
        None,
    );
    for statement in
        ["CREATE TABLE points (value DOUBLE)", "INSERT INTO points SELECT i FROM generate_series(1, 100000) AS g(i)"]
    {
        served.database.sql(statement).unwrap();
    }
    served
}

fn process(client: &mut Client) -> i32 {
    rows(client, "SELECT pg_backend_pid()")[0].parse().unwrap()
}

#[test]
fn users_see_their_own_sessions_and_admins_all() {
    let served = served();
    let (mut boss, mut one, mut two) = (connect(&served, "boss"), connect(&served, "one"), connect(&served, "two"));
    two.batch_execute("BEGIN; SELECT 1").unwrap();
    let all = "SELECT usename, application_name, state, client_addr, query = '', backend_start <= now(), datname FROM \
               pg_stat_activity ORDER BY usename";
    let of =
        |user: &str, state: &str, is_idle: char| format!("{user}|program of {user}|{state}|127.0.0.1|{is_idle}|t|air");
    let (of_boss, of_two) = (of("boss", "active", 'f'), of("two", "idle in transaction", 't'));
    wait_for(&mut boss, all, &[&of_boss, &of("one", "idle", 't'), &of_two]);
    assert_eq!(rows(&mut one, all), [of("one", "active", 'f')]);
    assert!(two.batch_execute("SELECT nothing").is_err());
    wait_for(&mut boss, "SELECT state FROM pg_stat_activity WHERE usename = 'two'", &["idle in transaction (aborted)"]);
    // Types, as drivers read them in binary.
    let row = one
        .query_one("SELECT pid, backend_start, now() - query_start < interval '1 h' FROM pg_stat_activity", &[])
        .unwrap();
    let began: std::time::SystemTime = row.get(1);
    assert!(row.get::<_, i32>(0) > 0 && began.elapsed().unwrap().as_secs() < 3_600 && row.get::<_, bool>(2));
    drop(two);
    wait_for(&mut boss, "SELECT count(*) FROM pg_stat_activity", &["2"]);
}

#[test]
fn statements_are_cancelled_and_sessions_ended_by_those_who_may() {
    let served = served();
    // The client of Rust does not tell why its connection ended.
    if served.psql_as("user=two", "two", "SELECT 1").is_none() {
        return;
    }
    let (mut boss, mut one, mut two) = (connect(&served, "boss"), connect(&served, "one"), connect(&served, "two"));
    let (of_boss, of_one) = (process(&mut boss), process(&mut one));
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let failed = one.simple_query(SLOW).unwrap_err();
            (failed.code().unwrap().code().to_owned(), one)
        });
        let running = format!("SELECT query FROM pg_stat_activity WHERE pid = {of_one} AND state = 'active'");
        wait_for(&mut boss, &running, &[SLOW]);
        for (text, code) in [
            (format!("SELECT pg_cancel_backend({of_one})"), "42501"),
            (format!("SELECT pg_terminate_backend({of_boss})"), "42501"),
            ("SELECT pg_cancel_backend(5000000000)".to_owned(), "22003"),
            ("SELECT pg_terminate_backend(1, 2)".to_owned(), "42883"),
        ] {
            assert_eq!(two.simple_query(&text).unwrap_err().code().unwrap().code(), code, "{text}");
        }
        assert_eq!(rows(&mut boss, "SELECT pg_cancel_backend(123456)"), ["f"]);
        // Describing a statement does nothing.
        boss.prepare(&format!("SELECT pg_terminate_backend({of_one})")).unwrap();
        assert_eq!(rows(&mut boss, &running), [SLOW]);
        assert_eq!(rows(&mut boss, &format!("SELECT pg_cancel_backend({of_one})")), ["t"]);
        let (code, mut one) = slow.join().unwrap();
        assert_eq!(code, "57014");
        // The session goes on, and cancelling it while it is idle has no effect.
        assert_eq!(rows(&mut boss, &format!("SELECT pg_cancel_backend({of_one})")), ["t"]);
        assert_eq!(rows(&mut one, "SELECT count(*) FROM points"), ["100000"]);

        // An idle session, one that runs, one in the middle of a COPY.
        let end =
            "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'one') e";
        assert_eq!(rows(&mut boss, end), ["1"]);
        assert!(one.simple_query("SELECT 1").is_err());
        drop(two);
        let slow = scope.spawn(|| served.psql_as("user=two", "two", SLOW));
        wait_for(&mut boss, "SELECT query FROM pg_stat_activity WHERE usename = 'two' AND state = 'active'", &[SLOW]);
        rows(&mut boss, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'two'");
        let message = slow.join().unwrap().unwrap();
        assert!(message.contains("FATAL:  57P01: terminating connection due to administrator command"), "{message}");
        let mut other = connect(&served, "boss");
        let copying = other.copy_in("COPY points FROM STDIN").unwrap();
        rows(
            &mut boss,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND pid <> pg_backend_pid()",
        );
        assert!(copying.finish().is_err());
        wait_for(&mut boss, "SELECT count(*) FROM pg_stat_activity", &["1"]);
    });
    assert_eq!(served.count("points"), 100_000);
}
