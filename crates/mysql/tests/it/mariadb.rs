//! The store on MariaDB.

atsdb_testkit::on_server_tests!("mariadb", crate::support::MARIADB);
