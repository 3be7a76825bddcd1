//! Who asks, and from where.

use super::role::Role;
use std::net::IpAddr;
use std::sync::Arc;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The user; `None` where the server has no users.
    pub(crate) user: Option<Arc<str>>,
    pub(crate) role: Role,
}

impl Caller {
    /// Anybody, where the server has no users.
    pub(crate) const ANYBODY: Self = Self { user: None, role: Role::Admin };
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether the address that it has reached is one of this machine alone.
    pub(crate) is_local: bool,
}
