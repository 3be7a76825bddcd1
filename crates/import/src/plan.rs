//! The plan of an import: the table, and where each of its columns comes from in each file.

use crate::infer::{map_of, map_width};
use crate::null::{NullTexts, WordSet, WordUse, kept_words};
use crate::observe::{FileFacts, Observed};
use crate::options::{DateOrder, Options};
use crate::planner::Planner;
use crate::time_choice::Merged;
use atsdb_core::name::same_name;
use atsdb_core::{Column, Error, MapWidth, Result, TableDefinition, TimeUnit};

/// How the times of one column of one file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeManner {
    /// For dates with the year last.
    pub(crate) order: Option<DateOrder>,
    /// What numbers count; `None` refuses them.
    pub(crate) epoch: Option<TimeUnit>,
}

/// Where a column comes from in one file; positions are those of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Not there: NULL.
    Missing,
    /// A field.
    Field(usize, TimeManner),
    /// The file's name.
    FileName,
    /// A date and a time of day.
    DateClock(usize, usize, TimeManner),
    /// Year, month, day, and so on.
    Parts(Vec<usize>),
}

/// One column of the table.
#[derive(Debug, Clone)]
pub(crate) struct PlanColumn {
    /// What it is.
    pub(crate) column: Column,
    /// One for each file.
    pub(crate) bindings: Vec<Binding>,
    /// Whether it is the time.
    pub(crate) is_time: bool,
    /// What an integer time column counts.
    pub(crate) count_unit: TimeUnit,
    /// Whether its type was inferred: then each value must be of the type by itself, as text like `007` is not.
    pub(crate) is_inferred: bool,
    /// Whether a value was seen at all; if not, the first one changes the plan.
    pub(crate) is_known: bool,
    /// What its map follows from.
    pub(crate) map_rule: MapRule,
    /// Whether it is text that may keep words which are usually NULL.
    pub(crate) may_keep_words: bool,
    /// Those that it keeps.
    pub(crate) kept_words: WordSet,
}

/// What the map of a column follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapRule {
    /// It is given.
    Fixed,
    /// Its values: whether there is one, and its width.
    Free,
    /// The caller wants one; its values say how wide.
    Asked,
}

impl MapRule {
    /// The map of a column with so many distinct texts among its values; `Fixed` is not asked.
    pub(crate) fn map(self, distinct: Option<usize>, value_count: u64) -> Option<MapWidth> {
        match self {
            Self::Asked => Some(map_width(distinct.unwrap_or(usize::MAX).max(17))),
            Self::Free | Self::Fixed => map_of(distinct, value_count),
        }
    }
}

/// What to do with every file.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The table.
    pub(crate) definition: TableDefinition,
    /// In the definition's order.
    pub(crate) columns: Vec<PlanColumn>,
    /// Whether it follows from all values, so that what does not fit is an error.
    pub(crate) is_definitive: bool,
    /// Whether the slice width follows from the rows.
    pub(crate) is_slice_free: bool,
    /// For the report.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// The plan that follows from what was observed.
    pub(crate) fn new(
        name: &str,
        observed: &Observed,
        options: &Options,
        nulls: &NullTexts,
        existing: Option<&TableDefinition>,
    ) -> Result<Self> {
        let mut notes = Vec::new();
        let merged = merge(&observed.files, options.file_column.is_some(), &mut notes)?;
        let mut planner = Planner { observed, options, merged, notes };
        let (definition, mut columns) = match existing {
            Some(definition) => planner.existing(definition)?,
            None => planner.created(name)?,
        };
        if nulls.have_words() {
            keep_words(&planner.merged, &mut columns);
        }
        Ok(Self {
            definition,
            columns,
            is_definitive: observed.is_complete(),
            is_slice_free: existing.is_none() && options.slice.is_none(),
            notes: planner.notes,
        })
    }
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

/// Columns of one name become one. `has_file_names` is whether a column tells the files apart.
fn merge(files: &[FileFacts], has_file_names: bool, notes: &mut Vec<String>) -> Result<Vec<Merged>> {
    let mut merged: Vec<Merged> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut shared = 0;
        for (position, (name, facts)) in file.manner.names.iter().zip(&file.columns).enumerate() {
            if name.is_empty() {
                continue;
            }
            match merged.iter_mut().find(|column| same_name(&column.name, name)) {
                Some(column) => {
                    shared += usize::from(column.positions.iter().any(Option::is_some));
                    column.facts.merge(facts);
                    column.positions[number] = Some(position);
                }
                None => {
                    let mut positions = vec![None; files.len()];
                    positions[number] = Some(position);
                    merged.push(Merged { name: name.clone(), facts: facts.clone(), positions });
                }
            }
        }
        let before = files[..number].iter().any(|file| !file.columns.is_empty());
        if before && shared == 0 && !file.columns.is_empty() {
            let (this, first) = (&file.manner.file, &files[0].manner.file);
            return Err(Error::usage(format!("{this} has no column in common with {first} and the files after it"))
                .with_hint("import files of different columns into different tables"));
        }
    }
    let holders = files.iter().filter(|file| !file.columns.is_empty()).count();
    let partial: Vec<&str> = merged
        .iter()
        .filter(|column| column.positions.iter().flatten().count() < holders)
        .map(|column| column.name.as_str())
        .collect();
    if let [first, ..] = partial.as_slice() {
        let shown = partial.iter().take(6).copied().collect::<Vec<_>>().join(", ");
        let more = if partial.len() > 6 { ", ..." } else { "" };
        let are = if partial.len() == 1 { "is" } else { "are" };
        let names = match has_file_names {
            true => "",
            false => "to tell the files apart, add a column of their names: --file-column NAME; ",
        };
        notes.push(format!(
            "{shown}{more} {are} not in every file, and rows of the others have NULL there; {names}to keep {first} \
             apart, import the files into tables of their own"
        ));
    }
    if merged.is_empty() {
        let names: Vec<&str> = files.iter().map(|file| file.manner.file.as_str()).collect();
        return Err(Error::invalid(format!("{}: no columns: there is nothing in it", names.join(", "))));
    }
    Ok(merged)
}
