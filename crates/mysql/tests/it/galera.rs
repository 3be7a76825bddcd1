//! The store on a Galera cluster, where each program may use a different node.

use crate::support::{MARIADB, open};
use atsdb_testkit::on_server;
use atsdb_testkit::server::Cluster;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A single cluster serves all checks, because starting one takes a while.
#[test]
fn a_cluster_keeps_the_contract_of_stores_and_loses_a_node_without_harm() {
    let Some(cluster) = Cluster::start() else { return };
    let next = AtomicUsize::new(0);
    atsdb_testkit::store_conformance(&|| {
        let urls = cluster.database();
        open(&urls[next.fetch_add(1, Ordering::Relaxed) % urls.len()]).unwrap()
    });
    on_server::processes_on_all_nodes_write_and_nothing_is_lost(MARIADB, &cluster, "mariadb::one_writer_of_many");
    on_server::processes_that_reach_different_nodes_lose_nothing(MARIADB, &cluster, "mariadb::one_writer_of_many");
    on_server::a_killed_node_loses_nothing_acknowledged(MARIADB, &cluster);
}
