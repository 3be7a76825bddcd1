//! A fast path for a plain file of one column: each core takes pieces of the file, split where lines end, and makes an
//! array of each. A file that is not plain (quotes, blanks around values, NULLs, anything malformed) is left to
//! [`import`], which handles all of that and reports errors with their location.
//!
//! [`import`]: crate::import

use crate::build::text_numbers::text_array;
use crate::facts::nulls::NullTexts;
use crate::input::content::{BYTE_ORDER_MARK, Compression};
use crate::input::source::ImportFile;
use crate::options::report::Report;
use crate::options::{Format, Options, Sink};
use crate::records::Field;
use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow::datatypes::{Field as ArrowField, Int8Type, Int16Type, Int32Type, Int64Type, Schema};
use atsdb_core::{Column, ColumnType, Result, TableDefinition};
use memchr::{memchr, memchr_iter, memrchr};
use parking_lot::Mutex;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Builder;

/// The size of one piece in bytes.
const PIECE_BYTES: usize = 4 << 20;
/// The maximum size in bytes of a plain line.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The format of the file.
#[derive(Debug, Clone)]
pub struct SingleColumn<'a> {
    /// The column that each line is a value of.
    pub column: &'a Column,
    /// The byte that would separate values. A line that contains it is not plain.
    pub delimiter: u8,
    /// The texts that mean NULL; the default ones if this is empty.
    pub null: &'a [String],
    /// Maximum size in bytes of all arrays together.
    pub bytes_max: u64,
}

/// Imports a plain file of one column into a table in memory, which accepts arrays of any length. `None` if the file is
/// not plain.
pub(crate) fn run(
    sources: &[ImportFile],
    options: &Options,
    existing: Option<&TableDefinition>,
    sink: &mut dyn Sink,
) -> Result<Option<Report>> {
    let Some((definition, memory)) = existing.and_then(|existing| Some((existing, existing.memory?))) else {
        return Ok(None);
    };
    let ([source], [column]) = (sources, definition.columns.as_slice()) else { return Ok(None) };
    // Text may be a header, unless the options say that there is none.
    let has_header = options.header.unwrap_or(column.column_type == ColumnType::Text);
    let renames = options.names.as_ref().is_some_and(|names| names.len() != 1)
        || options.file_column.is_some()
        || options.unpivot.is_some();
    let (Some(path), Format::Csv | Format::Text, false, false) =
        (source.plain_path(), source.format, has_header, renames)
    else {
        return Ok(None);
    };
    if source.format == Format::Text && column.column_type == ColumnType::Text {
        // Backslashes and the words for NULL have another meaning there.
        return Ok(None);
    }
    let (delimiter, bytes_max) = (options.delimiter.unwrap_or(b','), memory.bytes_max.unwrap_or(u64::MAX));
    let Some(batches) = (SingleColumn { column, delimiter, null: &options.null, bytes_max }).read(path)? else {
        return Ok(None);
    };
    sink.begin(definition)?;
    let mut row_count = 0;
    for rows in batches {
        row_count += rows.num_rows() as u64;
        sink.rows(rows)?;
    }
    let (definition, bytes_read) = (definition.clone(), source.byte_count);
    let (skipped, notes) = (Vec::new(), Vec::new());
    Ok(Some(Report { definition, row_count, bytes_read, skipped, skipped_count: 0, are_types_unknown: false, notes }))
}

impl SingleColumn<'_> {
    /// The values of a file, in its order; `None` if it is not plain, or too large.
    ///
    /// # Errors
    ///
    /// Never fails: a file that cannot be read is not plain.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<RecordBatch>>> {
        let Some(file) = self.open(path) else { return Ok(None) };
        let Ok(length) = file.metadata().map(|metadata| metadata.len() as usize) else { return Ok(None) };
        let piece_count = length.div_ceil(PIECE_BYTES);
        let (next, is_plain) = (AtomicUsize::new(0), AtomicBool::new(length as u64 <= self.bytes_max));
        let arrays: Mutex<Vec<Option<ArrayRef>>> = Mutex::new(vec![None; piece_count]);
        let nulls = NullTexts::new(self.null);
        let work = || {
            let mut bytes = Vec::new();
            while is_plain.load(Ordering::Relaxed) {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= piece_count {
                    break;
                }
                let array = lines_of(&file, length, piece, &mut bytes).and_then(|lines| self.array(lines, &nulls));
                match array {
                    Some(array) => arrays.lock()[piece] = Some(array),
                    None => is_plain.store(false, Ordering::Relaxed),
                }
            }
        };
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            // If the system cannot start a thread, the others do its work.
            (1..threads).for_each(|_| drop(Builder::new().spawn_scoped(scope, work)));
            work();
        });
        if !is_plain.into_inner() {
            return Ok(None);
        }
        let arrays = arrays.into_inner();
        let batch = |array: ArrayRef| {
            let field = ArrowField::new(&self.column.name, array.data_type().clone(), true);
            let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]);
            Ok(batch?)
        };
        arrays.into_iter().flatten().map(batch).collect::<Result<_>>().map(Some)
    }

    /// Opens the file if the fast path supports it.
    fn open(&self, path: &Path) -> Option<File> {
        use ColumnType::{Int8, Int16, Int32, Int64, Text};
        let is_known = matches!(self.column.column_type, Int8 | Int16 | Int32 | Int64 | Text);
        if !is_known || self.column.map.is_some() {
            return None;
        }
        let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
        let mut start = [0; Compression::HEAD_BYTES as usize];
        let read = file.read_at(&mut start, 0).ok()?;
        let is_plain = Compression::of_head(&start[..read]) == Compression::None && !start.starts_with(BYTE_ORDER_MARK);
        is_plain.then_some(file)
    }

    fn array(&self, lines: &[u8], nulls: &NullTexts) -> Option<ArrayRef> {
        match self.column.column_type {
            ColumnType::Int8 => integers::<Int8Type>(lines),
            ColumnType::Int16 => integers::<Int16Type>(lines),
            ColumnType::Int32 => integers::<Int32Type>(lines),
            ColumnType::Int64 => integers::<Int64Type>(lines),
            _ => self.texts(lines, nulls),
        }
    }

    fn texts(&self, lines: &[u8], nulls: &NullTexts) -> Option<ArrayRef> {
        if memchr::memchr3(b'"', self.delimiter, b'\r', lines).is_some() {
            return None;
        }
        let mut offsets: Vec<i32> = Vec::with_capacity(lines.len() / 16);
        let mut values: Vec<u8> = Vec::with_capacity(lines.len());
        offsets.push(0);
        let mut start = 0;
        for end in memchr_iter(b'\n', lines).chain((!lines.ends_with(b"\n")).then_some(lines.len())) {
            let line = lines.get(start..end)?;
            start = end + 1;
            let is_padded = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
            let field = Field::plain(0, line.len());
            if is_padded(line.first()) || is_padded(line.last()) || nulls.is_null_text(field, line) {
                return None;
            }
            values.extend_from_slice(line);
            offsets.push(i32::try_from(values.len()).ok()?);
        }
        text_array(offsets, values, None).ok().map(|array| Arc::new(array) as ArrayRef)
    }
}

/// The lines that begin in a piece, whole.
fn lines_of<'a>(file: &File, length: usize, piece: usize, bytes: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    // The byte before decides whether a line begins with the first byte.
    let start = (piece * PIECE_BYTES).saturating_sub(1);
    let end = ((piece + 1) * PIECE_BYTES).min(length);
    let wanted = (end + LINE_BYTES_MAX).min(length) - start;
    bytes.resize(wanted, 0);
    let inside = end - start;
    file.read_exact_at(&mut bytes[..inside], start as u64).ok()?;
    let first = if piece == 0 { 0 } else { memchr(b'\n', &bytes[..inside]).map_or(inside, |at| at + 1) };
    if first >= inside {
        return Some(&[]);
    }
    // The last line may continue in the next piece.
    let mut known = inside;
    while known < wanted && bytes[known - 1] != b'\n' {
        let more = (known + 4_096).min(wanted);
        file.read_exact_at(&mut bytes[known..more], (start + known) as u64).ok()?;
        match memchr(b'\n', &bytes[known..more]) {
            Some(at) => return Some(&bytes[first..known + at + 1]),
            None => known = more,
        }
    }
    let is_whole = known == length - start || memrchr(b'\n', &bytes[..known]) == Some(known - 1);
    is_whole.then(|| &bytes[first..known])
}

/// One integer a line; `None` if one is not plain.
fn integers<T: ArrowPrimitiveType>(lines: &[u8]) -> Option<ArrayRef>
where
    T::Native: TryFrom<i64>,
{
    let mut values: Vec<T::Native> = Vec::with_capacity(lines.len() / 8);
    let mut at = 0;
    while at < lines.len() {
        let negative = lines[at] == b'-';
        at += usize::from(negative);
        let (first, mut value) = (at, 0_i64);
        while let Some(digit) = lines.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            at += 1;
        }
        // Nineteen digits may be too many.
        if at == first || at - first > 18 {
            return None;
        }
        values.push(T::Native::try_from(if negative { -value } else { value }).ok()?);
        at += usize::from(lines.get(at) == Some(&b'\r'));
        match lines.get(at) {
            Some(b'\n') | None => at += 1,
            Some(_) => return None,
        }
    }
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use std::io::Write;

    fn read(column_type: ColumnType, text: &str) -> Option<Vec<RecordBatch>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let column = Column::new(atsdb_core::ColumnId(0), "c", column_type);
        SingleColumn { column: &column, delimiter: b'\t', null: &[], bytes_max: 1 << 30 }.read(file.path()).unwrap()
    }

    #[test]
    fn lines_across_pieces_are_whole() {
        let texts: Vec<String> = (0..1_500_000).map(|row| format!("{:x}", row * 7_919 % 1_000_003)).collect();
        let batches = read(ColumnType::Text, &format!("{}\n", texts.join("\n"))).unwrap();
        assert!(batches.len() > 1);
        let mut found = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter());
        assert!(texts.iter().all(|text| found.next() == Some(Some(text))) && found.next().is_none());
        let numbers: Vec<i64> = (0..1_500_000).map(|row| (row - 700_000) * 7_919).collect();
        let text: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let batches = read(ColumnType::Int64, &text.join("\r\n")).unwrap();
        let found: Vec<i64> =
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        assert!(batches.len() > 1 && found == numbers);
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for text in ["1\n\n2\n", "1\nx\n", "1 \n", "+1\n", "300\n", "1.0", "NULL\n", "99999999999999999999\n"] {
            assert!(read(ColumnType::Int8, text).is_none(), "{text:?}");
        }
        for text in ["a\n\nb\n", "NULL\n", "\\N\nb", "\"a\"\n", "a\tb\n", " a\n", "a \n", "a\r\n"] {
            assert!(read(ColumnType::Text, text).is_none(), "{text:?}");
        }
        assert!(read(ColumnType::Float64, "1\n").is_none());
        assert_eq!(read(ColumnType::Int8, "").unwrap().len(), 0);
    }
}
