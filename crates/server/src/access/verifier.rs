//! Verifiers: the stored form of a password, which is PostgreSQL's.
//!
//! ```text
//! SCRAM-SHA-256$4096:salt$StoredKey:ServerKey        salt and keys in base64
//! ```

use super::crypto::{Hash, hmac, random_16, same_secret, sha256, stretched};
use super::password::prepared;
use atsdb::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// The number of iterations, as in PostgreSQL.
const ITERATIONS: u32 = 4_096;

/// The maximum number of iterations that a stored verifier may require.
const ITERATIONS_MAX: u32 = 1_000_000;

/// The stored form of a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) stored_key: Hash,
    pub(super) server_key: Hash,
}

impl Verifier {
    /// Creates a verifier for a password, with a new salt.
    pub(super) fn of_password(password: &str) -> Result<Self> {
        Ok(Self::with_salt(password, &random_16()?, ITERATIONS))
    }

    fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Self {
        let salted = stretched(&prepared(password), salt, iterations);
        let stored_key = sha256(&hmac(&salted, &[b"Client Key"]));
        Self { iterations, salt: salt.to_vec(), stored_key, server_key: hmac(&salted, &[b"Server Key"]) }
    }

    /// A verifier that no password matches, for a user that does not exist. It is always the same for a name, so that
    /// it looks like an existing user's.
    pub(super) fn of_nobody(user: &str, secret: &Hash) -> Self {
        let salt = hmac(secret, &[b"salt", user.as_bytes()])[..16].to_vec();
        let key = |what: &[u8]| hmac(secret, &[what, user.as_bytes()]);
        Self { iterations: ITERATIONS, salt, stored_key: key(b"stored key"), server_key: key(b"server key") }
    }

    /// Returns whether it is the verifier of this password.
    pub(super) fn fits(&self, password: &str) -> bool {
        let found = Self::with_salt(password, &self.salt, self.iterations);
        same_secret(&found.stored_key, &self.stored_key)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (iterations, rest) = text.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?;
        let (salt, keys) = rest.split_once('$')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let hash = |text: &str| Hash::try_from(STANDARD.decode(text).ok()?.as_slice()).ok();
        let iterations = iterations.parse().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count))?;
        let salt = STANDARD.decode(salt).ok().filter(|salt| !salt.is_empty())?;
        Some(Self { iterations, salt, stored_key: hash(stored_key)?, server_key: hash(server_key)? })
    }

    /// The text that is stored.
    pub(super) fn text(&self) -> String {
        let (salt, stored, server) = (&self.salt, &self.stored_key, &self.server_key);
        let [salt, stored, server] = [salt.as_slice(), stored, server].map(|bytes| STANDARD.encode(bytes));
        format!("SCRAM-SHA-256${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, in the form that PostgreSQL's `pg_authid.rolpassword` has.
    #[test]
    fn verifiers_are_postgresqls() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::with_salt("pencil", &salt, 4_096);
        let text = verifier.text();
        assert_eq!(
            text,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        assert_eq!(Verifier::parse(&text), Some(verifier.clone()));
        assert!(verifier.fits("pencil") && !verifier.fits("Pencil") && !verifier.fits(""));
        assert!(!format!("{verifier:?}").contains("4096"));
    }

    #[test]
    fn what_looks_like_a_verifier_is_refused() {
        let whole = Verifier::of_password("x").unwrap().text();
        for end in 0..whole.len() {
            assert!(Verifier::parse(&whole[..end]).is_none(), "{}", &whole[..end]);
        }
        assert!(Verifier::parse(&whole.replace("$4096", "$0")).is_none());
        assert!(Verifier::parse(&whole.replace("$4096", "$2000000000")).is_none());
    }

    #[test]
    fn nobody_has_the_same_verifier_each_time() {
        let nobody = |user| Verifier::of_nobody(user, &[7; 32]);
        assert_eq!(nobody("a"), nobody("a"));
        assert_ne!(nobody("a").salt, nobody("b").salt);
        assert_eq!(nobody("a").salt.len(), 16);
        assert!(!nobody("a").fits(""));
    }

    #[test]
    fn passwords_are_prepared_as_clients_prepare_them() {
        // RFC 4013: a soft hyphen is removed, a non-breaking space becomes a space, a ligature becomes its letters.
        assert_eq!(prepared("I\u{ad}X"), b"IX");
        assert_eq!(prepared("a\u{a0}b"), b"a b");
        assert_eq!(prepared("\u{2168}"), b"IX");
        assert_eq!(prepared("\u{7}"), b"\x07");
    }
}
