//! The MariaDB and MySQL store: the contract of stores, and the promises that only a server makes.

mod galera;
mod mariadb;
mod mysql;
mod spider;
mod support;
