//! Standard input for work that Ctrl-C may stop.

use crate::console::prefetch::{Prefetch, PrefetchedBytes};
use std::io::{self, Read};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Standard input, whose reading Ctrl-C ends while nothing arrives. The first read starts a thread that reads ahead.
#[derive(Default)]
pub(crate) struct Stdin(Option<PrefetchedBytes>);

impl Read for Stdin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let pieces = match &mut self.0 {
            Some(pieces) => pieces,
            none => {
                let pieces = Prefetch::start(std::iter::from_fn(read_piece)).map_err(io::Error::other)?;
                none.insert(PrefetchedBytes::new(pieces))
            }
        };
        pieces.read(into)
    }
}

/// Reads the bytes that arrive next, at most `PIECE_BYTES`; `None` at the end of the input.
fn read_piece() -> Option<io::Result<Vec<u8>>> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        return match io::stdin().read(&mut piece) {
            Ok(0) => None,
            Ok(length) => {
                piece.truncate(length);
                Some(Ok(piece))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Some(Err(error)),
        };
    }
}
