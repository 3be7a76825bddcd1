//! A statement: SQL with parameters, or bulk ingestion.

use crate::binding::{BoundData, BoundStatement, RowsPerRow, change_per_row, row_count};
use crate::failure::{guarded, invalid_state, not_implemented, of_store};
use crate::ingest::{Ingestion, check_catalog};
use crate::link::{Canceller, Link, no_statement};
use crate::options::{BIND_BY_NAME, flag, text, unknown_to_get, unknown_to_set};
use crate::rows::{Reader, ResultTypes, nothing, stream};
use adbc_core::error::Result;
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use atsdb::arrow::array::{RecordBatch, RecordBatchReader};
use atsdb::arrow::datatypes::{Field, Schema};
use atsdb::sql::{Answer, NumberedText, Prepared, Statements, verb_of};
use std::sync::Arc;

/// A statement.
pub(crate) struct AtsdbStatement {
    link: Arc<Link>,
    text: Option<NumberedText>,
    /// The result of `prepare` for the text.
    prepared: Option<Prepared>,
    bound: Option<BoundData>,
    ingestion: Ingestion,
    binds_by_name: bool,
    types: ResultTypes,
}

impl AtsdbStatement {
    pub(crate) fn new(link: Arc<Link>, types: ResultTypes) -> Self {
        Self {
            link,
            text: None,
            prepared: None,
            bound: None,
            ingestion: Ingestion::default(),
            binds_by_name: false,
            types,
        }
    }

    fn text(&self) -> Result<&NumberedText> {
        self.text.as_ref().ok_or_else(|| invalid_state("the statement has no SQL: set it first"))
    }

    /// The bound data for one execution. A batch stays bound.
    fn take_bound(&mut self) -> Option<BoundData> {
        match &self.bound {
            Some(BoundData::Batch(batch)) => Some(BoundData::Batch(batch.clone())),
            _ => self.bound.take(),
        }
    }

    /// Runs the bulk ingestion, if this statement is one. Returns the number of rows.
    fn ingest(&mut self) -> Result<Option<u64>> {
        let Some(table) = self.ingestion.table.clone() else { return Ok(None) };
        let data = self.take_bound().ok_or_else(|| invalid_state("no data is bound to ingest"))?;
        self.ingestion.run(&self.link, &table, data).map(Some)
    }

    /// The bound data, if the statement is to be executed with it: one without parameters may have data without
    /// columns.
    fn arguments(&mut self) -> Result<Option<(BoundStatement, BoundData)>> {
        let Some(data) = self.take_bound() else { return Ok(None) };
        let text = self.text()?;
        let statement = BoundStatement::new(&self.link.session(), text, &data.schema(), self.binds_by_name)?;
        let is_needed = !statement.prepared.parameter_types().is_empty();
        Ok(is_needed.then_some((statement, data)))
    }

    /// Executes the text without parameters: all its statements. Returns the answer of the last one. The rows of the
    /// others are read and dropped.
    fn last_answer(&self) -> Result<Answer> {
        let text = self.text()?;
        let (session, mut answer) = (self.link.session(), None);
        for statement in Statements::new(&text.text) {
            answer.take().map(row_count).transpose()?;
            self.link.check_not_cancelled().map_err(of_store)?;
            let statement = statement.map_err(of_store)?;
            self.link.begin_before(statement.text())?;
            answer = Some(session.execute(&statement, &[]).map_err(of_store)?);
        }
        answer.ok_or_else(no_statement)
    }

    /// Executes a change with each row of its data, all or nothing.
    fn change(&self, statement: &BoundStatement, data: BoundData) -> Result<Option<u64>> {
        let is_one_row = matches!(&data, BoundData::Batch(batch) if batch.num_rows() == 1);
        if is_one_row {
            // A store retries a single statement after a conflict, but not a transaction.
            self.link.begin_before(statement.prepared.statement().text())?;
            return change_per_row(&self.link, &self.link.session(), statement, data);
        }
        self.link.in_transaction(|session| change_per_row(&self.link, session, statement, data))
    }

    fn prepared_for_schema(&mut self) -> Result<Prepared> {
        let session = self.link.session();
        let text = self.text()?;
        match &self.bound {
            Some(data) => {
                BoundStatement::new(&session, text, &data.schema(), self.binds_by_name).map(|bound| bound.prepared)
            }
            None => session.prepare(&text.text, &[]).map_err(of_store),
        }
    }

    fn schema(&self, prepared: &Prepared) -> Schema {
        let shown = |schema| self.types.shown(schema).as_ref().clone();
        prepared.schema().map_or_else(Schema::empty, shown)
    }

    fn set(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let name = key.as_ref();
        if let Some(set) = self.types.set(name, &value) {
            return set;
        }
        match &key {
            OptionStatement::IngestMode => self.ingestion.mode = Some(IngestMode::try_from(&value)?),
            OptionStatement::TargetTable => {
                self.ingestion.set_table(text(name, value)?);
                (self.text, self.prepared) = (None, None);
            }
            OptionStatement::TargetCatalog => {
                let catalog = text(name, value)?;
                check_catalog(name, &catalog)?;
                self.ingestion.set_catalog(Some(catalog).filter(|catalog| !catalog.is_empty()));
            }
            OptionStatement::TargetDbSchema => {
                self.ingestion.set_schema(Some(text(name, value)?).filter(|schema| !schema.is_empty()));
            }
            OptionStatement::Temporary => self.ingestion.temporary = flag(name, &value)?,
            OptionStatement::Incremental if flag(name, &value)? => {
                return Err(not_implemented("results have no partitions"));
            }
            OptionStatement::Incremental => {}
            OptionStatement::Other(name) if name == BIND_BY_NAME => self.binds_by_name = flag(name, &value)?,
            OptionStatement::Other(name) => match self.ingestion.text_mut(name) {
                // An empty text resets the option.
                Some(option) => *option = Some(text(name, value)?).filter(|text| !text.is_empty()),
                None => return Err(unknown_to_set(name)),
            },
            _ => return Err(unknown_to_set(name)),
        }
        Ok(())
    }
}

impl Optionable for AtsdbStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        guarded(|| self.set(key, value))
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        let found = match &key {
            OptionStatement::IngestMode => self.ingestion.mode.map(String::from),
            OptionStatement::TargetTable => self.ingestion.table.clone(),
            OptionStatement::TargetCatalog => self.ingestion.catalog.clone(),
            OptionStatement::TargetDbSchema => self.ingestion.schema.clone(),
            OptionStatement::Temporary => Some(self.ingestion.temporary.to_string()),
            OptionStatement::Other(name) if name == BIND_BY_NAME => Some(self.binds_by_name.to_string()),
            OptionStatement::Other(name) => {
                let types = self.types.get(name);
                types.or_else(|| self.ingestion.clone().text_mut(name).and_then(Option::take))
            }
            _ => None,
        };
        found.ok_or_else(|| unknown_to_get(key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        Err(unknown_to_get(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(unknown_to_get(key.as_ref()))
    }
}

impl Statement for AtsdbStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        self.bound = Some(BoundData::Batch(batch));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(BoundData::Stream(reader));
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        guarded(|| {
            self.link.begin_call();
            if self.ingest()?.is_some() {
                return Ok(nothing());
            }
            let Some((statement, data)) = self.arguments()? else {
                return match self.last_answer()? {
                    Answer::Rows(rows) => stream(&rows.schema(), Box::new(rows), self.types),
                    Answer::Done { .. } => Ok(nothing()),
                };
            };
            let word = verb_of(statement.prepared.statement().text());
            if statement.prepared.schema().is_none() {
                return self.change(&statement, data).map(|_| nothing());
            }
            if ["INSERT", "REPLACE", "UPDATE", "DELETE"].contains(&word.as_str()) {
                // The change of each row is applied when its result is read, so all results are read within the
                // transaction.
                let session = self.link.session();
                return self.link.in_transaction(|_| {
                    let mut rows = RowsPerRow::new(Arc::clone(&self.link), session, statement, data);
                    let schema = rows.schema()?;
                    let read = rows.collect::<atsdb::Result<Vec<_>>>().map_err(of_store)?;
                    stream(&schema, Box::new(read.into_iter().map(Ok)), self.types)
                });
            }
            self.link.begin_before(&word)?;
            let mut rows = RowsPerRow::new(Arc::clone(&self.link), self.link.session(), statement, data);
            let schema = rows.schema()?;
            stream(&schema, Box::new(rows), self.types)
        })
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        guarded(|| {
            self.link.begin_call();
            if let Some(row_count) = self.ingest()? {
                return Ok(i64::try_from(row_count).ok());
            }
            let changed = match self.arguments()? {
                Some((statement, data)) => self.change(&statement, data)?,
                None => row_count(self.last_answer()?)?,
            };
            Ok(changed.and_then(|changed| i64::try_from(changed).ok()))
        })
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        guarded(|| {
            self.link.begin_call();
            let prepared = self.prepared_for_schema()?;
            Ok(self.schema(&prepared))
        })
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(not_implemented("results have no partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        let prepared = self.prepared.as_ref();
        let prepared = prepared.ok_or_else(|| {
            invalid_state("the statement is not prepared, or the text has several statements: prepare one")
        })?;
        let names = self.text.as_ref().map_or(&[][..], |text| &text.names);
        let field = |(at, data_type): (usize, &atsdb::arrow::datatypes::DataType)| {
            Field::new(names.get(at).and_then(Option::as_deref).unwrap_or_default(), data_type.clone(), true)
        };
        Ok(Schema::new(prepared.parameter_types().iter().enumerate().map(field).collect::<Vec<_>>()))
    }

    fn prepare(&mut self) -> Result<()> {
        guarded(|| {
            self.link.begin_call();
            let text = &self.text()?.text;
            // Python's manager prepares everything that it executes. Several statements are prepared one by one, as
            // each is executed: the second may need what the first one creates.
            if Statements::new(text).count() < 2 {
                self.prepared = Some(self.link.session().prepare(text, &[]).map_err(of_store)?);
            }
            Ok(())
        })
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.text = Some(NumberedText::new(query.as_ref()).map_err(of_store)?);
        (self.prepared, self.bound, self.ingestion.table) = (None, None, None);
        Ok(())
    }

    fn set_substrait_plan(&mut self, _: impl AsRef<[u8]>) -> Result<()> {
        Err(not_implemented("Substrait plans are not supported: use SQL"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Canceller(Arc::clone(&self.link)))
    }
}
