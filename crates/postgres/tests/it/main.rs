//! The PostgreSQL store: the contract of stores, and what only a server promises.

mod support;

mod servers {
    atsdb_testkit::on_server_tests!("servers", crate::support::SUBJECT);
}
