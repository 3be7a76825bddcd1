//! A connection: a session, its transaction, and the metadata of the store.

use crate::failure::{guarded, not_implemented, of_store, with_state};
use crate::info::info;
use crate::link::{Canceller, Link};
use crate::objects::{self, ObjectFilter, find_schema, no_current_schema};
use crate::options::{NOTICE, TIMEOUT_SECONDS, duration, flag, text, unknown_to_get, unknown_to_set};
use crate::rows::{Reader, ResultTypes, fixed};
use crate::statement::AtsdbStatement;
use crate::statistics::{self, StatisticsFilter};
use adbc_core::error::{Result, Status};
use adbc_core::options::{InfoCode, IsolationLevel, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Connection, Optionable};
use atsdb::arrow::datatypes::Schema;
use atsdb::sql::CATALOG;
use atsdb::{PUBLIC_SCHEMA, SearchPath};
use std::collections::HashSet;
use std::sync::Arc;

/// A connection to a store.
pub(crate) struct AtsdbConnection {
    link: Arc<Link>,
    /// The types of results, unless a statement says otherwise.
    types: ResultTypes,
}

impl AtsdbConnection {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        let types = link.types();
        Self { link, types }
    }

    fn set(&mut self, key: &OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref();
        if let Some(set) = self.types.set(name, &value) {
            return set;
        }
        match key {
            OptionConnection::AutoCommit => self.link.set_autocommit(flag(name, &value)?),
            OptionConnection::ReadOnly => self.link.set_read_only(flag(name, &value)?),
            OptionConnection::CurrentCatalog => check_is(name, &text(name, value)?, CATALOG),
            OptionConnection::CurrentSchema => self.set_current_schema(&text(name, value)?),
            OptionConnection::IsolationLevel => {
                let wanted = text(name, value)?;
                let has = [IsolationLevel::Default, IsolationLevel::Snapshot].map(String::from);
                match has.contains(&wanted) {
                    true => Ok(()),
                    false => Err(not_implemented(format!("the isolation of transactions is {}, not {wanted}", has[1]))),
                }
            }
            OptionConnection::Other(name) if name == TIMEOUT_SECONDS => {
                self.link.set_time_limit(duration(name, &value)?);
                Ok(())
            }
            _ => Err(unknown_to_set(name)),
        }
    }

    /// The schema of new tables whose names say none.
    fn current_schema(&self) -> Result<String> {
        let session = self.link.session();
        let schemas = session.schemas().map_err(of_store)?;
        match session.search_path().current(&schemas) {
            Some(schema) => Ok(schema.unwrap_or(PUBLIC_SCHEMA).to_owned()),
            None => Err(no_current_schema()),
        }
    }

    /// Makes a schema the only one in which names that say none are looked up.
    fn set_current_schema(&self, wanted: &str) -> Result<()> {
        let session = self.link.session();
        let schema = find_schema(&session, wanted)?;
        let path = SearchPath::new(vec![schema.unwrap_or_else(|| PUBLIC_SCHEMA.to_owned())]);
        session.set_search_path(path).map_err(of_store)
    }
}

/// Checks the value of an option that has one value.
fn check_is(name: &str, value: &str, only: &str) -> Result<()> {
    match value.eq_ignore_ascii_case(only) {
        true => Ok(()),
        false => Err(with_state(Status::NotFound, "3F000", format!("{name} is always {only}, not {value}"))),
    }
}

impl Optionable for AtsdbConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        guarded(|| self.set(&key, value))
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match &key {
            OptionConnection::AutoCommit => Ok(self.link.is_autocommit().to_string()),
            OptionConnection::ReadOnly => Ok(self.link.is_read_only().to_string()),
            OptionConnection::CurrentCatalog => Ok(CATALOG.to_owned()),
            OptionConnection::CurrentSchema => guarded(|| self.current_schema()),
            OptionConnection::IsolationLevel => Ok(IsolationLevel::Snapshot.into()),
            OptionConnection::Other(name) if name == NOTICE => Ok(self.link.session().notice().unwrap_or_default()),
            _ => self.types.get(key.as_ref()).ok_or_else(|| unknown_to_get(key.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(unknown_to_get(key.as_ref()))
    }
}

impl Connection for AtsdbConnection {
    type StatementType = AtsdbStatement;

    fn new_statement(&mut self) -> Result<AtsdbStatement> {
        Ok(AtsdbStatement::new(Arc::clone(&self.link), self.types))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Canceller(Arc::clone(&self.link)))
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        guarded(|| info(codes.as_ref()).map(fixed))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        guarded(|| {
            self.link.begin_call();
            let filter = ObjectFilter::new(catalog, db_schema, table_name, table_type, column_name);
            objects::objects(&self.link.session(), depth, &filter).map(fixed)
        })
    }

    fn get_table_schema(&self, catalog: Option<&str>, db_schema: Option<&str>, table_name: &str) -> Result<Schema> {
        guarded(|| {
            self.link.begin_call();
            let schema = objects::table_schema(&self.link.session(), catalog, db_schema, table_name)?;
            Ok(self.types.shown(&schema).as_ref().clone())
        })
    }

    fn get_table_types(&self) -> Result<Reader> {
        guarded(|| objects::table_types().map(fixed).map_err(of_store))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Ok(fixed(statistics::names()))
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        guarded(|| {
            self.link.begin_call();
            let filter = StatisticsFilter::new(catalog, db_schema, table_name);
            statistics::statistics(&self.link.session(), &filter).map(fixed)
        })
    }

    fn commit(&mut self) -> Result<()> {
        guarded(|| {
            self.link.begin_call();
            self.link.end_by_request("COMMIT")
        })
    }

    fn rollback(&mut self) -> Result<()> {
        guarded(|| {
            self.link.begin_call();
            self.link.end_by_request("ROLLBACK")
        })
    }

    fn read_partition(&self, _: impl AsRef<[u8]>) -> Result<Reader> {
        Err(not_implemented("results have no partitions"))
    }
}
