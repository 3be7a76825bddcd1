//! Leases: which process runs the maintenance.

use crate::state::{Lease, StoreState};
use atsdb_core::clock_skew::{lease_end, lease_end_max};

/// Takes or extends a lease. Returns whether the holder has it now.
pub(crate) fn acquire(state: &mut StoreState, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> bool {
    if let Some(lease) = state.leases.get(name)
        && lease.holder != holder
        && lease.expires_ms > now_ms
        && lease.expires_ms <= lease_end_max(now_ms)
    {
        return false;
    }
    let lease = Lease { holder: holder.to_owned(), expires_ms: lease_end(now_ms, ttl_ms) };
    state.leases.insert(name.to_owned(), lease);
    true
}

/// Releases a lease, if the holder has it.
pub(crate) fn release(state: &mut StoreState, name: &str, holder: &str) {
    if state.leases.get(name).is_some_and(|lease| lease.holder == holder) {
        state.leases.remove(name);
    }
}
