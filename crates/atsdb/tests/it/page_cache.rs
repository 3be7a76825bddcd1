//! Stores on servers, read through the local caches: every answer must be the store's own, while other processes change
//! the store and after the cache's files are damaged.

use crate::support::{Warnings, rows};
use atsdb::{Database, OpenOptions, PageCacheFolder, PageCacheStats};
use atsdb_testkit::sample::Random;
use atsdb_testkit::server::{self, ServerKind, TestServer};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const KINDS: [ServerKind; 2] = [ServerKind::Postgres, ServerKind::Mariadb];

/// The queries whose answers are compared.
const QUESTIONS: [&str; 5] = [
    "SELECT * FROM pings ORDER BY time, host, value",
    "SELECT host, count(*) AS n, sum(value) AS s, max(time) AS t FROM pings GROUP BY host ORDER BY host",
    "SELECT count(*) AS n FROM pings WHERE value = 7",
    "SELECT count(*) AS n, min(value) AS v FROM pings WHERE host = 'h3'",
    "SELECT count(*) AS n FROM pings WHERE time >= now() - INTERVAL '8 hours'",
];

fn options(folder: PageCacheFolder) -> OpenOptions {
    OpenOptions::new().maintenance(false).page_cache(folder)
}

/// Opens the store with all caches.
fn cached(url: &str, folder: &Path) -> Database {
    options(PageCacheFolder::At(folder.to_owned())).open(url).unwrap()
}

/// Opens the store without caches: each page comes from the server.
fn uncached(url: &str) -> Database {
    options(PageCacheFolder::Off).cache_bytes(0).open(url).unwrap()
}

fn stats(db: &Database) -> PageCacheStats {
    db.engine().page_cache().unwrap().stats()
}

fn create(db: &Database) {
    db.sql(
        "CREATE TABLE pings (time TIMESTAMP, host TEXT, value INT, note TEXT)
         WITH (map = 'host:u16', slice = 'hour', preload = '8 hours')",
    )
    .unwrap();
}

/// Inserts rows of the last two days, more of them recent.
fn insert(db: &Database, random: &mut Random, count: u64) {
    let row = |random: &mut Random| {
        let minutes = random.below(60 * 12) * random.below(5);
        let (host, value) = (random.below(9), random.below(40));
        format!("(now() - INTERVAL '{minutes} minutes', 'h{host}', {value}, 'n{}')", random.below(1_000))
    };
    let values: Vec<String> = (0..count).map(|_| row(random)).collect();
    db.sql(&format!("INSERT INTO pings (time, host, value, note) VALUES {}", values.join(", "))).unwrap();
}

/// Makes one change of a random kind.
fn change(db: &Database, random: &mut Random) {
    let value = random.below(40);
    match random.below(14) {
        0..=4 => {
            let count = 1 + random.below(60);
            insert(db, random, count);
        }
        5 => drop(db.sql(&format!("UPDATE pings SET value = value + 1 WHERE value = {value}")).unwrap()),
        6 => drop(db.sql(&format!("UPDATE pings SET note = 'late' WHERE value > {value}")).unwrap()),
        7 => drop(db.sql(&format!("DELETE FROM pings WHERE value = {value}")).unwrap()),
        8 | 9 => drop(db.engine().recompress(None).unwrap()),
        10 => drop(db.sql("TRUNCATE pings").unwrap()),
        11 => {
            db.sql("DROP TABLE pings").unwrap();
            create(db);
        }
        12 => {
            // Creates or drops an index, which amends chunks.
            if db.sql("CREATE INDEX by_value ON pings (value)").is_err() {
                db.sql("DROP INDEX by_value").unwrap();
            }
        }
        _ => {
            if db.sql("ALTER TABLE pings ADD COLUMN more INT DEFAULT 5").is_err() {
                db.sql("ALTER TABLE pings DROP COLUMN more").unwrap();
            }
        }
    }
}

fn assert_same_answers(reader: &Database, truth: &Database, what: &str) {
    for question in QUESTIONS {
        let (before, read) = (rows(truth, question), rows(reader, question));
        // Of the last hours, a row may have become too old between two answers.
        let right = if read == before { before } else { rows(truth, question) };
        assert!(read == right, "{what}: {question}\nread {read:?}\nright {right:?}");
    }
}

/// Another process, which makes one change per line of input and answers each with a line.
struct Changer {
    child: Child,
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Changer {
    fn start(url: &str, seed: u64) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["page_cache::changes_on_request", "--exact", "--nocapture", "--test-threads=1"]);
        command.env("ATSDB_TEST_URL", url).env("ATSDB_TEST_SEED", seed.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { orders: child.stdin.take(), answers, child }
    }

    fn change(&mut self) {
        self.orders.as_ref().unwrap().write_all(b"go\n").unwrap();
        self.answers.by_ref().map(Result::unwrap).find(|line| line == "done").expect("the other process lives");
    }
}

impl Drop for Changer {
    fn drop(&mut self) {
        self.orders = None;
        self.answers.by_ref().for_each(drop);
        let _ = self.child.wait();
    }
}

/// The work of that process. Does nothing when it runs as an ordinary test.
#[test]
#[allow(clippy::print_stdout, reason = "its answers")]
fn changes_on_request() {
    let (Ok(url), Ok(seed)) = (std::env::var("ATSDB_TEST_URL"), std::env::var("ATSDB_TEST_SEED")) else { return };
    let db = uncached(&url);
    let mut random = Random::new(seed.parse().unwrap());
    for line in std::io::stdin().lines() {
        line.unwrap();
        change(&db, &mut random);
        println!("\ndone");
    }
}

fn follows_another_process(kind: ServerKind, steps: u64) {
    let Some(server) = server::shared(kind) else { return };
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..3 {
        let url = server.database();
        let truth = uncached(&url);
        create(&truth);
        insert(&truth, &mut Random::new(seed), 300);
        let mut other = Changer::start(&url, seed);
        let mut reader = cached(&url, folder.path());
        let mut random = Random::new(seed + 1_000);
        for step in 0..steps {
            match random.below(10) {
                0 => reader = cached(&url, folder.path()),
                1 => change(&reader, &mut random),
                _ => other.change(),
            }
            assert_same_answers(&reader, &truth, &format!("{kind:?}, seed {seed}, step {step}"));
        }
        drop(reader);
        assert_same_answers(&cached(&url, folder.path()), &truth, "opened again");
    }
}

#[test]
fn readers_follow_another_process_on_postgres() {
    follows_another_process(ServerKind::Postgres, 40);
}

#[test]
fn readers_follow_another_process_on_mariadb() {
    follows_another_process(ServerKind::Mariadb, 40);
}

#[test]
fn pages_that_were_read_once_are_not_requested_again() {
    for server in KINDS.into_iter().filter_map(server::shared) {
        let (url, folder) = (server.database(), tempfile::tempdir().unwrap());
        let truth = uncached(&url);
        create(&truth);
        insert(&truth, &mut Random::new(1), 500);
        truth.engine().recompress(None).unwrap();
        truth.sql("CREATE INDEX by_value ON pings (value)").unwrap();
        let reader = cached(&url, folder.path());
        // Preloading reads pages that no question needs. In the background it may not get to all of them in time.
        reader.preload().unwrap();
        assert_same_answers(&reader, &truth, "cold");
        drop(reader);
        let reader = cached(&url, folder.path());
        assert_same_answers(&reader, &truth, "warm");
        let found = stats(&reader);
        assert!(found.hits > 0 && found.misses == 0, "{found:?}");
        // Verify checks the pages of the store, never those of the cache.
        assert_eq!(reader.engine().verify(None).unwrap().findings, []);
        assert_eq!(stats(&reader).hits, found.hits);
    }
}

#[test]
fn damage_in_the_caches_files_changes_no_answer() {
    for server in KINDS.into_iter().filter_map(server::shared) {
        let (url, folder) = (server.database(), tempfile::tempdir().unwrap());
        let truth = uncached(&url);
        create(&truth);
        insert(&truth, &mut Random::new(1), 400);
        let mut random = Random::new(5);
        for round in 0..12 {
            drop(cached(&url, folder.path()).sql(QUESTIONS[0]).unwrap());
            let reader = cached(&url, folder.path());
            drop(rows(&reader, QUESTIONS[0]));
            let files: Vec<_> =
                std::fs::read_dir(reader.engine().page_cache().unwrap().store_folder()).unwrap().collect();
            assert!(!files.is_empty());
            for file in files {
                let path = file.unwrap().path();
                let mut bytes = std::fs::read(&path).unwrap();
                if bytes.is_empty() {
                    // The reader has just created this file and is still writing it in the background.
                    continue;
                }
                let place = random.below(bytes.len() as u64) as usize;
                match (round + random.below(2)) % 4 {
                    0 => bytes[place] ^= 1 << random.below(8),
                    1 => bytes.truncate(place),
                    2 => bytes.iter_mut().for_each(|byte| *byte = random.below(256) as u8),
                    _ => {
                        std::fs::remove_file(&path).unwrap();
                        continue;
                    }
                }
                std::fs::write(&path, bytes).unwrap();
            }
            assert_same_answers(&cached(&url, folder.path()), &truth, &format!("round {round}"));
        }
    }
}

/// Does on the server what restoring a backup does: the store is as it was, with the same uid and numbers.
struct Backup<'a> {
    server: &'a TestServer,
    kind: ServerKind,
    url: String,
    database: String,
}

impl<'a> Backup<'a> {
    fn take(server: &'a TestServer, kind: ServerKind, url: &str) -> Self {
        let database = url.rsplit('/').next().unwrap().to_owned();
        let backup = Self { server, kind, url: url.to_owned(), database };
        backup.copy(&backup.database, &format!("{}_backup", backup.database));
        backup
    }

    fn restore(&self) {
        self.copy(&format!("{}_backup", self.database), &self.database);
    }

    fn copy(&self, from: &str, to: &str) {
        match self.kind {
            ServerKind::Postgres => {
                self.server.administer(&format!("DROP DATABASE IF EXISTS {to} WITH (FORCE)"));
                self.server.administer(&format!("CREATE DATABASE {to} TEMPLATE {from} OWNER {}", server::USER));
            }
            ServerKind::Mariadb | ServerKind::Mysql => {
                let tables = self.server.ask(&self.url, &format!("SHOW TABLES FROM {from}"));
                let copies = tables.lines().filter(|name| name.starts_with("atsdb_")).map(|name| {
                    format!("CREATE TABLE {to}.{name} LIKE {from}.{name}; INSERT INTO {to}.{name} SELECT * FROM {from}.{name};")
                });
                let copies: String = copies.collect();
                self.server.administer(&format!(
                    "DROP DATABASE IF EXISTS {to}; CREATE DATABASE {to}; GRANT ALL ON {to}.* TO {}@'%'; {copies}",
                    server::USER
                ));
            }
        }
    }
}

/// After a restore, the store assigns the same numbers again, to other chunks and indexes.
#[test]
fn a_store_that_was_restored_shows_no_page_of_before() {
    for kind in KINDS {
        let Some(server) = server::shared(kind) else { continue };
        let (url, folder) = (server.database(), tempfile::tempdir().unwrap());
        let create_and_fill = |db: &Database| {
            db.sql("CREATE TABLE pings (time TIMESTAMP, host TEXT, value INT, other INT) WITH (map = 'host:u16')")
                .unwrap();
            db.sql("INSERT INTO pings SELECT now(), 'h' || (v % 5)::text, v, v + 1000 FROM generate_series(1, 500) AS g(v)")
                .unwrap();
        };
        let db = uncached(&url);
        create_and_fill(&db);
        drop(db);
        let backup = Backup::take(server, kind, &url);
        let history = |first: i64, indexed: &str| {
            let db = cached(&url, folder.path());
            // The same number of rows, of the same size, so that the chunks differ as little as possible.
            db.sql(&format!(
                "INSERT INTO pings SELECT now(), 'h1', v, v + 1000 FROM generate_series({first}, {first} + 99) AS g(v)"
            ))
            .unwrap();
            db.sql(&format!("CREATE INDEX i ON pings ({indexed})")).unwrap();
            let truth = uncached(&url);
            for question in [
                "SELECT host, value, other FROM pings ORDER BY value",
                "SELECT count(*) AS n FROM pings WHERE value = 77",
                "SELECT count(*) AS n FROM pings WHERE other = 1077",
                "SELECT count(*) AS n FROM pings WHERE value = 5077",
            ] {
                assert!(rows(&db, question) == rows(&truth, question), "{kind:?}, {indexed}: {question}");
            }
            assert!(stats(&db).misses > 0);
        };
        history(5_000, "value");
        backup.restore();
        history(7_000, "other");
    }
}

#[test]
fn the_cache_is_where_the_url_or_the_program_says_and_a_bad_one_is_reported() {
    let Some(server) = server::shared(ServerKind::Postgres) else { return };
    let (url, folder) = (server.database(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let open = |url: &str| options(PageCacheFolder::At(at("program"))).page_cache_bytes(5 << 20).open(url).unwrap();
    assert_eq!((stats(&open(&url)).folder, stats(&open(&url)).bytes_max), (at("program"), 5 << 20));
    let of_url = open(&format!("{url}?cache={}&cache_bytes=1%20MiB", at("url").display()));
    assert_eq!((stats(&of_url).folder, stats(&of_url).bytes_max), (at("url"), 1 << 20));
    assert!(!of_url.engine().store().url().contains("cache"));
    for off in ["cache=off", "cache_bytes=0"] {
        assert!(open(&format!("{url}?{off}")).engine().page_cache().is_none());
    }
    for bad in ["cache=", "cache_bytes=many", "cache_byte=5"] {
        assert!(OpenOptions::new().open(&format!("{url}?{bad}")).is_err(), "{bad}");
    }
    std::fs::write(at("file"), "").unwrap();
    let warnings = Warnings::default();
    let db = options(PageCacheFolder::At(at("file"))).on_warning(warnings.keep()).open(&url).unwrap();
    create(&db);
    assert_eq!(warnings.all().len(), 1, "{:?}", warnings.all());
    assert!(OpenOptions::new().open("memory:").unwrap().engine().page_cache().is_none());
}
