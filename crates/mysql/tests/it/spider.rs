//! The store on a MariaDB that spreads its pages over others by Spider.

use crate::support::open;
use atsdb_testkit::server::Spider;
use std::sync::Mutex;

#[test]
fn pages_on_several_servers_keep_the_contract_of_stores() {
    let Some(spider) = Spider::start() else { return };
    let urls = Mutex::new(Vec::new());
    atsdb_testkit::store_conformance(&|| {
        let url = spider.database();
        drop(open(&url).unwrap());
        spider.spread(&url);
        urls.lock().unwrap().push(url.clone());
        open(&url).unwrap()
    });
    let rows = urls
        .into_inner()
        .unwrap()
        .iter()
        .map(|url| spider.rows(url))
        .fold([0, 0], |sum, rows| [sum[0] + rows[0], sum[1] + rows[1]]);
    assert!(rows.iter().all(|rows| *rows > 50), "the pages lie on one server: {rows:?}");
}
