//! The servers that contestants run on: started by the lab on this machine, in a scratch folder and reachable only over
//! a local socket, or named by a URL; and servers that a contestant starts for one workspace.
//!
//! Owned here: the kinds of servers ([`ServerKind`]), their addresses ([`ServerAddress`]), starting and stopping them
//! ([`Servers`], `WorkspaceServers`), and the facts that the system reports about their processes. Not owned: how
//! contestants use them.

mod account;
mod address;
mod launch;
mod mariadb;
mod postgres;
mod servers;
mod workspace;

pub use address::{ServerAddress, ServerKind, ServerUrls};
pub(crate) use mariadb::{mysql_client, server_failure};
pub(crate) use postgres::{postgres_client, postgres_failure, postgres_session};
pub use servers::Servers;
pub(crate) use workspace::{Ports, WorkspaceProgram, WorkspaceServer, WorkspaceServers};
