//! The functions of the host's SQLite.
//!
//! `libsqlite3-sys` takes over the table of functions that SQLite passes to an extension, but refuses a host that is
//! older than its own declarations, and would read beyond the end of such a host's table. So it gets a copy with the
//! functions that the host's version has, and no others.

#![expect(unsafe_code, reason = "SQLite passes pointers to an extension")]

use crate::connection::HostConnection;
use crate::error::{guarded, module_error};
use parking_lot::Mutex;
use rusqlite::{Connection, Error, Result, ffi};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// The oldest host: 3.38 can pass all values of an IN at once, and reports during planning which terms are INs.
const VERSION_MIN: c_int = 3_038_000;

/// For later versions, the position of the first function that each added. A host has the functions before the first
/// one that it lacks.
const LATER: [(c_int, usize); 5] = [
    (3_039_000, offset_of!(ffi::sqlite3_api_routines, deserialize)),
    (3_040_000, offset_of!(ffi::sqlite3_api_routines, value_encoding)),
    (3_041_000, offset_of!(ffi::sqlite3_api_routines, is_interrupted)),
    (3_043_000, offset_of!(ffi::sqlite3_api_routines, stmt_explain)),
    (3_044_000, offset_of!(ffi::sqlite3_api_routines, get_clientdata)),
];

type LibraryVersion = unsafe extern "C" fn() -> c_int;

/// The SQLite that this process uses, by its function that returns the version.
static LOADED: Mutex<Option<LibraryVersion>> = Mutex::new(None);

thread_local! {
    /// Whether this thread is inside `libsqlite3-sys`'s own check of the version.
    static IS_CHECKED: Cell<bool> = const { Cell::new(false) };
}

/// Loads the extension into a connection.
///
/// # Safety
///
/// The arguments are those that SQLite passes to an extension.
pub(crate) unsafe fn load(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    routines: *mut ffi::sqlite3_api_routines,
    register: fn(&Connection, HostConnection) -> Result<()>,
) -> c_int {
    if routines.is_null() || db.is_null() {
        return ffi::SQLITE_ERROR;
    }
    let done = guarded(|| {
        // SAFETY: SQLite's table of functions is valid as long as SQLite is loaded.
        unsafe { take_over(routines) }?;
        // SAFETY: the connection is open, and the object that refers to it does not close it.
        let host = unsafe { Connection::from_handle(db) }?;
        // SAFETY: everything that is registered is dropped before SQLite closes the connection.
        register(&host, unsafe { HostConnection::new(db) })
    });
    match done {
        // A library with destructors of thread-local values must not be unloaded while threads run.
        Ok(()) => ffi::SQLITE_OK_LOAD_PERMANENTLY,
        Err(error) => {
            // SAFETY: the table is valid, and `message` is null or a place for a text that SQLite frees.
            unsafe { set_message(&*routines, message, &error.to_string()) };
            ffi::SQLITE_ERROR
        }
    }
}

/// Takes over the host's functions, once per process.
unsafe fn take_over(routines: *const ffi::sqlite3_api_routines) -> Result<()> {
    // SAFETY: the field is among the first of the table, which all versions have.
    let Some(version_of) = (unsafe { (*routines).libversion_number }) else {
        return Err(module_error("the table of SQLite's functions is empty"));
    };
    // SAFETY: the function of SQLite takes no arguments.
    let version = unsafe { version_of() };
    check_version(version)?;
    let mut loaded = LOADED.lock();
    if let Some(loaded) = *loaded {
        return match ptr::fn_addr_eq(loaded, version_of) {
            true => Ok(()),
            false => Err(module_error(
                "this process has two copies of SQLite, and the extension is already loaded into the other one",
            )),
        };
    }
    let mut copy = MaybeUninit::<ffi::sqlite3_api_routines>::zeroed();
    // SAFETY: a host of this version has these bytes. All fields are optional functions, which may be zero.
    let mut copy = unsafe {
        ptr::copy_nonoverlapping(routines.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), known_bytes(version));
        copy.assume_init()
    };
    copy.libversion_number = Some(library_version);
    *loaded = Some(version_of);
    drop(loaded);
    IS_CHECKED.set(true);
    // SAFETY: each function is the host's or missing.
    let done = unsafe { ffi::rusqlite_extension_init2(&raw mut copy) };
    IS_CHECKED.set(false);
    done.map_err(Error::from)
}

fn check_version(version: c_int) -> Result<()> {
    let shown = |version: c_int| format!("{}.{}.{}", version / 1_000_000, version / 1_000 % 1_000, version % 1_000);
    match version >= VERSION_MIN {
        true => Ok(()),
        false => Err(module_error(format!(
            "the program that loads atsdb has SQLite {}, and atsdb needs {} or later",
            shown(version),
            shown(VERSION_MIN)
        ))),
    }
}

/// How many bytes of its table a host of this version has, as far as they are declared here.
fn known_bytes(version: c_int) -> usize {
    let first_missing = LATER.iter().find(|(since, _)| version < *since);
    first_missing.map_or(size_of::<ffi::sqlite3_api_routines>(), |(_, offset)| *offset)
}

/// Returns the version of the host's SQLite. While `libsqlite3-sys` checks the version, it returns the version of that
/// crate's declarations.
unsafe extern "C" fn library_version() -> c_int {
    if IS_CHECKED.get() {
        return ffi::SQLITE_VERSION_NUMBER;
    }
    // SAFETY: the function of SQLite takes no arguments.
    (*LOADED.lock()).map_or(0, |version_of| unsafe { version_of() })
}

/// Passes a message to SQLite, in memory that SQLite frees.
unsafe fn set_message(routines: &ffi::sqlite3_api_routines, place: *mut *mut c_char, message: &str) {
    let (Some(allocate), false) = (routines.malloc, place.is_null()) else { return };
    let Ok(length) = c_int::try_from(message.len() + 1) else { return };
    // SAFETY: the memory has room for the message and the zero byte behind it.
    unsafe {
        let memory: *mut c_void = allocate(length);
        if !memory.is_null() {
            let bytes = memory.cast::<u8>();
            ptr::copy_nonoverlapping(message.as_ptr(), bytes, message.len());
            bytes.add(message.len()).write(0);
            *place = memory.cast::<c_char>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_host_is_refused_by_version_and_its_table_is_not_read_beyond_its_end() {
        let error = check_version(3_037_002).unwrap_err().to_string();
        assert!(error.contains("has SQLite 3.37.2") && error.contains("3.38.0 or later"), "{error}");
        assert!(check_version(3_038_000).is_ok() && check_version(3_060_000).is_ok());
        assert_eq!(known_bytes(3_038_005), offset_of!(ffi::sqlite3_api_routines, deserialize));
        assert_eq!(known_bytes(3_040_001), offset_of!(ffi::sqlite3_api_routines, is_interrupted));
        assert_eq!(known_bytes(3_042_000), offset_of!(ffi::sqlite3_api_routines, stmt_explain));
        assert_eq!(known_bytes(3_099_000), size_of::<ffi::sqlite3_api_routines>());
    }
}
