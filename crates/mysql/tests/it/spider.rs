//! The store on a MariaDB server that spreads its pages over other servers by Spider.

use crate::support::open;
use atsdb_core::ErrorKind;
use atsdb_testkit::server::Spider;
use parking_lot::Mutex;

#[test]
fn pages_on_several_servers_keep_the_contract_of_stores() {
    let Some(spider) = Spider::start() else { return };
    let urls = Mutex::new(Vec::new());
    atsdb_testkit::store_conformance(&|| {
        let url = spider.database();
        drop(open(&url).unwrap());
        spider.spread(&url);
        urls.lock().push(url.clone());
        open(&url).unwrap()
    });
    let rows = urls
        .into_inner()
        .iter()
        .map(|url| spider.rows(url))
        .fold([0, 0], |sum, rows| [sum[0] + rows[0], sum[1] + rows[1]]);
    assert!(rows.iter().all(|rows| *rows > 50), "the pages lie on one server: {rows:?}");
}

#[test]
fn a_snapshot_waits_for_pages_that_its_catalogue_lists() {
    let Some(spider) = Spider::start() else { return };
    let url = spider.database();
    drop(open(&url).unwrap());
    spider.spread(&url);
    let store = open(&url).unwrap();
    let (chunk, columns) = atsdb_testkit::one_chunk(&*store);
    let whole = store.snapshot().unwrap().read_pages(chunk, &columns).unwrap();

    // InnoDB shows a commit before Spider sends it to the other servers, so a snapshot can be taken in between.
    for pages in ["fresh", "sealed"] {
        spider.ask(&url, &format!("CREATE TABLE {pages} AS SELECT * FROM atsdb_{pages}; DELETE FROM atsdb_{pages}"));
    }
    let early = store.snapshot().unwrap();
    assert_eq!(early.read_pages(chunk, &columns).unwrap_err().kind(), ErrorKind::Corrupt);
    for pages in ["fresh", "sealed"] {
        spider.ask(&url, &format!("INSERT INTO atsdb_{pages} SELECT * FROM {pages}"));
    }
    assert_eq!(early.read_pages(chunk, &columns).unwrap(), whole);
}
