//! The roles that the paths of the server require.

use crate::access::role::Role;
use std::collections::BTreeMap;

/// The role that a path requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredRole {
    /// Everybody may use the path.
    Anybody,
    /// The user must have this role, or one with more rights.
    AtLeast(Role),
}

/// The paths of a room, written as in their routes, and the roles that they require. A path that is missing here is
/// refused to everybody.
pub(crate) type RouteRoles = &'static [(&'static str, RequiredRole)];

/// The roles that all paths require.
pub(crate) fn roles_of_rooms(rooms: &[RouteRoles]) -> BTreeMap<&'static str, RequiredRole> {
    rooms.iter().flat_map(|room| room.iter().copied()).collect()
}
