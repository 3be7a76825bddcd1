//! `SELECT a, b FROM t WHERE c = 1`: a query so simple that it needs no plan if `t` is in memory and `c` indexed. A
//! query that does not have exactly this form is planned as usual.

use super::lookup::array_of;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_codec::arrow_schema;
use atsdb_core::{ColumnType, Error, Result, Table};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::table_names::{Scope, TableName};
use atsdb_engine::{ReadSnapshot, Value};
use atsdb_resident::RowKeys;
use std::sync::Arc;

/// The maximum number of rows of a result. Larger results are streamed, which requires a plan.
const ROWS_MAX: usize = 8_192;

/// A statement of this form, before its names are resolved.
#[derive(Debug, PartialEq)]
pub(crate) struct PlainSelect<'a> {
    answer: SelectList<'a>,
    table: &'a str,
    keys: Vec<(&'a str, Value)>,
}

#[derive(Debug, PartialEq)]
enum SelectList<'a> {
    All,
    Columns(Vec<&'a str>),
    /// `count(*)`, as written.
    Count(&'a str),
}

impl<'a> PlainSelect<'a> {
    /// Parses a statement; `None` if it has another form.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut words = Words(text);
        words.keyword("SELECT")?;
        let answer = match words.symbol("*") {
            Some(()) => SelectList::All,
            None => match words.count() {
                Some(count) => SelectList::Count(count),
                None => {
                    let mut columns = vec![words.name()?];
                    while words.symbol(",").is_some() {
                        columns.push(words.name()?);
                    }
                    SelectList::Columns(columns)
                }
            },
        };
        words.keyword("FROM")?;
        let table = words.name()?;
        words.keyword("WHERE")?;
        let mut keys = Vec::new();
        loop {
            let column = words.name()?;
            words.symbol("=")?;
            keys.push((column, words.literal()?));
            if words.is_at_end() {
                return Some(Self { answer, table, keys });
            }
            words.keyword("AND")?;
        }
    }

    /// The table that the statement names, if it is in memory.
    pub(crate) fn table<'t>(&self, scope: Scope<'t>) -> Option<&'t Table> {
        let found = scope.find(&TableName::unsaid(self.table))?;
        found.definition.is_in_memory().then_some(found)
    }

    /// The rows of the answer; `None` if no index has exactly these columns, or a plan is needed after all.
    pub(crate) fn answer(&self, snapshot: &ReadSnapshot, table: &Table) -> Result<Option<RecordBatch>> {
        let definition = &table.definition;
        // A name with another spelling needs a plan.
        let position = |name: &str| definition.columns.iter().position(|column| column.name == name);
        let schema = arrow_schema(definition);
        let wanted: Option<Vec<usize>> = match &self.answer {
            SelectList::All => Some((0..definition.columns.len()).collect()),
            SelectList::Columns(names) => names.iter().map(|name| position(name)).collect(),
            SelectList::Count(_) => Some(Vec::new()),
        };
        let keys = self.keys.iter().map(|(name, value)| Some((position(name)?, value)));
        let (Some(wanted), Some(keys)) = (wanted, keys.collect::<Option<Vec<_>>>()) else { return Ok(None) };
        let mut seen = wanted.clone();
        seen.sort_unstable();
        seen.dedup();
        let state = snapshot.resident(table)?;
        let covers = |positions: &[usize]| {
            positions.len() == keys.len() && keys.iter().all(|(position, _)| positions.contains(position))
        };
        let Some(index) = state.indexes().iter().position(|spec| covers(&spec.positions)) else { return Ok(None) };
        if seen.len() < wanted.len() {
            return Ok(None);
        }
        let mut arrays = Vec::with_capacity(keys.len());
        for at in &state.indexes()[index].positions {
            let mut values = keys.iter().filter(|(position, _)| position == at).map(|(_, value)| (*value).clone());
            let (Some(value), None) = (values.next(), values.next()) else { return Ok(None) };
            let column = &definition.columns[*at];
            let value = match value {
                // Spaces at the end mean nothing beside a `char(n)`.
                Value::Text(text) if column.length.is_some_and(|length| length.is_char) => {
                    Value::Text(text.trim_end_matches(' ').to_owned())
                }
                value => value,
            };
            let fits = match value {
                Value::Text(_) => column.column_type == ColumnType::Text,
                _ => is_integer(column.column_type),
            };
            if !fits {
                return Ok(None);
            }
            arrays.push(array_of(column, &[value])?);
        }
        // No row has a number that the column cannot hold.
        let found = match arrays.iter().all(|array| array.len() == 1) {
            true => state.find(index, &RowKeys::new(&arrays)?),
            false => Default::default(),
        };
        if let SelectList::Count(heading) = self.answer {
            let count: ArrayRef = Arc::new(Int64Array::from(vec![found.rows.len() as i64]));
            let schema = Schema::new(vec![Field::new(heading, DataType::Int64, false)]);
            return rows(Arc::new(schema), vec![count]).map(Some);
        }
        if found.rows.len() > ROWS_MAX {
            return Ok(None);
        }
        let schema = schema.project(&wanted)?;
        rows(Arc::new(schema), state.gather(&found, &wanted)?).map(Some)
    }
}

fn rows(schema: Arc<Schema>, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema, columns).map_err(Error::from)
}

fn is_integer(column_type: ColumnType) -> bool {
    use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    matches!(column_type, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

/// The rest of a statement.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.0.is_empty()
    }

    fn symbol(&mut self, symbol: &str) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(symbol)?;
        Some(())
    }

    fn word(&mut self) -> Option<&'a str> {
        self.skip_space();
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.0.bytes().take_while(|byte| part(byte)).count();
        let starts = self.0.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let (word, rest) = self.0.split_at(length);
        // A name that continues, as in `a.b`, `f(` or `ä`, does not have this form.
        let continues = rest.bytes().next().is_some_and(|byte| !byte.is_ascii() || b".([\"'`$@#:".contains(&byte));
        (starts && !continues).then(|| {
            self.0 = rest;
            word
        })
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        self.word().filter(|word| word.eq_ignore_ascii_case(keyword)).map(drop)
    }

    fn name(&mut self) -> Option<&'a str> {
        self.word().filter(|word| quoted(word) == *word)
    }

    fn count(&mut self) -> Option<&'a str> {
        self.skip_space();
        let text = self.0.get(..8).filter(|text| text.eq_ignore_ascii_case("count(*)"))?;
        self.0 = &self.0[8..];
        Some(text)
    }

    /// An integer, or a text in single quotes that contains none.
    fn literal(&mut self) -> Option<Value> {
        self.skip_space();
        if let Some(text) = self.0.strip_prefix('\'') {
            let (text, rest) = text.split_once('\'')?;
            self.0 = rest;
            let ends = rest.is_empty() || rest.starts_with(|next: char| next.is_ascii_whitespace());
            return ends.then(|| Value::Text(text.to_owned()));
        }
        let digits = self.0.strip_prefix('-').unwrap_or(self.0);
        let length = self.0.len() - digits.len() + digits.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(length);
        self.0 = rest;
        let ends = rest.is_empty() || rest.starts_with(|next: char| next.is_ascii_whitespace());
        number.parse().ok().filter(|_| ends).map(Value::Int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_form_is_read() {
        let read = PlainSelect::read("select a, b from t where c = -5 and d = 'x y'").unwrap();
        assert_eq!(read.answer, SelectList::Columns(vec!["a", "b"]));
        assert_eq!(read.keys, [("c", Value::Int(-5)), ("d", Value::Text("x y".to_owned()))]);
        assert_eq!(
            PlainSelect::read("SELECT Count(*) FROM t WHERE c=1").unwrap().answer,
            SelectList::Count("Count(*)")
        );
        assert!(PlainSelect::read("SELECT * FROM t WHERE c = 1 ").is_some());
        for other in [
            "SELECT * FROM t",
            "SELECT * FROM t WHERE c = 1 LIMIT 1",
            "SELECT * FROM t WHERE c = 1 OR d = 2",
            "SELECT * FROM t WHERE c = 1.5",
            "SELECT * FROM t WHERE c = 1 + 1",
            "SELECT * FROM t WHERE c = 'it''s'",
            "SELECT * FROM t AS u WHERE c = 1",
            "SELECT * FROM main.t WHERE c = 1",
            "SELECT a AS b FROM t WHERE c = 1",
            "SELECT f(a) FROM t WHERE c = 1",
            "SELECT DISTINCT a FROM t WHERE c = 1",
            "SELECT null FROM t WHERE c = 1",
            "SELECT * FROM t WHERE c = NULL",
            "SELECT * FROM t WHERE c = $c",
        ] {
            assert_eq!(PlainSelect::read(other), None, "{other}");
        }
    }
}
