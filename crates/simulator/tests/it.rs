//! Runs a number of histories from one seed, all of which must keep the promises. `make simulate` runs more.

use atsdb_simulator::{Language, Limit, Setting, StoreKind, are_there, generate, run_history, simulate};

fn run(store: StoreKind, language: Language, count: u64) {
    // The histories of different seeds do not overlap.
    let seed = atsdb_testkit::seed() << 32;
    let ran =
        simulate(Setting { store, language }, seed, Limit::Count(count)).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(ran, count);
}

#[test]
fn histories_in_memory_are_as_promised() {
    run(StoreKind::Memory, Language::Calls, 7_000);
}

#[test]
fn histories_in_a_file_are_as_promised() {
    run(StoreKind::Sqlite, Language::Calls, 900);
}

#[test]
fn histories_in_a_split_store_are_as_promised() {
    run(StoreKind::Split, Language::Calls, 900);
}

#[test]
fn histories_in_sql_are_as_promised() {
    run(StoreKind::Memory, Language::Sql, 1_200);
    run(StoreKind::Sqlite, Language::Sql, 100);
    run(StoreKind::Split, Language::Sql, 100);
}

#[test]
fn histories_on_servers_are_as_promised() {
    for store in [StoreKind::Postgres, StoreKind::Mariadb] {
        if are_there(store) {
            run(store, Language::Calls, 10);
            run(store, Language::Sql, 5);
        }
    }
}

#[test]
fn a_history_follows_from_its_seed_alone() {
    for seed in 0..100 {
        let history = |language| generate::history(seed, language);
        assert_eq!(history(Language::Sql), history(Language::Sql));
        assert_eq!(history(Language::Calls), history(Language::Calls));
    }
    assert_ne!(generate::history(1, Language::Calls), generate::history(2, Language::Calls));
    run_history(Setting { store: StoreKind::Memory, language: Language::Calls }, &[]).unwrap();
}
