//! Arrow's C data interface in Python's capsules: streams of batches out of this module and into it, without copying.
//!
//! This is the only file with `unsafe`. Each use relies on a promise of the protocol: a capsule with the name of a
//! structure points to one, which its consumer may move out if it leaves a released one behind.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

#![expect(unsafe_code, reason = "capsules hold pointers")]

use atsdb::arrow::array::{Array, RecordBatch, RecordBatchReader, StructArray};
use atsdb::arrow::datatypes::Schema;
use atsdb::arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use atsdb::arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use atsdb::{Error, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A capsule with a stream of batches.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// A capsule with a schema.
pub(crate) fn export_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Batches that a Python object exports, as a stream or as one array of structs; `None` if it exports neither.
pub(crate) fn import_batches(data: &Bound<'_, PyAny>) -> PyResult<Option<Box<dyn RecordBatchReader + Send>>> {
    if let Some(method) = data.getattr_opt("__arrow_c_stream__")? {
        let capsule = method.call0()?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the capsule's name identifies the type that it points to. The stream is moved out, and a released one
        // is left behind.
        let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
        return match reader {
            Ok(reader) => Ok(Some(Box::new(reader))),
            Err(error) => {
                let of = data.get_type().name()?;
                let message = format!("a {of} has no columns with names: append a frame, as to_frame() makes one");
                Err(PyTypeError::new_err(format!("{message} ({error})")))
            }
        };
    }
    let Some(method) = data.getattr_opt("__arrow_c_array__")? else { return Ok(None) };
    let pair = method.call0()?;
    let pair = pair.cast::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules' names identify the types that they point to. Both structures are moved out, and released
    // ones are left behind.
    let (schema, array) =
        unsafe { (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr())) };
    // SAFETY: the exporter of both guarantees that the array has this schema.
    let data = unsafe { from_ffi(array, &schema) };
    let batch = data.map_err(Error::from).and_then(|data| batch_of(&atsdb::arrow::array::make_array(data)));
    let batch = batch.map_err(|error| PyTypeError::new_err(error.message().to_owned()))?;
    let schema = batch.schema();
    Ok(Some(Box::new(atsdb::arrow::record_batch::RecordBatchIterator::new([Ok(batch)], schema))))
}

/// The columns of an array of structs.
fn batch_of(array: &atsdb::arrow::array::ArrayRef) -> Result<RecordBatch> {
    match array.as_any().downcast_ref::<StructArray>() {
        Some(columns) if columns.nulls().is_none_or(|nulls| nulls.null_count() == 0) => Ok(RecordBatch::from(columns)),
        _ => Err(Error::usage("an Arrow array to append must be a struct array, whose fields are the columns")),
    }
}
