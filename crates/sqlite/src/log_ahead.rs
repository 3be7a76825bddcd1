//! Growing the log ahead of small commits.
//!
//! A commit waits until its frames are on disk. If they make the log longer, the file system also has to write the new
//! length, in a transaction of its own journal, and a small commit waits twice as long. So after several small commits
//! zeros are appended to the log, and the next commits overwrite them.
//!
//! This changes no state that SQLite can be in. The log ends at the first frame whose checksum does not continue that
//! of the frames before it, as zeros never do. Only the holder of the write lock adds to the log, so the zeros never
//! overwrite a frame, whichever process wrote it. SQLite holds no locks on the log, so that it may be opened as a plain
//! file.

use crate::schema::PAGE_BYTES;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The sizes of the log's header and of each frame's header, in bytes.
pub(crate) const LOG_HEAD_BYTES: u64 = 32;
pub(crate) const FRAME_HEAD_BYTES: u64 = 24;
/// A commit of more frames is not small: it writes for longer than it waits for the new length.
const SMALL_FRAMES_MAX: i64 = 32;
/// The number of small commits in a row that shows that more will follow. A program that commits once or twice writes
/// no zeros.
const SMALL_COMMITS_MIN: u32 = 8;
const FRAME_BYTES: u64 = FRAME_HEAD_BYTES + PAGE_BYTES;
/// The number of zero bytes that are appended at once: those of 64 frames.
const ZERO_BYTES: usize = 64 * FRAME_BYTES as usize;

/// The end of the log, as the writer knows it.
#[derive(Debug, Default)]
pub(crate) struct LogAhead {
    file: Option<File>,
    /// The length of the log in bytes when it was last checked; 0 if it must be checked again.
    length: u64,
    /// The number of valid frames after the last commit.
    frames: i64,
    /// The number of small commits in a row.
    small_commits: u32,
}

impl LogAhead {
    /// Notes a commit that has waited for the disk, and after which the log has this many valid frames.
    pub(crate) fn note_commit(&mut self, frames: i64) {
        let mut added = frames - self.frames;
        if added < 0 {
            // The log was restarted, and may have been truncated.
            added = frames;
            self.length = 0;
        }
        self.frames = frames;
        self.small_commits = if added <= SMALL_FRAMES_MAX { self.small_commits.saturating_add(1) } else { 0 };
    }

    /// Appends zeros to the log if the next small commits would make it longer. `open` opens the log that SQLite has
    /// open. The caller holds SQLite's write lock. A failure only makes commits wait longer: they append to the log
    /// themselves, and report what they cannot do.
    pub(crate) fn extend(&mut self, open: impl FnOnce() -> io::Result<File>) {
        if self.is_due() && self.try_extend(open).is_err() {
            self.small_commits = 0;
        }
    }

    fn is_due(&self) -> bool {
        let frames = u64::try_from(self.frames + SMALL_FRAMES_MAX).unwrap_or(0);
        let end = LOG_HEAD_BYTES + frames * FRAME_BYTES;
        self.small_commits >= SMALL_COMMITS_MIN && end > self.length
    }

    fn try_extend(&mut self, open: impl FnOnce() -> io::Result<File>) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => open()?,
        };
        self.length = file.metadata()?.len();
        // The first commit writes the header of an empty log. A log that was restarted may be long enough.
        if self.is_due() && has_whole_frames(self.length) {
            append_zeros(&file, self.length)?;
            self.length += ZERO_BYTES as u64;
        }
        self.file = Some(file);
        Ok(())
    }
}

/// Returns whether a log of this length ends with a frame. Zeros behind a part of a frame, which a failed commit has
/// left, could complete the frame, and with it the commit.
fn has_whole_frames(length: u64) -> bool {
    length.checked_sub(LOG_HEAD_BYTES).is_some_and(|frames| frames > 0 && frames.is_multiple_of(FRAME_BYTES))
}

/// Appends zeros to a file of this length, or leaves it as it is.
fn append_zeros(file: &File, length: u64) -> io::Result<()> {
    file.write_all_at(&vec![0; ZERO_BYTES], length).inspect_err(|_| {
        // On a full disk the space is needed for other things.
        let _ = file.set_len(length);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn open(log: &Path) -> io::Result<File> {
        File::options().write(true).open(log)
    }

    fn length(log: &Path) -> u64 {
        std::fs::metadata(log).map_or(0, |metadata| metadata.len())
    }

    #[test]
    fn only_several_small_commits_in_a_row_make_the_log_longer() {
        const BEFORE: usize = (LOG_HEAD_BYTES + 97 * FRAME_BYTES) as usize;
        let scratch = tempfile::tempdir().unwrap();
        let log = scratch.path().join("a.db-wal");
        std::fs::write(&log, vec![1; BEFORE]).unwrap();
        let mut ahead = LogAhead::default();
        let mut frames = 0;
        for added in [3, 3, 3, 3, 3, 3, 3, SMALL_FRAMES_MAX + 1, 3, 3, 3, 3, 3, 3, 3] {
            frames += added;
            ahead.note_commit(frames);
            ahead.extend(|| open(&log));
            assert_eq!(length(&log), BEFORE as u64);
        }
        // These and the next small commits would take more than the log has.
        ahead.note_commit(frames + 3);
        ahead.extend(|| open(&log));
        let bytes = std::fs::read(&log).unwrap();
        assert_eq!(bytes.len(), BEFORE + ZERO_BYTES);
        assert!(bytes[..BEFORE].iter().all(|byte| *byte == 1) && bytes[BEFORE..].iter().all(|byte| *byte == 0));
        ahead.note_commit(frames + 6);
        ahead.extend(|| open(&log));
        assert_eq!(length(&log), (BEFORE + ZERO_BYTES) as u64, "it is long enough");
    }

    #[test]
    fn a_log_that_was_restarted_is_looked_at_again() {
        let scratch = tempfile::tempdir().unwrap();
        let log = scratch.path().join("a.db-wal");
        std::fs::write(&log, [1; 4_152]).unwrap();
        let mut ahead = LogAhead::default();
        let mut commit = |frames| {
            ahead.note_commit(frames);
            ahead.extend(|| open(&log));
            length(&log)
        };
        for frames in 1..8 {
            assert_eq!(commit(frames), 4_152);
        }
        assert_eq!(commit(8), 4_152 + ZERO_BYTES as u64);
        open(&log).unwrap().set_len(0).unwrap();
        assert_eq!(commit(3), 0, "the next commit writes the header");
        std::fs::write(&log, [1; 4_152]).unwrap();
        assert_eq!(commit(4), 4_152 + ZERO_BYTES as u64);
    }

    #[test]
    fn a_log_that_ends_within_a_frame_is_left_as_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let log = scratch.path().join("a.db-wal");
        let mut ahead = LogAhead::default();
        for (frames, length_before) in (1..40).zip((100..4_151).step_by(100)) {
            std::fs::write(&log, vec![1; length_before]).unwrap();
            ahead.note_commit(frames);
            ahead.extend(|| open(&log));
            assert_eq!(length(&log), length_before as u64);
        }
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_left_to_the_commits() {
        let mut ahead = LogAhead::default();
        for frames in 0..20 {
            ahead.note_commit(frames);
            ahead.extend(|| open(Path::new("/nonexistent/a.db-wal")));
        }
        assert_eq!((ahead.length, ahead.small_commits), (0, 4));
    }
}
