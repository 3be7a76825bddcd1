//! Damaged files, unusable folders and full disks: a miss and one warning, never a wrong page or an error.

use crate::support::{UID, file, found, keep, let_time_pass, open, page, places, try_open};
use atsdb_testkit::disk::SmallDisk;
use std::path::Path;

const BYTES_MAX: u64 = 64 << 20;

/// One kind of damage, done to a file.
type Damage = fn(&Path);

#[test]
fn a_damaged_page_is_a_miss_reported_once_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[1_000, 2_000, 3_000]);
    let damages: [(&str, Damage); 5] = [
        ("flipped", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[1_500] ^= 4;
            std::fs::write(path, bytes).unwrap();
        }),
        ("cut", |path| std::fs::File::options().write(true).open(path).unwrap().set_len(2_999).unwrap()),
        ("emptied", |path| std::fs::write(path, "").unwrap()),
        ("garbage", |path| std::fs::write(path, vec![0xa5; 9_000]).unwrap()),
        ("deleted", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (name, damage) in damages {
        let (cache, warnings) = open(folder.path(), BYTES_MAX);
        for number in 1..3 {
            keep(&cache, number, &places);
        }
        cache.flush();
        assert_eq!(found(&cache, 1, &places), [true; 3]);
        for number in 1..3 {
            damage(&cache.store_folder().join(file(number).to_string()));
        }
        // The time of the last change makes no difference: nobody is writing there.
        if name != "flipped" {
            let_time_pass(&cache);
        }
        let there = found(&cache, 1, &places);
        assert!(!there[1], "{name}");
        assert_eq!(there[0], ["flipped", "cut"].contains(&name), "{name}");
        assert_eq!(there[2], name == "flipped", "{name}");
        assert!(!found(&cache, 2, &places)[1]);
        // A file that is too short or deleted looks as if its page had never been written: no warning.
        let warned = ["flipped", "garbage"].contains(&name);
        assert_eq!(warnings.all().len(), usize::from(warned), "{name}: {:?}", warnings.all());
        assert!(warnings.all().iter().all(|text| text.contains("is damaged; it is read from the store")));
        assert_eq!(cache.stats().damaged > 0, warned);
        for number in 1..3 {
            keep(&cache, number, &places);
        }
        cache.flush();
        assert_eq!(found(&cache, 1, &places), [true; 3], "{name}");
    }
}

/// A writer, in this process or another, shares the file's lock while it writes.
#[test]
fn a_page_is_no_damage_while_it_is_being_written_and_is_damage_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[1_000]);
    let (cache, warnings) = open(folder.path(), BYTES_MAX);
    keep(&cache, 1, &places);
    cache.flush();
    let path = cache.store_folder().join(file(1).to_string());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[500..].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let writer = std::fs::File::open(&path).unwrap();
    writer.lock_shared().unwrap();
    assert_eq!(found(&cache, 1, &places), [false]);
    assert_eq!((cache.stats().damaged, warnings.all().len()), (0, 0));
    writer.unlock().unwrap();
    assert_eq!(found(&cache, 1, &places), [false]);
    assert_eq!((cache.stats().damaged, warnings.all().len()), (1, 1));
    keep(&cache, 1, &places);
    cache.flush();
    assert_eq!(found(&cache, 1, &places), [true]);
}

/// Reading marks a file as used by setting the time of its last change. That must not make damage look like a write in
/// progress.
#[test]
fn damage_is_reported_although_the_file_was_just_marked_as_used() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(&[1_000, 2_000]);
    let (cache, warnings) = open(folder.path(), BYTES_MAX);
    keep(&cache, 1, &places);
    cache.flush();
    let path = cache.store_folder().join(file(1).to_string());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[1_500] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(100_000);
    std::fs::File::open(&path).unwrap().set_times(std::fs::FileTimes::new().set_modified(old)).unwrap();
    let first = cache.read(&file(1), &places[..1], |_, bytes| bytes == page(1, places[0]));
    assert!(first[0].is_some());
    assert_eq!(found(&cache, 1, &places), [true, false]);
    assert_eq!((cache.stats().damaged, warnings.all().len()), (1, 1));
}

#[test]
fn a_folder_that_is_deleted_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    let places = places(&[1_000]);
    let (cache, warnings) = open(&root, BYTES_MAX);
    keep(&cache, 1, &places);
    cache.flush();
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(found(&cache, 1, &places), [false]);
    keep(&cache, 1, &places);
    cache.flush();
    assert_eq!((found(&cache, 1, &places), warnings.all()), (vec![true], vec![]));
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (cache, warnings) = try_open(folder.path(), BYTES_MAX, UID);
    assert!(cache.is_none());
    assert!(warnings.all()[0].contains("others can write there"), "{:?}", warnings.all());
}

/// Symbolic links in a folder are not followed before the folder is known to be the user's own.
#[cfg(unix)]
#[test]
fn links_that_others_put_into_the_folder_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let precious = outside.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let (cache, _) = open(folder.path(), BYTES_MAX);
    keep(&cache, 1, &places(&[10]));
    let store_folder = cache.store_folder().to_owned();
    drop(cache);
    let pid = std::process::id();
    let names: Vec<String> =
        (0..100).map(|number| format!("probe-{pid}-{number}")).chain([format!("probe-{pid}")]).collect();
    for place in [folder.path(), &store_folder] {
        names.iter().for_each(|name| symlink(&precious, place.join(name)).unwrap());
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    assert!(try_open(folder.path(), BYTES_MAX, UID).0.is_none());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    for place in [folder.path(), &store_folder] {
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    // In a folder of the user's own, the links only occupy names.
    assert!(try_open(folder.path(), BYTES_MAX, UID).0.is_some());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn a_folder_that_cannot_be_created_is_reported_and_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (cache, warnings) = try_open(&file.join("cache"), BYTES_MAX, UID);
    assert!(cache.is_none());
    assert_eq!(warnings.all().len(), 1);
    assert!(warnings.all()[0].starts_with("pages are not kept on this machine: "), "{:?}", warnings.all());
}

#[test]
fn a_full_disk_is_reported_once_and_kept_pages_stay_readable() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 1 << 20) else { return };
    let places = places(&[100_000]);
    let (cache, warnings) = open(&disk.path().join("cache"), BYTES_MAX);
    for number in 0..30 {
        keep(&cache, number, &places);
    }
    cache.flush();
    let there = (0..30).filter(|number| found(&cache, *number, &places)[0]).count();
    assert!((5..=10).contains(&there), "{there}");
    assert_eq!(warnings.all().len(), 1, "{:?}", warnings.all());
    assert!(warnings.all()[0].contains("cannot be written"), "{:?}", warnings.all());
}
