//! The extension module of the Python package `atsdb`. The package's Python files are the interface that people use;
//! this module has only the parts that need Rust, as few and as plain as possible.
//!
//! Owned here: opening stores and sessions, rows between Python, Arrow's C data interface and the engine, and how a
//! long call waits: without the interpreter's lock, and such that Ctrl-C ends it. Not owned: everything that the facade
//! `atsdb` does, and how Python programs see it (`atsdb/*.py`).

mod capsule;
mod cells;
mod column_builder;
mod declare;
mod failure;
mod parameter_value;
mod parameters;
mod process;
mod program;
mod row_source;
mod rows;
mod session;
mod special_value;
mod stop;
mod store;
mod store_options;
mod time_value;
mod waiting;

use pyo3::prelude::*;

/// The extension module of the package `atsdb`.
#[pymodule]
mod _atsdb {
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::rows::Rows;
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::store::Store;

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::waiting::remember_main_thread(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ERROR_KINDS", super::failure::kinds())
    }
}
