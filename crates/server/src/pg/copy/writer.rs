//! Writing outgoing rows.

use crate::pg::error::PgError;
use crate::pg::rows::RowView;
use crate::pg::types::{binary, text};
use crate::pg::wire::outgoing::ResultColumn;
use atsdb::sql::{CopyFormat, CopyOptions};

/// The bytes before the first row, without a header of names.
pub(in crate::pg) fn begin(options: &CopyOptions) -> &'static [u8] {
    match options.format {
        CopyFormat::Binary => b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0",
        CopyFormat::Text | CopyFormat::Csv => b"",
    }
}

/// The bytes after the last row.
pub(in crate::pg) fn end(options: &CopyOptions) -> &'static [u8] {
    match options.format {
        CopyFormat::Binary => b"\xff\xff",
        CopyFormat::Text | CopyFormat::Csv => b"",
    }
}

/// The names of the columns as a row.
pub(in crate::pg) fn header(out: &mut Vec<u8>, options: &CopyOptions, columns: &[ResultColumn]) {
    for (position, column) in columns.iter().enumerate() {
        if position > 0 {
            out.push(options.delimiter);
        }
        push_field(out, options, column.name.as_bytes(), Quoting { is_forced: false, is_alone: columns.len() == 1 });
    }
    out.push(b'\n');
}

/// Appends a row.
pub(in crate::pg) fn row(
    out: &mut Vec<u8>,
    options: &CopyOptions,
    columns: &[ResultColumn],
    row: &dyn RowView,
) -> Result<(), PgError> {
    if options.format == CopyFormat::Binary {
        out.extend((columns.len() as u16).to_be_bytes());
        return columns.iter().enumerate().try_for_each(|(position, column)| {
            binary::push_value(out, |out| binary::push(out, column.type_id, &row.cell(position)))
        });
    }
    let mut field = Vec::new();
    for (position, column) in columns.iter().enumerate() {
        if position > 0 {
            out.push(options.delimiter);
        }
        field.clear();
        match text::push(&mut field, column.type_id, &row.cell(position))? {
            true => {
                let quoting = Quoting { is_forced: options.quotes(&column.name), is_alone: columns.len() == 1 };
                push_field(out, options, &field, quoting);
            }
            false => out.extend(options.null.as_bytes()),
        }
    }
    out.push(b'\n');
    Ok(())
}

/// The properties of a field of CSV, apart from its value, that decide whether it is quoted.
struct Quoting {
    is_forced: bool,
    /// Whether it is the only field of its row. A field `\.` must then be quoted, because it would end the data.
    is_alone: bool,
}

fn push_field(out: &mut Vec<u8>, options: &CopyOptions, field: &[u8], quoting: Quoting) {
    if options.format == CopyFormat::Csv {
        let is_special =
            |byte: &u8| *byte == options.delimiter || *byte == options.quote || matches!(byte, b'\n' | b'\r');
        let is_end = quoting.is_alone && field == b"\\.";
        let is_plain = !quoting.is_forced && field != options.null.as_bytes() && !is_end;
        if is_plain && !field.iter().any(is_special) {
            out.extend(field);
            return;
        }
        out.push(options.quote);
        for byte in field {
            if *byte == options.quote || *byte == options.escape {
                out.push(options.escape);
            }
            out.push(*byte);
        }
        out.push(options.quote);
        return;
    }
    for byte in field {
        let letter = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            8 => b'b',
            11 => b'v',
            12 => b'f',
            byte if *byte == options.delimiter => *byte,
            _ => {
                out.push(*byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}
