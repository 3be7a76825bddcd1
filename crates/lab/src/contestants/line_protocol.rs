//! Rows as lines of InfluxDB's line protocol: `table,tag=value field=value time`. QuestDB reads the same lines, with
//! times and exact fractions as fields.

use crate::data::columns::RowSink;
use crate::data::rows::Binder;
use crate::failure::Failure;
use atsdb::TimeUnit;
use atsdb::time::DAY_MICROSECONDS;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// The largest integer up to which every integer has an equal among fractions of 64 bits.
const FRACTION_INTEGER_MAX: u64 = 1 << 53;

/// The part of a line in which a column's values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Role {
    /// The time of the point.
    Time,
    Tag,
    Integer,
    Float,
    Text,
    /// A time that is not the point's.
    Moment,
    /// Days since the epoch.
    Date,
}

/// How values are written that differ between the systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineDialect {
    /// Other times and dates are integers.
    Influxdb,
    /// Other times and dates are integers, and integers become 64-bit fractions.
    VictoriaMetrics,
    /// Other times and dates are in microseconds, fractions in binary form.
    Questdb,
}

/// Lines under construction.
pub(super) struct Lines {
    dialect: LineDialect,
    /// The table's name, escaped.
    table: String,
    columns: Vec<(String, Role)>,
    per_second: i64,
    /// The lines that are complete.
    text: Vec<u8>,
    rows: u64,
    tags: Vec<u8>,
    fields: Vec<u8>,
    time: Option<i64>,
    position: usize,
    times: Option<(i64, i64)>,
}

/// Returns the `precision` of a request, which sets the unit of the lines' times.
pub(super) fn precision(per_second: i64) -> &'static str {
    match per_second {
        1 => "s",
        1_000 => "ms",
        1_000_000 => "u",
        _ => "n",
    }
}

impl Lines {
    /// Creates an empty set of lines for a table with these columns.
    pub(super) fn new<'a>(
        dialect: LineDialect,
        table: &str,
        columns: impl Iterator<Item = (&'a str, Role)>,
        per_second: i64,
    ) -> Self {
        let columns = columns.map(|(name, role)| (escaped(dialect, name, &[',', '=', ' ']), role)).collect();
        Self {
            dialect,
            table: escaped(dialect, table, &[',', ' ']),
            columns,
            per_second,
            text: Vec::new(),
            rows: 0,
            tags: Vec::new(),
            fields: Vec::new(),
            time: None,
            position: 0,
            times: None,
        }
    }

    /// The complete lines.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The number of complete lines.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The first and the last time of all lines so far.
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        self.times
    }

    /// Removes the lines, which have been sent.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.rows = 0;
    }

    fn next(&mut self) -> Result<(usize, Role), Failure> {
        let position = self.position;
        self.position += 1;
        let (_, role) = self.columns.get(position).ok_or_else(|| Failure::wrong("a row has too many values"))?;
        Ok((position, *role))
    }

    /// Begins a field.
    fn field(&mut self, position: usize) -> &mut Vec<u8> {
        if !self.fields.is_empty() {
            self.fields.push(b',');
        }
        self.fields.extend_from_slice(self.columns[position].0.as_bytes());
        self.fields.push(b'=');
        &mut self.fields
    }

    fn number(&mut self, position: usize, number: i64, suffix: char) -> Result<(), Failure> {
        if self.dialect == LineDialect::VictoriaMetrics && number.unsigned_abs() > FRACTION_INTEGER_MAX {
            return Err(Failure::cannot("keeps numbers as floating point, and this integer has more than 53 bits"));
        }
        // Writing to memory cannot fail.
        let _ = write!(self.field(position), "{number}{suffix}");
        Ok(())
    }

    fn tag(&mut self, position: usize, value: &str) -> Result<(), Failure> {
        if value.is_empty() {
            // A symbol may be written as a field, and may be empty there.
            if self.dialect == LineDialect::Questdb {
                self.text_field(position, value);
                return Ok(());
            }
            return Err(Failure::cannot("a tag cannot be an empty text"));
        }
        if self.dialect != LineDialect::Questdb && value.contains(['\n', '\\']) {
            return Err(Failure::cannot("a tag cannot have a backslash or a line break"));
        }
        self.tags.push(b',');
        self.tags.extend_from_slice(self.columns[position].0.as_bytes());
        self.tags.push(b'=');
        self.tags.extend_from_slice(escaped(self.dialect, value, &[',', '=', ' ']).as_bytes());
        Ok(())
    }

    fn text_field(&mut self, position: usize, value: &str) {
        let escaped = escaped(self.dialect, value, &['"', '\\']);
        let field = self.field(position);
        field.push(b'"');
        field.extend_from_slice(escaped.as_bytes());
        field.push(b'"');
    }
}

/// Returns a name or a value with a backslash before these characters, and before those that QuestDB always escapes.
fn escaped(dialect: LineDialect, text: &str, special: &[char]) -> String {
    let always: &[char] = if dialect == LineDialect::Questdb { &['\\', '\n', '\r'] } else { &[] };
    let is_special = |letter: char| special.contains(&letter) || always.contains(&letter);
    if !text.contains(is_special) {
        return text.to_owned();
    }
    let letter = |letter: char| if is_special(letter) { vec!['\\', letter] } else { vec![letter] };
    text.chars().flat_map(letter).collect()
}

impl RowSink for Lines {
    fn begin(&mut self) -> Result<(), Failure> {
        self.tags.clear();
        self.fields.clear();
        (self.time, self.position) = (None, 0);
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        match (self.next()?, self.dialect) {
            ((_, Role::Time), _) => {
                self.time = Some(value);
                Ok(())
            }
            ((position, _), LineDialect::Questdb) => {
                let microsecond = TimeUnit::Microsecond.per_second();
                self.number(position, value * (microsecond / self.per_second.min(microsecond)), 't')
            }
            ((position, _), _) => self.number(position, value, 'i'),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let time = self.time.ok_or_else(|| Failure::cannot("a point has a time, and this row has none"))?;
        if self.fields.is_empty() && self.dialect != LineDialect::Questdb {
            return Err(Failure::cannot("a point has a value, and this row has none"));
        }
        self.times = Some(self.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.text.extend_from_slice(self.table.as_bytes());
        self.text.extend_from_slice(&self.tags);
        if !self.fields.is_empty() {
            self.text.push(b' ');
            self.text.extend_from_slice(&self.fields);
        }
        // Writing to memory cannot fail.
        let _ = writeln!(self.text, " {time}");
        self.rows += 1;
        Ok(())
    }
}

impl Binder for Lines {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        match (self.next()?, self.dialect) {
            ((position, Role::Date), LineDialect::Questdb) => self.number(position, value * DAY_MICROSECONDS, 't'),
            ((position, _), _) => self.number(position, value, 'i'),
        }
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        match self.next()? {
            (position, Role::Tag) => self.tag(position, value),
            (position, _) => {
                self.text_field(position, value);
                Ok(())
            }
        }
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        let (position, _) = self.next()?;
        if self.dialect == LineDialect::Questdb {
            // Its protocol, version 2: a second equals sign, the type double, eight bytes.
            let field = self.field(position);
            field.extend_from_slice(b"=\x10");
            field.extend_from_slice(&value.to_le_bytes());
            return Ok(());
        }
        if !value.is_finite() {
            return Err(Failure::cannot("a value is a finite number"));
        }
        // Writing to memory cannot fail.
        let _ = write!(self.field(position), "{value}");
        Ok(())
    }

    fn null(&mut self) -> Result<(), Failure> {
        self.next().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(dialect: LineDialect) -> Lines {
        let columns = [
            ("t", Role::Time),
            ("a b", Role::Tag),
            ("i", Role::Integer),
            ("f", Role::Float),
            ("s", Role::Text),
            ("m", Role::Moment),
            ("d", Role::Date),
        ];
        Lines::new(dialect, "x y", columns.into_iter(), 1_000)
    }

    fn row(lines: &mut Lines, tag: &str) -> Result<(), Failure> {
        lines.begin()?;
        lines.time(1_500)?;
        lines.text(tag)?;
        lines.integer(-7)?;
        lines.float(0.5)?;
        lines.text("say \"\\\"")?;
        lines.time(2_000)?;
        lines.integer(3)?;
        lines.end()
    }

    #[test]
    fn a_row_is_a_line_that_each_reads() {
        let mut influxdb = lines(LineDialect::Influxdb);
        row(&mut influxdb, "k=v, w").expect("a row");
        let expected = r#"x\ y,a\ b=k\=v\,\ w i=-7i,f=0.5,s="say \"\\\"",m=2000i,d=3i 1500"#;
        assert_eq!(String::from_utf8_lossy(influxdb.bytes()).trim_end(), expected);
        assert_eq!((influxdb.rows(), influxdb.times()), (1, Some((1_500, 1_500))));
        influxdb.clear();
        assert!(influxdb.bytes().is_empty() && influxdb.rows() == 0 && influxdb.times().is_some());

        let mut questdb = lines(LineDialect::Questdb);
        row(&mut questdb, "").expect("a row");
        let expected = [b"x\\ y a\\ b=\"\",i=-7i,f==\x10".as_slice(), &0.5_f64.to_le_bytes()].concat();
        let rest = b",s=\"say \\\"\\\\\\\"\",m=2000000t,d=259200000000t 1500\n";
        assert_eq!(questdb.bytes(), [expected.as_slice(), rest].concat());
    }

    #[test]
    fn what_a_line_cannot_say_is_refused() {
        let refused = |tag: &str| matches!(row(&mut lines(LineDialect::Influxdb), tag), Err(Failure::Cannot(_)));
        assert!(refused("") && refused("a\\") && refused("a\nb") && !refused("a"));
        let mut numbers = lines(LineDialect::VictoriaMetrics);
        numbers.begin().and_then(|()| numbers.time(1)).and_then(|()| numbers.text("a")).expect("a row");
        assert!(matches!(numbers.integer((1 << 53) + 1), Err(Failure::Cannot(_))));
        let mut only_tags = lines(LineDialect::Influxdb);
        only_tags.begin().expect("a row");
        only_tags.time(1).expect("a time");
        only_tags.text("a").expect("a tag");
        assert!(matches!(only_tags.end(), Err(Failure::Cannot(_))));
        let mut timeless = lines(LineDialect::Questdb);
        timeless.begin().expect("a row");
        timeless.null().expect("no time");
        assert!(matches!(timeless.end(), Err(Failure::Cannot(_))));
    }
}
