//! Tokens that a client gets in exchange for its password, as Flight's handshake requires. They are not stored: such a
//! token names the user, and a keyed hash proves that this server has made it. It is valid until the server ends, the
//! password changes or the user is dropped.

use super::authenticate::{Credentials, caller_of};
use super::caller::Caller;
use super::crypto::{Hash, hash_of_hexadecimal, hmac, same_secret};
use super::state::Access;
use super::user_store::TOKEN_PREFIX;
use atsdb::hex;

/// How these tokens begin. No user's own token begins like this, because those have only hexadecimal digits after their
/// prefix.
const PREFIX: &str = "atsdb_session_";

impl Access {
    /// A token for a caller who has logged in with these credentials. One who has a token of their own keeps it,
    /// because it can be revoked.
    pub(crate) fn session_token(&self, caller: &Caller, credentials: Option<Credentials>) -> String {
        match credentials {
            Some(Credentials::Token(token)) => return token,
            Some(Credentials::Password { password, .. }) if password.starts_with(TOKEN_PREFIX) => return password,
            _ => {}
        }
        let user = caller.user.as_deref().unwrap_or_default();
        format!("{PREFIX}{}_{}", hex::encode(user.as_bytes()), hex::encode(&self.session_proof(user)))
    }

    /// The caller whom a token was made for, if it is valid.
    pub(super) fn of_session_token(&self, token: &str) -> Option<Caller> {
        let (user, proof) = token.strip_prefix(PREFIX)?.split_once('_')?;
        let user = String::from_utf8(hex::decode(user)?).ok()?;
        let proof = hash_of_hexadecimal(proof)?;
        caller_of(&self.users(), &user).filter(|_| same_secret(&proof, &self.session_proof(&user)))
    }

    fn session_proof(&self, user: &str) -> Hash {
        let (verifier, _) = self.users().verifier(user);
        hmac(self.key(), &[b"session\0", &verifier.stored_key, user.as_bytes()])
    }
}
