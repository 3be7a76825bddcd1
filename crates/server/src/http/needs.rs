//! What the addresses of the server ask of those who use them.

use crate::access::role::Role;
use std::collections::BTreeMap;

/// What an address asks of those who use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// It answers anybody.
    Nothing,
    /// The user has this role, or one that may do more.
    Role(Role),
}

/// The addresses of a room and what they need, each as its route is written. An address that is missing here answers
/// nobody.
pub(crate) type RouteNeeds = &'static [(&'static str, Needs)];

/// What all addresses need.
pub(crate) fn of_rooms(rooms: &[RouteNeeds]) -> BTreeMap<&'static str, Needs> {
    rooms.iter().flat_map(|room| room.iter().copied()).collect()
}
