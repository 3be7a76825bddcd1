//! Collects the rows of one measurement, within the limits of its table.

use crate::column::FieldColumn;
use crate::field_type::FieldType;
use crate::tag::TagColumn;
use arrow::array::{
    ArrayRef, RecordBatch, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, new_null_array,
};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_core::limits::COLUMNS_MAX;
use atsdb_core::name::{check_name, name_key};
use atsdb_core::{ColumnType, Retention, TableDefinition, TimeUnit};
use hashbrown::HashMap;
use std::sync::Arc;

/// The name of the time column in a new table.
pub const TIME_COLUMN: &str = "time";

/// The meaning of a name in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedColumn {
    Tag(u32),
    Field(u32),
    /// The time, or a column that accepts no value from a line.
    Other,
}

/// The rows of a measurement.
pub(crate) struct TableRows {
    pub(crate) name: String,
    /// The reason why the table accepts no lines, if there is one.
    pub(crate) refusal: Option<String>,
    time_name: String,
    unit: TimeUnit,
    /// Earlier rows are beyond the table's retention, in its unit.
    time_min: Option<i64>,
    pub(crate) tags: Vec<TagColumn>,
    pub(crate) fields: Vec<FieldColumn>,
    named_columns: HashMap<String, NamedColumn>,
    /// Columns without a default that do not accept NULL, besides the time.
    pub(crate) required: Vec<NamedColumn>,
    /// Columns that lines can set and that have a default, with the type of their values. They are NULL in lines
    /// without them, whatever other lines have.
    with_default: Vec<(String, DataType)>,
    column_count: usize,
    /// The fields of the last line in order: how they were written, and their column.
    pub(crate) expected: Vec<(Box<[u8]>, u32)>,
    /// The tags of the last series in order: how their keys were written, and their column.
    pub(crate) expected_tags: Vec<(Box<[u8]>, u32)>,
    pub(crate) times: Vec<i64>,
    pub(crate) series: Vec<u32>,
    /// The number of fields that have values.
    pub(crate) active_fields: usize,
}

/// The rows of one table, and the origin of its columns.
#[derive(Debug)]
pub struct TableBlock {
    /// The name of the table.
    pub name: String,
    /// The rows: the time, the tags as dictionaries, and the fields as 64-bit numbers, booleans or text.
    pub rows: RecordBatch,
    /// The number of columns after the time that are tags.
    pub tag_count: usize,
}

impl TableRows {
    pub(crate) fn new(name: &str, definition: Option<&TableDefinition>, now_ns: i64) -> Self {
        let mut table = Self {
            name: name.to_owned(),
            refusal: check_name("measurement", name).err().map(|error| error.message().to_owned()),
            time_name: TIME_COLUMN.to_owned(),
            unit: TimeUnit::Nanosecond,
            time_min: None,
            tags: Vec::new(),
            fields: Vec::new(),
            named_columns: HashMap::new(),
            required: Vec::new(),
            with_default: Vec::new(),
            column_count: 1,
            expected: Vec::new(),
            expected_tags: Vec::new(),
            times: Vec::new(),
            series: Vec::new(),
            active_fields: 0,
        };
        match definition {
            Some(definition) => table.follow(definition, now_ns),
            None => drop(table.named_columns.insert(TIME_COLUMN.to_owned(), NamedColumn::Other)),
        }
        table
    }

    fn follow(&mut self, definition: &TableDefinition, now_ns: i64) {
        self.column_count = definition.columns.len();
        match definition.time_column() {
            Some(column) if matches!(column.column_type, ColumnType::Timestamp(_)) => {
                (self.time_name, self.unit) = (column.name.clone(), definition.time_unit());
            }
            _ => self.refusal = Some(format!("table {} has no timestamp column as its time", definition.name)),
        }
        if definition.view.is_some() || definition.rollup.is_some() || definition.materialized.is_some() {
            self.refusal = Some(format!("{} is a view or a rollup", definition.name));
        }
        let cutoff = |retention: Retention| retention.cutoff(now_ns.div_euclid(1_000_000), definition.time_unit());
        self.time_min = definition.retention.map(cutoff);
        let is_key = |id| definition.unique.iter().any(|unique| unique.columns.contains(&id));
        for column in &definition.columns {
            let is_time = definition.time.is_some_and(|time| time.column == column.id);
            let is_tag = column.column_type == ColumnType::Text
                && (is_key(column.id) || (!definition.has_unique() && column.map.is_some()));
            let named = match FieldType::of_column(column.column_type) {
                _ if is_time => NamedColumn::Other,
                Some(_) if is_tag => self.push_tag(column.name.clone()),
                Some(field_type) => self.push_field(column.name.clone(), Some(field_type)),
                None => NamedColumn::Other,
            };
            self.named_columns.insert(name_key(&column.name), named);
            if column.has_default_value()
                && let Some(field_type) =
                    FieldType::of_column(column.column_type).filter(|_| named != NamedColumn::Other)
            {
                self.with_default.push((column.name.clone(), field_type.arrow_type()));
            }
            // The table gives values to a column that lines cannot set.
            let is_given = named == NamedColumn::Other && column.has_default_value();
            if !column.nullable && !is_time && !is_given {
                self.required.push(named);
            }
        }
    }

    fn push_tag(&mut self, name: String) -> NamedColumn {
        self.tags.push(TagColumn::new(name));
        NamedColumn::Tag(self.tags.len() as u32 - 1)
    }

    fn push_field(&mut self, name: String, field_type: Option<FieldType>) -> NamedColumn {
        self.fields.push(FieldColumn::new(name, field_type));
        NamedColumn::Field(self.fields.len() as u32 - 1)
    }

    /// The tag of this name, a new one if no column has the name.
    pub(crate) fn tag(&mut self, name: &str) -> Result<u32, String> {
        match self.named_column(name, |table, name| table.push_tag(name))? {
            NamedColumn::Tag(tag) => Ok(tag),
            NamedColumn::Field(_) => Err(format!("tag {name:?} has the name of a field of {:?}", self.name)),
            NamedColumn::Other => Err(format!("{name:?} cannot be the name of a tag")),
        }
    }

    /// The field of this name, a new one if no column has the name.
    pub(crate) fn field(&mut self, name: &str) -> Result<u32, String> {
        match self.named_column(name, |table, name| table.push_field(name, None))? {
            NamedColumn::Field(field) => Ok(field),
            NamedColumn::Tag(_) => Err(format!("field {name:?} has the name of a tag of {:?}", self.name)),
            NamedColumn::Other => Err(format!("{name:?} cannot be the name of a field")),
        }
    }

    fn named_column(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Self, String) -> NamedColumn,
    ) -> Result<NamedColumn, String> {
        let key = name_key(name);
        if let Some(named) = self.named_columns.get(&key) {
            return Ok(*named);
        }
        check_name("column", name).map_err(|error| error.message().to_owned())?;
        if self.column_count >= COLUMNS_MAX {
            return Err(format!("table {} would have more than {COLUMNS_MAX} columns", self.name));
        }
        self.column_count += 1;
        let named = create(self, name.to_owned());
        self.named_columns.insert(key, named);
        Ok(named)
    }

    /// A time in the table's unit. Refused are times between two of them, and times beyond the retention.
    pub(crate) fn time(&self, nanoseconds: i64) -> Result<i64, String> {
        let unit = 1_000_000_000 / self.unit.per_second();
        if nanoseconds % unit != 0 {
            return Err(format!("the timestamp {nanoseconds} ns is finer than the time of table {}", self.name));
        }
        let time = nanoseconds / unit;
        match self.time_min {
            Some(time_min) if time < time_min => Err(format!("point beyond the retention of table {}", self.name)),
            _ => Ok(time),
        }
    }

    /// Takes the rows collected so far, or `None` if there are none. `tags_of` returns one tag of a series.
    pub(crate) fn take(&mut self, tags_of: impl Fn(u32, usize) -> u32) -> Option<TableBlock> {
        let times = std::mem::take(&mut self.times);
        let series = std::mem::take(&mut self.series);
        let row_count = times.len();
        if row_count == 0 {
            return None;
        }
        let mut columns: Vec<(String, ArrayRef)> = vec![(self.time_name.clone(), time_array(self.unit, times))];
        for (at, tag) in self.tags.iter().enumerate() {
            let indices = series.iter().map(|series| tags_of(*series, at));
            columns.extend(tag.array(indices).map(|array| (tag.name.clone(), array)));
        }
        let tag_count = columns.len() - 1;
        for field in &mut self.fields {
            columns.extend(field.take(row_count).map(|array| (field.name.clone(), array)));
        }
        self.active_fields = 0;
        for (name, data_type) in &self.with_default {
            if columns.iter().all(|(other, _)| other != name) {
                columns.push((name.clone(), new_null_array(data_type, row_count)));
            }
        }
        let fields = columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = columns.into_iter().map(|(_, array)| array).collect();
        let rows = RecordBatch::try_new(schema, columns).ok()?;
        Some(TableBlock { name: self.name.clone(), rows, tag_count })
    }
}

fn time_array(unit: TimeUnit, times: Vec<i64>) -> ArrayRef {
    match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::from(times).with_timezone("UTC")),
        TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::from(times).with_timezone("UTC")),
        TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC")),
        TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC")),
    }
}
