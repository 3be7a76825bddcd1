//! TLS: the server's certificate and its key, which can be reloaded.
//!
//! Owned here: reading both from PEM files, what each protocol negotiates, and the hash of the certificate to which
//! SCRAM binds a password. Not owned: connections (`pg`, `http`).

mod end_point;
pub(crate) mod identity;
pub(crate) mod options;
