//! Rows as structs: the traits that `#[derive(Record)]` implements, and the field types it supports.

use crate::batch::column_buffer::{BufferedValues, ColumnBuffer};
use crate::chunk::text_length::fit_bytes;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use atsdb_core::limits::VALUE_BYTES_MAX;
use atsdb_core::{ColumnType, Error, ErrorKind, MapWidth, Result};

/// A struct whose fields are the columns of a table, without the time column. Derive this trait.
pub trait Record: Sized {
    /// The columns, in order.
    fn columns() -> Vec<ColumnSpec>;

    /// Writes one value per column, in order.
    fn write(&self, row: &mut RowWriter<'_>);

    /// Reads back a row that [`write`](Self::write) wrote.
    fn read(row: &RowReader<'_>) -> Result<Self>;
}

/// The declaration of a column in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// The width of its index, for a mapped column.
    pub map: Option<MapWidth>,
}

/// Writes the values of one row. Columns are numbered as in [`Record::columns`], from 0.
pub struct RowWriter<'a> {
    pub(crate) columns: &'a mut [ColumnBuffer],
    pub(crate) order: &'a [usize],
    /// Values written so far.
    pub(crate) written: usize,
    /// Bytes of text and binary values, and of long strings in mapped columns.
    pub(crate) text_bytes: usize,
    pub(crate) error: Option<Error>,
}

/// Strings of mapped columns count as text from this length on: shorter ones usually repeat.
const LONG_STRING_BYTES: usize = 1_024;

impl RowWriter<'_> {
    #[inline]
    fn column(&mut self, position: usize) -> Option<&mut ColumnBuffer> {
        self.written += 1;
        self.order.get(position).and_then(|position| self.columns.get_mut(*position))
    }

    /// Writes NULL.
    #[inline]
    pub fn put_null(&mut self, position: usize) {
        match self.column(position) {
            Some(column) if column.takes_null => column.push_null(),
            Some(_) => {
                let message = format!("field {} of the record is NULL, but its column is NOT NULL", position + 1);
                self.error.get_or_insert(Error::invalid(message));
            }
            None => self.refuse(position, "NULL"),
        }
    }

    /// Writes text into a text column or a mapped column.
    #[inline]
    pub fn put_text(&mut self, position: usize, text: &str) {
        self.put_bytes(position, text.as_bytes(), "text");
    }

    /// Writes bytes into a binary column.
    pub fn put_binary(&mut self, position: usize, bytes: &[u8]) {
        self.put_bytes(position, bytes, "binary");
    }

    #[inline]
    fn put_bytes(&mut self, position: usize, value: &[u8], what: &str) {
        if value.len() > VALUE_BYTES_MAX {
            let message = format!("a value has {} bytes; the maximum is {VALUE_BYTES_MAX}", value.len());
            self.error.get_or_insert(Error::new(ErrorKind::Limit, message));
            return;
        }
        let Some(column) = self.column(position) else { return self.refuse(position, what) };
        let value = match column.length.map_or(Ok(value), |length| fit_bytes(length, value)) {
            Ok(value) => value,
            Err(error) => {
                let error = error.context(format_args!("field {} of the record", position + 1));
                self.error.get_or_insert(error);
                return;
            }
        };
        let counted = match &mut column.values {
            BufferedValues::Mapped { interner, numbers } => {
                numbers.push(interner.intern(value));
                value.len() >= LONG_STRING_BYTES
            }
            BufferedValues::Bytes { ends, bytes } => {
                bytes.extend_from_slice(value);
                ends.push(bytes.len() as i32);
                true
            }
            _ => return self.refuse(position, what),
        };
        column.mark_valid();
        self.text_bytes += if counted { value.len() } else { 0 };
    }

    #[cold]
    fn refuse(&mut self, position: usize, what: &str) {
        let message = format!("the record's field {} wrote {what} into a column of another type", position + 1);
        self.error.get_or_insert(Error::usage(message));
    }
}

/// Reads the values of one row. Columns are numbered as in [`Record::columns`], from 0.
pub struct RowReader<'a> {
    pub(crate) columns: &'a [ArrayRef],
    pub(crate) row: usize,
}

impl RowReader<'_> {
    /// A reader of row `row` of these columns, from 0.
    pub fn new(columns: &[ArrayRef], row: usize) -> RowReader<'_> {
        RowReader { columns, row }
    }

    fn column(&self, position: usize) -> Result<&ArrayRef> {
        self.columns.get(position).ok_or_else(|| Error::usage(format!("the record has no column {}", position + 1)))
    }

    /// Returns whether a value is NULL.
    pub fn is_null(&self, position: usize) -> bool {
        self.columns.get(position).is_none_or(|column| column.is_null(self.row))
    }

    /// The text of a text or mapped column.
    pub fn text(&self, position: usize) -> Result<&str> {
        let column = self.column(position)?;
        match column.data_type() {
            DataType::Utf8 => Ok(column.as_string::<i32>().value(self.row)),
            DataType::Dictionary(..) => {
                let dictionary = column.as_any_dictionary();
                let values = dictionary.values().as_string::<i32>();
                let key = match dictionary.keys().data_type() {
                    DataType::UInt8 => dictionary.keys().as_primitive::<UInt8Type>().value(self.row) as usize,
                    DataType::UInt16 => dictionary.keys().as_primitive::<UInt16Type>().value(self.row) as usize,
                    DataType::UInt32 => dictionary.keys().as_primitive::<UInt32Type>().value(self.row) as usize,
                    _ => return Err(mismatch(position, "text")),
                };
                Ok(values.value(key))
            }
            _ => Err(mismatch(position, "text")),
        }
    }
}

fn mismatch(position: usize, what: &str) -> Error {
    Error::usage(format!("the record's field {} reads {what} from a column of another type", position + 1))
}

/// A type that a field of a record can have.
pub trait Field: Sized {
    /// The type of its column.
    const COLUMN_TYPE: ColumnType;
    /// Whether the column takes NULL.
    const NULLABLE: bool = false;

    /// Writes it as the value of column `position`.
    fn write(&self, row: &mut RowWriter<'_>, position: usize);

    /// Reads it from column `position`.
    fn read(row: &RowReader<'_>, position: usize) -> Result<Self>;
}

macro_rules! number_field {
    ($($native:ty, $column:ident, $arrow:ty;)*) => { $(
        impl Field for $native {
            const COLUMN_TYPE: ColumnType = ColumnType::$column;

            #[inline]
            fn write(&self, row: &mut RowWriter<'_>, position: usize) {
                match row.column(position) {
                    Some(column) if matches!(column.values, BufferedValues::$column(_)) => {
                        if let BufferedValues::$column(values) = &mut column.values {
                            values.push(*self);
                        }
                        column.mark_valid();
                    }
                    _ => row.refuse(position, stringify!($native)),
                }
            }

            fn read(row: &RowReader<'_>, position: usize) -> Result<Self> {
                let column = row.column(position)?.as_primitive_opt::<$arrow>();
                column.map(|column| column.value(row.row)).ok_or_else(|| mismatch(position, stringify!($native)))
            }
        }
    )* };
}

number_field! {
    i8, Int8, Int8Type;
    i16, Int16, Int16Type;
    i32, Int32, Int32Type;
    i64, Int64, Int64Type;
    u8, UInt8, UInt8Type;
    u16, UInt16, UInt16Type;
    u32, UInt32, UInt32Type;
    u64, UInt64, UInt64Type;
    f32, Float32, Float32Type;
    f64, Float64, Float64Type;
}

impl Field for bool {
    const COLUMN_TYPE: ColumnType = ColumnType::Bool;

    fn write(&self, row: &mut RowWriter<'_>, position: usize) {
        match row.column(position) {
            Some(column) if matches!(column.values, BufferedValues::Bool(_)) => {
                if let BufferedValues::Bool(values) = &mut column.values {
                    values.push(*self);
                }
                column.mark_valid();
            }
            _ => row.refuse(position, "bool"),
        }
    }

    fn read(row: &RowReader<'_>, position: usize) -> Result<Self> {
        let column = row.column(position)?.as_boolean_opt();
        column.map(|column| column.value(row.row)).ok_or_else(|| mismatch(position, "bool"))
    }
}

impl Field for String {
    const COLUMN_TYPE: ColumnType = ColumnType::Text;

    #[inline]
    fn write(&self, row: &mut RowWriter<'_>, position: usize) {
        row.put_text(position, self);
    }

    fn read(row: &RowReader<'_>, position: usize) -> Result<Self> {
        row.text(position).map(str::to_owned)
    }
}

impl Field for Vec<u8> {
    const COLUMN_TYPE: ColumnType = ColumnType::Binary;

    fn write(&self, row: &mut RowWriter<'_>, position: usize) {
        row.put_binary(position, self);
    }

    fn read(row: &RowReader<'_>, position: usize) -> Result<Self> {
        let column = row.column(position)?.as_binary_opt::<i32>();
        column.map(|column| column.value(row.row).to_vec()).ok_or_else(|| mismatch(position, "bytes"))
    }
}

impl<T: Field> Field for Option<T> {
    const COLUMN_TYPE: ColumnType = T::COLUMN_TYPE;
    const NULLABLE: bool = true;

    #[inline]
    fn write(&self, row: &mut RowWriter<'_>, position: usize) {
        match self {
            Some(value) => value.write(row, position),
            None => row.put_null(position),
        }
    }

    fn read(row: &RowReader<'_>, position: usize) -> Result<Self> {
        if row.is_null(position) { Ok(None) } else { T::read(row, position).map(Some) }
    }
}
