//! Passwords as users type them.

use atsdb::{Error, Result};

/// The longest password.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// Returns the form of a password that is hashed, as in PostgreSQL: SASLprep if it applies, or else the bytes
/// themselves.
pub(super) fn prepared(password: &str) -> Vec<u8> {
    match stringprep::saslprep(password) {
        Ok(prepared) => prepared.into_owned().into_bytes(),
        Err(_) => password.as_bytes().to_vec(),
    }
}

/// Refuses an invalid password.
pub(super) fn check(password: &str) -> Result<()> {
    match password.len() {
        0 => Err(Error::usage("the password is empty")),
        length if length > PASSWORD_BYTES_MAX => {
            Err(Error::usage(format!("the password has more than {PASSWORD_BYTES_MAX} bytes")))
        }
        _ if password.chars().any(|letter| letter == '\0' || letter == '\n' || letter == '\r') => {
            Err(Error::usage("the password holds a line end or a zero byte"))
        }
        _ => Ok(()),
    }
}
