//! The plan for a new table: its columns, their types and their maps, and its time.

use crate::facts::kind;
use crate::facts::nulls::WordSet;
use crate::infer::column_type::{column_type, text_unit};
use crate::infer::maps::{map_of, map_width};
use crate::infer::number_notes::{range_start, zone_of};
use crate::infer::slices::slice_width;
use crate::infer::time_column::{
    Merged, TimeChoice, choose, clock_of, clocks_note, first_unnamed, numbers_note, unknown_epoch,
};
use crate::observe::FileFacts;
use crate::options::key::declare_key;
use crate::options::selection::flag_value;
use crate::plan::column::{Binding, MapRule, PlanColumn, TimeParsing};
use crate::plan::planner::Planner;
use crate::records::error::shown;
use crate::values::comma_numbers::NumberForm;
use crate::values::digit_times::digit_form;
use atsdb_core::limits::COLUMNS_MAX;
use atsdb_core::name::same_name;
use atsdb_core::{Column, ColumnId, ColumnType, Error, MapWidth, Result, SliceWidth, TableDefinition, TimeUnit};

impl Planner<'_> {
    /// Plans a new table from the observed facts.
    pub(crate) fn created(&mut self, name: &str) -> Result<(TableDefinition, Vec<PlanColumn>)> {
        let choice = choose(&self.merged, self.row_count(), self.options, &mut self.notes)?;
        let choice = self.without_names(choice);
        let choice = self.with_clock(choice);
        let mut definition = TableDefinition::new(name);
        let mut columns: Vec<PlanColumn> = Vec::new();
        let mut used = vec![false; self.merged.len()];
        let mut time_name = None;
        match &choice {
            TimeChoice::None(note) => self.notes.extend(note.clone()),
            TimeChoice::Column(position) => time_name = Some(self.merged[*position].name.clone()),
            TimeChoice::DateClock(..) | TimeChoice::Parts(_) => {
                let bindings = self.time_bindings(&choice, &mut used)?;
                let is_free = |name: &&str| {
                    self.merged.iter().zip(&used).all(|(column, used)| *used || !same_name(&column.name, name))
                };
                let free = ["time", "timestamp", "row_time"].into_iter().find(is_free).unwrap_or("time_of_row");
                let unit = self.options.time_unit.unwrap_or(match &choice {
                    TimeChoice::DateClock(_, clock) => text_unit(&self.merged[*clock].facts),
                    _ => TimeUnit::Microsecond,
                });
                self.add(&mut definition, &mut columns, free, ColumnType::Timestamp(unit), bindings);
                time_name = Some(free.to_owned());
            }
        }
        for position in (0..used.len()).filter(|position| !used[*position]) {
            let is_time = choice == TimeChoice::Column(position);
            let column_name = self.merged[position].name.clone();
            let column_type = if is_time { self.time_type(position)? } else { self.type_of(position) };
            let is_stamp = matches!(column_type, ColumnType::Timestamp(_) | ColumnType::Date);
            let bindings = self.bindings(position, is_time || is_stamp)?;
            self.add(&mut definition, &mut columns, &column_name, column_type, bindings);
            if let Some(column) = columns.last_mut() {
                column.number_forms.clone_from(&self.merged[position].numbers.of_files);
                column.is_known = is_time || self.observed.is_complete() || self.merged[position].facts.kinds != 0;
            }
            self.set_map(&mut definition, &mut columns, position);
        }
        if let Some(file_column) = &self.options.file_column {
            let bindings = vec![Binding::FileName; self.observed.files.len()];
            self.add(&mut definition, &mut columns, file_column, ColumnType::Text, bindings);
            self.map_last(&mut definition, &mut columns, map_width(self.observed.files.len()));
        }
        if let Some(time_name) = time_name {
            definition = definition.with_time(&time_name, TimeUnit::Second)?;
            definition.slice = self.options.slice.unwrap_or_else(|| self.slice_guess(&choice));
            let time = definition.position(&time_name)?;
            (columns[time].is_time, columns[time].column) = (true, definition.columns[time].clone());
        } else if self.options.slice.is_some() {
            self.notes.push("a plain table has one slice: --slice is not used".to_owned());
        }
        self.apply_maps(&mut definition, &mut columns)?;
        self.refuse_parts_of_time(&definition)?;
        declare_key(&mut definition, &self.options.key)?;
        for (plan, declared) in columns.iter_mut().zip(&definition.columns) {
            plan.column.nullable = declared.nullable;
        }
        definition.check().map_err(|error| {
            if definition.columns.len() <= COLUMNS_MAX {
                return error;
            }
            error.with_hint("--columns or --omit choose some of them; --unpivot makes rows of columns")
        })?;
        Ok((definition, columns))
    }

    /// Refuses a key of columns that became the time together, and are no columns of the table.
    fn refuse_parts_of_time(&self, definition: &TableDefinition) -> Result<()> {
        let is_column = |name: &str| definition.columns.iter().any(|column| same_name(&column.name, name));
        let is_field = |name: &str| self.merged.iter().any(|column| same_name(&column.name, name));
        let time = definition.time_column().map_or("time", |column| column.name.as_str());
        match self.options.key.iter().find(|name| !is_column(name) && is_field(name)) {
            Some(name) => Err(Error::usage(format!("--key: {name} is a part of the time, not a separate column"))
                .with_hint(format!("name the time in its place: {time}; --time names one column as the time instead"))),
            None => Ok(()),
        }
    }

    fn add(
        &self,
        definition: &mut TableDefinition,
        columns: &mut Vec<PlanColumn>,
        name: &str,
        column_type: ColumnType,
        bindings: Vec<Binding>,
    ) {
        let id = ColumnId(u16::try_from(definition.columns.len()).unwrap_or(u16::MAX));
        let column = Column::new(id, name, column_type);
        definition.columns.push(column.clone());
        let number_forms = vec![NumberForm::Point; bindings.len()];
        columns.push(PlanColumn {
            column,
            bindings,
            is_time: false,
            count_unit: TimeUnit::Second,
            is_inferred: true,
            number_forms,
            is_known: true,
            map_rule: MapRule::Fixed,
            may_keep_words: false,
            kept_words: WordSet::default(),
        });
    }

    fn map_last(&self, definition: &mut TableDefinition, columns: &mut [PlanColumn], width: MapWidth) {
        if let (Some(a), Some(b)) = (definition.columns.last_mut(), columns.last_mut()) {
            (a.map, b.column.map) = (Some(width), Some(width));
        }
    }

    /// Sets the map of a text column from its observed values. If only a part was observed, twice as many distinct
    /// texts are assumed.
    fn set_map(&self, definition: &mut TableDefinition, columns: &mut [PlanColumn], position: usize) {
        let facts = &self.merged[position].facts;
        let Some(last) = columns.last_mut().filter(|last| last.column.column_type == ColumnType::Text) else { return };
        if self.options.for_query {
            last.may_keep_words = true;
            return;
        }
        (last.map_rule, last.may_keep_words) = (MapRule::Free, true);
        let seen = if self.observed.is_complete() { facts.value_count } else { facts.value_count * 2 };
        if let Some(width) = map_of(facts.distinct.count(), seen) {
            self.map_last(definition, columns, width);
        }
    }

    fn apply_maps(&self, definition: &mut TableDefinition, columns: &mut [PlanColumn]) -> Result<()> {
        for (name, width) in &self.options.map {
            let position = definition.position(name)?;
            let column = &mut columns[position];
            if column.column.column_type != ColumnType::Text {
                // The caller has declared that these numbers are names.
                if column.is_time {
                    return Err(Error::usage(format!("column {name} is the time and cannot be mapped"))
                        .with_hint(format!("leave {name} out of --map, or name another time with --time")));
                }
                column.column.column_type = ColumnType::Text;
                column.bindings.iter_mut().for_each(|binding| {
                    if let Binding::Field(_, parsing) = binding {
                        *parsing = TimeParsing::default();
                    }
                });
            }
            column.map_rule = if width.is_none() { MapRule::Asked } else { MapRule::Fixed };
            let merged = self.merged.iter().find(|merged| same_name(&merged.name, name));
            let distinct = merged.and_then(|merged| merged.facts.distinct.count());
            column.column.map = width.or_else(|| column.map_rule.map(distinct, 0));
            definition.columns[position] = column.column.clone();
        }
        Ok(())
    }

    /// The time of files that do not name their columns, where the values alone do not show which column it is.
    fn without_names(&mut self, choice: TimeChoice) -> TimeChoice {
        let lacks_names = |file: &FileFacts| file.parser.dialect.as_ref().is_some_and(|dialect| !dialect.has_header);
        let is_open = self.options.names.is_none() && self.options.columns.is_empty();
        if !matches!(choice, TimeChoice::None(Some(_))) || !is_open || !self.observed.files.iter().all(lacks_names) {
            return choice;
        }
        let Some(position) = first_unnamed(&self.merged, self.row_count(), self.options) else { return choice };
        self.notes.push(numbers_note(&self.merged[position].name));
        TimeChoice::Column(position)
    }

    /// A date and its time of day in another column together become the time.
    fn with_clock(&mut self, choice: TimeChoice) -> TimeChoice {
        let TimeChoice::Column(date) = choice else { return choice };
        let is_open = self.options.time.is_empty();
        let clock = if is_open { clock_of(&self.merged, date, self.row_count(), self.options) } else { None };
        match clock {
            Some(clock) => {
                let (date_name, clock_name) = (&self.merged[date].name, &self.merged[clock].name);
                self.notes.push(format!(
                    "the time is made of {date_name} and {clock_name}; --time {} keeps them apart",
                    flag_value(date_name)
                ));
                TimeChoice::DateClock(date, clock)
            }
            None => {
                self.notes.extend(clocks_note(&self.merged, date).filter(|_| is_open));
                choice
            }
        }
    }

    fn type_of(&mut self, position: usize) -> ColumnType {
        let column = &self.merged[position];
        let (column_type, why) = column_type(&column.facts, column.numbers.kinds, self.options);
        if matches!(column_type, ColumnType::Date | ColumnType::Timestamp(_)) {
            self.notes.extend(date_notes(column));
        }
        if let Some(why) = why {
            self.notes.push(format!("column {} is text: {why}", column.name));
        }
        if column_type.is_number() {
            self.note_number_forms(position);
        }
        column_type
    }

    fn time_type(&mut self, position: usize) -> Result<ColumnType> {
        let column = &self.merged[position];
        let facts = &column.facts;
        self.notes.extend(date_notes(column));
        let has_numbers =
            facts.kinds & (kind::INT | kind::LONG_INT | kind::FLOAT) != 0 && facts.number_count * 2 > facts.value_count;
        if !has_numbers {
            if facts.time_count == 0 && facts.value_count > 0 {
                let value = facts
                    .first_text
                    .as_ref()
                    .map_or(String::new(), |seen| format!(", as {} in line {}", shown(&seen.value), seen.line));
                let first = facts.first_text.as_ref().map_or("", |seen| seen.value.as_str());
                let hint = if zone_of(first).is_some() {
                    "write UTC or an offset such as +01:00 instead of the name of the zone, or leave it out and pass --zone"
                        .to_owned()
                } else if let Some(start) = range_start(first) {
                    format!("its values are ranges of times: pass --time none, and then in SQL, {start} is the start")
                } else {
                    "name another column with --time, or --time none for a plain table".to_owned()
                };
                return Err(Error::invalid(format!("column {} contains no times{value}", column.name)).with_hint(hint));
            }
            let is_date = facts.kinds & kind::STAMP == 0 && facts.value_count > 0;
            return Ok(match self.options.time_unit {
                Some(unit) => ColumnType::Timestamp(unit),
                None if is_date => ColumnType::Date,
                None => ColumnType::Timestamp(text_unit(facts)),
            });
        }
        let Some(unit) = self.epoch_unit(position)? else { return Err(unknown_epoch(column)) };
        if let Some((min, _)) = facts.int_bounds.filter(|_| self.options.time_unit.is_none())
            && facts.digit_bounds().is_some()
        {
            let (name, form) = (&column.name, digit_form(min));
            self.notes.push(format!("column {name}: its numbers are read as {form}; --time-unit makes counts of them"));
        }
        let digits = match facts.kinds & kind::FLOAT {
            0 => unit.fraction_digits(),
            _ => unit.fraction_digits() + usize::from(facts.number_digits.min(9)),
        };
        let mut finest = TimeUnit::ALL.iter().copied().find(|unit| unit.fraction_digits() >= digits);
        if facts.time_count > 0 {
            finest = finest.max(Some(text_unit(facts)));
        }
        Ok(ColumnType::Timestamp(finest.unwrap_or(TimeUnit::Nanosecond)))
    }

    /// An estimate of the slice width before all rows are read. It assumes that, in time order, the beginning of a file
    /// is as dense as the rest.
    fn slice_guess(&self, choice: &TimeChoice) -> SliceWidth {
        let rows: u64 = self.observed.files.iter().map(|file| file.row_count_estimate).sum();
        let seconds = match choice {
            TimeChoice::None(_) => None,
            TimeChoice::Column(position) | TimeChoice::DateClock(position, _) => {
                let facts = &self.merged[*position].facts;
                let digits = || facts.digit_bounds().filter(|_| self.options.time_unit.is_none());
                facts.second_bounds.or_else(digits).or_else(|| {
                    let per_second = self.epoch_unit(*position).ok().flatten()?.per_second();
                    facts.int_bounds.map(|(min, max)| (min / per_second, max / per_second))
                })
            }
            TimeChoice::Parts(parts) => self.merged[parts[0]].facts.int_bounds.map(|(min, max)| {
                let year = |year: i64| year.saturating_mul(31_556_952);
                (year(min), year(max.saturating_add(1)))
            }),
        };
        let span = seconds.map_or(0.0, |(min, max)| max as f64 - min as f64);
        let share = rows as f64 / self.row_count().max(1) as f64;
        let stretch = if self.observed.files.len() == 1 { share } else { 1.0 };
        slice_width(rows, span * stretch)
    }
}

/// Notes about dates of a column that are not written as one day of a full year.
fn date_notes(column: &Merged) -> impl Iterator<Item = String> {
    let Merged { name, facts, .. } = column;
    let short =
        facts.has_short_years.then(|| format!("column {name}: two-digit years come last and are read as 1970 to 2069"));
    let periods = facts
        .has_periods
        .then(|| format!("column {name}: months, quarters and weeks such as 2024-01 are read as their first days"));
    short.into_iter().chain(periods)
}
