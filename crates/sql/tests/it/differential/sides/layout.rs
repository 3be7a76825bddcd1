//! Layouts of the same rows in a store, and ways in which queries read them.

use crate::differential::schema::{History, Schema, Table};
use crate::differential::types::{Dialect, Type};
use crate::stores::SealState;
use atsdb_testkit::server::ServerKind;

/// A layout. Apart from its store, it is a choice of statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) place: Where,
    pub(crate) state: SealState,
    pub(crate) variant: Variant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// A new store of this kind.
    Store(&'static str),
    /// A store on a server that all seeds share.
    Server(ServerKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Plain,
    /// Slices of this width instead of a day.
    Slice(&'static str),
    /// One chunk for each row.
    TinyChunks,
    /// Tables in memory.
    InMemory,
    /// Tables get their definition by `ALTER TABLE` when they are half filled.
    Altered,
    /// The columns have indexes.
    Indexed,
    /// No condition is pushed down, because of a LIMIT around each table.
    NoPushdown,
    /// Queries are prepared, with parameters in place of constants.
    Prepared,
}

/// The oracle is compared with the first layout, the others with the first.
pub(crate) const LAYOUTS: [Layout; 14] = {
    use Variant::{Altered, InMemory, Indexed, NoPushdown, Plain, Prepared, Slice, TinyChunks};
    use Where::{Server, Store};
    const fn layout(name: &'static str, place: Where, state: SealState, variant: Variant) -> Layout {
        Layout { name, place, state, variant }
    }
    [
        layout("fresh", Store("memory"), SealState::Fresh, Plain),
        layout("half sealed", Store("sqlite"), SealState::HalfSealed, Plain),
        layout("sealed", Store("memory"), SealState::Sealed, Plain),
        layout("split by slice, sealed", Store("sqlite split by slice"), SealState::Sealed, Plain),
        layout("in shards, half sealed", Store("sqlite in shards"), SealState::HalfSealed, Plain),
        layout("in memory", Store("memory"), SealState::Fresh, InMemory),
        layout("tiny chunks", Store("memory"), SealState::Fresh, TinyChunks),
        layout("slices of an hour, sealed", Store("memory"), SealState::Sealed, Slice("hour")),
        layout("slices of a year, half sealed", Store("memory"), SealState::HalfSealed, Slice("year")),
        layout("altered, half sealed", Store("memory"), SealState::HalfSealed, Altered),
        layout("indexed, half sealed", Store("memory"), SealState::HalfSealed, Indexed),
        layout("without pushdown, sealed", Store("memory"), SealState::Sealed, NoPushdown),
        layout("with parameters, half sealed", Store("memory"), SealState::HalfSealed, Prepared),
        layout("on PostgreSQL, half sealed", Server(ServerKind::Postgres), SealState::HalfSealed, Plain),
    ]
};

pub(crate) const ON_MARIADB: Layout = Layout {
    name: "on MariaDB, sealed",
    place: Where::Server(ServerKind::Mariadb),
    state: SealState::Sealed,
    variant: Variant::Plain,
};

impl Layout {
    /// Returns the statements that create and fill the tables. At each `None`, rows may be sealed.
    pub(crate) fn statements(&self, schema: &Schema, dialect: Dialect) -> Vec<Option<String>> {
        schema.tables.iter().flat_map(|table| self.of_table(table, dialect)).collect()
    }

    fn of_table(&self, table: &Table, dialect: Dialect) -> Vec<Option<String>> {
        let mut statements = vec![Some(self.declare(table, dialect))];
        if self.variant == Variant::Indexed {
            let names = table.columns.iter().filter(|column| column.name != "at").map(|column| &column.name);
            let index = |name: &String| Some(format!("CREATE INDEX {}_{name} ON {} ({name})", table.name, table.name));
            statements.extend(names.map(index));
        }
        for (at, rows) in table.inserts.iter().enumerate() {
            if self.variant == Variant::Altered && at == table.inserts.len() / 2 {
                statements.extend(alter(table).map(Some));
            }
            let is_early = self.variant == Variant::Altered && at < table.inserts.len() / 2;
            let table = if is_early { &before(table) } else { table };
            let rows = if is_early { table.inserts[at].clone() } else { rows.clone() };
            match self.variant {
                Variant::TinyChunks => {
                    statements.extend(rows.iter().map(|row| Some(insert(table, std::slice::from_ref(row)))))
                }
                _ if !rows.is_empty() => statements.push(Some(insert(table, &rows))),
                _ => {}
            }
            statements.push(None);
        }
        if self.variant == Variant::Altered && table.inserts.is_empty() {
            statements.extend(alter(table).map(Some));
        }
        statements
    }

    fn declare(&self, table: &Table, dialect: Dialect) -> String {
        let mut options: Vec<String> = Vec::new();
        let has_column = |name: &str| table.columns.iter().any(|column| column.name == name);
        if table.name == "a" && has_column("at") {
            options.push("time = 'at'".to_owned());
            let slice = if let Variant::Slice(width) = self.variant { width } else { "day" };
            options.push(format!("slice = '{slice}'"));
            if table.columns[0].ty == Type::Int {
                options.push("time_unit = 's'".to_owned());
            }
        } else {
            options.push("time = 'none'".to_owned());
        }
        let map = if table.name == "a" { "m" } else { "s" };
        if has_column(map) && table.name != "c" && self.variant != Variant::InMemory {
            options.push(format!("map = '{map}:{}'", if dialect == Dialect::Sqlite { "u8" } else { "u16" }));
        }
        if self.variant == Variant::InMemory && table.fits_in_memory() {
            options.push("engine = 'memory'".to_owned());
        }
        let declaration =
            if self.variant == Variant::Altered { before(table).declaration() } else { table.declaration() };
        format!("{declaration} WITH ({})", options.join(", "))
    }
}

/// Returns the table before it is altered.
fn before(table: &Table) -> Table {
    let mut before = table.clone();
    for at in (0..before.columns.len()).rev() {
        let column = &mut before.columns[at];
        match &column.history {
            History::Declared => {}
            History::Widened(narrow) => column.declared = narrow,
            History::Renamed if is_mapped(table, at) => {}
            History::Renamed => column.name = format!("old_{}", column.name),
            History::Added(_) if is_mapped(table, at) => {}
            History::Added(_) => {
                before.columns.remove(at);
                for row in before.inserts.iter_mut().flatten() {
                    row.remove(at);
                }
            }
        }
    }
    before
}

fn is_mapped(table: &Table, column: usize) -> bool {
    table.columns[column].name == if table.name == "a" { "m" } else { "s" }
}

fn alter(table: &Table) -> impl Iterator<Item = String> {
    let alter = |(at, column): (usize, &super::super::schema::Column)| {
        let (name, declared) = (&column.name, column.declared);
        let change = match &column.history {
            _ if is_mapped(table, at) => return None,
            History::Declared => return None,
            History::Widened(_) => format!("ALTER COLUMN {name} TYPE {declared}"),
            History::Renamed => format!("RENAME COLUMN old_{name} TO {name}"),
            History::Added(default) => {
                let not_null = if column.is_not_null { " NOT NULL" } else { "" };
                format!("ADD COLUMN {name} {declared}{not_null} DEFAULT {default}")
            }
        };
        Some(format!("ALTER TABLE {} {change}", table.name))
    };
    table.columns.iter().enumerate().filter_map(alter).collect::<Vec<_>>().into_iter()
}

/// Binary literals are written `X'00'` here; in PostgreSQL these are bits.
fn insert(table: &Table, rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| match cell.strip_prefix("'\\x") {
        Some(rest) => format!("X'{rest}"),
        None => cell.clone(),
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    table.insert(&rows)
}
