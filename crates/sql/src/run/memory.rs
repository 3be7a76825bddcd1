//! Divides memory among the queries that run at the same time. While only one session uses the memory, a query that
//! runs alone may hold all of it, and several get equal parts. If sessions share it, a query leaves room for another
//! one of the same size, so that the next query gets some. A small part is always available to every query, however
//! much the others hold. Within a query, operators that can write to disk get equal parts of the memory that the other
//! operators leave.

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The part that a query can always get is the memory divided by this.
const SMALL_SHARE: usize = 64;

/// The memory of all queries.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes_max: usize,
    /// Whether several sessions use it.
    is_shared: AtomicBool,
    state: Mutex<SharedState>,
}

#[derive(Debug, Default)]
struct SharedState {
    used: usize,
    /// Queries that hold more than the small part.
    large_count: usize,
}

/// The memory of one query, from which DataFusion's operators reserve.
pub(crate) struct QueryMemory {
    shared: Arc<SharedMemory>,
    state: Mutex<QueryState>,
}

#[derive(Debug, Default)]
struct QueryState {
    unspillable: usize,
    spillable: usize,
    /// Operators that can write to disk.
    spiller_count: usize,
    is_large: bool,
}

impl QueryState {
    fn used(&self) -> usize {
        self.unspillable + self.spillable
    }

    fn of_kind(&mut self, reservation: &MemoryReservation) -> &mut usize {
        if reservation.consumer().can_spill() { &mut self.spillable } else { &mut self.unspillable }
    }
}

impl SharedMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, is_shared: AtomicBool::new(false), state: Mutex::default() })
    }

    /// Marks the memory as shared by several sessions.
    pub(crate) fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    fn small(&self) -> usize {
        self.bytes_max / SMALL_SHARE
    }

    /// The maximum that a query may hold if it requests `wanted` bytes.
    fn limit(&self, query: &QueryState, wanted: usize) -> usize {
        let state = self.state.lock();
        let others_large = state.large_count - usize::from(query.is_large);
        let large_count = others_large + usize::from(wanted > self.small());
        let parts = large_count + usize::from(self.is_shared.load(Ordering::Relaxed));
        let free = self.bytes_max.saturating_sub(state.used - query.used());
        (self.bytes_max / parts.max(1)).min(free).max(self.small())
    }
}

impl QueryMemory {
    pub(crate) fn new(shared: &Arc<SharedMemory>) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(shared), state: Mutex::default() })
    }

    /// The bytes that the query's operators have reserved.
    pub(crate) fn used(&self) -> usize {
        self.state.lock().used()
    }

    /// Changes the amount held by one kind of operators, for this query and in the total of all queries.
    fn change(&self, state: &mut QueryState, reservation: &MemoryReservation, change: impl Fn(usize) -> usize) {
        let before = state.used();
        let held = state.of_kind(reservation);
        *held = change(*held);
        self.note(state, before);
    }

    fn note(&self, state: &mut QueryState, before: usize) {
        let mut shared = self.shared.state.lock();
        shared.used = (shared.used + state.used()).saturating_sub(before);
        let is_large = state.used() > self.shared.small();
        if is_large != state.is_large {
            state.is_large = is_large;
            shared.large_count = if is_large { shared.large_count + 1 } else { shared.large_count.saturating_sub(1) };
        }
    }
}

impl Drop for QueryMemory {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.state.lock());
        let before = state.used();
        (state.spillable, state.unspillable) = (0, 0);
        self.note(&mut state, before);
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.state.lock().spiller_count += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state.lock();
        state.spiller_count = state.spiller_count.saturating_sub(usize::from(consumer.can_spill()));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.change(&mut self.state.lock(), reservation, |held| held + additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.change(&mut self.state.lock(), reservation, |held| held.saturating_sub(shrink));
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state.lock();
        let limit = self.shared.limit(&state, state.used() + additional);
        let (wanted, available) = if reservation.consumer().can_spill() {
            let of_spillers = limit.saturating_sub(state.unspillable);
            (reservation.size() + additional, of_spillers / state.spiller_count.max(1))
        } else {
            (additional, limit.saturating_sub(state.used()))
        };
        if wanted > available {
            let name = reservation.consumer().name();
            let message = format!("{name} asks for {wanted} bytes, {available} of {limit} are left");
            return Err(DataFusionError::ResourcesExhausted(message));
        }
        self.change(&mut state, reservation, |held| held + additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.used()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.shared.bytes_max)
    }
}

impl fmt::Debug for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryMemory").field("state", &*self.state.lock()).finish_non_exhaustive()
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query({} bytes)", self.used())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(shared: &Arc<SharedMemory>) -> (Arc<QueryMemory>, MemoryReservation) {
        let memory = QueryMemory::new(shared);
        let pool: Arc<dyn MemoryPool> = Arc::<QueryMemory>::clone(&memory);
        (memory, MemoryConsumer::new("test").register(&pool))
    }

    #[test]
    fn a_query_of_the_only_session_may_hold_all() {
        let shared = SharedMemory::new(6_400);
        let (memory, first) = query(&shared);
        first.try_grow(6_400).unwrap();
        assert!(first.try_grow(1).is_err());
        let (_, second) = query(&shared);
        second.try_grow(100).unwrap();
        assert!(second.try_grow(1).is_err(), "more than the small part that everybody gets");
        first.shrink(5_000);
        second.try_grow(3_000).unwrap();
        assert!(second.try_grow(200).is_err(), "more than the half that is left to each of two");
        assert_eq!(memory.used(), 1_400);
        drop((first, memory));
        second.try_grow(3_300).unwrap();
    }

    #[test]
    fn where_sessions_share_a_query_leaves_room_for_the_next() {
        let shared = SharedMemory::new(6_400);
        shared.share();
        let (_, first) = query(&shared);
        first.try_grow(3_200).unwrap();
        assert!(first.try_grow(1).is_err());
        let (_, second) = query(&shared);
        second.try_grow(2_100).unwrap();
        assert!(second.try_grow(100).is_err());
        drop(first);
        second.try_grow(1_000).unwrap();
    }

    #[test]
    fn operators_that_write_to_disk_share_what_the_others_leave() {
        let shared = SharedMemory::new(1_000);
        let (memory, fixed) = query(&shared);
        let pool: Arc<dyn MemoryPool> = memory;
        let spiller = |name: &str| MemoryConsumer::new(name).with_can_spill(true).register(&pool);
        let (one, other) = (spiller("one"), spiller("other"));
        fixed.try_grow(200).unwrap();
        one.try_grow(400).unwrap();
        assert!(one.try_grow(1).is_err());
        other.try_grow(400).unwrap();
        drop(other);
        one.try_grow(400).unwrap();
        assert_eq!(shared.state.lock().used, 1_000);
        drop((fixed, one, pool));
        let state = shared.state.lock();
        assert_eq!((state.used, state.large_count), (0, 0));
    }
}
