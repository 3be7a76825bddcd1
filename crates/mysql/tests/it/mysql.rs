//! The store on MySQL.

atsdb_testkit::on_server_tests!("mysql", crate::support::MYSQL);
