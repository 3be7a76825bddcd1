//! The password for a server from the environment.

use atsdb_core::{Error, Result};
use atsdb_sqlstore::Secret;

/// The value of `ATSDB_PASSWORD`, or the content of the file named by `ATSDB_PASSWORD_FILE` without the final line
/// break.
pub(crate) fn from_environment() -> Result<Option<Secret>> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(password) = variable("ATSDB_PASSWORD") {
        let password = password.into_string().map_err(|_| Error::usage("ATSDB_PASSWORD is not UTF-8"))?;
        return Ok(Some(Secret::new(password)));
    }
    let Some(file) = variable("ATSDB_PASSWORD_FILE") else { return Ok(None) };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Error::usage(format!("cannot read the password file {}: {error}", file.display())).with_source(error)
    })?;
    Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
}
