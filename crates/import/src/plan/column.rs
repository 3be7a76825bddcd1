//! The columns of a plan: the source of each column's values, and their conversion.

use crate::facts::nulls::WordSet;
use crate::infer::maps::{asked_width, map_of};
use crate::values::comma_numbers::NumberForm;
use crate::values::zones::Zone;
use atsdb_core::time_text::DateReading;
use atsdb_core::{Column, MapWidth, TimeUnit};

/// How the times of one column of one file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeParsing {
    /// How dates are read.
    pub(crate) dates: DateReading,
    /// The unit of numbers. `None` refuses numbers.
    pub(crate) epoch: Option<TimeUnit>,
    /// Whether numbers are dates and times that are written as digits, and count no unit.
    pub(crate) are_digits: bool,
    /// The zone of times that name none; UTC by default.
    pub(crate) zone: Option<Zone>,
}

/// The source of a column in one file. Positions are those of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binding {
    /// The file has no such column: the default of the table's column, or NULL.
    Missing,
    /// A field.
    Field(usize, TimeParsing),
    /// The file's name.
    FileName,
    /// A date and a time of day.
    DateClock(usize, usize, TimeParsing),
    /// Year, month, day, and so on.
    Parts(Vec<usize>),
}

/// One column of the table.
#[derive(Debug, Clone)]
pub(crate) struct PlanColumn {
    /// The column of the table.
    pub(crate) column: Column,
    /// One for each file.
    pub(crate) bindings: Vec<Binding>,
    /// Whether this column is the time.
    pub(crate) is_time: bool,
    /// The unit of an integer time column.
    pub(crate) count_unit: TimeUnit,
    /// Whether its type was inferred. Then each value must look like the type by itself: `007` is not a number.
    pub(crate) is_inferred: bool,
    /// How its numbers are written; one for each file.
    pub(crate) number_forms: Vec<NumberForm>,
    /// Whether a value was seen. If not, the first one changes the plan.
    pub(crate) is_known: bool,
    /// Decides whether and how it is mapped.
    pub(crate) map_rule: MapRule,
    /// Whether this is a text column that may keep words which usually mean NULL.
    pub(crate) may_keep_words: bool,
    /// The words that the column keeps.
    pub(crate) kept_words: WordSet,
}

/// The rule that decides whether a column is mapped, and with which width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapRule {
    /// The column has the map of its definition, or none.
    Fixed,
    /// The values decide whether there is a map, and its width.
    Free,
    /// The caller requests a map; the values determine its width.
    Asked,
}

impl MapRule {
    /// The map of a column with this many distinct texts among its values. It is not called for `Fixed`.
    pub(crate) fn map(self, distinct: Option<usize>, value_count: u64) -> Option<MapWidth> {
        match self {
            Self::Asked => Some(asked_width(distinct)),
            Self::Free | Self::Fixed => map_of(distinct, value_count),
        }
    }
}
