//! So many histories from one seed, each as promised. `make simulate` runs more.

use atsdb_simulator::{Language, Limit, Setting, StoreKind, generate, run_history, simulate};

fn run(store: StoreKind, language: Language, count: u64) {
    // A seed's histories are those of the seeds that follow: other seeds' are others.
    let seed = atsdb_testkit::seed() << 32;
    let ran =
        simulate(Setting { store, language }, seed, Limit::Count(count)).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(ran, count);
}

#[test]
fn histories_in_memory_are_as_promised() {
    run(StoreKind::Memory, Language::Calls, 8_000);
}

#[test]
fn histories_in_a_file_are_as_promised() {
    run(StoreKind::Sqlite, Language::Calls, 1_000);
}

#[test]
fn histories_in_a_split_store_are_as_promised() {
    run(StoreKind::Split, Language::Calls, 1_000);
}

#[test]
fn histories_in_sql_are_as_promised() {
    run(StoreKind::Memory, Language::Sql, 400);
    run(StoreKind::Sqlite, Language::Sql, 50);
    run(StoreKind::Split, Language::Sql, 50);
}

#[test]
fn a_history_follows_from_its_seed_alone() {
    for seed in 0..100 {
        assert_eq!(generate::history(seed), generate::history(seed));
    }
    assert_ne!(generate::history(1), generate::history(2));
    run_history(Setting { store: StoreKind::Memory, language: Language::Calls }, &[]).unwrap();
}
