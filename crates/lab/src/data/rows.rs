//! Rows that are loaded one by one, as structs.
//!
//! A contestant that takes rows implements [`RowVisitor`] once, for every row type; a workload with another row type
//! adds it to [`RowSet`]. So no row passes through dynamic dispatch, which would cost the fast contestants more than
//! the slow ones.

use atsdb::Record;

/// A record and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed<R> {
    /// The time in the table's unit, since the epoch.
    pub time: i64,
    /// The other columns.
    pub record: R,
}

/// A row of the narrow table of `series`.
#[derive(Debug, Clone, PartialEq, Eq, atsdb::Record)]
pub struct Reading {
    /// Which sensor.
    #[atsdb(map = "u32")]
    pub sensor: String,
    /// The status of the reading.
    #[atsdb(map = "u8")]
    pub status: String,
}

/// A row of the wide table of `series`.
#[derive(Debug, Clone, PartialEq, Eq, atsdb::Record)]
pub struct CounterReading {
    /// Which sensor.
    #[atsdb(map = "u32")]
    pub sensor: String,
    /// The status of the reading.
    #[atsdb(map = "u8")]
    pub status: String,
    /// A counter.
    pub count1: i32,
    /// A counter.
    pub count2: i32,
    /// A counter.
    pub count3: i32,
    /// A counter.
    pub count4: i32,
    /// A counter.
    pub count5: i32,
    /// A counter.
    pub count6: i32,
}

/// A row type of the lab: a record for atsdb, and values for the other contestants.
pub trait LabRow: Record + 'static {
    /// Passes the columns except the time to `binder`, in order.
    fn bind<B: Binder>(&self, binder: &mut B) -> Result<(), B::Error>;
}

/// Takes the values of one row.
pub trait Binder {
    /// The type of errors.
    type Error;
    /// An integer column's value.
    fn integer(&mut self, value: i64) -> Result<(), Self::Error>;
    /// A text column's value.
    fn text(&mut self, value: &str) -> Result<(), Self::Error>;
    /// A floating point column's value.
    fn float(&mut self, value: f64) -> Result<(), Self::Error>;
    /// No value.
    fn null(&mut self) -> Result<(), Self::Error>;
}

impl LabRow for Reading {
    #[inline]
    fn bind<B: Binder>(&self, binder: &mut B) -> Result<(), B::Error> {
        binder.text(&self.sensor)?;
        binder.text(&self.status)
    }
}

impl LabRow for CounterReading {
    #[inline]
    fn bind<B: Binder>(&self, binder: &mut B) -> Result<(), B::Error> {
        binder.text(&self.sensor)?;
        binder.text(&self.status)?;
        let counters = [self.count1, self.count2, self.count3, self.count4, self.count5, self.count6];
        counters.into_iter().try_for_each(|counter| binder.integer(i64::from(counter)))
    }
}

/// Rows of one of the row types.
#[derive(Debug, Clone)]
pub enum RowSet {
    /// The rows of the narrow table of `series`.
    Readings(Vec<Timed<Reading>>),
    /// The rows of the wide table of `series`.
    CounterReadings(Vec<Timed<CounterReading>>),
}

/// Takes the rows of a [`RowSet`] as a slice of their type.
pub trait RowVisitor {
    /// The result.
    type Output;
    /// Takes the rows.
    fn visit<R: LabRow>(self, rows: &[Timed<R>]) -> Self::Output;
}

impl RowSet {
    /// Hands the rows to `visitor`.
    pub fn visit<V: RowVisitor>(&self, visitor: V) -> V::Output {
        match self {
            Self::Readings(rows) => visitor.visit(rows),
            Self::CounterReadings(rows) => visitor.visit(rows),
        }
    }
}
