//! Damage in an archive, or in the store that is backed up: it affects only the damaged part, and it is found.

use crate::backups::{back_up, files, restore};
use crate::support::{append, everything, fill, hashes, memory, readings, rows, sqlite};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{ColumnType, ErrorKind, TableDefinition};
use atsdb_engine::{ContentHash, CopyOptions, Engine};
use std::path::{Path, PathBuf};

/// An archive with several backups. Returns their ids, and the content hashes of each.
fn archive_of(folder: &Path, source: &Engine, count: i64) -> (Archive, Vec<(String, Vec<ContentHash>)>) {
    let archive = Archive::open(folder.to_str().unwrap()).unwrap();
    let table = fill(source);
    let mut made = Vec::new();
    for day in 0..count {
        append(source, &table, &rows(20 + day, 40));
        let report = back_up(source, &archive, None).unwrap();
        made.push((report.id, hashes(source)));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (archive, made)
}

fn manifest_of(folder: &Path, id: &str) -> PathBuf {
    let all = files(&folder.join("backups"));
    all.into_iter().find(|file| file.to_str().unwrap().contains(id)).unwrap()
}

/// Flips a bit in the middle of a file and returns the bytes before.
fn damage(file: &Path) -> Vec<u8> {
    let before = std::fs::read(file).unwrap();
    let mut bytes = before.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(file, bytes).unwrap();
    before
}

#[track_caller]
fn assert_restores(archive: &Archive, which: &BackupSelector, expected: &[ContentHash]) {
    let target = memory();
    restore(archive, which, &target).unwrap();
    assert_eq!(hashes(&target), expected);
}

#[test]
fn a_damaged_manifest_costs_its_own_backup_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let source = memory();
    let (archive, made) = archive_of(folder.path(), &source, 3);
    let times: Vec<i64> = archive.backups().unwrap().whole.iter().map(|backup| backup.taken_ms).collect();
    let second = manifest_of(folder.path(), &made[1].0);
    let before = damage(&second);

    let backups = archive.backups().unwrap();
    assert_eq!(backups.whole.iter().map(|backup| backup.id.as_str()).collect::<Vec<_>>(), [&made[0].0, &made[2].0]);
    assert_eq!(backups.damaged.len(), 1);
    assert_eq!((&backups.damaged[0].id, backups.damaged[0].kind), (&made[1].0, ErrorKind::Corrupt));
    assert_restores(&archive, &BackupSelector::Latest, &made[2].1);
    assert_restores(&archive, &BackupSelector::Id(made[0].0.clone()), &made[0].1);
    assert_restores(&archive, &BackupSelector::At(times[0]), &made[0].1);
    // If the selected backup is damaged, no older one is silently used instead.
    for which in [BackupSelector::Id(made[1].0.clone()), BackupSelector::At(times[1])] {
        let error = restore(&archive, &which, &memory()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains(second.file_name().unwrap().to_str().unwrap()), "{error}");
    }
    let error = restore(&archive, &BackupSelector::At(times[1]), &memory()).unwrap_err();
    assert!(error.hint().unwrap().contains(&made[0].0), "{error:?}");
    let findings = archive.verify().unwrap().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(second.ends_with(&findings[0].location), "{findings:?}");

    // Further backups are made. Objects of the damaged backup are kept in case it is repaired.
    let report = back_up(&source, &archive, Some(3)).unwrap();
    assert_eq!((report.findings.len(), report.backups_deleted, report.objects_deleted), (1, 0, 0));
    std::fs::write(&second, &before).unwrap();
    assert_restores(&archive, &BackupSelector::Id(made[1].0.clone()), &made[1].1);
    // It is deleted when it would be deleted if it were whole, with all objects that no other backup needs.
    damage(&second);
    source.recompress(None).unwrap();
    let report = back_up(&source, &archive, Some(2)).unwrap();
    assert_eq!((report.findings.len(), report.backups_deleted), (0, 3));
    assert!(!second.exists() && report.objects_deleted > 0, "{report:?}");
    assert!(archive.verify().unwrap().findings.is_empty());
    assert_restores(&archive, &BackupSelector::Latest, &hashes(&source));
}

#[test]
fn a_damaged_list_keeps_chunks_from_being_deleted_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let source = memory();
    let (archive, made) = archive_of(folder.path(), &source, 2);
    let first = std::fs::read_to_string(manifest_of(folder.path(), &made[0].0)).unwrap();
    let second = std::fs::read_to_string(manifest_of(folder.path(), &made[1].0)).unwrap();
    // A list that only the first backup needs.
    let mut lists = files(&folder.path().join("lists")).into_iter().filter(|list| {
        let name = list.file_name().unwrap().to_str().unwrap();
        first.contains(name) && !second.contains(name)
    });
    let list = lists.next().unwrap();
    let before = damage(&list);
    source.recompress(None).unwrap();
    let chunks = files(&folder.path().join("chunks"));
    let report = back_up(&source, &archive, Some(3)).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert!(list.ends_with(&report.findings[0].location), "{report:?}");
    assert!(chunks.iter().all(|chunk| chunk.exists()));
    assert_restores(&archive, &BackupSelector::Id(made[1].0.clone()), &made[1].1);
    std::fs::write(&list, before).unwrap();
    assert_restores(&archive, &BackupSelector::Id(made[0].0.clone()), &made[0].1);
    // After two more backups, no backup needs the list.
    damage(&list);
    back_up(&source, &archive, Some(1)).unwrap();
    assert!(archive.verify().unwrap().findings.is_empty());
}

/// A backup reads the dictionaries that it does not write, because every chunk needs them: damage to one is repaired.
#[test]
fn a_damaged_dictionary_is_written_again_by_the_next_backup() {
    let folder = tempfile::tempdir().unwrap();
    let source = memory();
    let (archive, made) = archive_of(folder.path(), &source, 1);
    files(&folder.path().join("dictionaries")).iter().for_each(|file| drop(damage(file)));
    assert!(!archive.verify().unwrap().findings.is_empty());
    back_up(&source, &archive, None).unwrap();
    assert!(archive.verify().unwrap().findings.is_empty());
    assert_restores(&archive, &BackupSelector::Id(made[0].0.clone()), &made[0].1);
}

#[test]
fn every_flipped_bit_and_every_other_name_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), Archive::open(folder.path().to_str().unwrap()).unwrap());
    let definition = TableDefinition::new("t")
        .with_column("name", ColumnType::Text, Some(atsdb_core::MapWidth::U8))
        .with_column("x", ColumnType::Int64, None);
    let table = source.create_table(&definition).unwrap();
    let names: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::StringArray::from(vec!["a", "b"]));
    let numbers: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::Int64Array::from(vec![1, 7]));
    append(&source, &table, &arrow::array::RecordBatch::try_from_iter([("name", names), ("x", numbers)]).unwrap());
    back_up(&source, &archive, None).unwrap();
    assert!(archive.verify().unwrap().findings.is_empty());
    for file in files(folder.path()).into_iter().filter(|file| !file.ends_with("lock")) {
        let bytes = std::fs::read(&file).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&file, flipped).unwrap();
            assert!(!archive.verify().unwrap().findings.is_empty(), "bit {bit} of {file:?}");
        }
        std::fs::write(&file, &bytes).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        for place in 0..name.len() {
            let mut renamed = name.as_bytes().to_vec();
            renamed[place] ^= 1;
            let renamed = file.with_file_name(String::from_utf8(renamed).unwrap());
            // Flipping a bit can make a slash, which would change the folder.
            if renamed.parent() == file.parent() {
                std::fs::rename(&file, &renamed).unwrap();
                assert!(!archive.verify().unwrap().findings.is_empty(), "{renamed:?}");
                std::fs::rename(&renamed, &file).unwrap();
            }
        }
    }
    assert!(archive.verify().unwrap().findings.is_empty());
}

/// An index with fewer entries than its table hides chunks, although every page is right.
#[test]
fn a_store_whose_structures_are_damaged_is_not_silently_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    let source = sqlite(&path);
    let table = source.create_table(&readings("readings")).unwrap();
    for day in 0..4 {
        append(&source, &table, &rows(day, 50));
    }
    back_up(&source, &archive, Some(1)).unwrap();
    let whole = hashes(&source);
    drop(source);
    misnumber(&path);

    let source = sqlite(&path);
    for options in [CopyOptions { verify: true, ..CopyOptions::default() }, CopyOptions::default()] {
        let target = memory();
        let copied = target.copy_from(&source.cut(&everything()).unwrap(), &options);
        match options.verify {
            true => assert_eq!(copied.unwrap_err().kind(), ErrorKind::Corrupt),
            // Without verification, it copies what it can read.
            false => drop(copied.unwrap()),
        }
    }
    let error = back_up(&source, &archive, Some(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.hint().unwrap().contains("--no-verify"), "{error:?}");
    // The previous backup is kept.
    assert_restores(&archive, &BackupSelector::Latest, &whole);

    // Chunks that an index hides are noticed with every option.
    drop(source);
    lose_index_entries(&path);
    let source = sqlite(&path);
    assert_eq!(source.cut(&everything()).err().unwrap().kind(), ErrorKind::Corrupt);
    assert_eq!(back_up(&source, &archive, Some(1)).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_restores(&archive, &BackupSelector::Latest, &whole);
}

/// Makes the store assign the numbers of tables again. This hides no row.
fn misnumber(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'atsdb_table'", []).unwrap();
}

/// Removes some entries from an index of the chunks.
fn lose_index_entries(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_update(None, "writable_schema", true).unwrap();
    let sql: String = connection
        .query_row("SELECT sql FROM sqlite_schema WHERE name = 'atsdb_chunk_slice'", [], |row| row.get(0))
        .unwrap();
    // A partial index has fewer entries. Afterwards its declaration is set back.
    connection.execute_batch("DROP INDEX atsdb_chunk_slice").unwrap();
    let (head, condition) = sql.split_once(" WHERE ").map_or((sql.as_str(), "1"), |(head, tail)| (head, tail));
    connection.execute_batch(&format!("{head} WHERE ({condition}) AND id % 2 = 0")).unwrap();
    connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 'atsdb_chunk_slice'", [&sql]).unwrap();
}

#[test]
fn damage_that_a_snapshot_refuses_is_found_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    let source = sqlite(&path);
    fill(&source);
    back_up(&source, &archive, Some(1)).unwrap();
    let whole = hashes(&source);
    drop(source);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE atsdb_table SET checksum = checksum + 1 WHERE name = 'sensors'", []).unwrap();
    drop(connection);

    let source = sqlite(&path);
    assert_eq!(source.cut(&everything()).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(back_up(&source, &archive, Some(1)).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!source.verify(None).unwrap().findings.is_empty());
    assert_restores(&archive, &BackupSelector::Latest, &whole);
}
