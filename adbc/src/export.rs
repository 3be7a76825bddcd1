//! The functions that C calls.
//!
//! The only file with `unsafe`, all of it in the expansion of the macro, which hands a driver manager the table of
//! functions that `adbc_ffi` makes from the traits.

#![allow(unsafe_code, reason = "functions of C have raw pointers and names that are not mangled")]

use crate::database::AtsdbDriver;

adbc_ffi::export_driver!(AdbcDriverAtsdbInit, AtsdbDriver);
