//! Sliced rows: the published layout of ATSDB, built by hand on a row database: one table for each day, the time as an
//! epoch of 4 bytes, and texts replaced by integers, with the texts in a separate table. This shows what a user can do
//! without atsdb, and what it costs: queries read a view over all slices, and the view supports neither INSERT nor
//! UPDATE. A batch is inserted slice by slice, each in its own transaction.

use crate::contestant::{Contestant, Dialect, Loader, Session, Workspace};
use crate::data::answer::{Answer, Cell};
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use crate::measure::Tier;
use crate::server::{ServerKind, ServerUrls};
use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use atsdb::time::DAY_SECONDS;
use atsdb::{ColumnType, TableDefinition, TimeUnit};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The table of texts, for all columns together.
const TEXTS: &str = "texts";
/// The maximum number of SELECTs in a view; SQLite allows 500.
const UNION_MAX: usize = 400;

/// Sliced rows on another contestant.
pub(crate) struct Sliced {
    name: &'static str,
    summary: &'static str,
    rows: &'static dyn Contestant,
    dialect: Dialect,
}

/// One for each database.
pub(super) static VARIANTS: [Sliced; 3] = [
    Sliced {
        name: "sliced:sqlite",
        summary: "a table a day with mapped texts, by hand, on SQLite",
        rows: &super::sqlite::VARIANTS[0],
        dialect: Dialect::Sqlite,
    },
    Sliced {
        name: "sliced:mariadb",
        summary: "a table a day with mapped texts, by hand, on MariaDB with InnoDB",
        rows: &super::mariadb::VARIANTS[0],
        dialect: Dialect::MysqlEpoch,
    },
    Sliced {
        name: "sliced:postgres",
        summary: "a table a day with mapped texts, by hand, on PostgreSQL",
        rows: &super::postgres::VARIANTS[0],
        dialect: Dialect::PostgresEpoch,
    },
];

struct SlicedSession {
    rows: Box<dyn Session>,
    dialect: Dialect,
    tables: HashMap<String, Slices>,
    texts: HashMap<String, i32>,
}

/// The slices of a table.
#[derive(Default)]
struct Slices {
    /// Days since the epoch.
    days: Vec<i64>,
    indexed: bool,
}

impl Contestant for Sliced {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn server(&self) -> Option<ServerKind> {
        self.rows.server()
    }

    fn version(&self, urls: &ServerUrls) -> Result<String, Failure> {
        self.rows.version(urls)
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        let mut session = SlicedSession {
            rows: self.rows.open(workspace)?,
            dialect: self.dialect,
            tables: HashMap::new(),
            texts: HashMap::new(),
        };
        session.find()?;
        Ok(Box::new(session))
    }

    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        self.rows.bytes(workspace)
    }

    fn has_program(&self) -> Result<(), Failure> {
        self.rows.has_program()
    }
}

/// The table of a slice.
fn slice_name(table: &str, day: i64) -> String {
    format!("{table}_{day}")
}

/// Returns a table whose columns are all 4-byte integers.
fn integers(name: &str, columns: impl Iterator<Item = String>) -> TableDefinition {
    columns.fold(TableDefinition::new(name), |table, column| table.with_column(column, ColumnType::Int32, None))
}

impl SlicedSession {
    /// Reads the existing texts, and the slices of each table.
    fn find(&mut self) -> Result<(), Failure> {
        let (table, own) = match self.dialect {
            Dialect::Sqlite => ("sqlite_master", "type = 'table'"),
            Dialect::MysqlEpoch => ("information_schema.tables", "table_schema = DATABASE()"),
            _ => ("information_schema.tables", "table_schema = 'public'"),
        };
        let name = if self.dialect == Dialect::Sqlite { "name" } else { "table_name" };
        let names = self.rows.query(&format!("SELECT {name} FROM {table} WHERE {own}"))?;
        let names: Vec<String> = names.rows.into_iter().filter_map(|row| text_of(row.into_iter().next())).collect();
        if !names.iter().any(|name| name == TEXTS) {
            return Ok(());
        }
        for name in &names {
            if let Some((table, day)) = name.rsplit_once('_').and_then(|(table, day)| Some((table, day.parse().ok()?)))
            {
                self.tables.entry(table.to_owned()).or_default().days.push(day);
            }
        }
        self.tables.values_mut().for_each(|slices| slices.days.sort_unstable());
        for row in self.rows.query(&format!("SELECT text, id FROM {TEXTS}"))?.rows {
            if let [Cell::Text(text), Cell::Integer(id)] = row.as_slice() {
                self.texts.insert(text.clone(), *id as i32);
            }
        }
        Ok(())
    }

    /// Returns the numbers of texts. New numbers are stored before the rows that use them.
    fn number(&mut self, new: Vec<String>) -> Result<(), Failure> {
        if new.is_empty() {
            return Ok(());
        }
        let value = |(position, text): (usize, &String)| format!("({}, '{}')", position, text.replace('\'', "''"));
        let first = self.texts.len() + 1;
        let statements: Vec<String> = new
            .iter()
            .enumerate()
            .map(|(position, text)| (first + position, text))
            .collect::<Vec<_>>()
            .chunks(1_000)
            .map(|chunk| {
                let values: Vec<String> = chunk.iter().map(|pair| value(*pair)).collect();
                format!("INSERT INTO {TEXTS} VALUES {}", values.join(", "))
            })
            .collect();
        self.rows.transaction(&statements)?;
        for (position, text) in new.into_iter().enumerate() {
            self.texts.insert(text, (first + position) as i32);
        }
        Ok(())
    }

    /// Makes the view that shows a table's slices as one table with its texts.
    fn show(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let quote = |name: &str| self.dialect.quote(name);
        let Some(slices) = self.tables.get(&table.name) else { return Ok(()) };
        let names: Vec<String> = table.columns.iter().map(|column| quote(&column.name)).collect();
        let select = |from: &str| format!("SELECT {} FROM {from}", names.join(", "));
        let mut statements = Vec::new();
        let mut parts = Vec::new();
        for (position, days) in slices.days.chunks(UNION_MAX).enumerate() {
            let part = quote(&format!("{}_part{position}", table.name));
            let selects: Vec<String> = days.iter().map(|day| select(&quote(&slice_name(&table.name, *day)))).collect();
            statements.push(format!("CREATE VIEW {part} AS {}", selects.join(" UNION ALL ")));
            parts.push(part);
        }
        let columns: Vec<String> = table
            .columns
            .iter()
            .enumerate()
            .map(|(position, column)| match column.column_type {
                ColumnType::Text => format!("t{position}.text AS {}", quote(&column.name)),
                _ => format!("r.{}", quote(&column.name)),
            })
            .collect();
        let texts = table.columns.iter().enumerate().filter(|(_, column)| column.column_type == ColumnType::Text);
        let joins: String = texts
            .map(|(position, column)| {
                format!(" LEFT JOIN {TEXTS} t{position} ON t{position}.id = r.{}", quote(&column.name))
            })
            .collect();
        let all: Vec<String> = parts.iter().map(|part| select(part)).collect();
        let from = if all.len() == 1 { parts[0].clone() } else { format!("({})", all.join(" UNION ALL ")) };
        statements.push(format!(
            "CREATE VIEW {} AS SELECT {} FROM {from} r{joins}",
            quote(&table.name),
            columns.join(", ")
        ));
        // A view over other views is dropped before them.
        let all = std::iter::once(quote(&table.name)).chain(parts.iter().rev().cloned());
        let drops = all.map(|view| format!("DROP VIEW IF EXISTS {view}"));
        let statements: Vec<String> = drops.chain(statements).collect();
        self.rows.execute(&statements)
    }
}

fn text_of(cell: Option<Cell>) -> Option<String> {
    match cell {
        Some(Cell::Text(text)) => Some(text),
        _ => None,
    }
}

impl Session for SlicedSession {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn tier(&self) -> Tier {
        self.rows.tier()
    }

    fn settings(&self) -> Vec<String> {
        let layout = ["slice = day".to_owned(), "texts = mapped".to_owned(), "time = 4 bytes".to_owned()];
        layout.into_iter().chain(self.rows.settings()).collect()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let is_small = |column: &atsdb::Column| match column.column_type {
            ColumnType::Timestamp(unit) => unit == TimeUnit::Second,
            column_type => {
                matches!(column_type, ColumnType::Text | ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32)
            }
        };
        if table.time_column().is_none() || !table.columns.iter().all(is_small) {
            return Err(Failure::cannot("slices hold a time in seconds, texts and integers of 4 bytes"));
        }
        if self.texts.is_empty() && self.tables.is_empty() {
            let create =
                format!("CREATE TABLE {TEXTS} (id INTEGER PRIMARY KEY, text {} NOT NULL)", self.dialect.text(255));
            self.rows.execute(&[create])?;
        }
        self.tables.entry(table.name.clone()).or_default();
        Ok(())
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        let time = table.columns.iter().position(|column| matches!(column.column_type, ColumnType::Timestamp(_)));
        let time = time.ok_or_else(|| Failure::cannot("slices are of a time"))?;
        Ok(Box::new(SlicedLoader { session: self, table: table.clone(), time, added: false }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        self.rows.seal()
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let dialect = self.dialect;
        let Some(slices) = self.tables.get_mut(&table.name) else { return Ok(()) };
        let (Some(time), series) = (table.time_column(), table.columns.iter().find(|column| column.map.is_some()))
        else {
            return Ok(());
        };
        let mut statements = Vec::new();
        for day in &slices.days {
            let slice = slice_name(&table.name, *day);
            let mut index = |name: &str, columns: &[&str]| {
                let columns: Vec<String> = columns.iter().map(|column| dialect.quote(column)).collect();
                let name = dialect.quote(&format!("{slice}_{name}"));
                let columns = columns.join(", ");
                statements.push(format!("CREATE INDEX {name} ON {} ({columns})", dialect.quote(&slice)));
            };
            if let Some(series) = series {
                index("by_series", &[&series.name, &time.name]);
            }
            index("by_time", &[&time.name]);
        }
        if !slices.indexed {
            statements.push(match dialect {
                Dialect::MysqlEpoch => format!("CREATE INDEX by_text ON {TEXTS} (text(32))"),
                _ => format!("CREATE INDEX by_text ON {TEXTS} (text)"),
            });
        }
        slices.indexed = true;
        self.rows.execute(&statements)
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let texts: HashMap<i64, u64> =
            self.texts.iter().map(|(text, id)| (i64::from(*id), text_cell(text.as_bytes()))).collect();
        let names: Vec<String> = table.columns.iter().map(|column| self.dialect.quote(&column.name)).collect();
        let mut digest = RowDigest::default();
        let days = self.tables.get(&table.name).map(|slices| slices.days.clone()).unwrap_or_default();
        for day in days {
            let slice = self.dialect.quote(&slice_name(&table.name, day));
            for row in self.rows.query(&format!("SELECT {} FROM {slice}", names.join(", ")))?.rows {
                let number = row.iter().zip(&table.columns).fold(0, |number, (cell, column)| {
                    let cell = match (cell, column.column_type) {
                        (Cell::Integer(id), ColumnType::Text) => texts.get(id).copied().unwrap_or_else(null_cell),
                        (Cell::Integer(value), _) => integer_cell(*value),
                        _ => null_cell(),
                    };
                    fold(number, cell)
                });
                digest.add_row(number);
            }
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.rows.query(sql)
    }

    fn execute(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("statements name one table, and its slices are many"))
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.execute(statements)
    }
}

struct SlicedLoader<'a> {
    session: &'a mut SlicedSession,
    table: TableDefinition,
    /// The position of the time column.
    time: usize,
    /// Whether slices were added that the view does not show yet.
    added: bool,
}

impl Loader for SlicedLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        let mut mapped = self.mapped();
        insert_rows(rows, &mut mapped)?;
        let (new, rows) = (mapped.new_texts, mapped.rows);
        self.insert(new, rows)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let mut mapped = self.mapped();
        BatchRows::of(batch)?.insert(&mut mapped)?;
        let (new, rows) = (mapped.new_texts, mapped.rows);
        self.insert(new, rows)
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        if self.added { self.session.show(&self.table) } else { Ok(()) }
    }
}

impl SlicedLoader<'_> {
    fn mapped(&self) -> MappedRows<'_> {
        let known = &self.session.texts;
        MappedRows {
            known,
            new: HashMap::new(),
            new_texts: Vec::new(),
            time: self.time,
            row: Vec::new(),
            rows: BTreeMap::new(),
        }
    }

    fn insert(&mut self, new: Vec<String>, rows: BTreeMap<i64, Vec<SmallRow>>) -> Result<(), Failure> {
        self.session.number(new)?;
        for (day, rows) in rows {
            let slice = integers(
                &slice_name(&self.table.name, day),
                self.table.columns.iter().map(|column| column.name.clone()),
            );
            let slices = self.session.tables.entry(self.table.name.clone()).or_default();
            if let Err(position) = slices.days.binary_search(&day) {
                self.session.rows.create_table(&slice)?;
                slices.days.insert(position, day);
                self.added = true;
            }
            let columns: Vec<(String, ArrayRef)> = slice
                .columns
                .iter()
                .enumerate()
                .map(|(position, column)| {
                    let values: Int32Array = rows.iter().map(|row| row[position]).collect();
                    (column.name.clone(), Arc::new(values) as ArrayRef)
                })
                .collect();
            let batch = RecordBatch::try_from_iter(columns).map_err(Failure::broken)?;
            let mut loader = self.session.rows.loader(&slice)?;
            loader.batch(&batch)?;
            loader.finish()?;
        }
        Ok(())
    }
}

/// The integers of a row.
type SmallRow = Vec<Option<i32>>;

/// Rows as integers, by day.
struct MappedRows<'a> {
    known: &'a HashMap<String, i32>,
    new: HashMap<String, i32>,
    new_texts: Vec<String>,
    time: usize,
    row: SmallRow,
    rows: BTreeMap<i64, Vec<SmallRow>>,
}

impl MappedRows<'_> {
    fn small(value: i64) -> Result<i32, Failure> {
        i32::try_from(value).map_err(|_| Failure::cannot(format!("{value} does not fit 4 bytes")))
    }
}

impl RowSink for MappedRows<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.row.clear();
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        self.integer(value)
    }

    fn end(&mut self) -> Result<(), Failure> {
        let time = self.row.get(self.time).copied().flatten();
        let time = time.ok_or_else(|| Failure::cannot("a row without a time is in no slice"))?;
        self.rows.entry(i64::from(time).div_euclid(DAY_SECONDS)).or_default().push(self.row.clone());
        Ok(())
    }
}

impl Binder for MappedRows<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        self.row.push(Some(Self::small(value)?));
        Ok(())
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        let id = match self.known.get(value).or_else(|| self.new.get(value)) {
            Some(id) => *id,
            None => {
                let id = (self.known.len() + self.new.len() + 1) as i32;
                self.new.insert(value.to_owned(), id);
                self.new_texts.push(value.to_owned());
                id
            }
        };
        self.row.push(Some(id));
        Ok(())
    }

    fn float(&mut self, _value: f64) -> Result<(), Failure> {
        Err(Failure::cannot("slices hold a time in seconds, texts and integers of 4 bytes"))
    }

    fn null(&mut self) -> Result<(), Failure> {
        self.row.push(None);
        Ok(())
    }
}
