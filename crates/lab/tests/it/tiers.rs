//! What is printed of servers is what they run with: each setting, and what commits survive.

use crate::folder;
use crate::servers::start;
use atsdb::Durability;
use atsdb_lab::Tier;
use atsdb_lab::contestant::{Place, Session, Tuning};
use atsdb_lab::contestants;
use atsdb_lab::server::{ServerKind, ServerUrls, Servers};

const TIERS: [(Durability, Tier); 3] =
    [(Durability::Full, Tier::Full), (Durability::Normal, Tier::Normal), (Durability::Off, Tier::Off)];

/// In bytes where it is a size; a switch as on or off.
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

/// What the server says of a setting.
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
fn what_is_printed_of_a_server_is_what_it_runs_with() {
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
            let place = Place { directory, durability, tuning, database, server: Some(server.clone()) };
            let mut session = contestant.open(&place).expect("a session");
            // The store waits for PostgreSQL's disk whatever the server's default is; only `fsync` is out of its reach.
            let kept = if name == "atsdb:postgres" && tier == Tier::Normal { Tier::Full } else { tier };
            assert_eq!(session.tier(), kept, "{name}, asked for {tier}");
            let again = contestant.open(&place).expect("a second session");
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
