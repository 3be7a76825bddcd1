//! `copy`, `backup`, `restore`, `verify --hash`, `.save` and `.load`.

use crate::support::Case;
use std::path::PathBuf;

impl crate::support::Run {
    /// Requires success, and these texts on stderr.
    #[track_caller]
    fn reported(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in: {}", self.stderr);
        }
        self
    }
}

fn hash(case: &Case, url: &str) -> String {
    let text = case.run(&["verify", url, "--hash"]).well().text();
    text.lines().filter(|line| !line.starts_with("no damage")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_store_is_copied_and_copied_again() {
    let case = Case::new().with_store();
    case.run(&["copy", "a.db", "b.db"]).reported(&["1 table: 2 chunks moved (3 rows"]);
    assert_eq!(hash(&case, "a.db"), hash(&case, "b.db"));
    case.run(&["sql", "a.db", "INSERT INTO readings (time, sensor) VALUES ('2024-03-05', 'new')"]);
    case.run(&["copy", "a.db", "b.db", "--no-verify"]).reported(&["1 chunk moved (1 row", "2 already there"]);
    assert_eq!(hash(&case, "a.db"), hash(&case, "b.db"));
    assert_eq!(case.query("b.db", "SELECT count(*) FROM readings"), "4");

    case.run(&["sql", "b.db", "DELETE FROM readings WHERE sensor = 'a'"]);
    case.run(&["copy", "a.db", "b.db"])
        .failed(2, &["table readings of sqlite:", "was changed since", "hint: --overwrite"]);
    case.run(&["copy", "a.db", "b.db", "--overwrite"]).reported(&[]);
    assert_eq!(hash(&case, "a.db"), hash(&case, "b.db"));
}

#[test]
fn times_and_tables_are_chosen() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", "CREATE TABLE more (x INT); INSERT INTO more VALUES (1), (2)"]).well();
    let range = ["--from", "2024-03-01 00:00:01", "--to", "2024-03-02"];
    case.run(&[&["copy", "a.db", "b.db", "READINGS"], &range[..]].concat()).reported(&["1 table"]);
    assert_eq!(case.query("b.db", "SELECT sensor FROM readings"), "\"b,\"\"c\"");
    assert!(!case.run(&["tables", "b.db"]).well().text().contains("more"));
    case.run(&["copy", "a.db", "b.db"]).failed(2, &["a copy of other times"]);
    case.run(&["copy", "a.db", "c.db", "--from", "yesterday"]).failed(1, &["cannot read the time", "2024-03-01"]);
    case.run(&["copy", "a.db", "c.db", "reading"]).failed(2, &["did you mean readings?"]);
    case.run(&["copy", "missing.db", "c.db"]).failed(2, &["missing.db"]);
    case.run(&["backup", "a.db", "c.db", "reading"]).failed(2, &["did you mean readings?"]);
    case.run(&["backup", "a.db", "backups"]).reported(&[]);
    case.run(&["restore", "backups", "c.db", "reading"]).failed(2, &["did you mean readings?"]);
    assert!(!case.path("c.db").exists(), "a copy of nothing leaves no store behind");
    case.run(&["copy", "a.db", "./a.db"]).failed(1, &["the same store"]);
}

#[test]
fn backups_are_made_listed_checked_and_restored() {
    let case = Case::new().with_store();
    let first = case.run(&["backup", "a.db", "backups", "--keep", "2"]).reported(&["3 rows", "2 of 2 chunks written"]);
    let before = hash(&case, "a.db");
    case.run(&["sql", "a.db", "DELETE FROM readings WHERE sensor = 'a'"]);
    let second = case.run(&["backup", "a.db", "backups", "--keep", "2"]).reported(&["1 of 2 chunks written"]);
    let list = case.run(&["backup", "--list", "backups"]).well().text();
    let ids: Vec<&str> = list.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(ids, [first.text().trim(), second.text().trim()]);
    let json = case.run(&["backup", "--list", "backups", "--format", "json"]).well().text();
    assert!(json.contains("\"rows\": 3") && json.contains("\"rows\": 2"), "{json}");
    assert!(case.run(&["verify", "backups"]).well().text().starts_with("no damage: 2 backups"));
    case.run(&["verify", "backups", "--hash"]).failed(1, &["--hash is for a store", "hint: atsdb restore"]);

    case.run(&["restore", "backups", "b.db"]).reported(&["backup ", second.text().trim()]);
    assert_eq!(hash(&case, "b.db"), hash(&case, "a.db"));
    case.run(&["restore", "backups", "c.db", "--backup", ids[0]]).reported(&[]);
    assert_eq!(hash(&case, "c.db"), before);
    case.run(&["backup", "--list", "backup"]).failed(2, &["there is no backup in ", "hint: check the path"]);
    case.run(&["restore", "backups", "a.db"]).failed(2, &["already", "--overwrite"]);
    // A count of a table's unit is no time of a backup.
    for at in ["yesterday", "1709294400"] {
        let refused = ["cannot read the time", at, "hint: write it as '2024-03-01 12:00:00', UTC"];
        case.run(&["restore", "backups", "d.db", "--at", at]).failed(1, &refused);
    }
    case.run(&["restore", "backups", "d.db", "--at", "2001-01-01"])
        .failed(2, &["no backup of that time", "the oldest is of"]);
    for more in [&[][..], &["--at", "2001-01-01"]] {
        let missing = case.run(&[&["restore", "nowhere/", "d.db"][..], more].concat());
        missing.failed(2, &["cannot restore from nowhere/: it does not exist", "hint: name a directory of backups"]);
    }
    assert!(!case.path("d.db").exists());
    case.run(&["backup", "a.db", "backups", "--keep", "1"]).reported(&["2 old backups"]);

    // Folders of chunks may be empty after their backups were deleted.
    let files = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let chunk = files(case.path("backups/chunks")).flat_map(files).next().expect("a chunk");
    std::fs::remove_file(&chunk).unwrap();
    let name = chunk.file_name().unwrap().to_str().unwrap();
    case.run(&["restore", "backups", "e.db"]).failed(2, &[name, "is missing"]);
    case.run(&["verify", "backups"]).failed(2, &["damaged in 1 place"]);
}

#[test]
fn a_damaged_backup_is_listed_and_named_and_the_others_are_restored() {
    let case = Case::new().with_store();
    let first = case.run(&["backup", "a.db", "backups"]).reported(&[]).text();
    let before = hash(&case, "a.db");
    case.run(&["sql", "a.db", "DELETE FROM readings WHERE sensor = 'a'"]);
    let second = case.run(&["backup", "a.db", "backups"]).reported(&[]).text();
    let (first, second) = (first.trim(), second.trim());
    let mut files = std::fs::read_dir(case.path("backups/backups")).unwrap().map(|file| file.unwrap().path());
    let damaged = files.find(|file| file.to_str().unwrap().contains(second)).unwrap();
    std::fs::write(&damaged, "{}").unwrap();

    let list = case.run(&["backup", "--list", "backups"]).well().text();
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with(first) && lines[1].starts_with(&format!("{second}  damaged: ")), "{list}");
    let json = case.run(&["backup", "--list", "backups", "--format", "json"]).well().text();
    assert!(json.contains("\"damaged\": \"the manifest is damaged") && json.contains("\"rows\": 3"), "{json}");
    case.run(&["verify", "backups"]).failed(2, &["damaged in 1 place"]);
    // The selected backup is damaged, and no older one is silently used instead.
    let hint = format!("--backup {first}");
    case.run(&["restore", "backups", "b.db"]).failed(2, &[second, &hint]);
    case.run(&["restore", "backups", "b.db", "--backup", second]).failed(2, &[second]);
    assert!(!case.path("b.db").exists());
    case.run(&["restore", "backups", "b.db", "--backup", first]).reported(&["warning: backup ", "left out"]);
    assert_eq!(hash(&case, "b.db"), before);
    case.run(&["backup", "a.db", "backups", "--keep", "2"]).reported(&["warning: backups/", "is not deleted"]);
    case.run(&["restore", "backups", "c.db"]).reported(&[]);
    assert_eq!(hash(&case, "c.db"), hash(&case, "a.db"));
}

#[test]
fn of_an_archive_of_several_stores_one_is_named() {
    let case = Case::new().with_store();
    case.run(&["sql", "o.db", "CREATE TABLE other (x INT); INSERT INTO other VALUES (1)"]).well();
    case.run(&["backup", "o.db", "backups"]).reported(&[]);
    case.run(&["backup", "a.db", "backups"]).reported(&[]);
    case.run(&["restore", "backups", "b.db"]).failed(1, &["backups of 2 stores", "--store", "a.db", "o.db"]);
    assert!(!case.path("b.db").exists());
    let list = case.run(&["backup", "--list", "backups"]).well().text();
    let (number, url) = list.lines().next().unwrap().split_once("  of ").unwrap().1.split_once(' ').unwrap();
    assert!(url.ends_with("o.db"), "{list}");
    for (store, target) in [(number, "c.db"), (url, "d.db")] {
        case.run(&["restore", "backups", target, "--store", store]).reported(&[]);
        assert_eq!(hash(&case, target), hash(&case, "o.db"));
    }
    case.run(&["restore", "backups", "e.db", "--store", "elsewhere.db"]).failed(2, &["no backup of a store", "o.db"]);
    case.run(&["restore", "a.db", "e.db", "--store", number]).failed(1, &["is a store"]);
}

#[test]
fn the_shell_saves_and_loads_the_open_store() {
    let case = Case::new().with_store();
    let loaded = case.run_with::<&str>(&[], ".load a.db\n.mode csv\nSELECT count(*) AS n FROM readings;\n.save b.db\n");
    assert_eq!((loaded.code, loaded.text().as_str()), (0, "n\n3\n"), "{}", loaded.stderr);
    assert_eq!(hash(&case, "a.db"), hash(&case, "b.db"));
    std::fs::create_dir(case.path("backups")).unwrap();
    case.run_with(&["a.db"], ".backup backups\n").reported(&["backup "]);
    case.run_with(&["c.db"], ".restore backups\n").reported(&[]);
    assert_eq!(hash(&case, "a.db"), hash(&case, "c.db"));
    case.run_with(&["c.db"], ".save\n").failed(1, &[".save needs a URL"]);
    // A store is loaded, changed and saved again, as the hint says.
    let changed = ".load b.db\nDELETE FROM readings;\n.save b.db";
    let refused = case.run_with::<&str>(&[], changed);
    assert!(refused.code == 2 && refused.stderr.contains("hint: --overwrite replaces it"), "{}", refused.stderr);
    case.run_with::<&str>(&[], format!("{changed} --overwrite\n")).reported(&[", 1 table dropped\n"]);
    assert_eq!(case.query("b.db", "SELECT count(*) FROM readings"), "0");
    case.run_with(&["b.db"], ".load a.db\n").failed(2, &["hint: --overwrite replaces it"]);
    case.run_with(&["b.db"], ".load a.db --overwrite\n").reported(&[]);
    assert_eq!(hash(&case, "a.db"), hash(&case, "b.db"));
    case.run_with(&["b.db"], ".save backups --overwrite\n").failed(1, &["for a target that is a store"]);
}

#[test]
fn a_table_in_memory_is_saved_with_its_rows() {
    let case = Case::new();
    let script = "CREATE TABLE t (k INT PRIMARY KEY, v TEXT) WITH (engine = 'memory');
INSERT INTO t VALUES (1, 'a'), (2, 'b');
.save b.db
";
    let run = case.run_with::<&str>(&[], script);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(case.query("b.db", "SELECT v FROM t ORDER BY k"), "a\nb");
}
