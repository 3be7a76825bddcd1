//! The caller of a request, and the peer that it comes from.

use super::role::Role;
use std::net::IpAddr;
use std::sync::Arc;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The user; `None` if the server has no users.
    pub(crate) user: Option<Arc<str>>,
    pub(crate) role: Role,
}

impl Caller {
    /// The caller on a server without users.
    pub(crate) const ANYBODY: Self = Self { user: None, role: Role::Admin };
}

/// The remote end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether it connected to an address that is reachable only from this machine.
    pub(crate) is_local: bool,
}
