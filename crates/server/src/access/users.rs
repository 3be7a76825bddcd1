//! Users as a server holds them in memory.

use super::crypto::{Hash, hash_of_hexadecimal, hmac, random_32};
use super::role::Role;
use super::table::{AccessRow, FORMAT, RowKind};
use super::verifier::Verifier;
use atsdb::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// All users at one moment.
#[derive(Default)]
pub(super) struct Users {
    users: BTreeMap<Arc<str>, User>,
    /// The owner of each token, by the token's hash with [`key`](Self::key), so that the time of a lookup reveals
    /// nothing.
    tokens: BTreeMap<Hash, Arc<str>>,
    key: Hash,
    /// The secret from which the verifiers of users that do not exist are derived.
    nobody: Hash,
}

/// One user.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) role: Role,
    /// `None` for a user that has only tokens.
    pub(super) verifier: Option<Verifier>,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("count", &self.users.len()).finish_non_exhaustive()
    }
}

impl Users {
    /// Reads the rows of the table. Errors: [`ErrorKind::Corrupt`] for rows that do not have this format,
    /// [`ErrorKind::NewerFormat`].
    pub(super) fn of_rows(rows: &[AccessRow]) -> Result<Self> {
        let mut users = Self { key: random_32()?, ..Self::default() };
        let is_known = |row: &AccessRow| row.kind == RowKind::Format.name() && row.value == FORMAT;
        if !rows.is_empty() && !rows.iter().any(is_known) {
            let message = "a newer program has written the users of this store";
            return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb"));
        }
        let of_kind = |kind: RowKind| rows.iter().filter(move |row| row.kind == kind.name());
        if let Some(unknown) = rows.iter().find(|row| RowKind::parse(&row.kind).is_none()) {
            return Err(corrupt(unknown));
        }
        for row in of_kind(RowKind::Nobody) {
            users.nobody = hash_of_hexadecimal(&row.value).ok_or_else(|| corrupt(row))?;
        }
        for row in of_kind(RowKind::Role) {
            let role = Role::parse(&row.value).map_err(|_| corrupt(row))?;
            users.users.insert(row.user.as_str().into(), User { role, verifier: None });
        }
        for row in of_kind(RowKind::Password) {
            let verifier = Verifier::parse(&row.value).ok_or_else(|| corrupt(row))?;
            users.users.get_mut(row.user.as_str()).ok_or_else(|| corrupt(row))?.verifier = Some(verifier);
        }
        for row in of_kind(RowKind::Token) {
            let hash = hash_of_hexadecimal(&row.value).ok_or_else(|| corrupt(row))?;
            let (name, _) = users.users.get_key_value(row.user.as_str()).ok_or_else(|| corrupt(row))?;
            users.tokens.insert(hmac(&users.key, &[&hash]), Arc::clone(name));
        }
        Ok(users)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The names, sorted, with their roles.
    pub(super) fn roles(&self) -> Vec<(String, Role)> {
        self.users.iter().map(|(name, user)| (name.to_string(), user.role)).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<(&Arc<str>, &User)> {
        self.users.get_key_value(name)
    }

    /// Returns the user whose token has this SHA-256.
    pub(super) fn owner(&self, token: &Hash) -> Option<(&Arc<str>, &User)> {
        self.get(self.tokens.get(&hmac(&self.key, &[token]))?)
    }

    /// Returns the verifier of a user, and whether a password can match it. A name without a password gets one that no
    /// password matches.
    pub(super) fn verifier(&self, name: &str) -> (Verifier, bool) {
        match self.users.get(name).and_then(|user| user.verifier.clone()) {
            Some(verifier) => (verifier, true),
            None => (Verifier::of_nobody(name, &self.nobody), false),
        }
    }
}

fn corrupt(row: &AccessRow) -> Error {
    // The value may be a secret.
    Error::corrupt(format!("the row of user {:?}, kind {:?}, in the table of users cannot be read", row.user, row.kind))
}
