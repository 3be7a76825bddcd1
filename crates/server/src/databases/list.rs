//! The databases, and opening their stores.

use super::source::DatabaseSource;
use crate::access::state::Access;
use crate::shared::log::LogLevel;
use crate::shared::state::{DatabaseState, ServerState, UNNAMED};
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Refuses a database that must not be served.
pub(crate) type Check = Box<dyn Fn(&OpenDatabase) -> Result<()> + Send + Sync>;

/// The databases of a server. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct Databases(Arc<Inner>);

struct Inner {
    server: ServerState,
    /// Refuses databases that must not be served.
    check: Check,
    slots: Vec<Slot>,
}

struct Slot {
    source: DatabaseSource,
    open: OnceLock<OpenDatabase>,
    /// The error of the last attempt to open its store, if it failed. Locked while the store is opened.
    opening_error: Mutex<Option<String>>,
}

/// A database whose store is open.
#[derive(Debug, Clone)]
pub(crate) struct OpenDatabase {
    pub(super) position: usize,
    name: Option<Arc<str>>,
    pub(crate) state: DatabaseState,
    pub(crate) access: Access,
}

/// The database that a client has chosen.
#[derive(Debug)]
pub(crate) enum Choice<'a> {
    Open(&'a OpenDatabase),
    /// There is such a database, but its store could not be opened.
    Unavailable(&'a str),
    Unknown(&'a str),
    /// The client names none, and there are several.
    NotNamed,
}

impl OpenDatabase {
    /// The name under which it is listed.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }

    /// The name in the metrics; `None` if they need none.
    pub(crate) fn label(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns whether the files of the database are still where they were opened.
    pub(crate) fn has_store(&self) -> bool {
        self.state.database().engine().store().check_location().is_ok()
    }

    /// A number of its own, which is the same in each run with the same databases.
    pub(crate) fn number(&self) -> i64 {
        i64::try_from(self.position).unwrap_or(i64::MAX)
    }
}

impl Databases {
    /// Opens the stores. `check` is made of each, also of those that can be opened only later.
    ///
    /// Errors: [`ErrorKind::Usage`] if there is no database, if two have one name, or for a URL that can never be
    /// opened; the same from `check`; the error of the first store if none could be opened.
    pub(crate) fn open(server: &ServerState, sources: Vec<DatabaseSource>, check: Check) -> Result<Self> {
        let mut names = BTreeSet::new();
        if let Some(twice) = sources.iter().map(|source| &source.name).find(|name| !names.insert(*name)) {
            let name = twice.as_deref().unwrap_or(UNNAMED);
            let error = Error::usage(format!("two databases have the name {name}"));
            return Err(error.with_hint("name them by NAME=URL"));
        }
        let slot = |source| Slot { source, open: OnceLock::new(), opening_error: Mutex::default() };
        let slots = sources.into_iter().map(slot).collect();
        let databases = Self(Arc::new(Inner { server: server.clone(), check, slots }));
        let mut first_error = None;
        for position in 0..databases.count() {
            if let Err(error) = databases.open_at(position) {
                if error.kind() == ErrorKind::Usage {
                    return Err(error);
                }
                first_error.get_or_insert(error);
            }
        }
        if databases.opened().next().is_some() {
            return Ok(databases);
        }
        Err(first_error.unwrap_or_else(|| Error::usage("there is no database to serve")))
    }

    /// Tries to open the stores that are not open. Returns the databases that have become available.
    pub(crate) fn open_missing(&self) -> Vec<OpenDatabase> {
        let missing = (0..self.count()).filter(|position| self.0.slots[*position].open.get().is_none());
        missing.filter_map(|position| self.open_at(position).ok().flatten()).collect()
    }

    /// Opens a store if it is not open. What has happened is logged once.
    fn open_at(&self, position: usize) -> Result<Option<OpenDatabase>> {
        let Slot { source, open, opening_error } = &self.0.slots[position];
        let mut opening_error = opening_error.lock();
        if open.get().is_some() {
            return Ok(None);
        }
        let log = self.0.server.log();
        let name = source.name.as_deref();
        let opened = (source.open)().and_then(|database| {
            let state = DatabaseState::new(&self.0.server, name, database)?;
            let access = Access::open(&state)?;
            let opened = OpenDatabase { position, name: name.map(Arc::from), state, access };
            (self.0.check)(&opened).map(|()| opened)
        });
        match opened {
            Ok(opened) => {
                if opening_error.take().is_some() {
                    log.write(LogLevel::Warn, "database is available", &[("database", json!(name))]);
                }
                Ok(Some(open.get_or_init(|| opened).clone()))
            }
            Err(error) => {
                let text = error.message().to_owned();
                if name.is_some() && opening_error.as_ref() != Some(&text) {
                    let fields = [("database", json!(name)), ("error", json!(text))];
                    log.write(LogLevel::Error, "database cannot be opened", &fields);
                }
                *opening_error = Some(text);
                Err(error)
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.slots.len()
    }

    /// Returns whether databases are chosen by their names. Otherwise there is only one, which answers to every name.
    pub(crate) fn have_names(&self) -> bool {
        self.0.slots.iter().any(|slot| slot.source.name.is_some())
    }

    pub(crate) fn server(&self) -> &ServerState {
        &self.0.server
    }

    /// The databases that are available.
    pub(crate) fn opened(&self) -> impl Iterator<Item = &OpenDatabase> {
        self.0.slots.iter().filter_map(|slot| slot.open.get())
    }

    /// Returns whether the stores of all databases are open.
    pub(crate) fn are_all_open(&self) -> bool {
        self.0.slots.iter().all(|slot| slot.open.get().is_some())
    }

    /// Returns whether some store is open and still where it was opened, or none could be opened yet.
    pub(crate) fn has_a_store(&self) -> bool {
        self.opened().next().is_none() || self.opened().any(OpenDatabase::has_store)
    }

    /// The names of all databases that have one, and whether they are available.
    pub(crate) fn availability(&self) -> impl Iterator<Item = (&str, bool)> {
        let is_available = |slot: &Slot| slot.open.get().is_some_and(OpenDatabase::has_store);
        self.0.slots.iter().filter_map(move |slot| Some((slot.source.name.as_deref()?, is_available(slot))))
    }

    /// The database with the name that a client gives.
    pub(crate) fn choose<'a>(&'a self, name: Option<&'a str>) -> Choice<'a> {
        let slots = self.0.slots.as_slice();
        let slot = match (slots, name.filter(|name| !name.is_empty())) {
            ([only], None) => only,
            ([only], _) if only.source.name.is_none() => only,
            (_, None) => return Choice::NotNamed,
            (_, Some(name)) => match slots.iter().find(|slot| slot.source.name.as_deref() == Some(name)) {
                Some(slot) => slot,
                None => return Choice::Unknown(name),
            },
        };
        match slot.open.get() {
            Some(open) => Choice::Open(open),
            None => Choice::Unavailable(slot.source.name.as_deref().unwrap_or(UNNAMED)),
        }
    }
}

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.slots.iter().map(|slot| &slot.source.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::log::{Log, LogOptions};
    use crate::shared::phase::PhaseOwner;
    use crate::shared::statement_options::StatementOptions;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_database_that_must_not_be_served_is_refused_whenever_it_is_opened() {
        let (_owner, phase) = PhaseOwner::new();
        let server = ServerState::new(StatementOptions::default(), phase, Log::new(LogOptions::default()));
        let check: fn(&OpenDatabase) -> Result<()> = |database| match database.name() {
            "late" => Err(Error::usage("late has no users")),
            _ => Ok(()),
        };
        let is_there = Arc::new(AtomicBool::new(false));
        let sources = || {
            let is_there = Arc::clone(&is_there);
            let late = move || match is_there.load(Ordering::Relaxed) {
                true => atsdb::open("memory:"),
                false => Err(Error::new(ErrorKind::Unavailable, "not there yet")),
            };
            vec![
                DatabaseSource::named("first", || atsdb::open("memory:")).unwrap(),
                DatabaseSource::named("late", late).unwrap(),
            ]
        };
        let databases = Databases::open(&server, sources(), Box::new(check)).unwrap();
        is_there.store(true, Ordering::Relaxed);
        assert!(databases.open_missing().is_empty());
        assert!(matches!(databases.choose(Some("late")), Choice::Unavailable("late")));
        assert_eq!(databases.opened().count(), 1);
        let refused = Databases::open(&server, sources(), Box::new(check)).unwrap_err();
        assert_eq!(refused.message(), "late has no users");
    }
}
