//! The users of a store, managed by `atsdb user`.

use super::crypto::{random_32, sha256};
use super::password;
use super::role::Role;
use super::table::{AccessRow, AccessTable, RowKind, change};
use super::verifier::Verifier;
use atsdb::{Database, Error, ErrorKind, Result, hex};

/// The prefix of a token, by which scanners for leaked secrets can recognise it.
pub(crate) const TOKEN_PREFIX: &str = "atsdb_";

/// The longest name of a user, as in PostgreSQL.
const NAME_BYTES_MAX: usize = 63;

/// The longest name of a token.
const LABEL_BYTES_MAX: usize = 200;

/// The users of a store. Changes are committed at once; a running server notices them within two seconds.
#[derive(Debug, Clone)]
pub struct UserStore {
    database: Database,
}

/// A user, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEntry {
    /// The name, which is case-sensitive.
    pub name: String,
    /// The rights of the user.
    pub role: Role,
    /// Whether the user has a password, or only tokens.
    pub has_password: bool,
    /// The user's tokens, by name.
    pub tokens: Vec<TokenEntry>,
    /// The time at which the user was added, in milliseconds since the Unix epoch.
    pub created_ms: i64,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    /// The name.
    pub label: String,
    /// The time at which it was created, in milliseconds since the Unix epoch.
    pub created_ms: i64,
}

impl UserStore {
    /// The users of this store.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// The users, by name.
    pub fn list(&self) -> Result<Vec<UserEntry>> {
        let rows = AccessTable::of(self.database.snapshot()?).rows()?;
        let mut users = Vec::new();
        for row in rows.iter().filter(|row| row.kind == RowKind::Role.name()) {
            let tokens = rows.iter().filter(|token| token.is(&row.user, RowKind::Token));
            let token = |row: &AccessRow| TokenEntry { label: row.label.clone(), created_ms: row.created_ms };
            let mut tokens: Vec<TokenEntry> = tokens.map(token).collect();
            tokens.sort_by(|one, other| one.label.cmp(&other.label));
            users.push(UserEntry {
                name: row.user.clone(),
                role: Role::parse(&row.value)?,
                has_password: rows.iter().any(|password| password.is(&row.user, RowKind::Password)),
                tokens,
                created_ms: row.created_ms,
            });
        }
        users.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(users)
    }

    /// Adds a user; without a password the user can only log in with tokens. Errors: [`ErrorKind::Exists`];
    /// [`ErrorKind::Usage`] for an invalid name or password.
    pub fn add(&self, name: &str, role: Role, password: Option<&str>) -> Result<()> {
        check_name(name)?;
        let verifier = password.map(verifier_of).transpose()?;
        change(&self.database, |rows, now_ms| {
            if rows.iter().any(|row| row.is(name, RowKind::Role)) {
                let error = Error::new(ErrorKind::Exists, format!("user {name} already exists"));
                return Err(error.with_hint("atsdb user password or atsdb user role changes it"));
            }
            rows.push(AccessRow::new(name, RowKind::Role, role.name().to_owned(), now_ms));
            rows.extend(verifier.iter().map(|text| AccessRow::new(name, RowKind::Password, text.clone(), now_ms)));
            Ok(())
        })
    }

    /// Removes a user with all tokens.
    ///
    /// Errors: [`ErrorKind::NotFound`].
    pub fn drop(&self, name: &str) -> Result<()> {
        change(&self.database, |rows, _| {
            find(rows, name)?;
            rows.retain(|row| row.user != name);
            Ok(())
        })
    }

    /// Changes a user's password. Open sessions continue. Errors: those of [`add`](Self::add), and
    /// [`ErrorKind::NotFound`].
    pub fn set_password(&self, name: &str, password: &str) -> Result<()> {
        let verifier = verifier_of(password)?;
        change(&self.database, |rows, now_ms| {
            find(rows, name)?;
            rows.retain(|row| !row.is(name, RowKind::Password));
            rows.push(AccessRow::new(name, RowKind::Password, verifier.clone(), now_ms));
            Ok(())
        })
    }

    /// Changes a user's role.
    ///
    /// Errors: [`ErrorKind::NotFound`].
    pub fn set_role(&self, name: &str, role: Role) -> Result<()> {
        change(&self.database, |rows, _| {
            role.name().clone_into(&mut find(rows, name)?.value);
            Ok(())
        })
    }

    /// Creates a token of 256 random bits for a user and returns it. Only its SHA-256 is stored, so it cannot be shown
    /// again.
    ///
    /// Errors: [`ErrorKind::NotFound`] for the user, [`ErrorKind::Exists`] for the token's name.
    pub fn add_token(&self, name: &str, label: &str) -> Result<String> {
        if label.is_empty() || label.len() > LABEL_BYTES_MAX || label.chars().any(char::is_control) {
            return Err(Error::usage(format!("a token's name has 1 to {LABEL_BYTES_MAX} bytes, on one line")));
        }
        let token = format!("{TOKEN_PREFIX}{}", hex::encode(&random_32()?));
        let hash = hex::encode(&sha256(token.as_bytes()));
        change(&self.database, |rows, now_ms| {
            find(rows, name)?;
            if rows.iter().any(|row| row.is(name, RowKind::Token) && row.label == label) {
                let error = Error::new(ErrorKind::Exists, format!("user {name} already has a token named {label}"));
                return Err(error.with_hint("choose another name with --name, or revoke the other token"));
            }
            let row = AccessRow::new(name, RowKind::Token, hash.clone(), now_ms);
            rows.push(AccessRow { label: label.to_owned(), ..row });
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes a token.
    ///
    /// Errors: [`ErrorKind::NotFound`] for the user or the token.
    pub fn revoke_token(&self, name: &str, label: &str) -> Result<()> {
        change(&self.database, |rows, _| {
            find(rows, name)?;
            let before = rows.len();
            rows.retain(|row| !(row.is(name, RowKind::Token) && row.label == label));
            match rows.len() < before {
                true => Ok(()),
                false => Err(Error::not_found(format!("user {name} has no token named {label}"))
                    .with_hint("atsdb user list shows the names of tokens")),
            }
        })
    }
}

fn verifier_of(password: &str) -> Result<String> {
    password::check(password)?;
    Ok(Verifier::of_password(password)?.text())
}

fn find<'a>(rows: &'a mut [AccessRow], name: &str) -> Result<&'a mut AccessRow> {
    let found = rows.iter_mut().find(|row| row.is(name, RowKind::Role));
    found.ok_or_else(|| {
        Error::not_found(format!("there is no user {name}")).with_hint("atsdb user list shows the users")
    })
}

fn check_name(name: &str) -> Result<()> {
    let wrong = |what: &str| Err(Error::usage(format!("{name:?} is not a valid user name: {what}")));
    match name {
        "" => wrong("it is empty"),
        name if name.len() > NAME_BYTES_MAX => wrong("it has more than 63 bytes"),
        // HTTP ends the name at the first colon.
        name if name.contains(':') => wrong("it holds a colon"),
        name if name.chars().any(char::is_control) => wrong("it holds a control character"),
        _ => Ok(()),
    }
}
