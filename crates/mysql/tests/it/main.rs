//! The MariaDB and MySQL store: the contract of stores, and what only a server promises.

mod galera;
mod mariadb;
mod mysql;
mod spider;
mod support;
