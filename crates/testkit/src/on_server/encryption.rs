//! Tests that data is encrypted on the network, and that the server proves its name.

use super::proxy::Proxy;
use super::subject::{Subject, append, count};
use crate::sample::{Plan, series_table};
use crate::server::TestServer;
use atsdb_core::ErrorKind;

/// An encrypted store works, and nobody in between can read the data. A server that cannot prove to have the name in
/// the URL gets no login, not even with `prefer`.
pub fn an_encrypted_connection_is_private_and_to_the_right_server(subject: Subject) {
    let Some((server, authority)) = TestServer::start_encrypting(subject.kind) else { return };
    let (proxy, url) = Proxy::to(&server.database());
    let named = url.replace("127.0.0.1", "localhost");
    let trusted = format!("sslrootcert={}", authority.display());
    for mode in ["require", "verify-full", "prefer", "disable"] {
        let options = if mode == "disable" { String::new() } else { format!("&{trusted}") };
        let store = subject.opened(&format!("{named}?sslmode={mode}{options}"));
        let table = store.create_table(&series_table(mode), None).unwrap().id;
        append(&*store, Plan::new(1).chunk(table)).unwrap();
        assert_eq!(count(&*store, table), 1);
        assert_eq!(proxy.has_read(), mode == "disable", "{mode}");
    }
    let (proxy, url) = Proxy::to(&server.database());
    let named = url.replace("127.0.0.1", "localhost");
    let without_authority = format!("{named}?sslmode=");
    let by_address = format!("{url}?{trusted}&sslmode=");
    for (place, mode) in [
        (&without_authority, "require"),
        (&without_authority, "prefer"),
        (&by_address, "require"),
        (&by_address, "prefer"),
    ] {
        let url = format!("{place}{mode}");
        let Err(error) = (subject.open)(&url) else { panic!("opened: {url}") };
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("cannot open an encrypted connection"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("sslrootcert")), "{error:?}");
    }
    assert!(!proxy.has_read(), "a login was tried");
}
