//! What every store on a server promises beyond the contract: processes that share it, servers that are killed, connections
//! that break in the middle of a commit, logins that are refused. Each store's own tests name the promises one by one.

mod breaks;
mod kills;
mod logins;
mod processes;
mod proxy;
mod wire;

pub use breaks::{a_commit_whose_answer_is_lost_counts_once, a_connection_that_breaks_is_replaced};
pub use kills::{a_killed_node_loses_nothing_acknowledged, a_killed_server_loses_nothing_acknowledged};
pub use logins::{a_reader_without_rights_is_told_what_it_may_not, what_cannot_be_opened_is_told_without_the_password};
pub use processes::{
    four_processes_write_and_nothing_is_lost, one_creator_of_many, one_writer_of_many,
    processes_on_all_nodes_write_and_nothing_is_lost, processes_that_create_one_store_together_all_succeed,
};
pub use wire::a_column_is_read_without_the_others;

use crate::server::Kind;
use atsdb_core::{Result, Store};

/// A store on a server under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The server's kind.
    pub kind: Kind,
    /// Opens the store of a URL, and creates it where there is none; some seconds of patience.
    pub open: fn(&str) -> Result<Box<dyn Store>>,
    /// Opens it for reading.
    pub open_for_reading: fn(&str) -> Result<Box<dyn Store>>,
}

impl Subject {
    fn opened(&self, url: &str) -> Box<dyn Store> {
        (self.open)(url).unwrap_or_else(|error| panic!("{error}"))
    }
}

const NOW_MS: i64 = 1_709_294_400_000;
