//! The phases of a server's life, which its connections follow.

use tokio::sync::{mpsc, watch};

/// What a server does at present. A phase is never followed by an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It does not listen everywhere yet.
    Starting,
    /// It answers.
    Ready,
    /// It accepts no connections; what has been begun may end.
    Draining,
    /// Whatever still runs is cancelled.
    Stopping,
}

/// Who decides the phase, and knows who is still at work.
#[derive(Debug)]
pub(crate) struct PhaseOwner {
    phase: watch::Sender<Phase>,
    work: mpsc::Sender<()>,
    all_done: mpsc::Receiver<()>,
}

/// Follows the phase. While a clone that [`works`](PhaseFollower::work) lives, the server waits for it.
#[derive(Debug, Clone)]
pub(crate) struct PhaseFollower {
    phase: watch::Receiver<Phase>,
    work: mpsc::WeakSender<()>,
}

/// Something that the server waits for before it ends.
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
        // The last sender is the one here: it is replaced by one that is closed.
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
        // The owner has gone: so is the server.
        let _ = self.phase.wait_for(|now| *now >= phase).await;
    }

    /// Begins something that the server waits for.
    pub(crate) fn work(&self) -> Work {
        Work { _held: self.work.upgrade() }
    }
}
