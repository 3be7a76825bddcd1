//! Tests of the data that is sent over the network.

use super::proxy::Proxy;
use super::subject::{NOW_MS, Subject};
use crate::sample::{Plan, wide_table};
use crate::server;
use atsdb_core::{Change, ColumnId, TimeRange};

/// Reading a column of a wide table does not transfer the others.
pub fn a_column_is_read_without_the_others(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let (proxy, url) = Proxy::to(&server.database());
    let store = subject.opened(&url);
    let table = store.create_table(&wide_table("wide", 200), None).unwrap().id;
    let chunk = Plan::new(1).with_pages(200, 20_000).chunk(table);
    store.commit(&[Change { add: vec![chunk.clone()], ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
    let snapshot = store.snapshot().unwrap();
    let id = snapshot.chunks(table, TimeRange::ALL).unwrap()[0].id;
    for columns in [vec![7], vec![0, 199], vec![40, 41, 42], (0..50).map(|column| column * 4).collect()] {
        let asked: Vec<ColumnId> = columns.iter().copied().map(ColumnId).collect();
        proxy.take_bytes();
        let pages = snapshot.read_pages(id, &asked).unwrap();
        let moved = proxy.take_bytes();
        assert!(columns.iter().zip(&pages).all(|(column, page)| *page == chunk.pages[usize::from(*column)]));
        // The list of pages has 14 bytes for each; a statement that is new is described by the server.
        let wanted = 20_000 * columns.len() as u64;
        assert!(moved > wanted && moved < wanted + wanted / 50 + 8_000, "{} columns moved {moved}", columns.len());
    }
}
