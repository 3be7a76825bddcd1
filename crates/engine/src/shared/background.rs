//! A background thread that works repeatedly and ends with the engine.

use atsdb_core::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The thread. Dropping this ends it, at the next point where it checks.
pub(crate) struct Background {
    wakeups: Arc<Wakeups>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a thread. It must return once its wakeups are over.
    pub(crate) fn start(
        name: &str,
        wakeups: Arc<Wakeups>,
        run: impl FnOnce(&Wakeups) + Send + 'static,
    ) -> Result<Self> {
        let own = Arc::clone(&wakeups);
        let thread = Builder::new().name(name.to_owned()).spawn(move || run(&own)).map_err(Error::no_thread)?;
        Ok(Self { wakeups, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.wakeups.state.lock().over = true;
        self.wakeups.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// Messages to the thread. Without a thread they have no effect.
#[derive(Default)]
pub(crate) struct Wakeups {
    state: Mutex<WakeupState>,
    changed: Condvar,
}

#[derive(Default)]
struct WakeupState {
    woken: bool,
    over: bool,
}

impl Wakeups {
    /// Makes the thread work soon. Only the first wakeup since its last run wakes it, so that commits stay cheap.
    pub(crate) fn wake(&self) {
        if !std::mem::replace(&mut self.state.lock().woken, true) {
            self.changed.notify_one();
        }
    }

    /// Waits until the thread should work again: until `pause` has passed, or until a wakeup and then `gather` more for
    /// further wakeups. Returns whether there was a wakeup, or `None` if the thread is to end.
    pub(crate) fn wait(&self, pause: Duration, gather: Duration) -> Option<bool> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.over && !state.woken, pause);
        if state.woken {
            self.changed.wait_while_for(&mut state, |state| !state.over, gather);
        }
        (!state.over).then(|| std::mem::take(&mut state.woken))
    }

    /// Returns whether the thread is to end.
    pub(crate) fn are_over(&self) -> bool {
        self.state.lock().over
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(300);
    const FOR_EVER: Duration = Duration::from_secs(1 << 32);

    /// A thread that reports each time it wakes.
    fn reporting(pause: Duration, gather: Duration) -> (Background, Receiver<bool>) {
        let (sender, receiver) = channel();
        let run = move |wakeups: &Wakeups| {
            while let Some(woken) = wakeups.wait(pause, gather) {
                let _ = sender.send(woken);
            }
        };
        (Background::start("test", Arc::default(), run).unwrap(), receiver)
    }

    #[test]
    fn a_wakeup_is_followed_by_a_look_and_no_wakeup_is_lost() {
        let (background, looks) = reporting(FOR_EVER, Duration::ZERO);
        for _ in 0..100 {
            background.wakeups.wake();
            assert!(looks.recv_timeout(LONG).unwrap());
        }
    }

    #[test]
    fn wakeups_are_gathered_into_one_look() {
        let (background, looks) = reporting(FOR_EVER, SOON);
        let begun = Instant::now();
        for _ in 0..1_000 {
            background.wakeups.wake();
            std::thread::yield_now();
        }
        assert!(looks.recv_timeout(LONG).unwrap());
        std::thread::sleep(10 * SOON);
        // However slow the machine is, two checks are at least the collection time apart.
        let looks = 1 + looks.try_iter().count() as u32;
        assert!(looks * SOON <= begun.elapsed(), "{looks} looks");
    }

    #[test]
    fn without_a_wakeup_a_look_follows_the_pause() {
        let (_background, looks) = reporting(SOON, FOR_EVER);
        assert!(!looks.recv_timeout(LONG).unwrap());
    }

    #[test]
    fn the_thread_ends_when_it_is_dropped_whatever_it_waits_for() {
        for woken in [false, true] {
            let (background, looks) = reporting(FOR_EVER, FOR_EVER);
            if woken {
                background.wakeups.wake();
                std::thread::sleep(SOON);
            }
            drop(background);
            assert!(looks.recv().is_err());
        }
    }
}
