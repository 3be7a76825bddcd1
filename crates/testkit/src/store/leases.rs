//! Leases, with the caller's clock.

use super::helpers::*;
use atsdb_core::Store;

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

pub(super) fn a_lease_is_given_back_only_by_its_holder(store: &dyn Store) {
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

pub(super) fn a_lease_for_ever_does_not_overflow(store: &dyn Store) {
    assert!(store.acquire_lease("seal", "a", NOW_MS, i64::MAX).unwrap());
    assert!(!store.acquire_lease("seal", "b", i64::MAX - 1, 1_000).unwrap());
}
