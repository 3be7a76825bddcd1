//! The phases of a server's life, which its connections follow.

use tokio::sync::{mpsc, watch};

/// The current phase of a server. A phase is never followed by an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The server is not listening on all addresses yet.
    Starting,
    /// The server answers requests.
    Ready,
    /// The server accepts no new connections; running work may finish.
    Draining,
    /// Remaining work is cancelled.
    Stopping,
}

/// Sets the phase, and tracks unfinished work.
#[derive(Debug)]
pub(crate) struct PhaseOwner {
    phase: watch::Sender<Phase>,
    work: mpsc::Sender<()>,
    all_done: mpsc::Receiver<()>,
}

/// Observes the phase. The server waits for [`work`](PhaseFollower::work) that was begun with a follower.
#[derive(Debug, Clone)]
pub(crate) struct PhaseFollower {
    phase: watch::Receiver<Phase>,
    work: mpsc::WeakSender<()>,
}

/// Work that the server waits for before it ends.
#[derive(Debug)]
pub(crate) struct Work {
    _held: Option<mpsc::Sender<()>>,
}

impl PhaseOwner {
    pub(crate) fn new() -> (Self, PhaseFollower) {
        let (phase, followed) = watch::channel(Phase::Starting);
        let (work, all_done) = mpsc::channel(1);
        let follower = PhaseFollower { phase: followed, work: work.downgrade() };
        (Self { phase, work, all_done }, follower)
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Waits until all work has ended; none can begin any more.
    pub(crate) async fn wait(&mut self) {
        // The owner has the last sender, which is replaced by a closed one.
        let (closed, _) = mpsc::channel(1);
        self.work = closed;
        let _ = self.all_done.recv().await;
    }
}

impl PhaseFollower {
    pub(crate) fn now(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits until the server is in this phase or a later one.
    pub(crate) async fn reach(&mut self, phase: Phase) {
        // An error means that the owner was dropped, and the server has ended.
        let _ = self.phase.wait_for(|now| *now >= phase).await;
    }

    /// Begins work that the server waits for.
    pub(crate) fn work(&self) -> Work {
        Work { _held: self.work.upgrade() }
    }
}
