//! Reading and writing a file at a position.

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

/// Reads bytes from a position on; 0 at the end.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    file.read_at(buffer, position)
}

/// Fills a buffer with the bytes from a position on.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(buffer, position)
}

/// Writes all bytes from a position on.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    file.write_all_at(bytes, position)
}

/// Reads bytes from a position on; 0 at the end.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    file.seek_read(buffer, position)
}

/// Fills a buffer with the bytes from a position on.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut position: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let count = file.seek_read(buffer, position)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (buffer, position) = (&mut buffer[count..], position + count as u64);
    }
    Ok(())
}

/// Writes all bytes from a position on.
#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = file.seek_write(bytes, position)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        (bytes, position) = (&bytes[count..], position + count as u64);
    }
    Ok(())
}
