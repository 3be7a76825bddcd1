//! A MariaDB Galera cluster for tests: three nodes on loopback. The first node's data is turned into that of a cluster
//! once, and copied, so that the other nodes need not request it. A killed node does request it: `rsync` transfers
//! everything. It refuses to read a folder of root, so root's nodes run as the user of the package.

use super::data::{ServerKind, data_folder};
use super::mariadb;
use super::setup::{PASSWORD_IN_URL, USER, free_port, is_root, own_folder, run};
use super::test_server::TestServer;
use crate::skipped;
use std::io::Result;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const NODES: usize = 3;
const PROVIDERS: [&str; 3] =
    ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/libgalera_smm.so"];
const BEGIN: [&str; 1] = ["--wsrep-new-cluster"];

/// Nodes with the same databases.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<TestServer>,
}

impl Cluster {
    /// Starts a separate cluster. `None`, with a message on stderr, if its programs are not installed.
    pub fn start() -> Option<Self> {
        let provider = PROVIDERS.iter().find(|provider| Path::new(provider).exists());
        let (Some(provider), None) = (provider, mariadb::missing()) else {
            skipped("a Galera cluster is not installed; the Debian packages mariadb-server and galera-4 have it");
            return None;
        };
        let cluster = Self { nodes: nodes(provider).expect("the nodes' folders can be made") };
        for (position, node) in cluster.nodes.iter().enumerate() {
            node.resume_with(if position == 0 { &BEGIN } else { &[] });
        }
        Some(cluster)
    }

    /// Returns a node.
    pub fn node(&self, position: usize) -> &TestServer {
        &self.nodes[position % NODES]
    }

    /// Creates an empty database and returns a URL for each node, with that node as the first address.
    pub fn database(&self) -> Vec<String> {
        let url = self.nodes[0].database();
        let name = url.rsplit('/').next().unwrap_or_default();
        // A login does not wait for changes of other nodes.
        for node in &self.nodes[1..] {
            node.administer("SET SESSION wsrep_sync_wait = 1; SELECT 1");
        }
        let address = |position: usize| format!("127.0.0.1:{}", self.node(position).port());
        let addresses = |first: usize| (first..first + NODES).map(address).collect::<Vec<_>>().join(",");
        (0..NODES).map(|first| format!("mariadb://{USER}:{PASSWORD_IN_URL}@{}/{name}", addresses(first))).collect()
    }
}

fn nodes(provider: &str) -> Result<Vec<TestServer>> {
    let ports: Vec<u16> = (0..NODES).map(|_| free_port()).collect();
    let peers: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let arguments = |position: usize| {
        let port = ports[position];
        vec![
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={provider}"),
            "--wsrep-cluster-name=atsdb-test".to_owned(),
            format!("--wsrep-cluster-address=gcomm://{}", peers.join(",")),
            format!("--wsrep-node-address=127.0.0.1:{port}"),
            format!("--wsrep-node-name=node{position}"),
            "--wsrep-sst-method=rsync".to_owned(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{}", free_port()),
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{};\
                 gcache.size=64M;pc.recovery=false",
                free_port()
            ),
        ]
    };
    let first = TestServer::of(ServerKind::Mariadb, owned(data_folder(ServerKind::Mariadb)?)?, arguments(0));
    first.resume_with(&BEGIN);
    first.shut_down();
    let mut nodes = vec![first];
    for position in 1..NODES {
        let folder = own_folder()?;
        run(Command::new("cp").arg("-a").arg(nodes[0].data()).arg(folder.path()))?;
        nodes.push(TestServer::of(ServerKind::Mariadb, owned(folder)?, arguments(position)));
    }
    Ok(nodes)
}

/// Gives the folder to the user that runs the nodes.
fn owned(folder: TempDir) -> Result<TempDir> {
    if is_root() {
        run(Command::new("chown").arg("-R").arg("mysql:mysql").arg(folder.path()))?;
    }
    Ok(folder)
}
