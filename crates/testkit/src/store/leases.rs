//! Leases, with the caller's clock.

use super::helpers::*;
use atsdb_core::Store;
use atsdb_core::limits::LEASE_MS_MAX;

pub(super) fn a_lease_is_held_by_one_until_it_runs_out(store: &dyn Store) {
    assert!(store.acquire_lease("seal", "a", NOW_MS, 1_000).unwrap());
    assert!(!store.acquire_lease("seal", "b", NOW_MS, 1_000).unwrap());
    assert!(!store.acquire_lease("seal", "b", NOW_MS + 999, 1_000).unwrap());
    assert!(store.acquire_lease("seal", "b", NOW_MS + 1_000, 1_000).unwrap());
    assert!(!store.acquire_lease("seal", "a", NOW_MS + 1_001, 1_000).unwrap());
}

pub(super) fn a_lease_is_extended_by_its_holder(store: &dyn Store) {
    assert!(store.acquire_lease("seal", "a", NOW_MS, 1_000).unwrap());
    assert!(store.acquire_lease("seal", "a", NOW_MS + 500, 1_000).unwrap());
    assert!(!store.acquire_lease("seal", "b", NOW_MS + 1_400, 1_000).unwrap());
    assert!(store.acquire_lease("seal", "b", NOW_MS + 1_500, 1_000).unwrap());
}

pub(super) fn a_lease_is_released_only_by_its_holder(store: &dyn Store) {
    store.release_lease("seal", "a").unwrap();
    assert!(store.acquire_lease("seal", "a", NOW_MS, 1_000).unwrap());
    store.release_lease("seal", "b").unwrap();
    assert!(!store.acquire_lease("seal", "b", NOW_MS, 1_000).unwrap());
    store.release_lease("seal", "a").unwrap();
    assert!(store.acquire_lease("seal", "b", NOW_MS, 1_000).unwrap());
}

pub(super) fn leases_of_other_names_are_free(store: &dyn Store) {
    for name in ["seal", "Seal", "seal\0", "", "sé'al"] {
        assert!(store.acquire_lease(name, "a", NOW_MS, 1_000).unwrap(), "{name:?}");
        assert!(!store.acquire_lease(name, "A", NOW_MS, 1_000).unwrap(), "{name:?}");
    }
}

pub(super) fn a_lease_for_ever_is_one_of_the_longest_time(store: &dyn Store) {
    assert!(store.acquire_lease("seal", "a", NOW_MS, i64::MAX).unwrap());
    assert!(!store.acquire_lease("seal", "b", NOW_MS + LEASE_MS_MAX - 1, 1_000).unwrap());
    assert!(store.acquire_lease("seal", "b", NOW_MS + LEASE_MS_MAX, 1_000).unwrap());
    assert!(store.acquire_lease("seal", "a", i64::MAX - 1, i64::MAX).unwrap());
    assert!(!store.acquire_lease("seal", "b", i64::MAX - 1, 1_000).unwrap());
}

/// A process whose clock is days ahead took the lease, and has ended.
pub(super) fn a_lease_that_ends_later_than_any_can_has_run_out(store: &dyn Store) {
    for days in [1, 3, 40_000] {
        assert!(store.acquire_lease("copy", "ahead", NOW_MS + days * 86_400_000, 10_000).unwrap());
        assert!(store.acquire_lease("copy", "b", NOW_MS, 10_000).unwrap(), "{days}");
        assert!(!store.acquire_lease("copy", "c", NOW_MS, 10_000).unwrap());
    }
    // A small difference between clocks does not end a lease.
    store.release_lease("copy", "b").unwrap();
    assert!(store.acquire_lease("copy", "ahead", NOW_MS + LEASE_MS_MAX / 2, 10_000).unwrap());
    assert!(!store.acquire_lease("copy", "b", NOW_MS, 10_000).unwrap());
}
