//! The rights that the paths of the server require.

use crate::access::role::Role;
use std::collections::BTreeMap;

/// The right that a path requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The path needs no role.
    Nothing,
    /// The user must have this role, or one with more rights.
    Role(Role),
}

/// The paths of a room, written as in their routes, and the rights that they require. A path that is missing here is
/// refused to everybody.
pub(crate) type RouteNeeds = &'static [(&'static str, Needs)];

/// The requirements of all paths.
pub(crate) fn of_rooms(rooms: &[RouteNeeds]) -> BTreeMap<&'static str, Needs> {
    rooms.iter().flat_map(|room| room.iter().copied()).collect()
}
