//! What every store on a server promises.

use crate::support::SUBJECT;
use atsdb_testkit::on_server;

#[test]
fn four_processes_write_and_nothing_is_lost() {
    on_server::four_processes_write_and_nothing_is_lost(SUBJECT, "servers::one_writer_of_many");
}

#[test]
fn one_writer_of_many() {
    on_server::one_writer_of_many(SUBJECT);
}

#[test]
fn processes_that_create_one_store_together_all_succeed() {
    on_server::processes_that_create_one_store_together_all_succeed(SUBJECT, "servers::one_creator_of_many");
}

#[test]
fn one_creator_of_many() {
    on_server::one_creator_of_many(SUBJECT);
}

#[test]
fn a_killed_server_loses_nothing_acknowledged() {
    on_server::a_killed_server_loses_nothing_acknowledged(SUBJECT);
}

#[test]
fn a_commit_whose_answer_is_lost_counts_once() {
    on_server::a_commit_whose_answer_is_lost_counts_once(SUBJECT);
}

#[test]
fn a_connection_that_breaks_is_replaced() {
    on_server::a_connection_that_breaks_is_replaced(SUBJECT);
}

#[test]
fn what_cannot_be_opened_is_told_without_the_password() {
    on_server::what_cannot_be_opened_is_told_without_the_password(SUBJECT);
}

#[test]
fn a_reader_without_rights_is_told_what_it_may_not() {
    on_server::a_reader_without_rights_is_told_what_it_may_not(SUBJECT);
}

#[test]
fn a_column_is_read_without_the_others() {
    on_server::a_column_is_read_without_the_others(SUBJECT);
}
