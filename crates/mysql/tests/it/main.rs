//! The MariaDB and MySQL store: the contract of stores, and what only a server promises.

mod conformance;
mod galera;
mod servers;
mod spider;
mod support;
