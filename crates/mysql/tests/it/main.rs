//! The MariaDB and MySQL store: the contract of stores, and what only a server promises.

mod conformance;
mod servers;
mod support;
