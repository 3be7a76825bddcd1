//! The lock object of a bucket: one writer at a time, among machines that know nothing of each other.
//!
//! Every version of the object has another text, so that its ETag names it, and every change of it is a put on condition
//! that it is still the version that was seen: taking it, renewing it, taking it over from a writer that is gone, giving it
//! back. It is never deleted, as no condition can be put on that. What a holder does between two renewals is done on
//! trust, so the trust is short, and before anything is deleted the lock is asked for again.

#![expect(clippy::disallowed_methods, reason = "how long a lock has not been renewed is measured, and waited for")]

use super::client::Bucket;
use crate::objects::{Lock, Objects};
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_engine::{Environment, SystemEnvironment};
use object_store::{PutMode, UpdateVersion};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The object.
pub(super) const LOCK: &str = "lock";
/// How the text of a lock begins that nobody has.
const FREE: &str = "free";

/// How long what is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Between two renewals.
    pub(super) renew: Duration,
    /// So long after a renewal nothing is done on trust.
    pub(super) trust: Duration,
    /// A lock that was not renewed for so long is that of a writer that is gone. A holder's trust and a request that was
    /// sent at its end are over before.
    pub(super) others: Duration,
    /// Between two looks at a lock that somebody else has.
    pub(super) step: Duration,
}

impl Patience {
    pub(super) const USUAL: Self = Self {
        renew: Duration::from_secs(3),
        trust: Duration::from_secs(4),
        others: Duration::from_secs(12),
        step: Duration::from_millis(500),
    };
}

/// The lock, held. A thread renews it.
pub(super) struct Locked {
    holder: Arc<Holder>,
    is_inherited: bool,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Who has the lock, or had it.
struct Holder {
    bucket: Bucket,
    /// Names it among all processes of all machines.
    name: String,
    is_lost: AtomicBool,
    version: Mutex<Version>,
    trust: Duration,
}

/// The version of the object that the holder wrote last.
struct Version {
    number: u64,
    known: UpdateVersion,
    /// When it began to be written, by two clocks: one of them stands still where the machine sleeps, the other is set.
    since: Instant,
    since_ms: i64,
}

impl Locked {
    pub(super) fn take(bucket: &Bucket, patience: Patience) -> Result<Self> {
        let name: String = SystemEnvironment.random()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let (known, is_inherited, since, since_ms) = wait_and_take(bucket, &name, patience)?;
        let version = Mutex::new(Version { number: 0, known, since, since_ms });
        let (bucket, is_lost) = (bucket.clone(), AtomicBool::new(false));
        let holder = Arc::new(Holder { bucket, name, is_lost, version, trust: patience.trust });
        holder.require_conditions()?;
        let (stop, stopped) = channel::<()>();
        let renew = {
            let holder = Arc::clone(&holder);
            move || {
                while stopped.recv_timeout(patience.renew) == Err(RecvTimeoutError::Timeout) {
                    // What fails now is tried again: others are patient for some renewals.
                    let _ = holder.renew();
                    if holder.is_lost.load(Ordering::SeqCst) {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("atsdb-s3-lock".into()).spawn(renew).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the operating system gave no thread").with_source(error)
        })?;
        Ok(Self { holder, is_inherited, stop: Some(stop), thread: Some(thread) })
    }
}

fn text(holder: &str, number: u64) -> String {
    format!("{holder} writes a backup, {number}\n")
}

/// Takes the lock when it is free or its holder is gone. Gives its version, whether the holder before did not give it
/// back, and when it began to be written.
fn wait_and_take(bucket: &Bucket, name: &str, patience: Patience) -> Result<(UpdateVersion, bool, Instant, i64)> {
    let started = Instant::now();
    let mut seen: Option<(Vec<u8>, Instant)> = None;
    loop {
        let there = bucket.get_version(LOCK)?;
        let (mode, is_inherited) = match there {
            None => (PutMode::Create, false),
            Some((text, version)) if text.starts_with(FREE.as_bytes()) => (PutMode::Update(version), false),
            Some((text, version)) => match &seen {
                Some((before, since)) if *before == text && since.elapsed() > patience.others => {
                    (PutMode::Update(version), true)
                }
                Some((before, _)) if *before == text => {
                    std::thread::sleep(patience.step);
                    continue;
                }
                // It is renewed: its writer lives.
                Some(_) if started.elapsed() > patience.others => return Err(busy(bucket)),
                _ => {
                    seen = Some((text, Instant::now()));
                    std::thread::sleep(patience.step);
                    continue;
                }
            },
        };
        let (since, since_ms) = (Instant::now(), SystemEnvironment.now_ms());
        let is_new = matches!(mode, PutMode::Create);
        match bucket.put_with(LOCK, text(name, 0).into_bytes(), mode) {
            Ok(version) => return Ok((version, is_inherited, since, since_ms)),
            // Where nothing is to be there, it is the bucket that is not found.
            Err(error) if is_refused(&error) && !(is_new && error.kind() == ErrorKind::NotFound) => {
                // Somebody else was faster; or it was done, and the answer was lost and the request sent again.
                if let Some((there, version)) = bucket.get_version(LOCK)?
                    && there == text(name, 0).into_bytes()
                {
                    return Ok((version, is_inherited, since, since_ms));
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn busy(bucket: &Bucket) -> Error {
    Error::new(ErrorKind::Busy, format!("something else is being backed up to {}", bucket.place()))
        .with_hint("try again when it is done")
}

/// Whether a put was refused for its condition.
fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
}

impl Holder {
    fn version(&self) -> MutexGuard<'_, Version> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a server that puts what it should not: the lock would be none.
    fn require_conditions(&self) -> Result<()> {
        let version = self.version();
        let never = UpdateVersion { e_tag: Some(format!("\"{}\"", "0".repeat(32))), version: None };
        match self.bucket.put_with(LOCK, text(&self.name, version.number).into_bytes(), PutMode::Update(never)) {
            Err(error) if is_refused(&error) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::new(
                ErrorKind::Unavailable,
                format!("the server of {} does not know conditional writes (If-Match)", self.bucket.place()),
            )
            .with_hint("two backups at a time could damage each other: use a server that knows them")),
        }
    }

    /// Writes the next version in the place of the one before.
    fn renew(&self) -> Result<()> {
        let mut version = self.version();
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(self.lost());
        }
        let (since, since_ms) = (Instant::now(), SystemEnvironment.now_ms());
        let next = text(&self.name, version.number + 1).into_bytes();
        let written = self.bucket.put_with(LOCK, next.clone(), PutMode::Update(version.known.clone()));
        let known = match written {
            Ok(known) => known,
            Err(error) if is_refused(&error) => match self.bucket.get_version(LOCK)? {
                // It was done, and the answer was lost.
                Some((there, known)) if there == next => known,
                _ => {
                    self.is_lost.store(true, Ordering::SeqCst);
                    return Err(self.lost());
                }
            },
            Err(error) => return Err(error),
        };
        *version = Version { number: version.number + 1, known, since, since_ms };
        Ok(())
    }

    fn lost(&self) -> Error {
        let message = format!("another backup to {} has taken over", self.bucket.place());
        Error::new(ErrorKind::Conflict, message).with_hint("back up again: what was written is used")
    }

    fn is_trusted(&self) -> bool {
        let version = self.version();
        let by_wall = SystemEnvironment.now_ms().saturating_sub(version.since_ms);
        let trust_ms = i64::try_from(self.trust.as_millis()).unwrap_or(i64::MAX);
        version.since.elapsed() <= self.trust && (0..=trust_ms).contains(&by_wall)
    }
}

impl Lock for Locked {
    fn require(&self) -> Result<()> {
        match self.holder.is_lost.load(Ordering::SeqCst) {
            true => Err(self.holder.lost()),
            false if self.holder.is_trusted() => Ok(()),
            false => self.holder.renew(),
        }
    }

    fn confirm(&self) -> Result<()> {
        self.holder.renew()
    }

    fn is_inherited(&self) -> bool {
        self.is_inherited
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let version = self.holder.version();
        let free = format!("{FREE}: {} has written a backup, {}\n", self.holder.name, version.number);
        // Whoever has taken over keeps it; what cannot be given back is given up when it is not renewed.
        let _ = self.holder.bucket.put_with(LOCK, free.into_bytes(), PutMode::Update(version.known.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    /// Nothing renews by itself, and who waits sees at once that a lock is old.
    const PATIENCE: Patience = Patience {
        renew: Duration::from_secs(3_600),
        trust: Duration::from_secs(3_600),
        others: Duration::ZERO,
        step: Duration::from_millis(1),
    };

    fn bucket() -> Bucket {
        Bucket::over(Arc::new(InMemory::new()), "s3://test/air").unwrap()
    }

    #[test]
    fn a_lock_that_is_given_back_is_free_and_nobody_is_waited_for() {
        let bucket = bucket();
        for _ in 0..3 {
            let lock = Locked::take(&bucket, Patience::USUAL).unwrap();
            assert!(!lock.is_inherited());
            lock.require().unwrap();
            lock.confirm().unwrap();
        }
        assert!(bucket.is_empty().unwrap());
    }

    #[test]
    fn whoever_lost_the_lock_finds_out_at_once_and_leaves_it_to_the_next() {
        let bucket = bucket();
        let paused = Locked::take(&bucket, PATIENCE).unwrap();
        let next = Locked::take(&bucket, PATIENCE).unwrap();
        assert!(next.is_inherited());
        assert_eq!(paused.confirm().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(paused.require().unwrap_err().kind(), ErrorKind::Conflict);
        let before = bucket.get(LOCK).unwrap();
        drop(paused);
        assert_eq!(bucket.get(LOCK).unwrap(), before);
        next.confirm().unwrap();
    }

    /// Trust that is over is asked for again, so that a holder that slept does nothing before it knows.
    #[test]
    fn nothing_is_done_on_trust_that_is_old() {
        let bucket = bucket();
        let asleep = Locked::take(&bucket, Patience { trust: Duration::ZERO, ..PATIENCE }).unwrap();
        asleep.require().unwrap();
        let next = Locked::take(&bucket, PATIENCE).unwrap();
        assert_eq!(asleep.require().unwrap_err().kind(), ErrorKind::Conflict);
        next.require().unwrap();
    }

    #[test]
    fn of_many_who_see_the_same_old_lock_one_takes_it_over() {
        let bucket = bucket();
        let gone = Locked::take(&bucket, PATIENCE).unwrap();
        let (_, version) = bucket.get_version(LOCK).unwrap().unwrap();
        let take = |name: &str| {
            let text = text(name, 0).into_bytes();
            bucket.put_with(LOCK, text, PutMode::Update(version.clone())).map(drop).map_err(|error| error.kind())
        };
        assert_eq!((take("first"), take("second")), (Ok(()), Err(ErrorKind::Conflict)));
        assert!(gone.confirm().is_err());
    }
}
