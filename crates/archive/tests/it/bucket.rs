//! Backups in a bucket, on moto's server if it is installed.

use crate::backups::{back_up, restore};
use crate::support::{append, as_other_process, assert_same, everything, fill, memory, other_process, rows};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::ErrorKind;
use atsdb_engine::ProgressCallback;
use atsdb_testkit::server::{Moto, moto_request};
use std::sync::Arc;

/// The client reads the environment, so each part runs in a separate process.
fn run(server: &Moto, test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = other_process(test, folder.path());
    command.env("AWS_ENDPOINT_URL", server.endpoint());
    command.env("AWS_ACCESS_KEY_ID", "the-key").env("AWS_SECRET_ACCESS_KEY", "the-secret").env_remove("AWS_ALLOW_HTTP");
    assert!(command.status().unwrap().success(), "{test}");
}

#[test]
fn a_bucket_holds_backups_as_a_directory_does() {
    let Some(server) = Moto::start() else { return };
    run(&server, "bucket::backups_in_a_bucket");
    run(&server, "bucket::problems_with_a_bucket_are_reported");
    let left = server.request("GET /bucket?list-type=2&prefix=air", b"");
    assert!(left.contains("air/backups/") && left.contains("air/chunks/"), "{left}");
    run(&server, "bucket::a_writer_that_lost_its_lock_writes_and_deletes_nothing_more");
}

#[test]
fn backups_in_a_bucket() {
    if as_other_process().is_none() {
        return;
    }
    let (source, archive) = (memory(), Archive::open("s3://bucket/air").unwrap());
    let table = fill(&source);
    let first = back_up(&source, &archive, None).unwrap();
    append(&source, &table, &rows(9, 60));
    let second = back_up(&source, &archive, Some(2)).unwrap();
    assert_eq!((second.chunks_written, second.chunks), (1, first.chunks + 1));
    let target = memory();
    restore(&archive, &BackupSelector::Latest, &target).unwrap();
    assert_same(&source, &target);
    source.recompress(None).unwrap();
    let third = back_up(&source, &archive, Some(1)).unwrap();
    assert!(third.backups_deleted == 2 && third.objects_deleted > 0, "{third:?}");
    let checked = archive.verify().unwrap();
    assert!(checked.findings.is_empty() && checked.backups == 1);
    restore(&archive, &BackupSelector::Latest, &target).unwrap();
    assert_same(&source, &target);
}

/// Another writer takes over the lock during a backup. The backup notices it before writing its manifest, and leaves
/// the lock alone.
#[test]
fn a_writer_that_lost_its_lock_writes_and_deletes_nothing_more() {
    if as_other_process().is_none() {
        return;
    }
    let endpoint = std::env::var("AWS_ENDPOINT_URL").unwrap();
    let port: u16 = endpoint.rsplit(':').next().unwrap().parse().unwrap();
    let (source, archive) = (memory(), Archive::open("s3://bucket/shared").unwrap());
    let table = fill(&source);
    back_up(&source, &archive, None).unwrap();
    let all = |what: &str| moto_request(port, &format!("GET /bucket?list-type=2&prefix=shared/{what}"), b"");
    let count = |what: &str| all(what).matches("<Key>").count();
    let before = (count("backups"), count("chunks"));
    append(&source, &table, &rows(11, 60));
    let take_over: ProgressCallback = Arc::new(move |_| {
        moto_request(port, "PUT /bucket/shared/lock", b"another writes a backup, 0\n");
        Ok(())
    });
    let cut = source.cut(&everything()).unwrap();
    let error = archive.write(&cut, true, Some(1), Some(&take_over)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!((count("backups"), count("chunks")), (before.0, before.1 + 1));
    let lock = moto_request(port, "GET /bucket/shared/lock", b"");
    assert!(lock.contains("another writes a backup, 0"), "{lock}");
    assert!(archive.verify().unwrap().findings.is_empty());
    // The other writer no longer exists: its lock is taken over, and the objects that were written are used.
    let report = back_up(&source, &archive, Some(1)).unwrap();
    assert_eq!((report.chunks_written, report.backups_deleted), (0, 1));
}

#[test]
fn problems_with_a_bucket_are_reported() {
    if as_other_process().is_none() {
        return;
    }
    let source = memory();
    fill(&source);
    let nowhere = Archive::open("s3://no-such-bucket/air").unwrap();
    let error = back_up(&source, &nowhere, None).unwrap_err();
    assert!(error.to_string().contains("no-such-bucket"), "{error}");
    assert!(!error.to_string().contains("the-secret"), "{error}");
    let empty = Archive::open("s3://bucket/nothing").unwrap();
    assert_eq!(empty.backup(&BackupSelector::Latest).unwrap_err().kind(), ErrorKind::NotFound);
}
