//! Standard input for work that Ctrl-C may stop.

use crate::console::ahead::Ahead;
use std::io::{self, Read};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Standard input, whose reading Ctrl-C ends while nothing arrives. The first read starts a thread that reads ahead.
#[derive(Default)]
pub(crate) struct Stdin {
    pieces: Option<Ahead<io::Result<Vec<u8>>>>,
    is_at_end: bool,
    piece: io::Cursor<Vec<u8>>,
}

impl Stdin {
    fn next_piece(&mut self) -> io::Result<Vec<u8>> {
        if self.is_at_end {
            return Ok(Vec::new());
        }
        let pieces = match self.pieces.take() {
            Some(pieces) => pieces,
            None => Ahead::start(std::iter::from_fn(read_piece)).map_err(io::Error::other)?,
        };
        let piece = pieces.next().map_err(io::Error::other)?;
        self.is_at_end = piece.is_none();
        self.pieces = Some(pieces);
        piece.unwrap_or_else(|| Ok(Vec::new()))
    }
}

impl Read for Stdin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            self.piece = io::Cursor::new(self.next_piece()?);
        }
        self.piece.read(into)
    }
}

/// What arrives next; `None` at the end of the input.
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
