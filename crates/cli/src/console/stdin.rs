//! Standard input for work that Ctrl-C may stop.

use crate::console::interrupt;
use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often a reader that waits looks whether Ctrl-C was pressed.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Standard input, whose reading Ctrl-C ends while nothing arrives. The first read starts a thread that reads ahead.
#[derive(Default)]
pub(crate) struct Stdin {
    pieces: Option<Receiver<io::Result<Vec<u8>>>>,
    piece: io::Cursor<Vec<u8>>,
}

impl Stdin {
    fn next_piece(&mut self) -> io::Result<Vec<u8>> {
        let pieces = self.pieces.get_or_insert_with(read_ahead);
        loop {
            interrupt::check().map_err(io::Error::other)?;
            match pieces.recv_timeout(LOOK_INTERVAL) {
                Ok(piece) => return piece,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            }
        }
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

/// Reads standard input in a thread, a few pieces ahead. The channel closes at the end of the input.
fn read_ahead() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, pieces) = mpsc::sync_channel(4);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut piece = vec![0; PIECE_BYTES];
            let read = match input.read(&mut piece) {
                Ok(0) => return,
                Ok(length) => {
                    piece.truncate(length);
                    Ok(piece)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = read.is_err();
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    pieces
}
