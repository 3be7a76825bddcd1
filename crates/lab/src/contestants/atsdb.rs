//! atsdb on its SQLite store, through the facade, as an application uses it.
//!
//! Background maintenance is off, so that it does not run into what is measured; sealing is asked for and timed on
//! its own.

use crate::answer::Answer;
use crate::contestant::{Contestant, Dialect, Loader, Place, Session};
use crate::digest::RowDigest;
use crate::failure::Failure;
use crate::rows::{LabRow, RowSet, RowVisitor, Timed};
use crate::server::ServerUrls;
use crate::tier::Tier;
use arrow::array::RecordBatch;
use atsdb::{Appender, Database, Error, ErrorKind, OpenOptions, ScanRequest, TableDefinition};

/// atsdb on its SQLite store.
pub(crate) struct Atsdb;

struct AtsdbSession {
    database: Database,
    tier: Tier,
    settings: Vec<String>,
}

struct AtsdbLoader {
    appender: Appender,
}

impl Contestant for Atsdb {
    fn name(&self) -> &'static str {
        "atsdb"
    }

    fn summary(&self) -> &'static str {
        "atsdb on its SQLite store, through the Rust library"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        Ok(format!("atsdb {}", env!("CARGO_PKG_VERSION")))
    }

    fn open(&self, place: &Place) -> Result<Box<dyn Session>, Failure> {
        let path = place.directory.join("atsdb.db");
        let url = format!("sqlite:{}", path.display());
        let database = OpenOptions::new().durability(place.durability).maintenance(false).open(&url)?;
        let settings = vec![format!("durability = {}", place.durability), "maintenance = off".to_owned()];
        Ok(Box::new(AtsdbSession { database, tier: place.durability.into(), settings }))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Session for AtsdbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Atsdb
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        self.database.engine().create_table(table)?;
        Ok(())
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        let engine = self.database.engine();
        let appender = engine.appender(&engine.table(&table.name)?);
        Ok(Box::new(AtsdbLoader { appender }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        self.database.engine().recompress(None)?;
        Ok(())
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds rows by slice and statistics; there is no index to make"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let snapshot = self.database.engine().snapshot()?;
        let table = snapshot.table(&table.name)?;
        let scan = snapshot.scan(table, &ScanRequest::all(table))?;
        let mut digest = RowDigest::default();
        for batch in scan.batches() {
            digest.add_batch(&batch?)?;
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let atsdb::sql::Answer::Rows(rows) = self.database.sql(sql)? else {
            return Err(Failure::wrong(format!("{sql} gave no rows")));
        };
        let mut answer = Answer::default();
        for batch in rows {
            answer.add_batch(&batch?)?;
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            self.database.sql(statement).map_err(cannot_or_failed)?;
        }
        Ok(())
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.database.sql("BEGIN").map_err(cannot_or_failed)?;
        self.execute(statements)?;
        self.database.sql("COMMIT").map_err(cannot_or_failed)?;
        Ok(())
    }
}

/// A statement that is understood and not supported is nothing that went wrong.
fn cannot_or_failed(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Sql if error.message().contains("not supported") => Failure::Cannot(error.to_string()),
        _ => error.into(),
    }
}

impl Loader for AtsdbLoader {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        rows.visit(PushRows(&mut self.appender))?;
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.appender.append(batch)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.appender.flush()?;
        Ok(())
    }
}

struct PushRows<'a>(&'a mut Appender);

impl RowVisitor for PushRows<'_> {
    type Output = atsdb::Result<()>;

    fn visit<R: LabRow>(self, rows: &[Timed<R>]) -> Self::Output {
        rows.iter().try_for_each(|row| self.0.push(row.time, &row.record))
    }
}
