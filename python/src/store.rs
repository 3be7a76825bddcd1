//! An open store: sessions, imports, copies and figures.

use crate::failure::raised;
use crate::process::{OwnerProcess, store_closed, store_opens};
use crate::session::Session;
use crate::stop::{StoppableCall, StoppableCalls};
use crate::store_options::StoreOptions;
use crate::waiting::wait_for;
use atsdb::import_options::{ColumnChoice, DateOrder, Format, Input, Options, UnpivotChoice, Zone};
use atsdb::sql::SessionOptions;
use atsdb::{
    BackupOptions, BackupSelector, BatchId, CommitOutcome, CopyOptions, CopyReport, Database, Error, MapWidth, Moment,
    OpenOptions, ProgressCallback, Result, Selection, SliceWidth, Table, TimeUnit,
};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// An open store.
#[pyclass(frozen, module = "atsdb._atsdb")]
pub(crate) struct Store {
    /// `None` once it is closed.
    open: Mutex<Option<OpenStore>>,
    /// Imports and copies.
    calls: StoppableCalls,
    process: OwnerProcess,
}

impl Drop for Store {
    fn drop(&mut self) {
        let open = self.open.get_mut().take();
        if self.process.is_current() {
            drop(open.inspect(|_| store_closed()));
        } else {
            // Closing it would wait for its threads, which only the parent has.
            std::mem::forget(open);
        }
    }
}

/// A store, and the session whose threads and memory all others share.
#[derive(Clone)]
struct OpenStore {
    database: Database,
    first: Arc<atsdb::sql::Session>,
}

/// The keyword arguments of `import_file`.
#[derive(FromPyObject)]
pub(crate) struct ImportOptions {
    format: Option<String>,
    delimiter: Option<String>,
    header: Option<bool>,
    skip: Option<u64>,
    quotes: bool,
    records: Option<String>,
    sheet: Option<String>,
    /// The name in the table and the name in the files.
    columns: Vec<(String, String)>,
    omit: Vec<String>,
    unpivot: Vec<String>,
    into: (String, String),
    decimal_comma: bool,
    zone: Option<String>,
    times_until: i64,
    time: Vec<String>,
    time_unit: Option<String>,
    date_order: Option<String>,
    map: Vec<(String, Option<String>)>,
    slice: Option<String>,
    key: Vec<String>,
    null: Vec<String>,
    skip_bad: bool,
    file_column: Option<String>,
}

impl ImportOptions {
    fn options(self) -> Result<Options> {
        let delimiter = |text: String| match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err(Error::usage(format!("cannot separate fields by {text:?}")).with_hint("use one ASCII character")),
        };
        let date_order = |name: String| match name.as_str() {
            "dmy" => Ok(DateOrder::DayFirst),
            "mdy" => Ok(DateOrder::MonthFirst),
            _ => Err(Error::usage(format!("unknown date_order {name}")).with_hint("use dmy or mdy")),
        };
        let width = |width: Option<String>| width.as_deref().map(MapWidth::parse).transpose();
        let (name, value) = self.into;
        let unpivot = UnpivotChoice { columns: self.unpivot, name, value };
        Ok(Options {
            format: self.format.as_deref().map(Format::parse).transpose()?,
            delimiter: self.delimiter.map(delimiter).transpose()?,
            header: self.header,
            skip: self.skip,
            no_quotes: !self.quotes,
            path: self.records,
            sheet: self.sheet,
            columns: self.columns.into_iter().map(|(name, source)| ColumnChoice { name, source }).collect(),
            omit: self.omit,
            unpivot: Some(unpivot).filter(|unpivot| !unpivot.columns.is_empty()),
            decimal_comma: self.decimal_comma,
            zone: self.zone.as_deref().map(Zone::parse).transpose()?,
            times_until: Some(self.times_until),
            time: self.time,
            time_unit: self.time_unit.as_deref().map(TimeUnit::parse).transpose()?,
            date_order: self.date_order.map(date_order).transpose()?,
            map: self.map.into_iter().map(|(name, map)| Ok((name, width(map)?))).collect::<Result<_>>()?,
            slice: self.slice.as_deref().map(SliceWidth::parse).transpose()?,
            key: self.key,
            null: self.null,
            skip_bad: self.skip_bad,
            file_column: self.file_column,
            ..Options::default()
        })
    }
}

impl Store {
    fn opened(&self, py: Python<'_>) -> PyResult<OpenStore> {
        raised(py, self.process.check())?;
        let open = self.open.lock().clone();
        raised(py, open.ok_or_else(|| Error::usage("the store is closed").with_hint("open it again")))
    }

    fn database(&self, py: Python<'_>) -> PyResult<Database> {
        self.opened(py).map(|open| open.database)
    }
}

#[pymethods]
impl Store {
    /// Opens the store at a URL.
    #[new]
    fn at(py: Python<'_>, url: &str, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let options = StoreOptions::read(options)?;
        let mut opening = OpenOptions::new()
            .durability(options.durability)
            .create(options.create)
            .read_only(options.read_only)
            .maintenance(options.maintenance);
        if let Some(password) = options.password {
            opening = opening.password(password);
        }
        if let Some(bytes) = options.cache_bytes {
            opening = opening.cache_bytes(bytes);
        }
        let mut session_options = SessionOptions::default();
        session_options.memory_bytes = options.memory_bytes.unwrap_or(session_options.memory_bytes);
        session_options.temp_bytes = options.temp_bytes;
        session_options.threads = options.threads.unwrap_or(session_options.threads);
        session_options.time_limit = options.timeout;
        let open = || {
            let database = opening.open(url)?;
            let first = Arc::new(database.session(session_options)?);
            Ok(OpenStore { database, first })
        };
        raised(py, store_opens())?;
        let open = wait_for(py, || (), open).inspect_err(|_| store_closed())?;
        Ok(Self { open: Mutex::new(Some(open)), calls: StoppableCalls::default(), process: OwnerProcess::current() })
    }

    /// A session.
    fn session(&self, py: Python<'_>) -> PyResult<Session> {
        let open = self.opened(py)?;
        Ok(Session::new(open.first.sharing()))
    }

    /// Warnings about conditions that break a promise of the store.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.database(py)?.warnings().iter().map(ToString::to_string).collect())
    }

    /// Closes the store once its sessions have ended.
    fn close(&self, py: Python<'_>) {
        if self.process.is_current() {
            let open = self.open.lock().take();
            py.detach(|| drop(open.inspect(|_| store_closed())));
        }
    }

    /// Stops imports, backups, restores and copies, from any thread.
    fn interrupt(&self) {
        self.calls.stop();
    }

    /// Imports files into a table.
    fn import_files<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        paths: Vec<PathBuf>,
        options: ImportOptions,
        id: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.opened(py)?;
        let temporary_space = Arc::clone(open.first.temporary_space());
        let options = Options { temporary_space, ..raised(py, options.options())? };
        let id = raised(py, id.map(BatchId::new).transpose())?;
        let database = open.database;
        let inputs = paths.into_iter().map(Input::Path).collect();
        let call = self.calls.begin("the import");
        let stop = call.flag();
        let imported = call.wait_for(py, || database.import(table, inputs, &options, id, &|_| stop.check()))?;
        let done = PyDict::new(py);
        done.set_item("rows", imported.report.row_count)?;
        done.set_item("stored", imported.outcome == CommitOutcome::Committed)?;
        done.set_item("bytes_read", imported.report.bytes_read)?;
        done.set_item("skipped", imported.report.skipped_count)?;
        done.set_item("notes", imported.report.notes)?;
        Ok(done)
    }

    /// The names of the tables, views and rollups.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let database = self.database(py)?;
        let tables = wait_for(py, || (), || database.tables())?;
        let shown = tables.into_iter().filter(|table| table.definition.logs.is_none());
        Ok(shown.map(|table| table.definition.name).collect())
    }

    /// Figures of one table, or of all tables.
    #[pyo3(signature = (table = None))]
    fn stats<'py>(&self, py: Python<'py>, table: Option<&str>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let database = self.database(py)?;
        let work = || database.engine().stats(named(&database, table)?.as_ref());
        let shown = |stats: &atsdb::TableStats| -> PyResult<Bound<'py, PyDict>> {
            let one = PyDict::new(py);
            one.set_item("name", &stats.name)?;
            one.set_item("rows", stats.rows)?;
            one.set_item("slices", stats.slices)?;
            one.set_item("chunks", stats.chunks)?;
            one.set_item("fresh_chunks", stats.fresh_chunks)?;
            one.set_item("bytes", stats.bytes)?;
            one.set_item("bytes_per_row", stats.bytes_per_row)?;
            one.set_item("time_min", stats.time_min)?;
            one.set_item("time_max", stats.time_max)?;
            let columns = stats.columns.iter().map(|column| {
                let map = column.map.map(atsdb::MapWidth::name);
                (&column.name, column.column_type.sql_name(), map, &column.encoding, column.bytes)
            });
            one.set_item("columns", columns.collect::<Vec<_>>())?;
            Ok(one)
        };
        wait_for(py, || (), work)?.iter().map(shown).collect()
    }

    /// Seals the fresh chunks of one table, or of all tables. Returns the bytes before and after.
    #[pyo3(signature = (table = None))]
    fn recompress(&self, py: Python<'_>, table: Option<&str>) -> PyResult<(u64, u64)> {
        let database = self.database(py)?;
        let report = wait_for(py, || (), || database.engine().recompress(named(&database, table)?.as_ref()))?;
        Ok((report.bytes_before, report.bytes_after))
    }

    /// Backs up the store to a directory or bucket.
    fn backup<'py>(
        &self,
        py: Python<'py>,
        archive: &str,
        tables: Vec<String>,
        keep: Option<usize>,
        verify: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let call = self.calls.begin("the backup");
        let selection = Selection { tables, ..Selection::default() };
        let options = BackupOptions { selection, keep, verify, on_progress: Some(progress_of(&call)) };
        let database = self.database(py)?;
        let report = call.wait_for(py, || database.backup(archive, &options))?;
        let done = PyDict::new(py);
        done.set_item("id", report.id)?;
        done.set_item("tables", report.tables)?;
        done.set_item("rows", report.rows)?;
        done.set_item("chunks", report.chunks)?;
        done.set_item("bytes", report.bytes)?;
        done.set_item("chunks_written", report.chunks_written)?;
        done.set_item("bytes_written", report.bytes_written)?;
        done.set_item("backups_deleted", report.backups_deleted)?;
        Ok(done)
    }

    /// Restores the latest backup of an archive, or the one with this id.
    fn restore<'py>(
        &self,
        py: Python<'py>,
        archive: &str,
        id: Option<String>,
        overwrite: bool,
        verify: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let call = self.calls.begin("the restore");
        let on_progress = Some(progress_of(&call));
        let options = CopyOptions { overwrite, verify, on_progress, ..CopyOptions::default() };
        let which = id.map_or(BackupSelector::Latest, BackupSelector::Id);
        let database = self.database(py)?;
        let (_, report) = call.wait_for(py, || database.restore(archive, &which, &options))?;
        copied(py, &report)
    }

    /// Copies the store to the one at a URL.
    #[expect(clippy::too_many_arguments, reason = "one for each keyword")]
    fn copy<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        tables: Vec<String>,
        from: Option<&str>,
        to: Option<&str>,
        overwrite: bool,
        verify: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let call = self.calls.begin("the copy");
        let moment = |text: Option<&str>| raised(py, text.map(Moment::parse).transpose());
        let selection = Selection { tables, from: moment(from)?, to: moment(to)? };
        let on_progress = Some(progress_of(&call));
        let options = CopyOptions { selection, overwrite, verify, on_progress, ..CopyOptions::default() };
        let database = self.database(py)?;
        let report = call.wait_for(py, || database.copy_to(url, &options))?;
        copied(py, &report)
    }
}

/// The callback by which a copy checks whether it is to stop.
fn progress_of(call: &StoppableCall<'_>) -> ProgressCallback {
    let flag = call.flag();
    Arc::new(move |_| flag.check())
}

fn named(database: &Database, name: Option<&str>) -> Result<Option<Table>> {
    name.map(|name| database.engine().table(name)).transpose()
}

fn copied<'py>(py: Python<'py>, report: &CopyReport) -> PyResult<Bound<'py, PyDict>> {
    let done = PyDict::new(py);
    done.set_item("tables", report.tables)?;
    done.set_item("chunks", report.chunks)?;
    done.set_item("rows", report.rows)?;
    done.set_item("bytes", report.bytes)?;
    done.set_item("chunks_kept", report.chunks_kept)?;
    Ok(done)
}
