//! The rows of a file that a query reads: in memory, and in a temporary file if they are too many. Files of columns,
//! such as Parquet, are left where they are, and only the columns that the query needs are read.

use crate::console::ahead::Ahead;
use crate::console::interrupt;
use crate::console::progress::Progress;
use crate::session::source_file::SourceFile;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use atsdb::sql::{FileRows, FileTable, StoredRows};
use atsdb::{Column, Error, ErrorKind, Result, TableDefinition};
use atsdb_import::{ColumnChoice, Options, Sink, open_content, typed_table};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::iter;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The part of the memory of a query that the rows of a file may take, before they are put into a temporary file.
const MEMORY_SHARE: usize = 4;

/// Collects the rows of a file, with mapped text as plain text.
pub(super) struct CollectedRows {
    bytes_max: usize,
    bytes: usize,
    /// The rows, as long as they are few.
    batches: Vec<RecordBatch>,
    spilled: Option<Spill>,
}

/// A temporary file without a name, which the system removes when the process ends, however it ends.
struct Spill {
    file: File,
    writer: FileWriter<BufWriter<File>>,
}

impl CollectedRows {
    /// For a query that may use so much memory, in bytes.
    pub(super) fn new(memory_bytes: usize) -> Self {
        Self { bytes_max: memory_bytes / MEMORY_SHARE, bytes: 0, batches: Vec::new(), spilled: None }
    }

    /// The rows and their columns. `definition` is the table that the importer delivered.
    pub(super) fn finish(self, definition: &TableDefinition) -> Result<(SchemaRef, FileRows)> {
        if let Some(Spill { file, writer }) = self.spilled {
            let schema = Arc::clone(writer.schema());
            let out = writer.into_inner().map_err(|error| cannot_keep(&error))?;
            out.into_inner().map_err(|error| cannot_keep(&error.into_error().into()))?;
            return Ok((schema, FileRows::Stored(Arc::new(SpilledRows { file: Arc::new(file) }))));
        }
        let schema = match self.batches.first() {
            Some(batch) => batch.schema(),
            None => plain_schema(&atsdb::arrow_schema(definition)),
        };
        Ok((schema, FileRows::Memory(self.batches)))
    }
}

impl Sink for CollectedRows {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        (self.bytes, self.batches, self.spilled) = (0, Vec::new(), None);
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        interrupt::check()?;
        let batch = plain(&batch)?;
        self.bytes += batch.get_array_memory_size();
        if let Some(spill) = &mut self.spilled {
            return spill.writer.write(&batch).map_err(|error| cannot_keep(&error));
        }
        let batch_schema = batch.schema();
        self.batches.push(batch);
        if self.bytes > self.bytes_max {
            self.spilled = Some(
                Spill::of(&batch_schema, &std::mem::take(&mut self.batches)).map_err(|error| cannot_keep(&error))?,
            );
        }
        Ok(())
    }
}

impl Spill {
    fn of(schema: &SchemaRef, batches: &[RecordBatch]) -> std::result::Result<Self, ArrowError> {
        let file = tempfile::tempfile()?;
        let mut writer = FileWriter::try_new(BufWriter::new(file.try_clone()?), schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        Ok(Self { file, writer })
    }
}

/// Rows in a temporary file, which is removed with them.
#[derive(Debug)]
struct SpilledRows {
    file: Arc<File>,
}

impl StoredRows for SpilledRows {
    fn read(&self, columns: &[usize]) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>> {
        let file = BufReader::new(SharedFile { file: Arc::clone(&self.file), position: 0 });
        let reader = FileReader::try_new(file, Some(columns.to_vec())).map_err(|error| cannot_keep(&error))?;
        Ok(Box::new(reader.map(|batch| batch.map_err(|error| cannot_keep(&error)))))
    }
}

/// A file that several readers read, each from its own position.
struct SharedFile {
    file: Arc<File>,
    position: u64,
}

impl Read for SharedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.file.metadata()?.len().checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// The rows of Parquet and Arrow files, which are read when the query runs. `None` for other files, and if the importer
/// does not see which column is the time.
pub(super) fn typed_files(files: &[SourceFile], options: &Options) -> Result<Option<FileTable>> {
    if !files.iter().all(has_columns) {
        return Ok(None);
    }
    let inputs = || files.iter().map(SourceFile::input).collect::<Result<Vec<_>>>();
    let progress = Progress::new();
    let show = |now| progress.update_import(now);
    let plain = Options { time: vec!["none".to_owned()], ..options.clone() };
    let Some(definition) = typed_table("file", inputs()?, options, &show).or_else(|error| match error.kind() {
        ErrorKind::Usage | ErrorKind::InvalidValue => typed_table("file", inputs()?, &plain, &show),
        _ => Err(error),
    })?
    else {
        return Ok(None);
    };
    let rows = TypedRows { files: files.to_vec(), options: options.clone(), definition };
    // The types of some columns are known only from their rows.
    let all: Vec<usize> = (0..rows.definition.columns.len()).collect();
    let schema = match rows.read(&all)?.next() {
        Some(batch) => batch?.schema(),
        None => plain_schema(&atsdb::arrow_schema(&rows.definition)),
    };
    Ok(Some(FileTable { schema, rows: FileRows::Stored(Arc::new(rows)) }))
}

/// Whether a file begins like Parquet or Arrow, so that it need not be unpacked or read to its end to know that.
fn has_columns(file: &SourceFile) -> bool {
    match file.path() {
        _ if file.part().is_some() => false,
        // Only Parquet is read piece by piece.
        None => true,
        Some(path) => {
            let mut head = [0; 6];
            let read = open_content(path).and_then(|mut content| content.read_exact(&mut head));
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
        let options = Options { columns: chosen, time: Vec::new(), ..self.options.clone() };
        let inputs = self.files.iter().map(SourceFile::input).collect::<Result<Vec<_>>>()?;
        let batches = Ahead::<Result<RecordBatch>>::run(move |put| {
            let mut sink = PassedRows { put };
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
    put: &'a mut dyn FnMut(Result<RecordBatch>) -> bool,
}

impl Sink for PassedRows<'_> {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        if (self.put)(plain(&batch)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Interrupted, "the query needs no more rows"))
    }
}

/// The batch with mapped text as plain text.
fn plain(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = plain_schema(&batch.schema());
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?)
}

/// The schema, with each dictionary type replaced by the type of its values.
fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(Field::new(field.name(), values.as_ref().clone(), true)),
        _ => Arc::new(field.as_ref().clone().with_nullable(true)),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

fn cannot_keep(error: &ArrowError) -> Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let is_full = match error {
        ArrowError::IoError(_, error) => matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge),
        _ => false,
    };
    let kind = if is_full { ErrorKind::Resources } else { ErrorKind::Unavailable };
    let folder = std::env::temp_dir();
    let message = format!("cannot keep the rows of a file in a temporary file in {}: {error}", folder.display());
    Error::new(kind, message).with_hint("TMPDIR names the folder of temporary files")
}
