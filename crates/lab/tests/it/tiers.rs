//! The printed properties of contestants are true: each setting, what commits survive, and the kind of table. Answers
//! of DuckDB's program are read correctly.

use crate::folder;
use crate::servers::start;
use atsdb::Durability;
use atsdb_lab::contestant::{Session, Workspace};
use atsdb_lab::contestants;
use atsdb_lab::server::{ServerKind, ServerUrls, Servers};
use atsdb_lab::{Tier, Tuning};

const TIERS: [(Durability, Tier); 3] =
    [(Durability::Full, Tier::Full), (Durability::Normal, Tier::Normal), (Durability::Off, Tier::Off)];

/// Returns a size in bytes, and a switch as on or off.
fn plain(value: &str) -> String {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let scale: u64 = match &value[digits.len()..] {
        "K" | "kB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        "" => match value {
            "0" => return "off".to_owned(),
            "1" => return "on".to_owned(),
            _ => 1,
        },
        _ => return value.to_ascii_lowercase(),
    };
    digits.parse::<u64>().map_or_else(|_| value.to_owned(), |number| (number * scale).to_string())
}

/// Returns the value of a setting on the server.
fn said(session: &mut dyn Session, kind: ServerKind, name: &str) -> String {
    let select = match kind {
        ServerKind::Postgres => format!("SELECT current_setting('{name}')"),
        _ => format!("SELECT CAST(@@global.{} AS CHAR)", name.replace('-', "_")),
    };
    match session.query(&select).expect(&select).rows.remove(0).remove(0) {
        atsdb_lab::Cell::Text(text) => text,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn printed_settings_are_those_of_the_server() {
    let names = ["mariadb:innodb", "mariadb:rocksdb", "postgres", "atsdb:mariadb", "atsdb:postgres"];
    for (durability, tier) in TIERS {
        let tuning = if durability == Durability::Normal { Tuning::Defaults } else { Tuning::Tuned };
        let folder = folder();
        let mut servers = Servers::new(folder.path(), durability, tuning, &ServerUrls::default(), false);
        for name in names {
            let contestant =
                contestants::all().iter().find(|contestant| contestant.name() == name).expect("a contestant");
            let kind = contestant.server().expect("a server");
            if contestant.version(&ServerUrls::default()).is_err() {
                eprintln!("{name} is not tested here");
                continue;
            }
            let Some(server) = start(&mut servers, kind) else { continue };
            let directory = folder.path().join(name.replace(':', "-"));
            std::fs::create_dir(&directory).expect("a folder");
            let database = name.replace(':', "_");
            let workspace = Workspace { directory, durability, tuning, database, server: Some(server.clone()) };
            let mut session = contestant.open(&workspace).expect("a session");
            // The store waits for PostgreSQL's disk regardless of the server's default; only `fsync` is not under its
            // control.
            let kept = if name == "atsdb:postgres" && tier == Tier::Normal { Tier::Full } else { tier };
            assert_eq!(session.tier(), kept, "{name}, asked for {tier}");
            let again = contestant.open(&workspace).expect("a second session");
            assert_eq!((again.tier(), again.settings()), (kept, session.settings()), "{name}");
            drop(again);
            if name.starts_with("atsdb") {
                let forced =
                    session.settings().iter().any(|setting| setting == "synchronous_commit = on (by the store)");
                assert_eq!(forced, kind == ServerKind::Postgres, "{:?}", session.settings());
                continue;
            }
            let printed = session.settings();
            let of_server = printed.iter().filter(|printed| server.settings.contains(printed));
            let pairs: Vec<(&str, &str)> =
                of_server.map(|setting| setting.split_once(" = ").expect("a pair")).collect();
            assert!(!pairs.is_empty(), "{name} prints {printed:?}");
            for (setting, value) in pairs {
                assert_eq!(plain(&said(session.as_mut(), kind, setting)), plain(value), "{name}: {setting}");
            }
        }
    }
}

#[test]
fn tables_of_the_unlogged_contestant_are_unlogged_however_they_are_made() {
    let folder = folder();
    let mut servers = Servers::new(folder.path(), Durability::Full, Tuning::Tuned, &ServerUrls::default(), false);
    let Some(server) = start(&mut servers, ServerKind::Postgres) else { return };
    for (name, kind) in [("postgres", "p"), ("postgres:unlogged", "u")] {
        let contestant = contestants::all().iter().find(|contestant| contestant.name() == name).expect("a contestant");
        let (directory, database) = (folder.path().to_owned(), name.replace(':', "_"));
        let (durability, tuning, server) = (Durability::Full, Tuning::Tuned, Some(server.clone()));
        let mut session =
            contestant.open(&Workspace { directory, durability, tuning, database, server }).expect("a session");
        session
            .create_table(&atsdb::TableDefinition::new("a").with_column("i", atsdb::ColumnType::Int32, None))
            .expect("a");
        session.execute(&["CREATE TABLE b (i INT)".to_owned()]).expect("b");
        let kinds =
            session.query("SELECT relpersistence::text FROM pg_class WHERE relname IN ('a', 'b')").expect("kinds");
        let expected = vec![vec![atsdb_lab::Cell::Text(kind.to_owned())]; 2];
        assert_eq!(kinds.rows, expected, "{name}");
    }
}

#[test]
fn duckdb_answers_by_position_where_names_are_the_same() {
    let folder = folder();
    let contestant = contestants::all().iter().find(|contestant| contestant.name() == "duckdb").expect("a contestant");
    if let Err(reason) = contestant.version(&ServerUrls::default()) {
        eprintln!("duckdb is not tested here: {reason}");
        return;
    }
    let (directory, database) = (folder.path().to_owned(), String::new());
    let (durability, tuning, server) = (Durability::Full, Tuning::Tuned, None);
    let workspace = Workspace { directory, durability, tuning, database, server };
    let mut session = contestant.open(&workspace).expect("a session");
    let integers = |numbers: [i64; 2]| vec![numbers.map(atsdb_lab::Cell::Integer).to_vec()];
    assert_eq!(session.query("SELECT 1 AS id, 2 AS id").expect("an answer").rows, integers([1, 2]));
    // More than a hundred statements, of which one is wrong, which is reported.
    let mut statements = vec!["CREATE TABLE t (i INT, j INT)".to_owned()];
    statements.extend((0..250).map(|i| format!("INSERT INTO t VALUES ({i}, {})", 2 * i)));
    session.execute(&statements).expect("statements");
    assert_eq!(session.query("SELECT count(*), max(j) FROM t").expect("an answer").rows, integers([250, 498]));
    statements[120] = "INSERT INTO nowhere VALUES (1)".to_owned();
    assert!(session.transaction(&statements[1..]).expect_err("no such table").to_string().contains("nowhere"));
    assert_eq!(session.query("SELECT count(*), max(j) FROM t").expect("an answer").rows, integers([250, 498]));
    // Only one process at a time can open a database.
    let refused = contestant.open(&workspace).map(drop).expect_err("it is open");
    assert!(matches!(refused, atsdb_lab::Failure::Cannot(_)), "{refused}");
}
