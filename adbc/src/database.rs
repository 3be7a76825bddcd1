//! The driver, and its database: an open store.

use crate::connection::AtsdbConnection;
use crate::failure::{guarded, invalid, of_store};
use crate::link::{Link, OpenStore};
use crate::options::{self, byte_count, count, duration, flag, text, unknown_to_get, unknown_to_set};
use crate::rows::ResultTypes;
use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use atsdb::sql::SessionOptions;
use atsdb::{Durability, OpenOptions};
use std::sync::Arc;

/// The driver.
#[derive(Debug, Default)]
pub(crate) struct AtsdbDriver;

/// An open store.
pub(crate) struct AtsdbDatabase {
    store: Arc<OpenStore>,
    uri: String,
}

impl Driver for AtsdbDriver {
    type DatabaseType = AtsdbDatabase;

    fn new_database(&mut self) -> Result<AtsdbDatabase> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        opts: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<AtsdbDatabase> {
        guarded(|| AtsdbDatabase::open(opts))
    }
}

impl AtsdbDatabase {
    fn open(options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>) -> Result<Self> {
        let (mut opening, mut session, mut uri) = (OpenOptions::new(), SessionOptions::default(), None);
        let mut types = ResultTypes::default();
        for (key, value) in options {
            let key = key.as_ref();
            if let Some(set) = types.set(key, &value) {
                set?;
                continue;
            }
            match key {
                "uri" => uri = Some(text(key, value)?),
                "password" => opening = opening.password(text(key, value)?),
                "username" => {
                    return Err(invalid(
                        "give the user of a server's store in its URL: postgresql://USER@HOST/DATABASE",
                    ));
                }
                options::READ_ONLY => opening = opening.read_only(flag(key, &value)?),
                options::CREATE => opening = opening.create(flag(key, &value)?),
                options::MAINTENANCE => opening = opening.maintenance(flag(key, &value)?),
                options::DURABILITY => {
                    opening = opening.durability(Durability::parse(&text(key, value)?).map_err(of_store)?);
                }
                options::CACHE_BYTES => opening = opening.cache_bytes(byte_count(key, &value)?),
                options::BUSY_TIMEOUT_SECONDS => opening = opening.busy_timeout(duration(key, &value)?),
                options::MEMORY_BYTES => session.memory_bytes = byte_count(key, &value)?,
                options::TEMP_BYTES => session.temp_bytes = Some(byte_count(key, &value)? as u64),
                options::THREADS => session.threads = count(key, &value)?,
                options::TIMEOUT_SECONDS => session.time_limit = Some(duration(key, &value)?),
                other => return Err(unknown_to_set(other)),
            }
        }
        let Some(uri) = uri else {
            return Err(invalid("the option uri names the store: a path, or any URL of a store, such as memory:"));
        };
        let first = opening.open(&uri).and_then(|database| database.session(session)).map_err(of_store)?;
        Ok(Self { store: Arc::new(OpenStore { first, types }), uri })
    }
}

impl Optionable for AtsdbDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, _: OptionValue) -> Result<()> {
        Err(crate::failure::invalid_state(format!("set the option {} before the store is opened", key.as_ref())))
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        match key {
            OptionDatabase::Uri => Ok(self.uri.clone()),
            other => Err(unknown_to_get(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(unknown_to_get(key.as_ref()))
    }
}

impl Database for AtsdbDatabase {
    type ConnectionType = AtsdbConnection;

    fn new_connection(&self) -> Result<AtsdbConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        opts: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<AtsdbConnection> {
        guarded(|| {
            let mut connection = AtsdbConnection::new(Arc::new(Link::new(Arc::clone(&self.store))));
            for (key, value) in opts {
                connection.set_option(key, value)?;
            }
            Ok(connection)
        })
    }
}
