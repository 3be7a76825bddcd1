//! Small disks that fill up: file systems in memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file system in memory, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a disk of this size at a folder, which is created if need be. `None`, with a message on stderr, if
    /// mounting is not permitted.
    pub fn mount(path: &Path, byte_count: u64) -> Option<Self> {
        std::fs::create_dir_all(path).expect("a folder can be made");
        if mount(&["-t", "tmpfs", "-o", &format!("size={byte_count}"), "tmpfs"], path) {
            return Some(Self(path.to_owned()));
        }
        crate::skipped("mounting a file system is not permitted");
        None
    }

    /// The folder where it is mounted.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Changes its size.
    pub fn resize(&self, byte_count: u64) {
        assert!(mount(&["-o", &format!("remount,size={byte_count}")], &self.0), "the disk cannot be resized");
    }

    /// Forbids writing. Returns false if that is not permitted.
    pub fn make_read_only(&self) -> bool {
        mount(&["-o", "remount,ro"], &self.0)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Runs the work of a test in a separate process, where no other test starts programs. Otherwise a full disk would
/// depend on chance: a child process that another thread has just started keeps all files of its parent open until it
/// executes its program, and a removed file takes up space as long as it is open.
pub fn alone(test: &str, work: impl FnOnce()) {
    const ALONE: &str = "ATSDB_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(ALONE, "1").stderr(Stdio::inherit());
    let output = command.output().expect("this program can be run");
    let printed = String::from_utf8_lossy(&output.stdout);
    // If no test has this name, the process runs no test and succeeds.
    let has_passed = output.status.success() && printed.contains("1 passed");
    assert!(has_passed, "{test} in a process of its own: {printed}");
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let done = Command::new("mount").args(arguments).arg(path).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}
