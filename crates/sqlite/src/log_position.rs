//! The progress of SQLite's checkpoints. It shows whether a read transaction in any process is older than a commit, and
//! whether the commit is on disk.

use crate::error::{Attempt, primary_code};
use crate::split::folder::unavailable;
use crate::writer::{SyncMode, Writer};
use rusqlite::ffi;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The result of a checkpoint.
///
/// A checkpoint copies a frame of the log into the file only when no reader uses an older state (`walCheckpoint` stops
/// at the smallest mark of a reader that it cannot lock, and copies nothing while a process reads the file alone). When
/// all frames are copied, the log may be restarted, which changes the salts in its header.
#[derive(Debug)]
pub(crate) struct LogPosition {
    /// The number of the log's restarts, and its salts; `None` if there is no log.
    generation: Option<[u8; 12]>,
    /// The number of frames in the log; `None` if another checkpoint was running, so that this one could not read it.
    frames: Option<i64>,
    /// The number of these frames that are in the file.
    carried: Option<i64>,
}

impl LogPosition {
    /// Returns whether everything committed so far is in the file, so that no reader uses an older state.
    pub(crate) fn is_all(&self) -> bool {
        self.frames.is_some() && self.frames == self.carried
    }

    /// Returns whether everything committed before an earlier position is in the file.
    pub(crate) fn has_passed(&self, earlier: &Self) -> bool {
        let carried = matches!((self.carried, earlier.frames), (Some(carried), Some(frames)) if carried >= frames);
        let started_over = matches!((self.generation, earlier.generation), (Some(now), Some(then)) if now != then);
        self.is_all() || carried || started_over
    }
}

impl Writer {
    /// Runs a checkpoint as far as readers allow, and returns its position. It never waits.
    pub(crate) fn checkpoint_position(&mut self) -> Attempt<LogPosition> {
        self.set_sync(SyncMode::Deferred)?;
        self.repair_log()?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let done = self.connection().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], row);
        let (busy, frames, carried): (bool, i64, i64) = match done {
            Err(error) if primary_code(&error) == Some(ffi::SQLITE_BUSY) => (true, -1, -1),
            other => other?,
        };
        let known = |count: i64| (!busy && count >= 0).then_some(count);
        let generation = generation(self.log_path()).map_err(|error| unavailable("read", self.log_path(), error))?;
        Ok(LogPosition { generation, frames: known(frames), carried: known(carried) })
    }
}

/// Returns bytes 12 to 24 of the log's header; `None` if there is no log. SQLite holds no locks on the log, so it may
/// be opened as a plain file. It is an error if the log cannot be read: if it were taken for another log, files could
/// be removed while readers use them.
fn generation(log_path: &Path) -> io::Result<Option<[u8; 12]>> {
    let mut bytes = [0; 12];
    match File::open(log_path).and_then(|log| log.read_exact_at(&mut bytes, 12)) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(generation: u8, frames: i64, carried: i64) -> LogPosition {
        let known = |count: i64| (count >= 0).then_some(count);
        LogPosition { generation: Some([generation; 12]), frames: known(frames), carried: known(carried) }
    }

    #[test]
    fn a_position_is_passed_when_its_frames_were_carried_or_the_log_started_over() {
        let earlier = position(1, 10, 4);
        assert!(!earlier.is_all() && position(1, 0, 0).is_all());
        assert!(!position(1, 20, 9).has_passed(&earlier));
        assert!(position(1, 20, 10).has_passed(&earlier));
        assert!(position(2, 20, 0).has_passed(&earlier));
        assert!(position(1, 0, 0).has_passed(&earlier));
        // A position that another checkpoint prevented from reading the log proves nothing.
        assert!(!position(1, -1, -1).is_all() && !position(1, -1, -1).has_passed(&earlier));
        assert!(!position(1, 20, 15).has_passed(&position(1, -1, -1)));
        // Neither does a missing log, in either of the positions.
        let missing = |frames, carried| LogPosition { generation: None, ..position(0, frames, carried) };
        assert!(!missing(20, 4).has_passed(&earlier) && !position(1, 20, 4).has_passed(&missing(10, 4)));
        assert!(missing(0, 0).has_passed(&earlier));
    }

    #[test]
    fn a_log_that_cannot_be_read_is_an_error_and_not_another_log() {
        let scratch = tempfile::tempdir().unwrap();
        assert_eq!(generation(&scratch.path().join("none")).unwrap(), None);
        std::fs::write(scratch.path().join("short"), [1; 20]).unwrap();
        assert_eq!(generation(&scratch.path().join("short")).unwrap(), None);
        std::fs::write(scratch.path().join("log"), [7; 32]).unwrap();
        assert_eq!(generation(&scratch.path().join("log")).unwrap(), Some([7; 12]));
        // A directory can be opened but not read; below a file nothing can be opened.
        assert!(generation(scratch.path()).is_err());
        assert!(generation(&scratch.path().join("log/beneath")).is_err());
    }
}
