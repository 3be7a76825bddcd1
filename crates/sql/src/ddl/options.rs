//! The options of `CREATE TABLE ... WITH (...)`, and the choice of the time column if no option names it.

use super::constraints::{add_unique, series_key_of_primary};
use atsdb_core::name::{nearest_name, same_name};
use atsdb_core::size::parse_size;
use atsdb_core::{
    ColumnId, ColumnType, ConflictPolicy, InMemory, MapWidth, Result, Retention, SliceWidth, TableDefinition, TimeUnit,
    Unique,
};
use atsdb_dialect::parse::foreign::is_memory_engine;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use datafusion::sql::sqlparser::ast::{Expr, SqlOption, Value};

const NAMES: [&str; 11] =
    ["time", "time_unit", "slice", "map", "key", "sort", "on_conflict", "retention", "preload", "engine", "max_memory"];

/// PostgreSQL's storage parameters, with those that begin with [`AUTOVACUUM`]. They mean nothing here.
const STORAGE_PARAMETERS: [&str; 5] =
    ["fillfactor", "parallel_workers", "toast_tuple_target", "log_autovacuum_min_duration", "user_catalog_table"];

const AUTOVACUUM: &str = "autovacuum_";

/// Returns whether an option of a table is one of PostgreSQL's storage parameters, which are ignored.
pub fn is_storage_parameter(name: &str) -> bool {
    let has_prefix = name.get(..AUTOVACUUM.len()).is_some_and(|start| same_name(start, AUTOVACUUM));
    has_prefix || STORAGE_PARAMETERS.iter().any(|known| same_name(known, name))
}

/// The options as written.
#[derive(Debug, Default)]
pub(crate) struct TableOptions {
    time: Option<String>,
    time_unit: Option<TimeUnit>,
    slice: Option<SliceWidth>,
    map: Vec<(String, MapWidth)>,
    key: Option<Vec<String>>,
    sort: Option<Vec<String>>,
    on_conflict: Option<ConflictPolicy>,
    retention: Option<Retention>,
    preload: Option<Retention>,
    /// Whether the rows are kept in memory.
    in_memory: Option<bool>,
    memory_bytes_max: Option<u64>,
    /// Whether they are those of a temporary table, whose rows are in memory, and which has a time column only if it
    /// names one.
    is_temporary: bool,
    /// Options that are set to NULL, which restores their defaults.
    reset: Vec<&'static str>,
}

impl TableOptions {
    /// Parses the list inside `WITH (...)`.
    pub(crate) fn read(options: &[SqlOption]) -> Result<Self> {
        let mut read = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for option in options {
            let SqlOption::KeyValue { key, value } = option else {
                return Err(sql_error(format!("cannot read the option {option}")).with_hint("write NAME = 'VALUE'"));
            };
            if is_storage_parameter(&key.value) {
                continue;
            }
            let Some(name) = NAMES.into_iter().find(|name| same_name(name, &key.value)) else {
                let hint = match nearest_name(&key.value, NAMES) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("available: {}", NAMES.join(", ")),
                };
                return Err(sql_error(format!("no table option named {}", key.value)).with_hint(hint));
            };
            if seen.contains(&name) {
                return Err(sql_error(format!("the table option {name} appears twice")));
            }
            seen.push(name);
            match value {
                Expr::Value(value) if value.value == Value::Null => read.reset.push(name),
                value => read.set(name, &text_of(name, value)?)?,
            }
        }
        Ok(read)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        match name {
            "time" => self.time = Some(text.to_owned()),
            "time_unit" => self.time_unit = Some(TimeUnit::parse(text)?),
            "slice" => self.slice = Some(SliceWidth::parse(text)?),
            "retention" => self.retention = Some(Retention::parse(text)?),
            "preload" => {
                let refuse = |_| {
                    sql_error(format!("cannot read preload {text:?}"))
                        .with_hint("write a count and hours, days, weeks, months or years: '8 hours'")
                };
                self.preload = Some(Retention::parse(text).map_err(refuse)?);
            }
            "key" => self.key = Some(names_of(text)),
            "sort" => self.sort = Some(names_of(text)),
            "engine" => self.in_memory = Some(is_memory_engine(text)?),
            "max_memory" => self.memory_bytes_max = Some(parse_size(text)?),
            "on_conflict" => self.on_conflict = Some(ConflictPolicy::parse(text)?),
            _ => {
                for item in names_of(text) {
                    // A column's name may contain a colon, but a width does not.
                    let (column, width) = match item.rsplit_once(':') {
                        Some((column, width)) => (column.trim().to_owned(), MapWidth::parse(width.trim())?),
                        None => (item, MapWidth::U32),
                    };
                    self.map.push((column, width));
                }
            }
        }
        Ok(())
    }

    /// Changes the options of a table whose definition was `from` before the statement. Options that decide how rows
    /// are stored and found cannot be changed.
    pub(crate) fn amend(self, from: &TableDefinition, mut definition: TableDefinition) -> Result<TableDefinition> {
        let is_reset = |name: &str| self.reset.contains(&name);
        if self.time.is_some() || self.time_unit.is_some() || is_reset("time") || is_reset("time_unit") {
            return Err(not_supported("another time column or time_unit for an existing table"));
        }
        let is_in_memory = definition.is_in_memory();
        if self.in_memory.is_some_and(|memory| memory != is_in_memory) || (is_reset("engine") && is_in_memory) {
            return Err(
                not_supported("another engine for an existing table").with_hint("CREATE TABLE ... AS SELECT * FROM it")
            );
        }
        if self.memory_bytes_max.is_some() || is_reset("max_memory") {
            match &mut definition.memory {
                Some(memory) => memory.bytes_max = self.memory_bytes_max,
                None => return Err(sql_error("max_memory is given, but the table is not in memory")),
            }
        }
        for (name, width) in &self.map {
            let position = definition.position(name)?;
            let column = &mut definition.columns[position];
            let is_new = from.column_by_id(column.id).is_none();
            match column.map {
                _ if is_new => column.map = Some(*width),
                Some(present) if present <= *width => column.map = Some(*width),
                Some(present) => {
                    return Err(sql_error(format!(
                        "column {name} is mapped by {present}, which is wider than {width}"
                    )));
                }
                None => {
                    return Err(not_supported(format_args!("map for column {name}, which holds text"))
                        .with_hint("add a mapped column: ADD COLUMN b TEXT, SET (map = 'b:u32'), and UPDATE it"));
                }
            }
        }
        if is_reset("map") {
            return Err(not_supported("map = NULL")
                .with_hint("a mapped column cannot become unmapped: create a new column and copy the values"));
        }
        if definition.time.is_none() && self.slice.is_some() {
            return Err(sql_error("slice is given, but there is no time column"));
        }
        definition.slice = if is_reset("slice") { SliceWidth::Day } else { self.slice.unwrap_or(definition.slice) };
        if self.retention.is_some() || is_reset("retention") {
            definition.retention = self.retention;
        }
        if self.preload.is_some() || is_reset("preload") {
            definition.preload = self.preload;
        }
        if self.on_conflict.is_some() || is_reset("on_conflict") {
            definition.on_conflict = self.on_conflict.unwrap_or_default();
        }
        if self.key.is_some() || self.sort.is_some() || is_reset("key") || is_reset("sort") {
            apply_key(&mut definition, self.key.as_deref(), self.sort.as_deref())?;
        }
        Ok(definition)
    }

    /// Adds the options to a definition that has a rollup's columns. Its time is the bucket.
    pub(crate) fn apply_to_rollup(
        mut self,
        definition: TableDefinition,
        bucket: &str,
        unit: TimeUnit,
        slice: SliceWidth,
    ) -> Result<TableDefinition> {
        if self.time.is_some() || self.time_unit.is_some() {
            return Err(sql_error("the time of a rollup is its bucket").with_hint("leave time and time_unit out"));
        }
        let is_integer = !matches!(definition.column(bucket)?.column_type, ColumnType::Timestamp(_) | ColumnType::Date);
        (self.time, self.time_unit) = (Some(bucket.to_owned()), is_integer.then_some(unit));
        self.slice = self.slice.or(Some(slice));
        let definition = self.apply(definition)?;
        match definition.has_unique() {
            true => Err(not_supported("a unique key of a rollup").with_hint("leave the time out of it")),
            false => Ok(definition),
        }
    }

    /// Makes them those of a temporary table.
    pub(crate) fn of_temporary(mut self) -> Result<Self> {
        if self.in_memory == Some(false) || !self.map.is_empty() {
            return Err(not_supported("a temporary table that is not in memory").with_hint("leave engine and map out"));
        }
        (self.is_temporary, self.in_memory) = (true, Some(true));
        Ok(self)
    }

    /// Returns whether they name the time, or say that there is none.
    pub(super) fn names_time(&self) -> bool {
        self.time.is_some()
    }

    /// Adds the options to a definition that has its columns.
    pub(crate) fn apply(self, mut definition: TableDefinition) -> Result<TableDefinition> {
        if self.is_temporary {
            definition.columns.iter_mut().for_each(|column| column.map = None);
        }
        for (name, width) in &self.map {
            let position = definition.position(name)?;
            definition.columns[position].map = Some(*width);
        }
        let time = match self.time.as_deref() {
            Some(none) if none.eq_ignore_ascii_case("none") && definition.column(none).is_err() => None,
            Some(name) => Some(definition.column(name)?.name.clone()),
            None if self.is_temporary => None,
            None => inferred_time(&definition),
        };
        match (&time, self.time_unit) {
            (Some(name), unit) => {
                definition = definition.with_time(name, unit.unwrap_or(TimeUnit::Second))?;
                check_unit(&definition, name, unit)?;
            }
            (None, Some(_)) => return Err(sql_error("time_unit is given, but there is no time column")),
            (None, None) if self.slice.is_some() => {
                return Err(sql_error("slice is given, but there is no time column")
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            (None, None) => {}
        }
        definition.slice = self.slice.unwrap_or(definition.slice);
        (definition.retention, definition.preload) = (self.retention, self.preload);
        match (self.in_memory == Some(true), self.memory_bytes_max) {
            (true, bytes_max) => definition.memory = Some(InMemory { bytes_max }),
            (false, Some(_)) => {
                return Err(sql_error("max_memory is given, but the table is not in memory")
                    .with_hint("WITH (engine = 'memory', max_memory = '1 GiB')"));
            }
            (false, None) => {}
        }
        definition.on_conflict = self.on_conflict.unwrap_or(definition.on_conflict);
        apply_key(&mut definition, self.key.as_deref(), self.sort.as_deref())?;
        Ok(definition)
    }
}

fn check_unit(definition: &TableDefinition, name: &str, unit: Option<TimeUnit>) -> Result<()> {
    match (definition.column(name)?.column_type, unit) {
        (ColumnType::Timestamp(own), Some(unit)) if own != unit => {
            Err(sql_error(format!("time_unit is {unit}, but the time column {name} counts {own}"))
                .with_hint("leave time_unit out: it is for integer columns"))
        }
        (ColumnType::Date, Some(_)) => Err(sql_error(format!("time_unit is given, but {name} is a date"))
            .with_hint("leave time_unit out: it is for integer columns")),
        _ => Ok(()),
    }
}

/// The names that make a column the time of its table.
const NAMES_OF_TIME: [&str; 3] = ["time", "timestamp", "ts"];

/// Returns whether a column of this name is the time of its table if its type can be one.
pub(super) fn is_name_of_time(name: &str) -> bool {
    NAMES_OF_TIME.iter().any(|known| same_name(known, name))
}

/// The column named time, timestamp or ts if its type can be a time, or else the only timestamp column.
fn inferred_time(definition: &TableDefinition) -> Option<String> {
    let named = NAMES_OF_TIME.into_iter().find_map(|name| {
        let column = definition.column(name).ok()?;
        column.column_type.can_be_time().then(|| column.name.clone())
    });
    let mut timestamps =
        definition.columns.iter().filter(|column| matches!(column.column_type, ColumnType::Timestamp(_)));
    named.or_else(|| match (timestamps.next(), timestamps.next()) {
        (Some(only), None) => Some(only.name.clone()),
        _ => None,
    })
}

/// Sets the series key: `sort`, or else `key`, or else the primary key. A `key` that includes the time, and any `key`
/// of a plain table, is also the primary key, because it distinguishes all rows.
fn apply_key(definition: &mut TableDefinition, key: Option<&[String]>, sort: Option<&[String]>) -> Result<()> {
    let mut series_key = None;
    if let Some(names) = key {
        let (series, timed) = without_time(definition, "key", names)?;
        let tells_rows_apart = timed || (definition.time.is_none() && !series.is_empty());
        let mut columns = series.clone();
        columns.extend(definition.time.filter(|_| timed).map(|time| time.column));
        let primary = definition.unique.first().filter(|unique| unique.primary);
        let same = |unique: &Unique| {
            unique.columns.len() == columns.len() && columns.iter().all(|id| unique.columns.contains(id))
        };
        match primary {
            None if tells_rows_apart => add_unique(definition, Unique { primary: true, ..Unique::new(columns) }),
            Some(primary) if timed && !same(primary) => {
                return Err(sql_error(format!(
                    "table {} declares two keys that include the time; keep one",
                    definition.name
                ))
                .with_hint("with a PRIMARY KEY, leave the time out of key, or declare UNIQUE (COLUMN, ...)"));
            }
            _ => {}
        }
        series_key = Some(series);
    }
    if let Some(names) = sort {
        series_key = Some(without_time(definition, "sort", names)?.0);
    }
    definition.key = series_key.unwrap_or_else(|| series_key_of_primary(definition));
    Ok(())
}

/// The columns of a series key without the time, which always comes last, and whether the time was named.
fn without_time(definition: &TableDefinition, option: &str, names: &[String]) -> Result<(Vec<ColumnId>, bool)> {
    let time = definition.time.map(|time| time.column);
    let (mut ids, mut timed) = (Vec::new(), false);
    for (position, name) in names.iter().enumerate() {
        let id = definition.column(name)?.id;
        if Some(id) == time {
            if position + 1 < names.len() {
                return Err(sql_error(format!("the time column {name} is not the last in {option}"))
                    .with_hint("put it last: the rows of a series are ordered by time"));
            }
            timed = true;
        } else if ids.contains(&id) {
            return Err(sql_error(format!("column {name} appears twice in the {option}")));
        } else {
            ids.push(id);
        }
    }
    Ok((ids, timed))
}

/// Names separated by commas. A name that contains a comma, a colon or a quote is in double quotes.
fn names_of(text: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => name.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => names.push(std::mem::take(&mut name)),
            space if space.is_whitespace() && !quoted && name.is_empty() => {}
            other => name.push(other),
        }
    }
    names.push(name);
    names.into_iter().map(|name| name.trim_end().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A name in the form that it has in a list of names.
pub(crate) fn list_name(name: &str) -> String {
    let plain = |character: char| !matches!(character, '"' | ',' | ':') && !character.is_whitespace();
    if name.chars().all(plain) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn text_of(name: &str, value: &Expr) -> Result<String> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Ok(text.clone()),
            Value::Number(number, _) => Ok(number.to_string()),
            other => Err(sql_error(format!("the table option {name} takes text, not {other}"))),
        },
        Expr::Identifier(identifier) => Ok(identifier.value.clone()),
        other => Err(sql_error(format!("the table option {name} takes text, not {other}"))
            .with_hint(format!("write {name} = 'VALUE'"))),
    }
}
