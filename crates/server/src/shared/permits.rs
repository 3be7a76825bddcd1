//! The permits of running statements, of all protocols. A statement that gets none waits, and is refused after a while.
//!
//! A statement that waits returns its permit until it can continue: for its client, to read rows or to send them, or in
//! SQL, for an advisory lock or a time. The memory that it holds while it waits for its client is counted. Beyond a
//! limit, the statement that has waited longest for its client is ended, so that idle clients cannot block others.
//!
//! A role may have a number of permits of its own. A statement of the role holds one of them until it ends.

use super::metrics::{Counter, Gauge, GaugeGuard, Metrics};
use super::statement_options::StatementOptions;
use atsdb::sql::{Permission, Session, StatementWaits};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{AcquireError, Mutex as AsyncMutex, Notify, OwnedSemaphorePermit, Semaphore};

/// The time for which a statement waits before its permit is returned. Clients that read all the time pause for less.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// The permits of a server. Clones are the same ones.
#[derive(Debug, Clone)]
pub(crate) struct StatementPermits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    free: Arc<Semaphore>,
    /// The permits of the roles that have limits.
    of_roles: BTreeMap<Permission, Arc<Semaphore>>,
    hold_time: Duration,
    client_waits: Mutex<ClientWaits>,
    client_wait_bytes_max: usize,
    running: Gauge,
    refused: Counter,
}

/// The statements that wait for their clients, by the order in which they began to wait.
#[derive(Debug, Default)]
struct ClientWaits {
    statements: BTreeMap<u64, (usize, Arc<Notify>)>,
    byte_count: usize,
    last: u64,
}

/// The permit of one statement, which is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct StatementPermit {
    held: Arc<HeldPermit>,
    _of_role: Option<OwnedSemaphorePermit>,
    _counted: GaugeGuard,
}

/// The permit of a statement, as long as it does not wait.
#[derive(Debug)]
struct HeldPermit {
    permits: StatementPermits,
    state: Mutex<HeldState>,
    /// Held by the part that waits for the permit, so that a statement never waits for two.
    turn: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct HeldState {
    permit: Option<OwnedSemaphorePermit>,
    /// The number of parts of the statement that wait.
    wait_count: usize,
    has_ended: bool,
}

/// A part of a statement that waits. Others may have the statement's permit meanwhile.
struct WaitingPart<'a>(&'a HeldPermit);

/// Too many statements are running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoPermit;

/// The statement was ended because its client was idle, and so were others that held too much memory together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooSlow;

/// A statement that waits for its client.
struct ClientWait<'a> {
    permits: &'a StatementPermits,
    number: u64,
    ended: Arc<Notify>,
}

impl StatementPermits {
    pub(crate) fn new(options: &StatementOptions, metrics: &Metrics) -> Self {
        let running = metrics.gauge("atsdb_statements", "Statements that run or wait for their clients.");
        let refused = "atsdb_statements_refused_total";
        let refused = metrics.counter(refused, "Statements that were refused because too many were running.");
        let semaphore = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        let of_roles = [Permission::Read, Permission::Change, Permission::Define].into_iter();
        let of_roles = of_roles.filter_map(|role| Some((role, semaphore(options.of_role(role).running_max?))));
        Self(Arc::new(Inner {
            free: semaphore(options.running_max),
            of_roles: of_roles.collect(),
            hold_time: options.hold_time,
            client_waits: Mutex::default(),
            client_wait_bytes_max: options.memory_of_one(),
            running,
            refused,
        }))
    }

    /// Waits for a permit for a statement of the role that has a permission.
    pub(crate) async fn take(&self, permission: Permission) -> Result<StatementPermit, NoPermit> {
        let both = async {
            // A statement that waits for its role takes nothing from other roles.
            let of_role = match self.0.of_roles.get(&permission) {
                Some(of_role) => Some(Arc::clone(of_role).acquire_owned().await?),
                None => None,
            };
            Ok::<_, AcquireError>((of_role, Arc::clone(&self.0.free).acquire_owned().await?))
        };
        match tokio::time::timeout(self.0.hold_time, both).await {
            Ok(Ok((of_role, permit))) => Ok(self.held(of_role, permit)),
            _ => {
                self.0.refused.increment();
                Err(NoPermit)
            }
        }
    }

    /// Takes a permit for a statement of the role that has a permission, if one is free.
    pub(crate) fn try_take(&self, permission: Permission) -> Option<StatementPermit> {
        let of_role = match self.0.of_roles.get(&permission) {
            Some(of_role) => Some(Arc::clone(of_role).try_acquire_owned().ok()?),
            None => None,
        };
        Some(self.held(of_role, Arc::clone(&self.0.free).try_acquire_owned().ok()?))
    }

    fn held(&self, of_role: Option<OwnedSemaphorePermit>, permit: OwnedSemaphorePermit) -> StatementPermit {
        let state = Mutex::new(HeldState { permit: Some(permit), ..HeldState::default() });
        let held = Arc::new(HeldPermit { permits: self.clone(), state, turn: AsyncMutex::default() });
        StatementPermit { held, _of_role: of_role, _counted: self.0.running.hold() }
    }

    fn wait(&self, byte_count: usize) -> ClientWait<'_> {
        let mut client_waits = self.0.client_waits.lock();
        client_waits.last += 1;
        let (number, ended) = (client_waits.last, Arc::new(Notify::new()));
        client_waits.statements.insert(number, (byte_count, Arc::clone(&ended)));
        client_waits.byte_count = client_waits.byte_count.saturating_add(byte_count);
        while client_waits.byte_count > self.0.client_wait_bytes_max
            && let Some((_, (byte_count, ended))) = client_waits.statements.pop_first()
        {
            client_waits.byte_count -= byte_count;
            ended.notify_one();
        }
        ClientWait { permits: self, number, ended }
    }
}

impl Drop for ClientWait<'_> {
    fn drop(&mut self) {
        let mut client_waits = self.permits.0.client_waits.lock();
        if let Some((byte_count, _)) = client_waits.statements.remove(&self.number) {
            client_waits.byte_count -= byte_count;
        }
    }
}

impl StatementPermit {
    /// Lends the permit to others from now on while a statement of the session waits for an advisory lock or a time.
    pub(crate) fn follow_waits(&self, session: &Session) {
        session.set_waits(Arc::<HeldPermit>::clone(&self.held));
    }

    /// Waits for the client, while the statement holds `byte_count` bytes.
    pub(crate) async fn wait_for<T>(
        &mut self,
        byte_count: usize,
        client: impl Future<Output = T>,
    ) -> Result<T, TooSlow> {
        let mut client = pin!(client);
        if let Ok(done) = tokio::time::timeout(PAUSE_MAX, client.as_mut()).await {
            return Ok(done);
        }
        let waiting = self.held.permits.wait(byte_count);
        let part = self.held.leave();
        let back = async {
            let done = client.await;
            part.come_back().await;
            done
        };
        tokio::select! {
            () = waiting.ended.notified() => {
                // The statement ends: what it still does needs no permit.
                self.held.state.lock().permit = None;
                Err(TooSlow)
            }
            done = back => Ok(done),
        }
    }
}

impl Drop for StatementPermit {
    fn drop(&mut self) {
        let mut state = self.held.state.lock();
        (state.permit, state.has_ended) = (None, true);
    }
}

impl HeldState {
    /// Returns whether the statement runs without a permit.
    fn lacks_permit(&self) -> bool {
        self.wait_count == 0 && !self.has_ended && self.permit.is_none()
    }
}

impl HeldPermit {
    /// A part of the statement begins to wait: others may have the permit.
    fn leave(&self) -> WaitingPart<'_> {
        let mut state = self.state.lock();
        state.wait_count += 1;
        state.permit = None;
        WaitingPart(self)
    }
}

impl WaitingPart<'_> {
    /// The part has waited. It continues when the statement has a permit again, or if others of its parts still wait.
    ///
    /// One part takes the permit for all. If each took its own, the second one could wait for the permit that the first
    /// one has, and the first one for rows of the second.
    async fn come_back(self) {
        let held = self.0;
        drop(self);
        if !held.state.lock().lacks_permit() {
            return;
        }
        let _turn = held.turn.lock().await;
        if !held.state.lock().lacks_permit() {
            return;
        }
        let permit = Arc::clone(&held.permits.0.free).acquire_owned().await;
        let mut state = held.state.lock();
        if state.lacks_permit() {
            state.permit = permit.ok();
        }
    }
}

impl Drop for WaitingPart<'_> {
    /// Other parts may have continued without a permit because this one waited. The statement has one again, if one is
    /// free. Otherwise they continue without until one of them waits again.
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.wait_count -= 1;
        if state.lacks_permit() {
            state.permit = Arc::clone(&self.0.permits.0.free).try_acquire_owned().ok();
        }
    }
}

impl StatementWaits for HeldPermit {
    fn wait<'a>(&'a self, mut until: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if tokio::time::timeout(PAUSE_MAX, until.as_mut()).await.is_ok() {
                return;
            }
            let part = self.leave();
            until.await;
            part.come_back().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::statement_options::RoleLimits;
    use futures::FutureExt;
    use tokio::sync::oneshot;

    /// Permits that statements await for as long as a test may take on a busy machine.
    fn permits(running_max: usize, memory_bytes: usize) -> StatementPermits {
        permits_awaited_for(Duration::from_secs(60), running_max, memory_bytes)
    }

    /// Returns whether a statement would wait for a permit.
    async fn would_wait(permits: &StatementPermits) -> bool {
        tokio::time::timeout(Duration::from_millis(50), permits.take(Permission::Define)).await.is_err()
    }

    fn permits_awaited_for(hold_time: Duration, running_max: usize, memory_bytes: usize) -> StatementPermits {
        let options = StatementOptions { running_max, memory_bytes, hold_time, ..StatementOptions::default() };
        StatementPermits::new(&options, &Metrics::default())
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    #[test]
    fn a_statement_without_a_permit_is_refused() {
        run(async {
            let permits = permits_awaited_for(Duration::from_millis(50), 1, 100);
            let first = permits.take(Permission::Define).await.unwrap();
            assert_eq!(permits.take(Permission::Define).await.unwrap_err(), NoPermit);
            assert_eq!((permits.0.running.value(), permits.0.refused.value()), (1, 1));
            drop(first);
            assert!(permits.take(Permission::Define).await.is_ok());
            assert_eq!((permits.0.running.value(), permits.0.refused.value()), (0, 1));
        });
    }

    #[test]
    fn a_role_with_a_limit_leaves_permits_to_others() {
        run(async {
            let read = RoleLimits { running_max: Some(1), ..RoleLimits::default() };
            let hold_time = Duration::from_millis(50);
            let options = StatementOptions { running_max: 2, hold_time, read, ..StatementOptions::default() };
            let permits = StatementPermits::new(&options, &Metrics::default());
            let mut first = permits.take(Permission::Read).await.unwrap();
            assert_eq!(permits.take(Permission::Read).await.unwrap_err(), NoPermit);
            let other = permits.take(Permission::Change).await.unwrap();
            drop(other);
            // A statement that waits for its client counts for its role.
            let waiting = tokio::spawn(async move { first.wait_for(1, std::future::pending::<()>()).await });
            assert_eq!(permits.take(Permission::Read).await.unwrap_err(), NoPermit);
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
            assert!(permits.take(Permission::Read).await.is_ok());
        });
    }

    #[test]
    fn a_permit_is_free_while_a_client_is_waited_for() {
        run(async {
            let permits = permits(1, 100);
            let mut first = permits.take(Permission::Define).await.unwrap();
            let (read, reading) = oneshot::channel();
            let waiting = tokio::spawn(async move { (first.wait_for(10, reading).await.is_ok(), first) });
            let second = permits.take(Permission::Define).await.unwrap();
            // The client is ready, but the permit is not free yet.
            read.send(()).unwrap();
            assert!(would_wait(&permits).await);
            assert!(!waiting.is_finished());
            drop(second);
            let (is_back, first) = waiting.await.unwrap();
            assert!(is_back);
            assert!(would_wait(&permits).await);
            drop(first);
            assert_eq!(permits.0.client_waits.lock().byte_count, 0);
        });
    }

    #[test]
    fn a_permit_is_free_while_parts_of_its_statement_wait_in_sql() {
        run(async {
            let permits = permits(1, 100);
            let first = permits.take(Permission::Define).await.unwrap();
            // What takes no time keeps the permit.
            first.held.wait(Box::pin(std::future::ready(()))).await;
            assert!(would_wait(&permits).await);
            let held = Arc::clone(&first.held);
            let wait = || {
                let (end, ended) = oneshot::channel::<()>();
                let held = Arc::clone(&held);
                let until = async {
                    let _ = ended.await;
                };
                (end, tokio::spawn(async move { held.wait(Box::pin(until)).await }))
            };
            let waiting = async |count: usize| {
                while held.state.lock().wait_count < count {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let ((end_one, one), (end_other, other)) = (wait(), wait());
            waiting(2).await;
            let second = permits.take(Permission::Define).await.unwrap();
            // A part continues without a permit only while another part of the statement waits.
            end_one.send(()).unwrap();
            one.await.unwrap();
            end_other.send(()).unwrap();
            assert!(would_wait(&permits).await);
            assert!(!other.is_finished());
            drop(second);
            other.await.unwrap();
            assert!(would_wait(&permits).await);
            // A statement that ends while it waits takes no permit again.
            let (end, last) = wait();
            waiting(1).await;
            drop(first);
            end.send(()).unwrap();
            last.await.unwrap();
            assert!(permits.take(Permission::Define).await.is_ok());
        });
    }

    #[test]
    fn parts_of_a_statement_that_come_back_together_need_one_permit() {
        run(async {
            let permits = permits(1, 100);
            let first = permits.take(Permission::Define).await.unwrap();
            let held = Arc::clone(&first.held);
            let part = held.leave();
            let second = permits.take(Permission::Define).await.unwrap();
            let mut one = pin!(part.come_back());
            assert!(one.as_mut().now_or_never().is_none());
            // Another part waits and comes back while the first one still waits for the permit.
            let mut other = pin!(held.leave().come_back());
            assert!(other.as_mut().now_or_never().is_none());
            drop(second);
            let both = futures::future::join(one, other);
            let in_time = tokio::time::timeout(Duration::from_secs(10), both).await;
            assert!(in_time.is_ok(), "a part of the statement waits for a permit that another part of it has");
            assert!(would_wait(&permits).await);
            drop(first);
            assert!(permits.take(Permission::Define).await.is_ok());
        });
    }

    #[test]
    fn a_part_that_ends_while_it_waits_is_not_waited_for() {
        run(async {
            let permits = permits(1, 100);
            let first = permits.take(Permission::Define).await.unwrap();
            drop(first.held.leave());
            first.held.wait(Box::pin(tokio::time::sleep(2 * PAUSE_MAX))).await;
            assert!(would_wait(&permits).await, "the statement runs without a permit");
        });
    }

    #[test]
    fn a_part_that_has_come_back_gets_a_permit_when_the_others_are_gone() {
        run(async {
            let permits = permits(1, 100);
            let first = permits.take(Permission::Define).await.unwrap();
            let (one, other) = (first.held.leave(), first.held.leave());
            one.come_back().await;
            assert!(permits.take(Permission::Define).await.is_ok(), "a part of the statement still waits");
            drop(other);
            assert!(would_wait(&permits).await, "the statement runs without a permit");
            drop(first);
            assert!(permits.take(Permission::Define).await.is_ok());
        });
    }

    #[test]
    fn the_statement_that_waited_longest_ends_when_too_much_is_held() {
        run(async {
            let permits = permits(1, 200);
            let mut waiting = Vec::new();
            for _ in 0..3 {
                let mut permit = permits.take(Permission::Define).await.unwrap();
                waiting.push(tokio::spawn(async move { permit.wait_for(40, std::future::pending::<()>()).await }));
            }
            assert_eq!(waiting.remove(0).await.unwrap(), Err(TooSlow));
            assert_eq!(permits.0.client_waits.lock().byte_count, 80);
            assert!(waiting.iter().all(|other| !other.is_finished()));
            // One that holds more than all may hold ends itself, after the others.
            let mut large = permits.take(Permission::Define).await.unwrap();
            assert_eq!(large.wait_for(1_000, std::future::pending::<()>()).await, Err(TooSlow));
            for other in waiting {
                assert_eq!(other.await.unwrap(), Err(TooSlow));
            }
            assert!(permits.take(Permission::Define).await.is_ok());
        });
    }
}
