//! The plan of an import: the table, and the source of each of its columns in each file.
//!
//! Owned here: the planner ([`planner`]) for a new table ([`created`]) and for one that exists ([`existing`]), the
//! columns of a plan ([`column`]), and columns of a table that the files lack ([`lacking`]). Not owned: the rules by
//! which types, the time and maps are chosen (`infer`).

pub(crate) mod column;
mod created;
mod existing;
pub(crate) mod lacking;
mod planner;

use crate::facts::Facts;
use crate::facts::nulls::{NullTexts, WordSet};
use crate::infer::kept_words::{WordUse, kept_words};
use crate::infer::number_forms::NumberForms;
use crate::infer::time_column::Merged;
use crate::input::blocks::RecordFormat;
use crate::observe::{FileFacts, Observed};
use crate::options::Options;
use crate::options::selection;
use crate::plan::column::PlanColumn;
use crate::plan::planner::Planner;
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, TableDefinition};

/// The plan of an import.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The table.
    pub(crate) definition: TableDefinition,
    /// The columns in the definition's order.
    pub(crate) columns: Vec<PlanColumn>,
    /// Whether the plan is based on all values, so that a value that does not fit is an error.
    pub(crate) is_definitive: bool,
    /// Whether values that were not observed may show what the commas of numbers mean.
    pub(crate) has_open_commas: bool,
    /// Whether the slice width follows from the rows.
    pub(crate) is_slice_free: bool,
    /// The notes for the report.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Makes the plan from the observed facts.
    pub(crate) fn new(
        name: &str,
        observed: &Observed,
        options: &Options,
        nulls: &NullTexts,
        existing: Option<&TableDefinition>,
    ) -> Result<Self> {
        let mut notes = file_notes(&observed.files);
        let merged = merge(&observed.files, options, &mut notes)?;
        let mut planner = Planner { observed, options, merged, notes };
        let (definition, mut columns) = match existing {
            Some(definition) => planner.existing(definition)?,
            None => planner.created(name)?,
        };
        if nulls.have_words() {
            keep_words(&planner.merged, &mut columns);
        }
        // A table's own column of text keeps its values as they are written.
        let takes_numbers = |name: &str| {
            let mut columns = existing.iter().flat_map(|table| &table.columns);
            existing.is_none() || columns.any(|column| column.column_type.is_number() && same_name(&column.name, name))
        };
        let is_open = |merged: &Merged| merged.numbers.is_open && takes_numbers(&merged.name);
        Ok(Self {
            definition,
            columns,
            is_definitive: observed.is_complete(),
            has_open_commas: planner.merged.iter().any(is_open),
            is_slice_free: existing.is_none() && options.slice.is_none(),
            notes: planner.notes,
        })
    }
}

/// Notes for the user about the files. A note that applies to several files is given once.
fn file_notes(files: &[FileFacts]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for file in files {
        for note in &file.notes {
            let is_known = notes.iter().any(|other| other.ends_with(note.as_str()));
            if !is_known {
                notes.push(format!("{}: {note}", file.parser.file));
            }
        }
    }
    notes
}

/// Decides which words the text columns keep, as far as was observed.
fn keep_words(merged: &[Merged], columns: &mut [PlanColumn]) {
    let of = |merged: &Merged| {
        let may_keep = |column: &&PlanColumn| column.may_keep_words && same_name(&column.column.name, &merged.name);
        columns.iter().find(may_keep).map(|_| (merged.facts.distinct.count(), merged.facts.value_count))
    };
    let uses: Vec<WordUse<'_>> =
        merged.iter().map(|merged| WordUse { counts: &merged.facts.nulls, texts: of(merged) }).collect();
    let kept = kept_words(&uses);
    for column in columns.iter_mut().filter(|column| column.may_keep_words) {
        let position = merged.iter().position(|merged| same_name(&merged.name, &column.column.name));
        column.kept_words = position.map_or(WordSet::default(), |position| kept[position]);
    }
}

/// Merges columns of the same name.
fn merge(files: &[FileFacts], options: &Options, notes: &mut Vec<String>) -> Result<Vec<Merged>> {
    selection::check(options, files.iter().flat_map(|file| file.parser.names.iter().map(String::as_str)))?;
    let mut merged: Vec<Merged> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut shared = 0;
        for (position, (name, facts)) in file.parser.names.iter().zip(&file.columns).enumerate() {
            if name.is_empty() && file.parser.format == RecordFormat::Json {
                notes.push(format!("{}: the member whose name is empty is not read", file.parser.file));
            }
            let Some(name) = selection::table_name(options, name) else { continue };
            match merged.iter_mut().find(|column| same_name(&column.name, &name)) {
                Some(column) => {
                    shared += usize::from(column.positions.iter().any(Option::is_some));
                    column.facts.merge(facts);
                    if column.positions[number].replace(position).is_some() {
                        let message = format!("{}: several columns are named {name}, ignoring case", file.parser.file);
                        return Err(
                            Error::invalid(message).with_hint("give one of them another name in the file or --columns")
                        );
                    }
                }
                None => {
                    let mut positions = vec![None; files.len()];
                    positions[number] = Some(position);
                    let numbers = NumberForms::default();
                    merged.push(Merged { name, facts: facts.clone(), positions, numbers });
                }
            }
        }
        let before = files[..number].iter().any(|file| !file.columns.is_empty());
        if before && shared == 0 && !file.columns.is_empty() {
            let (this, first) = (&file.parser.file, &files[0].parser.file);
            let others = if number > 1 { " and the other files before it" } else { "" };
            return Err(Error::usage(format!("{this} has no column in common with {first}{others}"))
                .with_hint("import files of different columns into different tables"));
        }
    }
    for column in &mut merged {
        let positions = column.positions.iter().zip(files);
        let of_files: Vec<Option<&Facts>> =
            positions.map(|(position, file)| position.map(|position| &file.columns[position])).collect();
        column.numbers = NumberForms::of(&column.facts, &of_files, options);
    }
    notes.extend(partial_note(&merged, files, options));
    if merged.is_empty() {
        let names: Vec<&str> = files.iter().map(|file| file.parser.file.as_str()).collect();
        return Err(Error::invalid(format!("{}: no columns: there is nothing in it", names.join(", ")))
            .with_hint("check that the file is complete, and that --skip leaves a line"));
    }
    Ok(merged)
}

/// The note about columns that some of the files lack.
fn partial_note(merged: &[Merged], files: &[FileFacts], options: &Options) -> Option<String> {
    let holders = files.iter().filter(|file| !file.columns.is_empty()).count();
    let partial: Vec<&str> = merged
        .iter()
        .filter(|column| column.positions.iter().flatten().count() < holders)
        .map(|column| column.name.as_str())
        .collect();
    let first = partial.first()?;
    let shown = partial.iter().take(6).copied().collect::<Vec<_>>().join(", ");
    let more = if partial.len() > 6 { ", ..." } else { "" };
    let are = if partial.len() == 1 { "is" } else { "are" };
    let names = if options.file_column.is_some() {
        ""
    } else {
        "to tell the files apart, add a column of their names: --file-column NAME; "
    };
    Some(format!(
        "{shown}{more} {are} not in every file, and rows of the others have NULL there; {names}to keep {first} apart, \
         import the files into tables of their own"
    ))
}
