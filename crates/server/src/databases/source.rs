//! The source of a database: its name, and the function that opens its store.

use atsdb::{Database, Error, Result};
use std::fmt;

/// The longest name of a database, as in PostgreSQL.
const NAME_BYTES_MAX: usize = 63;

type Opener = Box<dyn Fn() -> Result<Database> + Send + Sync>;

/// A database that a server is to serve.
pub struct DatabaseSource {
    pub(super) name: Option<String>,
    pub(super) open: Opener,
}

impl DatabaseSource {
    /// The only database of a server, whose store is open. It has no name: clients may use any.
    pub fn unnamed(database: Database) -> Self {
        Self { name: None, open: Box::new(move || Ok(database.clone())) }
    }

    /// A database with a name, and how its store is opened. A store that cannot be opened is tried again as long as the
    /// server runs.
    ///
    /// Errors: [`ErrorKind::Usage`](atsdb::ErrorKind::Usage) for an invalid name.
    pub fn named(name: impl Into<String>, open: impl Fn() -> Result<Database> + Send + Sync + 'static) -> Result<Self> {
        let name = name.into();
        check_name(&name)?;
        Ok(Self { name: Some(name), open: Box::new(open) })
    }
}

impl fmt::Debug for DatabaseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseSource").field("name", &self.name).finish_non_exhaustive()
    }
}

fn check_name(name: &str) -> Result<()> {
    let wrong = |what: &str| Err(Error::usage(format!("{name:?} is not a valid database name: {what}")));
    match name {
        "" => wrong("it is empty"),
        name if name.len() > NAME_BYTES_MAX => wrong("it has more than 63 bytes"),
        // InfluxDB's clients write a retention policy after a slash.
        name if name.contains('/') => wrong("it holds a slash"),
        name if name.chars().any(|letter| letter.is_control() || letter.is_whitespace()) => {
            wrong("it holds a blank or a control character")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_fit_into_every_protocol() {
        assert!(check_name("air").is_ok() && check_name("Grün-2").is_ok());
        for wrong in ["", "a/b", "a b", "a\n", &"x".repeat(64)] {
            assert!(check_name(wrong).is_err(), "{wrong:?}");
        }
    }
}
