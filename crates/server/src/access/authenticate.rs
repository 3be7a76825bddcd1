//! Checks credentials. A wrong password takes as long as an unknown user, because both are stretched. Attempts are
//! delayed by [`Throttle`](super::throttle::Throttle). Tokens have too many bits to be guessed, so a correct one is not
//! delayed.

use super::caller::{Caller, Peer};
use super::crypto::{hmac, sha256};
use super::state::Access;
use super::user_store::TOKEN_PREFIX;
use super::users::{User, Users};
use super::verifier::Verifier;
use crate::shared::clock;
use crate::shared::log::LogLevel;
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of correct passwords that are remembered.
const RIGHT_MAX: usize = 1_000;

/// The credentials of a request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    Password { user: String, password: String },
    Token(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// The message for [`Refusal::Unverifiable`], over every protocol.
pub(crate) const UNVERIFIABLE: &str =
    "the user, the password or the token cannot be checked: the store of a database cannot be opened";

/// The reason why access is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There are no credentials.
    Missing,
    /// The credentials are wrong.
    Wrong,
    /// No open database accepts the credentials, but one whose store cannot be opened may.
    Unverifiable,
    /// There were too many failures: no attempt is checked before this time has passed.
    TooMany(Duration),
}

impl Access {
    /// Returns an anonymous caller, if the server has no users and the address is reachable only from this machine.
    pub(crate) fn anybody(&self, peer: Peer) -> Option<Caller> {
        (peer.is_local && !self.has_users()).then_some(Caller::ANYBODY)
    }

    /// Returns whether there is a user with this name, or a token like this. The password is not checked.
    pub(crate) fn knows(&self, credentials: &Credentials) -> bool {
        let owns = |token: &str| {
            self.of_session_token(token).is_some() || self.users().owner(&sha256(token.as_bytes())).is_some()
        };
        match credentials {
            Credentials::Token(token) => owns(token),
            Credentials::Password { password, .. } if password.starts_with(TOKEN_PREFIX) => owns(password),
            Credentials::Password { user, .. } => self.role_of(user).is_some(),
        }
    }

    /// Returns the caller that sends a request.
    pub(crate) async fn authenticate(&self, credentials: Option<Credentials>, peer: Peer) -> Result<Caller, Refusal> {
        if let Some(anybody) = self.anybody(peer) {
            return Ok(anybody);
        }
        match credentials {
            None => Err(Refusal::Missing),
            Some(Credentials::Token(token)) => self.by_token("", &token, peer).await,
            // Programs that only support passwords send a token as the password.
            Some(Credentials::Password { user, password }) if password.starts_with(TOKEN_PREFIX) => {
                self.by_token(&user, &password, peer).await
            }
            Some(Credentials::Password { user, password }) => self.by_password(user, password, peer).await,
        }
    }

    async fn by_token(&self, user: &str, token: &str, peer: Peer) -> Result<Caller, Refusal> {
        let users = self.users();
        if let Some(caller) = self.of_session_token(token) {
            return Ok(caller);
        }
        if let Some((name, owner)) = users.owner(&sha256(token.as_bytes()))
            && (user.is_empty() || user == &**name)
        {
            return Ok(caller(name, owner));
        }
        self.hold(None, peer).await?;
        self.note(None, peer, false);
        Err(Refusal::Wrong)
    }

    async fn by_password(&self, name: String, password: String, peer: Peer) -> Result<Caller, Refusal> {
        let users = self.users();
        let pair = hmac(self.key(), &[name.as_bytes(), b"\0", password.as_bytes()]);
        let is_right_again = self.right().lock().contains(&pair);
        if is_right_again && let Some(caller) = caller_of(&users, &name) {
            return Ok(caller);
        }
        self.hold(Some(&name), peer).await?;
        let (verifier, is_user) = users.verifier(&name);
        let fits = tokio::task::spawn_blocking(move || verifier.fits(&password)).await.unwrap_or(false);
        let found = caller_of(&users, &name).filter(|_| fits && is_user);
        self.note(Some(&name), peer, found.is_some());
        let found = found.ok_or(Refusal::Wrong)?;
        let mut right = self.right().lock();
        // If the users have changed in the meantime, nothing is remembered.
        if Arc::ptr_eq(&users, &self.users()) {
            if right.len() >= RIGHT_MAX {
                right.clear();
            }
            right.insert(pair);
        }
        Ok(found)
    }

    /// Returns the verifier for a SCRAM exchange: the user's, or for an unknown user one that no password matches.
    pub(crate) fn verifier(&self, user: &str) -> Verifier {
        self.users().verifier(user).0
    }

    /// Waits for as long as recent failures require.
    pub(crate) async fn hold(&self, user: Option<&str>, peer: Peer) -> Result<(), Refusal> {
        let wait = self.throttle().wait(peer, user, clock::now()).map_err(Refusal::TooMany)?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// Records the result of an attempt.
    pub(crate) fn note(&self, user: Option<&str>, peer: Peer, is_right: bool) {
        match user {
            Some(user) if is_right => self.throttle().succeeded(peer, user, clock::now()),
            _ => {
                self.failures().increment();
                let fields = [("user", json!(user)), ("address", json!(peer.address.to_string()))];
                self.log().write(LogLevel::Warn, "login failed", &fields);
                self.throttle().failed(peer, user, clock::now());
            }
        }
    }
}

pub(super) fn caller_of(users: &Users, name: &str) -> Option<Caller> {
    users.get(name).map(|(name, user)| caller(name, user))
}

fn caller(name: &Arc<str>, user: &User) -> Caller {
    Caller { user: Some(Arc::clone(name)), role: user.role }
}
