//! Collects [`Facts`] from files: from the beginning of each, or from all of it.

use crate::csv::clickhouse_types::{TYPES_LEFT_OUT, text_columns};
use crate::csv::dialect::{Dialect, LOOK_BYTES};
use crate::csv::separator::Quoting;
use crate::csv::unpivot::Unpivot;
use crate::facts::nulls::NullTexts;
use crate::facts::{Facts, kind};
use crate::input::blocks::{AllBlocks, BlockReader, RecordFormat};
use crate::input::content::without_mark;
use crate::input::parser::{ReadBlock, RecordParser};
use crate::input::pipeline::run_in_order;
use crate::input::source::ImportFile;
use crate::json::arrays::header_names;
use crate::options::selection::{names_by_position, proper_names, source_name, table_name};
use crate::options::{Format, Options};
use crate::records::json_string::unescape;
use crate::records::{Field, Records};
use atsdb_core::name::same_name;
use atsdb_core::{ColumnType, Error, Result, TableDefinition};
use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of bytes of one file that are sampled.
const SAMPLE_BYTES_MAX: usize = 4 << 20;

/// Maximum number of bytes sampled over all files of an import.
const SAMPLE_BYTES_TOTAL: usize = 48 << 20;

/// The facts about one file.
#[derive(Debug, Clone)]
pub(crate) struct FileFacts {
    /// Its parser.
    pub(crate) parser: RecordParser,
    /// Its name without extensions.
    pub(crate) stem: String,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// One for each field.
    pub(crate) columns: Vec<Facts>,
    /// Rows observed.
    pub(crate) row_count: u64,
    /// Bytes of text observed.
    pub(crate) byte_count: u64,
    /// Estimated number of rows in the whole file, by its size.
    pub(crate) row_count_estimate: u64,
    /// Whether all of it was observed.
    pub(crate) is_complete: bool,
}

impl FileFacts {
    /// Adds the facts of a block. The names may be more than before.
    fn take(&mut self, names: Vec<String>, columns: &[Facts], row_count: u64) {
        self.parser.names = names;
        self.columns.resize_with(self.parser.names.len().max(self.columns.len()), Facts::new);
        for (own, new) in self.columns.iter_mut().zip(columns) {
            own.merge(new);
        }
        self.row_count += row_count;
    }
}

/// The facts about all files.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    /// The facts of the files, in the import's order.
    pub(crate) files: Vec<FileFacts>,
}

impl Observed {
    /// Returns whether every value was seen.
    pub(crate) fn is_complete(&self) -> bool {
        self.files.iter().all(|file| file.is_complete)
    }
}

/// Observes the beginning of every file.
pub(crate) fn sample(
    sources: &[ImportFile],
    options: &Options,
    nulls: &NullTexts,
    existing: Option<&TableDefinition>,
) -> Result<Observed> {
    let byte_count = (SAMPLE_BYTES_TOTAL / sources.len().max(1)).clamp(64 << 10, SAMPLE_BYTES_MAX);
    let mut files = sources
        .iter()
        .enumerate()
        .map(|(position, source)| sample_file(source, position, byte_count, options, nulls, existing))
        .collect::<Result<Vec<_>>>()?;
    leave_out_objects(&mut files);
    Ok(Observed { files })
}

fn sample_file(
    source: &ImportFile,
    position: usize,
    byte_count: usize,
    options: &Options,
    nulls: &NullTexts,
    existing: Option<&TableDefinition>,
) -> Result<FileFacts> {
    let of_sheet;
    let options = if source.format == Format::Sheet {
        of_sheet = Options { format: Some(Format::Sheet), delimiter: Some(b'\t'), ..options.clone() };
        &of_sheet
    } else {
        options
    };
    let mut parser = RecordParser {
        file: source.name.clone(),
        format: RecordFormat::Json,
        names: Vec::new(),
        dialect: None,
        unpivot: None,
        nulls: nulls.clone(),
        skip_bad: options.skip_bad,
        array_header_count: 0,
        array_text_columns: Vec::new(),
        is_geojson: source.json.is_geojson,
        objects: Arc::new(existing.map_or_else(HashSet::new, objects_of_columns)),
        documents: Arc::new(existing.map_or_else(Vec::new, |table| json_columns(table, options))),
    };
    let mut notes: Vec<String> = source.json.note.iter().chain(&source.notes).cloned().collect();
    if matches!(source.format, Format::Csv | Format::Text | Format::Sheet) {
        notes.extend(take_dialect(source, &mut parser, options, nulls, existing)?);
    }
    if source.json.are_arrays {
        parser.format = RecordFormat::JsonArrays;
    }
    // The names of columns are those of their lists.
    let are_columns = !source.json.columns.is_empty();
    if are_columns {
        let names: Vec<String> = source.json.columns.iter().map(|list| unescape(&list.name)).collect();
        parser.names = proper_names(&names);
    }
    let read = Arc::new(AtomicU64::new(0));
    let mut blocks = BlockReader::new(source, position, parser.format, &read)?;
    let mut facts = FileFacts {
        parser,
        stem: source.stem().to_owned(),
        notes,
        columns: Vec::new(),
        row_count: 0,
        byte_count: 0,
        row_count_estimate: 0,
        is_complete: false,
    };
    if let Some(block) = blocks.next(byte_count)? {
        facts.byte_count = block.bytes.len() as u64;
        let mut block = facts.parser.read(block, true)?;
        if facts.parser.format == RecordFormat::JsonArrays && !are_columns {
            name_arrays(&mut facts, &mut block, options, existing)?;
        }
        let columns = observe_block(&block, &facts.parser, options, nulls);
        facts.take(block.names, &columns, block.records.count() as u64);
    }
    facts.columns.resize_with(facts.parser.names.len(), Facts::new);
    facts.is_complete = blocks.is_done();
    // A decompressor or decoder reads ahead, so that the rows of such a file are guessed low rather than high.
    let read = if source.is_converted() { read.load(Ordering::Relaxed) } else { facts.byte_count };
    let share = source.byte_count as f64 / read.max(1) as f64;
    facts.row_count_estimate =
        if facts.is_complete { facts.row_count } else { (facts.row_count as f64 * share.max(1.0)) as u64 };
    Ok(facts)
}

/// Makes a parser one of the separated values of a file, and returns notes about them.
fn take_dialect(
    source: &ImportFile,
    parser: &mut RecordParser,
    options: &Options,
    nulls: &NullTexts,
    existing: Option<&TableDefinition>,
) -> Result<Vec<String>> {
    let mut dialect = detect_dialect(source, options, nulls)?;
    let mut notes = std::mem::take(&mut dialect.notes);
    if !dialect.has_header && options.names.is_none() && !dialect.names.is_empty() {
        let existing = existing.filter(|_| options.unpivot.is_none());
        let (names, note) = names_by_position(&source.name, dialect.names.len(), options, existing)?;
        dialect.names = names.unwrap_or(dialect.names);
        notes.extend(note);
    }
    parser.format = RecordFormat::Separated(dialect.separator);
    parser.names.clone_from(&dialect.names);
    parser.unpivot = Unpivot::of(&source.name, &mut parser.names, options, nulls)?;
    parser.dialect = Some(dialect);
    Ok(notes)
}

/// The names of the objects that a member with dots in its name is in.
fn objects_of(name: &str) -> impl Iterator<Item = String> {
    name.match_indices('.').map(move |(end, _)| name[..end].to_owned())
}

/// The names of the objects that a table has columns for.
fn objects_of_columns(table: &TableDefinition) -> HashSet<String> {
    table.columns.iter().flat_map(|column| objects_of(&column.name)).collect()
}

/// The names that the columns of JSON of a table have in the files.
fn json_columns(table: &TableDefinition, options: &Options) -> Vec<String> {
    let columns = table.columns.iter().filter(|column| column.column_type == ColumnType::Json);
    columns.filter_map(|column| source_name(options, &column.name)).collect()
}

/// Names the columns of arrays: by the first array, or else by position.
fn name_arrays(
    facts: &mut FileFacts,
    block: &mut ReadBlock,
    options: &Options,
    existing: Option<&TableDefinition>,
) -> Result<()> {
    let header = if options.header == Some(false) { None } else { header_names(&block.text, &block.records) };
    match header {
        Some(names) => {
            let texts = types_below(&block.text, &block.records);
            facts.parser.array_header_count = 1 + usize::from(texts.is_some());
            facts.notes.extend(texts.as_ref().map(|_| TYPES_LEFT_OUT.to_owned()));
            facts.parser.array_text_columns = texts.unwrap_or_default();
            block.names = proper_names(&names);
            block.records.remove_first(facts.parser.array_header_count);
        }
        None => {
            let (names, note) = names_by_position(&facts.parser.file, block.names.len(), options, existing)?;
            block.names = names.unwrap_or_else(|| std::mem::take(&mut block.names));
            facts.notes.extend(note);
        }
    }
    Ok(())
}

/// Returns for each column whether it is text, if the second of some records has types of ClickHouse, below the names
/// of the first; `None` otherwise, also if the names of types are values of a list.
fn types_below(text: &str, records: &Records) -> Option<Vec<bool>> {
    let types_of = |record: usize| {
        let fields = records.fields.get(record * records.width..(record + 1) * records.width)?;
        let cells: Vec<String> = fields.iter().map(|field| field.unescaped(text)).collect();
        fields.iter().all(|field| field.is_json_string()).then(|| text_columns(&cells)).flatten()
    };
    let has_strings = || records.column(0).skip(2).any(Field::is_json_string);
    let is_list = || types_of(2).is_some() || (records.width == 1 && has_strings());
    types_of(1).filter(|_| !is_list())
}

/// The dialect of a file's beginning.
fn detect_dialect(source: &ImportFile, options: &Options, nulls: &NullTexts) -> Result<Dialect> {
    let mut head = Vec::new();
    let reader = source.open(&Arc::default())?;
    reader.take(LOOK_BYTES).read_to_end(&mut head).map_err(|error| source.read_error(error))?;
    let head = without_mark(&head);
    // The last line may be cut off.
    let is_whole = (head.len() as u64) < LOOK_BYTES - 3;
    let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).map_or(head.len(), |end| end + 1) };
    let mut dialect = Dialect::of(&head[..end], options, nulls);
    if dialect.is_drawn {
        let message = format!("{}: blanks align its columns, but its lines may not be rows of one table", source.name);
        return Err(Error::usage(message).with_hint(
            "--delimiter space separates at blanks, and --skip N leaves out the lines above a table; --format csv \
             reads whole lines",
        ));
    }
    if let Some(names) = &options.names {
        let width = dialect.names.len();
        if width != names.len() && !head.is_empty() {
            let message = format!("{}, line 1: {width} fields for {} columns", source.name, names.len());
            return Err(
                Error::invalid(message).with_hint("say what separates the fields, or which columns they are of")
            );
        }
        (dialect.names, dialect.empty_count) = (names.clone(), 0);
    }
    Ok(dialect)
}

fn observe_block(block: &ReadBlock, parser: &RecordParser, options: &Options, nulls: &NullTexts) -> Vec<Facts> {
    let text = block.text.as_bytes();
    let declared = parser.dialect.as_ref().map_or(&parser.array_text_columns, |dialect| &dialect.text_columns);
    let texts = Some(declared).filter(|_| parser.unpivot.is_none());
    // In JSON and in cells of sheets, no character stands between thousands.
    let may_have_thousands =
        matches!(parser.format, RecordFormat::Separated(separator) if separator.quoting != Quoting::Cells);
    let observe = |position: usize| {
        let mut facts = Facts::new();
        if texts.is_some_and(|texts| texts.get(position) == Some(&true)) {
            facts.kinds = kind::TEXT;
        }
        let name = block.names.get(position).and_then(|name| table_name(options, name));
        let is_time = name.is_some_and(|name| options.time.iter().any(|time| same_name(time, &name)));
        // What the caller names as the time may be digits in a string.
        let as_written = |field: &Field| if is_time { field.without_string() } else { *field };
        let column = block.records.fields.get(position..).unwrap_or(&[]).iter().step_by(block.records.width.max(1));
        facts.observe(text, column.map(as_written), nulls, options.date_reading(), &|byte| block.line_of(byte));
        facts.has_decimal_point |= facts.first_point.is_some() && !may_have_thousands;
        facts
    };
    (0..block.records.width).map(observe).collect()
}

/// Observes all of every file.
pub(crate) fn observe_all(
    sources: &[ImportFile],
    sampled: &Observed,
    options: &Options,
    nulls: &NullTexts,
    threads: usize,
    read: &Arc<AtomicU64>,
    progress: &dyn Fn(),
) -> Result<Observed> {
    let mut files = sampled.files.clone();
    for file in &mut files {
        file.columns = vec![Facts::new(); file.parser.names.len()];
        (file.row_count, file.byte_count) = (0, 0);
    }
    let parsers: Vec<RecordParser> = files.iter().map(|file| file.parser.clone()).collect();
    let formats: Vec<RecordFormat> = parsers.iter().map(|parser| parser.format).collect();
    let mut blocks = AllBlocks::new(sources, formats, vec![SAMPLE_BYTES_MAX; sources.len()], read);
    run_in_order(
        threads,
        || blocks.next(),
        |block| {
            let byte_count = (block.bytes.len() - block.above) as u64;
            let parser = &parsers[block.file];
            let block = parser.read(block, true)?;
            let columns = observe_block(&block, parser, options, nulls);
            Ok((block.file, block.names, columns, block.records.count() as u64, byte_count))
        },
        |(file, names, columns, row_count, byte_count)| {
            let file = &mut files[file];
            file.byte_count += byte_count;
            let ordered = aligned(&mut file.parser.names, &names, columns);
            file.take(file.parser.names.clone(), &ordered, row_count);
            progress();
            Ok(())
        },
    )?;
    for file in &mut files {
        (file.is_complete, file.row_count_estimate) = (true, file.row_count);
    }
    leave_out_objects(&mut files);
    Ok(Observed { files })
}

/// Leaves out columns of JSON that are objects in other records, whose members are the columns, and `null` in these.
fn leave_out_objects(files: &mut [FileFacts]) {
    let is_json = |file: &FileFacts| file.parser.format == RecordFormat::Json;
    let known = files.iter().flat_map(|file| file.parser.objects.iter().cloned());
    let names = files.iter().filter(|file| is_json(file)).flat_map(|file| &file.parser.names);
    let objects: HashSet<String> = names.flat_map(|name| objects_of(name)).chain(known).collect();
    let objects = Arc::new(objects);
    for file in files.iter_mut().filter(|file| is_json(file)) {
        let names = std::mem::take(&mut file.parser.names);
        let columns = names.into_iter().zip(std::mem::take(&mut file.columns));
        let columns = columns.filter(|(name, facts)| facts.is_written || !objects.contains(name));
        (file.parser.names, file.columns) = columns.unzip();
        file.parser.objects = Arc::clone(&objects);
    }
}

/// Facts in the order of `known` names, which new ones are added to.
fn aligned(known: &mut Vec<String>, names: &[String], columns: Vec<Facts>) -> Vec<Facts> {
    if known.as_slice() == names {
        return columns;
    }
    let mut ordered = vec![Facts::new(); known.len()];
    for (name, facts) in names.iter().zip(columns) {
        match known.iter().position(|other| other == name) {
            Some(position) => ordered[position] = facts,
            None => {
                known.push(name.clone());
                ordered.push(facts);
            }
        }
    }
    ordered
}
