//! Rows of Python as batches of Arrow: tuples by position, mappings by name, and objects by their attributes.

use crate::column_builder::ColumnBuilder;
use crate::failure::{exception, raised};
use atsdb::arrow::array::{RecordBatch, RecordBatchOptions};
use atsdb::arrow::datatypes::{Field, Schema};
use atsdb::name::{same_name, unknown_name};
use atsdb::{Column, ColumnType, Error, ErrorKind, TableDefinition, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PySequence, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;

/// The number of rows that are converted together.
const BATCH_ROWS: usize = 65_536;

/// An iterable of rows, read batch by batch.
pub(crate) struct RowSource<'py> {
    rows: Bound<'py, PyIterator>,
    table: String,
    /// The columns that rows have values for, in the order of tuples.
    columns: Vec<Column>,
    /// For objects that are neither tuples nor mappings: the attribute of each column.
    attributes: Option<Vec<Py<PyString>>>,
    builders: Vec<ColumnBuilder>,
    /// The default of each column, if it is a value: mappings without the column get it here, so that rows which lack
    /// different columns stay in one batch.
    defaults: Vec<Option<Bound<'py, PyAny>>>,
    /// Positions of the other columns that the store fills in rows that lack them, such as those that number the rows.
    filled: Vec<usize>,
    /// A row that lacks other ones of them than the rows before it: it begins the next batch.
    pending: Option<Bound<'py, PyAny>>,
    /// The column of each key that was seen in a mapping.
    keys: HashMap<String, usize>,
    /// Rows read so far.
    row_count: u64,
}

impl<'py> RowSource<'py> {
    /// Rows for a table. `columns` names the columns that rows have values for; an empty list means all. `attributes`
    /// names the attributes of objects that they are read from.
    pub(crate) fn new(
        rows: &Bound<'py, PyAny>,
        definition: &TableDefinition,
        columns: Option<Vec<String>>,
        attributes: Option<Vec<Bound<'py, PyString>>>,
    ) -> PyResult<Self> {
        let py = rows.py();
        let columns: Vec<Column> = match columns {
            None => definition.columns.clone(),
            Some(names) => {
                raised(py, definition.check_given(names.iter().map(String::as_str)))?;
                let columns = names.iter().map(|name| definition.column(name).cloned());
                raised(py, columns.collect::<atsdb::Result<_>>())?
            }
        };
        let builders = columns.iter().map(|column| ColumnBuilder::new(column.column_type)).collect();
        let attributes = attributes.map(|names| names.into_iter().map(Bound::unbind).collect());
        let defaults = columns.iter().map(|column| default_of(py, column)).collect::<PyResult<Vec<_>>>()?;
        let is_filled = |position: &usize| columns[*position].is_filled() && defaults[*position].is_none();
        let filled = (0..columns.len()).filter(is_filled).collect();
        let (rows, table) = (rows.try_iter()?, definition.name.clone());
        let (keys, pending) = (HashMap::new(), None);
        Ok(Self { rows, table, columns, attributes, builders, defaults, filled, pending, keys, row_count: 0 })
    }

    /// The next rows, at most [`BATCH_ROWS`]; `None` after the last one. The batch lacks the columns that the store
    /// fills and all of its rows lack.
    pub(crate) fn next_batch(&mut self) -> PyResult<Option<RecordBatch>> {
        let (mut count, mut lacking) = (0, Vec::new());
        while count < BATCH_ROWS {
            let Some(row) = self.pending.take().map(Ok).or_else(|| self.rows.next()) else { break };
            let row = row?;
            let row_lacking = self.lacking(&row)?;
            if count == 0 {
                lacking = row_lacking;
            } else if row_lacking != lacking {
                self.pending = Some(row);
                break;
            }
            self.push(&row)?;
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish).zip(&self.columns).enumerate();
        let present = arrays.filter(|(position, _)| !lacking.contains(position));
        let (fields, arrays): (Vec<_>, Vec<_>) = present
            .map(|(_, (array, column))| (Field::new(&column.name, array.data_type().clone(), true), array))
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        batch.map(Some).map_err(|error| PyTypeError::new_err(error.to_string()))
    }

    /// Positions of the columns that the store fills and a row lacks. Only mappings lack any.
    fn lacking(&mut self, row: &Bound<'py, PyAny>) -> PyResult<Vec<usize>> {
        if self.filled.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(row) = row.cast::<PyDict>() else { return Ok(Vec::new()) };
        let mut lacking = self.filled.clone();
        for (key, _) in row {
            let present = self.position(row.py(), key.cast::<PyString>()?.to_str()?)?;
            lacking.retain(|position| *position != present);
        }
        Ok(lacking)
    }

    fn push(&mut self, row: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(row) = row.cast::<PyDict>() {
            self.push_mapping(row)?;
        } else if row.is_instance_of::<PyTuple>() || row.is_instance_of::<PyList>() {
            self.push_sequence(row.cast::<PySequence>()?)?;
        } else if let Some(attributes) = &self.attributes {
            let py = row.py();
            for (position, attribute) in attributes.iter().enumerate() {
                let value = row.getattr(attribute.bind(py))?;
                self.builders[position].push(Some(&value)).map_err(|error| self.at(py, position, &error))?;
            }
        } else {
            let found = row.get_type().name()?;
            let error = format!("row {} is of type {found}: a row is a tuple, a list or a dict", self.row_count + 1);
            return Err(PyTypeError::new_err(error));
        }
        self.row_count += 1;
        Ok(())
    }

    fn push_sequence(&mut self, row: &Bound<'py, PySequence>) -> PyResult<()> {
        let length = row.len()?;
        if length != self.columns.len() {
            let (number, columns) = (self.row_count + 1, self.columns.len());
            let error = format!("row {number} has {length} values, but table {} has {columns} columns", self.table);
            return Err(refused(row.py(), &error));
        }
        for position in 0..length {
            let value = row.get_item(position)?;
            self.builders[position].push(Some(&value)).map_err(|error| self.at(row.py(), position, &error))?;
        }
        Ok(())
    }

    /// Columns that a mapping lacks have their default or are NULL, unless the batch lacks them, too.
    fn push_mapping(&mut self, row: &Bound<'py, PyDict>) -> PyResult<()> {
        let mut values: Vec<Option<Bound<'py, PyAny>>> = vec![None; self.columns.len()];
        for (key, value) in row {
            let position = self.position(row.py(), key.cast::<PyString>()?.to_str()?)?;
            if values[position].replace(value).is_some() {
                return Err(self.at(row.py(), position, &PyValueError::new_err("the dict has two values for it")));
            }
        }
        for (position, value) in values.iter().enumerate() {
            let value = value.as_ref().or(self.defaults[position].as_ref());
            self.builders[position].push(value).map_err(|error| self.at(row.py(), position, &error))?;
        }
        Ok(())
    }

    fn position(&mut self, py: Python<'_>, key: &str) -> PyResult<usize> {
        if let Some(position) = self.keys.get(key) {
            return Ok(*position);
        }
        let Some(position) = self.columns.iter().position(|column| same_name(&column.name, key)) else {
            let error = unknown_name("column", key, self.columns.iter().map(|column| column.name.as_str()));
            return Err(exception(py, &error.context(format_args!("table {}", self.table))));
        };
        self.keys.insert(key.to_owned(), position);
        Ok(position)
    }

    /// The error of a value, with its row and column.
    fn at(&self, py: Python<'_>, position: usize, error: &PyErr) -> PyErr {
        let (row, column) = (self.row_count + 1, &self.columns[position].name);
        refused(py, &format!("table {}, row {row}, column {column}: {}", self.table, error.value(py)))
    }
}

/// The default of a column as the object that a row would have for it; `None` if it is no value, or that of an array,
/// which the store reads.
fn default_of<'py>(py: Python<'py>, column: &Column) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(value) = column.default.as_ref().filter(|_| !matches!(column.column_type, ColumnType::Array(_))) else {
        return Ok(None);
    };
    let object = match value {
        Value::Int(value) => value.into_bound_py_any(py)?,
        Value::UInt(value) => value.into_bound_py_any(py)?,
        Value::Float(value) => value.into_bound_py_any(py)?,
        Value::Bool(value) => value.into_bound_py_any(py)?,
        Value::Text(value) => value.into_bound_py_any(py)?,
        Value::Bytes(value) => PyBytes::new(py, value).into_any(),
    };
    Ok(Some(object))
}

fn refused(py: Python<'_>, message: &str) -> PyErr {
    exception(py, &Error::new(ErrorKind::InvalidValue, message))
}
