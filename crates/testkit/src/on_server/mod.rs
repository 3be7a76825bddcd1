//! Tests of the guarantees of every store on a server beyond the contract: several processes, killed servers,
//! connections that break in the middle of a commit, refused logins, encryption, full disks.
//! [`on_server_tests`](crate::on_server_tests) generates the tests of a store.

mod addresses;
mod breaks;
mod damage;
mod encryption;
mod full_disk;
mod kills;
mod logins;
mod processes;
mod proxy;
mod subject;
mod waits;
mod wire;

pub use addresses::{a_database_that_holds_another_store_is_refused, the_next_address_is_used_when_one_is_unavailable};
pub use breaks::{a_commit_whose_answer_is_lost_counts_once, a_connection_that_breaks_is_replaced};
pub use damage::a_row_that_was_changed_is_reported;
pub use encryption::an_encrypted_connection_is_private_and_to_the_right_server;
pub use full_disk::a_full_disk_is_reported_and_loses_nothing_acknowledged;
pub use kills::{a_killed_node_loses_nothing_acknowledged, a_killed_server_loses_nothing_acknowledged};
pub use logins::{a_failed_open_is_reported_without_the_password, every_write_of_a_user_without_rights_is_refused};
pub use processes::{
    four_processes_write_and_nothing_is_lost, one_creator_of_many, one_writer_of_many,
    processes_on_all_nodes_write_and_nothing_is_lost, processes_that_create_one_store_together_all_succeed,
    processes_that_reach_different_nodes_lose_nothing,
};
pub use subject::{Limits, Subject};
pub use waits::{
    a_call_to_a_silent_server_ends, a_client_that_vanishes_in_a_transaction_does_not_block_others_for_long,
    a_server_that_starts_again_is_waited_for_while_a_store_is_opened,
};
pub use wire::a_column_is_read_without_the_others;

use crate::server;
use crate::store::store_conformance;

/// The contract of stores, with a separate database for each case.
pub fn the_contract_of_stores_holds(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    store_conformance(&|| subject.opened(&server.database()));
}

/// Generates the tests of all promises of a store on a server, for the module with this path.
#[macro_export]
macro_rules! on_server_tests {
    ($module:literal, $subject:expr) => {
        $crate::on_server_tests! { $subject;
            the_contract_of_stores_holds,
            one_writer_of_many,
            one_creator_of_many,
            a_killed_server_loses_nothing_acknowledged,
            a_commit_whose_answer_is_lost_counts_once,
            a_connection_that_breaks_is_replaced,
            the_next_address_is_used_when_one_is_unavailable,
            a_database_that_holds_another_store_is_refused,
            a_failed_open_is_reported_without_the_password,
            every_write_of_a_user_without_rights_is_refused,
            an_encrypted_connection_is_private_and_to_the_right_server,
            a_full_disk_is_reported_and_loses_nothing_acknowledged,
            a_column_is_read_without_the_others,
            a_row_that_was_changed_is_reported,
            a_server_that_starts_again_is_waited_for_while_a_store_is_opened,
            a_call_to_a_silent_server_ends,
            a_client_that_vanishes_in_a_transaction_does_not_block_others_for_long,
        }

        #[test]
        fn four_processes_write_and_nothing_is_lost() {
            let one = concat!($module, "::one_writer_of_many");
            $crate::on_server::four_processes_write_and_nothing_is_lost($subject, one);
        }

        #[test]
        fn processes_that_create_one_store_together_all_succeed() {
            let one = concat!($module, "::one_creator_of_many");
            $crate::on_server::processes_that_create_one_store_together_all_succeed($subject, one);
        }
    };
    ($subject:expr; $($promise:ident,)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::on_server::$promise($subject);
            }
        )*
    };
}
