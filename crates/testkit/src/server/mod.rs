//! Database servers for tests: started on loopback, with a data folder that vanishes with them. One server of each kind
//! serves all tests of a process, each with its own database; a test that kills its server starts a separate one.
//! Servers end with the process, however it ends. Data folders are copied from one that was created once and is kept in
//! the target folder.

mod certificates;
mod data;
mod galera;
mod mariadb;
mod moto;
mod mysql;
mod pooler;
mod postgres;
mod setup;
mod spider;
mod test_server;

pub use data::ServerKind;
pub use galera::Cluster;
pub use moto::{Moto, moto_request};
pub use pooler::Pooler;
pub use postgres::installed as postgres_program;
pub use setup::{PASSWORD, USER, free_port, listening};
pub use spider::Spider;
pub use test_server::{TestServer, shared};
