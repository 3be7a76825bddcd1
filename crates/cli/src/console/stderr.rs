//! Messages to people. If the reader of stderr, such as `head`, has closed it, they are left out and the work
//! continues: `eprintln!` would panic.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a text to stderr.
pub(crate) fn write(text: Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
}

/// Writes a line to stderr. The arguments are those of `format!`.
macro_rules! inform {
    ($($text:tt)*) => {
        $crate::console::stderr::write(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Writes a part of a line to stderr. The arguments are those of `format!`.
macro_rules! inform_partly {
    ($($text:tt)*) => {
        $crate::console::stderr::write(format_args!($($text)*))
    };
}

pub(crate) use {inform, inform_partly};
