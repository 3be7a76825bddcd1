//! The servers that contestants run on: started by the lab on this machine, in a scratch folder and reachable only over
//! a local socket, or named by a URL.
//!
//! Owned here: the kinds of servers ([`ServerKind`]), their addresses ([`ServerAddress`]), starting and stopping them
//! ([`Servers`]), and the facts that the system reports about their processes. Not owned: how contestants use them.

mod account;
mod address;
mod launch;
mod mariadb;
mod postgres;
mod servers;

pub use address::{ServerAddress, ServerKind, ServerUrls};
pub(crate) use mariadb::{mysql_client, server_failure};
pub(crate) use postgres::{postgres_client, postgres_failure, postgres_session};
pub use servers::Servers;
