//! The extension module of the Python package `atsdb`.

use pyo3::prelude::*;

/// What only Rust can do for the package `atsdb`.
#[pymodule]
mod _atsdb {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
