//! The state of a virtual table: which constraints a scan uses, and what it is estimated to cost.

use crate::arguments::Arguments;
use crate::estimate::{Estimate, TableFigures, TimeBounds};
use crate::plan::{Operator, OrderBy, Plan, ScanOrder, Term};
use crate::shape::{ColumnShape, declaration, find, shape_of};
use crate::stores::{StoreFile, Stores};
use crate::time_format::{BoundSide, StoredBounds, TimeFormat, TimeScale, number_bounds};
use crate::{decimal_bounds, decimal_text, time_text};
use atsdb_core::{ColumnType, Table};
use parking_lot::Mutex;
use rusqlite::Result;
use rusqlite::vtab::{IndexConstraintOp, IndexInfo};
use std::ffi::CString;
use std::sync::Arc;

/// The bit of SQLite's mask of columns that stands for all columns from this one on.
const LAST_BIT: usize = 63;

/// The state that a table and its scans share.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) stores: Arc<Stores>,
    pub(crate) file: Arc<StoreFile>,
    pub(crate) name: String,
    pub(crate) shape: Vec<ColumnShape>,
    pub(crate) format: TimeFormat,
    figures: Mutex<Option<TableFigures>>,
}

impl TableState {
    /// The state of the table that the arguments of a module name, and its declaration for SQLite.
    pub(crate) fn open(stores: &Arc<Stores>, arguments: &[&[u8]]) -> Result<(CString, Self)> {
        let Arguments { path, table: name, format } = Arguments::parse(arguments)?;
        let file = stores.open(&path)?;
        let shape = shape_of(find(file.glance()?.as_ref(), &name)?);
        let declaration = declaration(&shape, format)?;
        let stores = Arc::clone(stores);
        Ok((declaration, Self { stores, file, name, shape, format, figures: Mutex::new(None) }))
    }

    /// The plan made of the constraints that SQLite offers, as far as a scan can use them, and the constraint of each
    /// term.
    pub(crate) fn plan(&self, info: &IndexInfo) -> Result<(Plan, Vec<usize>)> {
        let (mut terms, mut constraints) = (Vec::new(), Vec::new());
        for (number, constraint) in info.constraints().enumerate().filter(|(_, constraint)| constraint.is_usable()) {
            let Some(mut operator) = operator(&constraint.operator()) else { continue };
            let column = usize::try_from(constraint.column()).ok();
            if let Some(column) = column
                && operator.has_operand()
                && !self.is_comparable(info, number, column)?
            {
                continue;
            }
            if operator == Operator::Equal && info.is_in_constraint(number)? {
                operator = Operator::In;
            }
            // SQLite looks up each rowid of a list separately.
            if operator == Operator::In && column.is_none() {
                operator = Operator::Equal;
            }
            terms.push(Term { column, operator });
            constraints.push(number);
        }
        let used = info.col_used();
        let is_used = |column: &usize| used & 1 << (*column).min(LAST_BIT) != 0;
        let columns = (0..self.shape.len()).filter(is_used).collect();
        Ok((Plan { columns, terms, order: self.order(info) }, constraints))
    }

    /// Whether a column is compared by the collation that decides its order here.
    fn is_comparable(&self, info: &IndexInfo, constraint: usize, column: usize) -> Result<bool> {
        let column_type = self.shape.get(column).map(|column| column.column_type);
        let is_time_text = self.format == TimeFormat::Text && column_type.is_some_and(|ty| TimeScale::of(ty).is_some());
        let collation = match column_type {
            Some(ColumnType::Text | ColumnType::Uuid | ColumnType::Time) => "BINARY",
            Some(ColumnType::Decimal { .. }) => decimal_text::COLLATION,
            Some(_) if is_time_text => time_text::COLLATION,
            // Numbers and bytes have no collation.
            Some(_) => return Ok(true),
            None => return Ok(false),
        };
        Ok(info.collation(constraint)?.eq_ignore_ascii_case(collation))
    }

    fn order(&self, info: &IndexInfo) -> Option<ScanOrder> {
        let mut wanted = info.order_bys();
        let (first, None) = (wanted.next()?, wanted.next()) else { return None };
        let by = match usize::try_from(first.column()) {
            Err(_) => OrderBy::Rowid,
            Ok(column) => self.with_table(|table| (time_position(table) == Some(column)).then_some(OrderBy::Time))?,
        };
        Some(ScanOrder { by, descending: first.is_order_by_desc() })
    }

    /// Uses the current state of the table, if it is still the one that was declared.
    fn with_table<T>(&self, work: impl FnOnce(&Table) -> Option<T>) -> Option<T> {
        let snapshot = self.file.glance().ok()?;
        let table = snapshot.table(&self.name).ok().filter(|table| shape_of(table) == self.shape)?;
        work(table)
    }

    /// The bounds that the plan sets for the time, as far as SQLite knows the values.
    pub(crate) fn time_bounds(&self, info: &IndexInfo, plan: &Plan, constraints: &[usize]) -> TimeBounds {
        let Some(time) = self.with_table(time_position) else { return TimeBounds::None };
        let (mut known, mut unknown) = (None::<StoredBounds>, 0);
        for (term, constraint) in plan.terms.iter().zip(constraints).filter(|(term, _)| term.column == Some(time)) {
            let Some(side) = term.operator.side() else { continue };
            let bounds = info.rhs_value(*constraint).ok().flatten().and_then(|value| {
                match TimeScale::of(self.shape[time].column_type) {
                    Some(scale) => scale.bounds(side, value, self.format),
                    None => number_bounds(side, value),
                }
            });
            match bounds {
                Some(bounds) => {
                    let bounds = bounds.unwrap_or(StoredBounds { first: i64::MAX, last: i64::MIN });
                    known = Some(known.map_or(bounds, |known| StoredBounds {
                        first: known.first.max(bounds.first),
                        last: known.last.min(bounds.last),
                    }));
                }
                None if side == BoundSide::Equal => unknown += 2,
                None => unknown += 1,
            }
        }
        match (known, unknown) {
            (Some(bounds), _) => TimeBounds::Known(bounds),
            (None, 0) => TimeBounds::None,
            (None, count) => TimeBounds::Unknown(count),
        }
    }

    /// The estimate of a plan, and whether it finds one row at most.
    pub(crate) fn estimate(&self, plan: &Plan, time: TimeBounds) -> (Estimate, bool) {
        // Without figures all plans are equally good. A later read reports the error.
        let unknown = Estimate { rows: 1e6, cost: 1e6 };
        let estimated = || -> Option<(Estimate, bool)> {
            let snapshot = self.file.glance().ok()?;
            let table = snapshot.table(&self.name).ok()?;
            let mut figures = self.figures.lock();
            if !figures.as_ref().is_some_and(|figures| figures.are_of(&snapshot, table)) {
                *figures = Some(TableFigures::of(&snapshot, table)?);
            }
            let estimate = figures.as_ref()?.estimate(table, plan, time);
            let is_unique = is_unique(table, plan, self.format);
            Some((Estimate { rows: if is_unique { 1.0 } else { estimate.rows }, ..estimate }, is_unique))
        };
        estimated().unwrap_or((unknown, false))
    }
}

fn time_position(table: &Table) -> Option<usize> {
    let time = table.definition.time_column()?;
    table.definition.columns.iter().position(|column| column.id == time.id)
}

/// Whether the plan compares all columns of a unique key, or the rowid, with one value each, which no two rows have in
/// SQLite.
fn is_unique(table: &Table, plan: &Plan, format: TimeFormat) -> bool {
    let is_equal =
        |column: Option<usize>| plan.terms.iter().any(|term| term.column == column && term.operator == Operator::Equal);
    let columns = &table.definition.columns;
    let is_met = |id| {
        let position = columns.iter().position(|column| column.id == id);
        position.is_some_and(|position| is_equal(Some(position)) && is_distinct(columns[position].column_type, format))
    };
    is_equal(None) || table.definition.unique.iter().any(|key| key.columns.iter().copied().all(is_met))
}

/// Whether different values of a column differ in SQLite. Times that are written as floating point numbers are rounded,
/// long decimals are when they are compared with numbers, and the two zeros are equal there.
fn is_distinct(column: ColumnType, format: TimeFormat) -> bool {
    match TimeScale::of(column) {
        Some(scale) => format == TimeFormat::Text || scale.is_integer(format),
        None => match column {
            ColumnType::Decimal { precision, .. } => u32::from(precision) <= decimal_bounds::FLOAT_DIGITS,
            other => !matches!(other, ColumnType::Float32 | ColumnType::Float64),
        },
    }
}

fn operator(operator: &IndexConstraintOp) -> Option<Operator> {
    use IndexConstraintOp as O;
    Some(match operator {
        O::SQLITE_INDEX_CONSTRAINT_EQ => Operator::Equal,
        O::SQLITE_INDEX_CONSTRAINT_GT => Operator::Greater,
        O::SQLITE_INDEX_CONSTRAINT_GE => Operator::GreaterOrEqual,
        O::SQLITE_INDEX_CONSTRAINT_LT => Operator::Less,
        O::SQLITE_INDEX_CONSTRAINT_LE => Operator::LessOrEqual,
        O::SQLITE_INDEX_CONSTRAINT_IS => Operator::Is,
        O::SQLITE_INDEX_CONSTRAINT_ISNULL => Operator::IsNull,
        O::SQLITE_INDEX_CONSTRAINT_ISNOTNULL => Operator::IsNotNull,
        _ => return None,
    })
}
