//! The rows of a file that a query reads: in memory, and in a temporary file if they are too many. Files of columns,
//! such as Parquet, are left where they are, and only the columns that the query needs are read.

use crate::console::interrupt;
use crate::console::prefetch::Prefetch;
use crate::console::progress::Progress;
use crate::session::source_file::SourceFile;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use atsdb::sql::{FileRows, FileTable, StoredRows};
use atsdb::{Column, Error, ErrorKind, Result, TableDefinition, arrow_schema, logical_arrays};
use atsdb_import::{ColumnChoice, Options, Sink, open_content, typed_table};
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace};
use std::io::{BufReader, BufWriter, Read};
use std::iter;
use std::sync::Arc;

/// The part of the memory of a query that the rows of a file may take, before they are put into a temporary file.
const MEMORY_SHARE: usize = 4;

/// Collects the rows of a file.
pub(super) struct CollectedRows {
    bytes_max: usize,
    bytes: usize,
    /// The columns of the rows, once there are some.
    columns: Option<QueryColumns>,
    /// The rows, as long as they are few.
    batches: Vec<RecordBatch>,
    /// The rows in a temporary file.
    spilled: Option<FileWriter<BufWriter<TemporaryFile>>>,
    space: Arc<TemporarySpace>,
}

impl CollectedRows {
    /// Creates rows for a query that may use `memory_bytes` bytes of memory, and this space for temporary files.
    pub(super) fn new(memory_bytes: usize, space: &Arc<TemporarySpace>) -> Self {
        let bytes_max = memory_bytes / MEMORY_SHARE;
        Self { bytes_max, bytes: 0, columns: None, batches: Vec::new(), spilled: None, space: Arc::clone(space) }
    }

    /// The rows and their columns. `definition` is the table that the importer delivered.
    pub(super) fn finish(self, definition: &TableDefinition) -> Result<(SchemaRef, FileRows)> {
        if let Some(writer) = self.spilled {
            let schema = Arc::clone(writer.schema());
            let out = writer.into_inner().map_err(cannot_keep)?;
            let file = out.into_inner().map_err(|error| cannot_keep(error.into_error().into()))?;
            let file = PositionedFile::from(Arc::new(file));
            return Ok((schema, FileRows::Stored(Arc::new(SpilledRows { file }))));
        }
        let schema = QueryColumns::new(&definition.columns).schema;
        Ok((schema, FileRows::Memory(self.batches)))
    }
}

impl Sink for CollectedRows {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        (self.bytes, self.batches, self.spilled) = (0, Vec::new(), None);
        self.columns = Some(QueryColumns::new(&definition.columns));
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        interrupt::check()?;
        let columns = self.columns.as_ref().ok_or_else(|| Error::internal("the importer gave rows before a table"))?;
        let batch = columns.batch(&batch)?;
        self.bytes += batch.get_array_memory_size();
        if let Some(writer) = &mut self.spilled {
            return writer.write(&batch).map_err(cannot_keep);
        }
        let batch_schema = batch.schema();
        self.batches.push(batch);
        if self.bytes > self.bytes_max {
            let file = BufWriter::new(TemporaryFile::new(&self.space)?);
            let mut writer = FileWriter::try_new(file, &batch_schema).map_err(cannot_keep)?;
            std::mem::take(&mut self.batches).iter().try_for_each(|batch| writer.write(batch)).map_err(cannot_keep)?;
            self.spilled = Some(writer);
        }
        Ok(())
    }
}

/// Rows in a temporary file, which is removed with them.
#[derive(Debug)]
struct SpilledRows {
    file: PositionedFile,
}

impl StoredRows for SpilledRows {
    fn read(&self, columns: &[usize]) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        let file = BufReader::new(self.file.at(0));
        let reader = FileReader::try_new(file, Some(columns.to_vec())).map_err(cannot_keep)?;
        Ok(Box::new(reader.map(|batch| batch.map_err(cannot_keep))))
    }
}

/// The rows of Parquet and Arrow files, which are read when the query runs. `None` for other files, and if the importer
/// does not see which column is the time.
pub(super) fn typed_files(files: &[SourceFile], options: &Options) -> Result<Option<FileTable>> {
    // The rows of a query are read by the names that the columns have in the files.
    if !options.columns.is_empty() || options.file_column.is_some() || !files.iter().all(has_columns) {
        return Ok(None);
    }
    let inputs = || files.iter().map(SourceFile::input).collect::<Result<Vec<_>>>();
    let progress = Progress::new();
    let show = |now| progress.update_import(now);
    let plain = Options { time: vec!["none".to_owned()], ..options.clone() };
    let Some(definition) = typed_table("file", inputs()?, options, &show).or_else(|error| match error.kind() {
        ErrorKind::Usage | ErrorKind::InvalidValue if options.time.is_empty() => {
            typed_table("file", inputs()?, &plain, &show)
        }
        _ => Err(error),
    })?
    else {
        return Ok(None);
    };
    let schema = QueryColumns::new(&definition.columns).schema;
    let rows = TypedRows { files: files.to_vec(), options: options.clone(), definition };
    Ok(Some(FileTable { schema, rows: FileRows::Stored(Arc::new(rows)) }))
}

/// Returns whether a file begins like Parquet or Arrow, so that it need not be unpacked or read to its end to know
/// that.
fn has_columns(file: &SourceFile) -> bool {
    match file.opened() {
        _ if file.part().is_some() => false,
        // Only Parquet is read piece by piece.
        Ok(None) => true,
        Err(_) => false,
        Ok(Some(opened)) => {
            let mut head = [0; 6];
            let read = open_content(&opened).and_then(|mut content| content.read_exact(&mut head));
            read.is_ok() && (head.starts_with(b"PAR1") || head.starts_with(b"ARROW1"))
        }
    }
}

/// The rows of files of columns.
#[derive(Debug)]
struct TypedRows {
    files: Vec<SourceFile>,
    options: Options,
    definition: TableDefinition,
}

impl StoredRows for TypedRows {
    fn read(&self, columns: &[usize]) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        let named = |definition: TableDefinition, position: &usize| {
            let column = &self.definition.columns[*position];
            definition.with_column(&column.name, column.column_type, None)
        };
        let definition = columns.iter().fold(TableDefinition::new("file"), named);
        let choice = |column: &Column| ColumnChoice { name: column.name.clone(), source: column.name.clone() };
        let chosen = definition.columns.iter().map(choice).collect();
        let query_columns = QueryColumns::new(&definition.columns);
        let options = Options { columns: chosen, time: Vec::new(), ..self.options.clone() };
        let inputs = self.files.iter().map(SourceFile::input).collect::<Result<Vec<_>>>()?;
        let batches = Prefetch::<Result<RecordBatch>>::run(move |put| {
            let mut sink = PassedRows { columns: query_columns, put };
            let done = atsdb_import::import("file", inputs, &options, Some(&definition), &mut sink, &|_| ());
            if let Err(error) = done {
                (sink.put)(Err(error));
            }
        })?;
        Ok(Box::new(iter::from_fn(move || match batches.next() {
            Ok(batch) => batch,
            Err(error) => Some(Err(error)),
        })))
    }
}

/// Passes the rows on to the query, until it wants no more.
struct PassedRows<'a> {
    columns: QueryColumns,
    put: &'a mut dyn FnMut(Result<RecordBatch>) -> bool,
}

impl Sink for PassedRows<'_> {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        if (self.put)(self.columns.batch(&batch)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Interrupted, "the query needs no more rows"))
    }
}

/// The columns of a file as a query sees them. They have the types that they would have in a table, with mapped text as
/// plain text, and any of them may be NULL.
struct QueryColumns {
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl QueryColumns {
    fn new(columns: &[Column]) -> Self {
        let plain = |column: &Column| Column { map: None, nullable: true, ..column.clone() };
        let columns: Vec<Column> = columns.iter().map(plain).collect();
        let definition = TableDefinition { columns, ..TableDefinition::new("file") };
        Self { schema: arrow_schema(&definition), columns: definition.columns }
    }

    /// The rows of a batch of the importer.
    fn batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let arrays = logical_arrays(&self.columns, batch)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

fn cannot_keep(error: ArrowError) -> Error {
    let what = "cannot keep the rows of a file in a temporary file";
    match error {
        ArrowError::IoError(_, error) => match error.downcast::<Error>() {
            Ok(error) => error.context(what),
            Err(error) => Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error),
        },
        error => Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error),
    }
}
