//! Certificates for servers with encryption, created by the program openssl.

use super::setup::run;
use crate::skipped;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files that a server and its clients need.
pub(super) struct Certificates {
    /// The authority's certificate, which clients trust.
    pub(super) authority: PathBuf,
    /// The server's certificate, for the name `localhost` and no address.
    pub(super) server: PathBuf,
    /// The server's key.
    pub(super) key: PathBuf,
}

impl Certificates {
    /// Creates new ones in a folder. `None`, with a message on stderr, if openssl is not installed.
    pub(super) fn make(folder: &Path) -> Option<Self> {
        let found = Command::new("openssl").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            skipped("openssl is not installed; the Debian package openssl has it");
            return None;
        }
        Some(made(folder).expect("certificates can be made"))
    }
}

fn made(folder: &Path) -> Result<Certificates> {
    let openssl = |arguments: &str| run(Command::new("openssl").args(arguments.split(' ')).current_dir(folder));
    const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!("req -x509 {NEW_KEY} -keyout authority.key -out authority.pem -days 2 -subj /CN=authority"))?;
    openssl(&format!("req {NEW_KEY} -keyout server.key -out server.request -subj /CN=localhost"))?;
    std::fs::write(folder.join("extensions"), "subjectAltName=DNS:localhost\n")?;
    openssl(
        "x509 -req -in server.request -CA authority.pem -CAkey authority.key -CAcreateserial -out server.pem -days 2 \
         -extfile extensions",
    )?;
    let [authority, server, key] = ["authority.pem", "server.pem", "server.key"].map(|name| folder.join(name));
    Ok(Certificates { authority, server, key })
}
