//! The plan for a table that exists: its columns get the values that the files have under their names.

use crate::facts::nulls::WordSet;
use crate::infer::time_column::{TimeChoice, clock_of, parts_by_name, requested};
use crate::plan::column::{Binding, MapRule, PlanColumn};
use crate::plan::lacking::{LackingColumns, keep_given, refuse_mixed};
use crate::plan::planner::Planner;
use crate::values::comma_numbers::NumberForm;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{ColumnType, Error, Result, TableDefinition};

impl Planner<'_> {
    /// Plans for an existing table: its columns get the values that the files have under their names. The plan has no
    /// columns that the files lack and to which the table itself gives values.
    pub(crate) fn existing(&mut self, definition: &TableDefinition) -> Result<(TableDefinition, Vec<PlanColumn>)> {
        if let Some(file_column) = &self.options.file_column {
            definition.column(file_column)?;
        }
        let time = definition.time_column();
        let choice = match self.options.time.as_slice() {
            [] => self.parted_time(definition),
            _ => Some(requested(&self.merged, self.options)?),
        };
        let mut used = vec![false; self.merged.len()];
        let (mut columns, mut lacking) = (Vec::new(), LackingColumns::default());
        let mut definition = definition.clone();
        let has_time = choice.as_ref().is_some_and(|choice| !matches!(choice, TimeChoice::None(_)));
        let names: Vec<&str> = self.merged.iter().map(|merged| merged.name.as_str()).collect();
        keep_given(&mut definition, self.options, has_time, &names);
        for column in &definition.columns {
            let is_time = time.is_some_and(|time| time.id == column.id);
            let position = self.merged.iter().position(|merged| same_name(&merged.name, &column.name));
            let is_file_name = self.options.is_file_column(&column.name);
            let bindings = match (&choice, position) {
                _ if is_file_name => vec![Binding::FileName; self.observed.files.len()],
                (Some(choice), _) if is_time && !matches!(choice, TimeChoice::None(_)) => {
                    self.time_bindings(choice, &mut used)?
                }
                (_, Some(position)) => {
                    used[position] = true;
                    refuse_mixed(&definition, column, &self.merged[position].positions)?;
                    self.bindings(position, is_time || matches!(column.column_type, ColumnType::Timestamp(_)))?
                }
                (_, None) => {
                    lacking.add(&definition, column, self.merged.iter().map(|merged| merged.name.as_str()))?;
                    vec![Binding::Missing; self.observed.files.len()]
                }
            };
            if let Some(position) = position.filter(|_| column.column_type.is_number()) {
                self.note_number_forms(position);
            }
            columns.push(PlanColumn {
                column: column.clone(),
                bindings,
                is_time,
                count_unit: definition.time_unit(),
                is_inferred: false,
                number_forms: position.map_or_else(
                    || vec![NumberForm::Point; self.observed.files.len()],
                    |position| self.merged[position].numbers.of_files.clone(),
                ),
                is_known: true,
                map_rule: MapRule::Fixed,
                may_keep_words: column.column_type == ColumnType::Text && !is_file_name,
                kept_words: WordSet::default(),
            });
        }
        self.notes.extend(lacking.notes());
        match used.iter().position(|used| !used) {
            Some(position) => Err(unknown_column(&definition, &self.merged[position].name)),
            None => Ok((definition, columns)),
        }
    }

    /// The columns that make the table's time together, where the files have it in several.
    fn parted_time(&self, definition: &TableDefinition) -> Option<TimeChoice> {
        let time = definition.time_column()?;
        let of_name = |name: &str| self.merged.iter().position(|merged| same_name(&merged.name, name));
        let is_column = |name: &str| definition.columns.iter().any(|column| same_name(&column.name, name));
        let rows = self.row_count();
        let is_time = |position: usize| of_name(&time.name) == Some(position);
        let is_free = |position: usize| is_time(position) || !is_column(&self.merged[position].name);
        let clocked = |date: usize| Some((date, clock_of(&self.merged, date, rows, self.options)?));
        if let Some((date, clock)) = (0..self.merged.len()).filter(|date| is_free(*date)).find_map(clocked) {
            let has_time = of_name(&time.name).is_none() || is_time(date) || is_time(clock);
            return (has_time && is_free(clock)).then_some(TimeChoice::DateClock(date, clock));
        }
        let is_wanted = of_name(&time.name).is_none() && matches!(time.column_type, ColumnType::Timestamp(_));
        let parts = parts_by_name(&self.merged, rows).filter(|_| is_wanted)?;
        parts.iter().all(|position| is_free(*position)).then_some(TimeChoice::Parts(parts))
    }
}

/// The error for a column of the files that the table does not have.
fn unknown_column(definition: &TableDefinition, name: &str) -> Error {
    let names = definition.columns.iter().map(|column| column.name.as_str());
    unknown_name("column", name, names).context(format_args!("table {}", definition.name))
}
