//! Lists and structs as JSON.

use super::{Cells, Render, write_json_text};
use arrow::array::{Array, AsArray, GenericListArray, OffsetSizeTrait};
use atsdb_core::Result;
use std::ops::Range;

/// Renders lists of either offset width.
pub(super) fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<Render<'_>> {
    let cells = Cells::new(array.values().as_ref())?;
    let offsets = array.value_offsets();
    Ok(Box::new(move |row, out| write_list(&cells, offsets[row].as_usize()..offsets[row + 1].as_usize(), out)))
}

/// Renders lists that all have one length.
pub(super) fn fixed_list<'a>(array: &'a dyn Array) -> Result<Render<'a>> {
    let lists = array.as_fixed_size_list();
    let cells = Cells::new(lists.values().as_ref())?;
    let length = lists.value_length() as usize;
    Ok(Box::new(move |row, out| write_list(&cells, row * length..(row + 1) * length, out)))
}

/// Renders structs.
pub(super) fn structs<'a>(array: &'a dyn Array) -> Result<Render<'a>> {
    let structs = array.as_struct();
    let fields = structs
        .fields()
        .iter()
        .zip(structs.columns())
        .map(|(field, column)| Ok((field.name().clone(), Cells::new(column.as_ref())?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |row, out| {
        out.push(b'{');
        for (position, (name, cells)) in fields.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            write_json_text(name, out);
            out.push(b':');
            cells.write_json(row, out);
        }
        out.push(b'}');
    }))
}

fn write_list(cells: &Cells<'_>, rows: Range<usize>, out: &mut Vec<u8>) {
    out.push(b'[');
    for row in rows.clone() {
        if row > rows.start {
            out.push(b',');
        }
        cells.write_json(row, out);
    }
    out.push(b']');
}
