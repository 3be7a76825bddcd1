//! Bytes from an attacker give an error, never a panic, and never a file outside of the archive.

use crate::backups::{back_up, files, restore};
use crate::support::{fill, memory};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_testkit::sample::Random;
use std::path::Path;

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", twox_hash::XxHash3_64::oneshot(bytes))
}

/// Replaces the manifest by other bytes, under the same id and with the hash of the new bytes.
fn replace_manifest(folder: &Path, bytes: &[u8]) {
    let old = files(&folder.join("backups")).remove(0);
    let name = old.file_name().unwrap().to_str().unwrap();
    let id = name.rsplit_once('-').unwrap().0.to_owned();
    std::fs::remove_file(&old).unwrap();
    std::fs::write(folder.join(format!("backups/{id}-{}.json", hash(bytes))), bytes).unwrap();
}

#[test]
fn changed_manifests_with_the_right_hash_are_refused_by_verify_and_restore_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), Archive::open(folder.path().to_str().unwrap()).unwrap());
    fill(&source);
    back_up(&source, &archive, None).unwrap();
    let manifest = std::fs::read_to_string(&files(&folder.path().join("backups"))[0]).unwrap();
    let mut random = Random::new(5);
    let (mut refused, mut restored) = (0, 0);
    for _ in 0..1_500 {
        let mut bytes = manifest.clone().into_bytes();
        for _ in 0..=random.below(2) {
            let place = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[place] = b'0' + random.below(10) as u8,
                1 => bytes[place] = random.below(256) as u8,
                2 => drop(bytes.remove(place)),
                _ => bytes.insert(place, b"9\"{}[],:-e"[random.below(10) as usize]),
            }
        }
        replace_manifest(folder.path(), &bytes);
        let report = archive.verify().unwrap();
        let restoring = restore(&archive, &BackupSelector::Latest, &memory());
        let shown = || format!("{:?}, {restoring:?}: {}", report.findings, String::from_utf8_lossy(&bytes));
        assert_eq!(restoring.is_ok(), report.findings.is_empty(), "{}", shown());
        match restoring {
            Ok(_) => restored += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 300 && restored > 0, "{refused} refused, {restored} restored");
}

#[test]
fn a_manifest_reads_nothing_outside_of_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), Archive::open(folder.path().to_str().unwrap()).unwrap());
    fill(&source);
    back_up(&source, &archive, None).unwrap();
    let manifest = std::fs::read_to_string(&files(&folder.path().join("backups"))[0]).unwrap();
    for name in ["/etc/passwd", "lists/../../secret", "../secret", "lists/", "", "lists//etc/passwd"] {
        let start = manifest.find("\"lists/").unwrap() + 1;
        let end = start + manifest[start..].find('"').unwrap();
        let changed = format!("{}{name}{}", &manifest[..start], &manifest[end..]);
        replace_manifest(folder.path(), changed.as_bytes());
        let error = restore(&archive, &BackupSelector::Latest, &memory()).unwrap_err();
        assert!(error.to_string().contains("refers to an object with an impossible name"), "{name}: {error}");
    }
    let newer = manifest.replacen("\"format\": 2", "\"format\": 3, \"anything\": {}", 1);
    replace_manifest(folder.path(), newer.as_bytes());
    let error = restore(&archive, &BackupSelector::Latest, &memory()).unwrap_err();
    assert_eq!(error.kind(), atsdb_core::ErrorKind::NewerFormat, "{error}");
}

/// Counts that no backup of this program has, under a right hash.
#[test]
fn verify_finds_the_counts_that_restore_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), Archive::open(folder.path().to_str().unwrap()).unwrap());
    fill(&source);
    back_up(&source, &archive, None).unwrap();
    let manifest = std::fs::read_to_string(&files(&folder.path().join("backups"))[0]).unwrap();
    for field in ["strings", "rows", "chunks", "bytes", "number"] {
        let start = manifest.find(&format!("\"{field}\": ")).unwrap() + field.len() + 4;
        let end = start + manifest[start..].find([',', '\n']).unwrap();
        for count in [0, 1 << 40, 1u64 << 62, u64::MAX] {
            let changed = format!("{}{count}{}", &manifest[..start], &manifest[end..]);
            replace_manifest(folder.path(), changed.as_bytes());
            let error = restore(&archive, &BackupSelector::Latest, &memory()).unwrap_err();
            assert_eq!(error.kind(), atsdb_core::ErrorKind::Corrupt, "{field} {count}: {error}");
            assert!(!archive.verify().unwrap().findings.is_empty(), "{field} {count}");
        }
    }
}
