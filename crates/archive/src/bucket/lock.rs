//! The lock object of a bucket: one writer at a time, among machines that do not know each other.
//!
//! Every version of the object has a different text, so its ETag identifies the version. Every change is a conditional
//! put on the version that was seen: taking the lock, renewing it, taking it over from a dead writer, releasing it. The
//! object is never deleted, as deletions cannot be conditional. Between two renewals a holder relies on the last one.
//! So that time is short, and the lock is renewed before anything is deleted.

#![expect(clippy::disallowed_methods, reason = "how long a lock has not been renewed is measured, and waited for")]

use super::client::Bucket;
use crate::objects::{Lock, Objects};
use atsdb_core::{Error, ErrorKind, Result, hex};
use atsdb_engine::{Environment, SystemEnvironment};
use object_store::{PutMode, UpdateVersion};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The object.
pub(super) const LOCK: &str = "lock";
/// The beginning of the text of a free lock.
const FREE: &str = "free";

/// The times of a lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockTimes {
    /// The interval between two renewals.
    pub(super) renew: Duration,
    /// The time for which a holder relies on its last renewal.
    pub(super) valid: Duration,
    /// A lock that was not renewed for this long belongs to a dead writer. It is longer than `valid` plus a request
    /// sent at the end of that time.
    pub(super) expired: Duration,
    /// The interval between two checks of another writer's lock.
    pub(super) step: Duration,
}

impl LockTimes {
    pub(super) const DEFAULT: Self = Self {
        renew: Duration::from_secs(3),
        valid: Duration::from_secs(4),
        expired: Duration::from_secs(12),
        step: Duration::from_millis(500),
    };
}

/// The lock while it is held. A thread renews it.
pub(super) struct BucketLock {
    holder: Arc<LockHolder>,
    is_inherited: bool,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the lock and its thread share.
struct LockHolder {
    bucket: Bucket,
    /// Unique among all processes of all machines.
    name: String,
    is_lost: AtomicBool,
    version: Mutex<LockVersion>,
    valid: Duration,
}

/// The version of the object that the holder wrote last.
struct LockVersion {
    number: u64,
    known: UpdateVersion,
    /// The time at which writing it began, by two clocks: one stops while the machine sleeps, the other can be set.
    since: Instant,
    since_ms: i64,
}

impl BucketLock {
    pub(super) fn take(bucket: &Bucket, times: LockTimes) -> Result<Self> {
        let name = hex::encode(&SystemEnvironment.random()?);
        let (known, is_inherited, since, since_ms) = wait_and_take(bucket, &name, times)?;
        let version = Mutex::new(LockVersion { number: 0, known, since, since_ms });
        let (bucket, is_lost) = (bucket.clone(), AtomicBool::new(false));
        let holder = Arc::new(LockHolder { bucket, name, is_lost, version, valid: times.valid });
        holder.require_conditions()?;
        let (stop, stopped) = channel::<()>();
        let renew = {
            let holder = Arc::clone(&holder);
            move || {
                while stopped.recv_timeout(times.renew) == Err(RecvTimeoutError::Timeout) {
                    // A failed renewal is retried: the lock stays valid for several of them.
                    let _ = holder.renew();
                    if holder.is_lost.load(Ordering::SeqCst) {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("atsdb-s3-lock".into()).spawn(renew).map_err(Error::no_thread)?;
        Ok(Self { holder, is_inherited, stop: Some(stop), thread: Some(thread) })
    }
}

fn text(holder: &str, number: u64) -> String {
    format!("{holder} writes a backup, {number}\n")
}

/// Waits until the lock is free or its holder is dead, and takes it. Returns its version, whether the previous holder
/// did not release it, and when writing it began by both clocks.
fn wait_and_take(bucket: &Bucket, name: &str, times: LockTimes) -> Result<(UpdateVersion, bool, Instant, i64)> {
    let started = Instant::now();
    let mut seen: Option<(Vec<u8>, Instant)> = None;
    loop {
        let there = bucket.get_version(LOCK)?;
        let (mode, is_inherited) = match there {
            None => (PutMode::Create, false),
            Some((text, version)) if text.starts_with(FREE.as_bytes()) => (PutMode::Update(version), false),
            Some((text, version)) => match &seen {
                Some((before, since)) if *before == text && since.elapsed() > times.expired => {
                    (PutMode::Update(version), true)
                }
                Some((before, _)) if *before == text => {
                    std::thread::sleep(times.step);
                    continue;
                }
                // It has been renewed: its writer is alive.
                Some(_) if started.elapsed() > times.expired => return Err(busy(bucket)),
                _ => {
                    seen = Some((text, Instant::now()));
                    std::thread::sleep(times.step);
                    continue;
                }
            },
        };
        let (since, since_ms) = (Instant::now(), SystemEnvironment.now_ms());
        let is_new = matches!(mode, PutMode::Create);
        match bucket.put_with(LOCK, text(name, 0).into_bytes(), mode) {
            Ok(version) => return Ok((version, is_inherited, since, since_ms)),
            // If the object is to be created, NotFound means that the bucket does not exist.
            Err(error) if is_refused(&error) && !(is_new && error.kind() == ErrorKind::NotFound) => {
                // Another writer was faster; or the put succeeded, its answer was lost, and the client sent it again.
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
    Error::new(ErrorKind::Busy, format!("another backup to {} is running", bucket.location()))
        .with_hint("retry when it has finished")
}

/// Returns whether a put was refused because of its condition.
fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
}

impl LockHolder {
    /// Refuses a server that ignores conditions: the lock would exclude no other writer.
    fn require_conditions(&self) -> Result<()> {
        let version = self.version.lock();
        let never = UpdateVersion { e_tag: Some(format!("\"{}\"", "0".repeat(32))), version: None };
        match self.bucket.put_with(LOCK, text(&self.name, version.number).into_bytes(), PutMode::Update(never)) {
            Err(error) if is_refused(&error) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::new(
                ErrorKind::Unavailable,
                format!("the server of {} does not support conditional writes (If-Match)", self.bucket.location()),
            )
            .with_hint("two concurrent backups could damage each other: use a server that supports them")),
        }
    }

    /// Replaces the version by the next one.
    fn renew(&self) -> Result<()> {
        let mut version = self.version.lock();
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(self.lost());
        }
        let (since, since_ms) = (Instant::now(), SystemEnvironment.now_ms());
        let next = text(&self.name, version.number + 1).into_bytes();
        let written = self.bucket.put_with(LOCK, next.clone(), PutMode::Update(version.known.clone()));
        let known = match written {
            Ok(known) => known,
            Err(error) if is_refused(&error) => match self.bucket.get_version(LOCK)? {
                // The put succeeded, but its answer was lost.
                Some((there, known)) if there == next => known,
                _ => {
                    self.is_lost.store(true, Ordering::SeqCst);
                    return Err(self.lost());
                }
            },
            Err(error) => return Err(error),
        };
        *version = LockVersion { number: version.number + 1, known, since, since_ms };
        Ok(())
    }

    fn lost(&self) -> Error {
        let message = format!("another backup to {} has taken over", self.bucket.location());
        Error::new(ErrorKind::Conflict, message).with_hint("back up again: the next backup uses what was written")
    }

    fn is_valid(&self) -> bool {
        let version = self.version.lock();
        let by_wall = SystemEnvironment.now_ms().saturating_sub(version.since_ms);
        let valid_ms = i64::try_from(self.valid.as_millis()).unwrap_or(i64::MAX);
        version.since.elapsed() <= self.valid && (0..=valid_ms).contains(&by_wall)
    }
}

impl Lock for BucketLock {
    fn require(&self) -> Result<()> {
        match self.holder.is_lost.load(Ordering::SeqCst) {
            true => Err(self.holder.lost()),
            false if self.holder.is_valid() => Ok(()),
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

impl Drop for BucketLock {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let version = self.holder.version.lock();
        let free = format!("{FREE}: {} has written a backup, {}\n", self.holder.name, version.number);
        // If another writer has taken over, it keeps the lock. If the release fails, the lock expires.
        let _ = self.holder.bucket.put_with(LOCK, free.into_bytes(), PutMode::Update(version.known.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    /// No lock is renewed in the background, and a waiting writer finds immediately that a lock has expired.
    const TIMES: LockTimes = LockTimes {
        renew: Duration::from_secs(3_600),
        valid: Duration::from_secs(3_600),
        expired: Duration::ZERO,
        step: Duration::from_millis(1),
    };

    fn bucket() -> Bucket {
        Bucket::over(Arc::new(InMemory::new()), "s3://test/air").unwrap()
    }

    #[test]
    fn a_released_lock_is_free_at_once() {
        let bucket = bucket();
        for _ in 0..3 {
            let lock = BucketLock::take(&bucket, LockTimes::DEFAULT).unwrap();
            assert!(!lock.is_inherited());
            lock.require().unwrap();
            lock.confirm().unwrap();
        }
        assert!(bucket.is_empty().unwrap());
    }

    #[test]
    fn a_holder_that_lost_the_lock_finds_out_at_once_and_leaves_it_to_the_next() {
        let bucket = bucket();
        let paused = BucketLock::take(&bucket, TIMES).unwrap();
        let next = BucketLock::take(&bucket, TIMES).unwrap();
        assert!(next.is_inherited());
        assert_eq!(paused.confirm().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(paused.require().unwrap_err().kind(), ErrorKind::Conflict);
        let before = bucket.get(LOCK).unwrap();
        drop(paused);
        assert_eq!(bucket.get(LOCK).unwrap(), before);
        next.confirm().unwrap();
    }

    /// A holder whose machine has slept renews the lock before it relies on it.
    #[test]
    fn an_old_renewal_is_not_relied_on() {
        let bucket = bucket();
        let asleep = BucketLock::take(&bucket, LockTimes { valid: Duration::ZERO, ..TIMES }).unwrap();
        asleep.require().unwrap();
        let next = BucketLock::take(&bucket, TIMES).unwrap();
        assert_eq!(asleep.require().unwrap_err().kind(), ErrorKind::Conflict);
        next.require().unwrap();
    }

    #[test]
    fn one_of_many_writers_takes_an_expired_lock_over() {
        let bucket = bucket();
        let gone = BucketLock::take(&bucket, TIMES).unwrap();
        let (_, version) = bucket.get_version(LOCK).unwrap().unwrap();
        let take = |name: &str| {
            let text = text(name, 0).into_bytes();
            bucket.put_with(LOCK, text, PutMode::Update(version.clone())).map(drop).map_err(|error| error.kind())
        };
        assert_eq!((take("first"), take("second")), (Ok(()), Err(ErrorKind::Conflict)));
        assert!(gone.confirm().is_err());
    }
}
