//! How far SQLite's checkpoints have come: by it is known that no read transaction is older than a commit, in whatever
//! process, and that the commit is on disk.

use crate::error::{Attempt, primary_code};
use crate::split::folder::unavailable;
use crate::writer::{Sync, Writer};
use rusqlite::ffi;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a checkpoint found and did.
///
/// A checkpoint copies a frame of the log into the file only when no reader looks at an older state (`walCheckpoint` stops
/// at the smallest mark of a reader that it cannot lock, and copies nothing while somebody reads the file alone), and when
/// all frames were copied, the log may start over, which changes the salts in its head.
#[derive(Debug)]
pub(crate) struct LogPosition {
    /// The number of its start, and its salts; `None` while there is no log.
    generation: Option<[u8; 12]>,
    /// How many frames it has; `None` if another checkpoint was under way, so that this one could not look.
    frames: Option<i64>,
    /// How many of them are in the file.
    carried: Option<i64>,
}

impl LogPosition {
    /// Whether everything committed before is in the file: nobody reads an older state.
    pub(crate) fn is_all(&self) -> bool {
        self.frames.is_some() && self.frames == self.carried
    }

    /// Whether everything committed before an earlier look is in the file.
    pub(crate) fn has_passed(&self, earlier: &Self) -> bool {
        let carried = matches!((self.carried, earlier.frames), (Some(carried), Some(frames)) if carried >= frames);
        let started_over = matches!((self.generation, earlier.generation), (Some(now), Some(then)) if now != then);
        self.is_all() || carried || started_over
    }
}

impl Writer {
    /// Carries the log into the file as far as readers allow, and says how far that is. Waits for nobody.
    pub(crate) fn checkpoint_position(&mut self) -> Attempt<LogPosition> {
        self.use_sync(Sync::Later)?;
        self.mend_log()?;
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

/// Bytes 12 to 24 of the log's head; `None` if there is no log. SQLite holds no locks on the log, so that it may be opened
/// as a plain file. A log that cannot be read says nothing: taken for another one, it would let files go under readers.
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
        // A look that another checkpoint kept from seeing says nothing.
        assert!(!position(1, -1, -1).is_all() && !position(1, -1, -1).has_passed(&earlier));
        assert!(!position(1, 20, 15).has_passed(&position(1, -1, -1)));
        // Nor does a log that is not there, whichever of the looks missed it.
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
        // A directory can be opened and not be read; below a file nothing can be opened.
        assert!(generation(scratch.path()).is_err());
        assert!(generation(&scratch.path().join("log/beneath")).is_err());
    }
}
