//! Counts the new strings for mapped columns of 8 and 16 bits. When a dictionary may be full, the rows are passed to
//! the engine at once, so that the statement with one string too many gets the error.

use atsdb_core::{Column, MapWidth, Result, Table};
use atsdb_dialect::text::literal::Literal;
use atsdb_engine::Batch;
use std::collections::HashSet;

/// The narrow dictionaries of a statement's columns.
#[derive(Default)]
pub(crate) struct NarrowMaps(Vec<NarrowMap>);

struct NarrowMap {
    /// The position among the statement's columns.
    column: usize,
    /// The texts so far.
    texts: HashSet<String>,
    /// The number of further strings that certainly fit.
    room: usize,
    is_full: bool,
}

impl NarrowMaps {
    /// No narrow dictionaries.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// The narrow dictionaries of a statement's columns.
    pub(crate) fn of<'a>(table: &Table, columns: impl Iterator<Item = &'a Column>, batch: &mut Batch) -> Result<Self> {
        let mut maps = Vec::new();
        for (at, column) in columns.enumerate() {
            let Some(width @ (MapWidth::U8 | MapWidth::U16)) = column.map else { continue };
            let room = (width.capacity() as usize).saturating_sub(batch.mapped_count(table, column)?);
            maps.push(NarrowMap { column: at, texts: HashSet::new(), room, is_full: false });
        }
        Ok(Self(maps))
    }

    /// Notes the strings of a row.
    pub(crate) fn note(&mut self, row: &[Literal<'_>]) {
        for map in &mut self.0 {
            let text = match row.get(map.column) {
                Some(Literal::Text(text) | Literal::Number(text) | Literal::Parameter(text)) => text.as_ref(),
                Some(Literal::Bool(true)) => "true",
                Some(Literal::Bool(false)) => "false",
                _ => continue,
            };
            if !map.texts.contains(text) {
                map.texts.insert(text.to_owned());
                map.is_full |= map.texts.len() > map.room;
            }
        }
    }

    /// Returns whether a new string since the last call may be one too many.
    pub(crate) fn are_full(&mut self) -> bool {
        let mut are_full = false;
        for map in &mut self.0 {
            are_full |= std::mem::take(&mut map.is_full);
        }
        are_full
    }
}
