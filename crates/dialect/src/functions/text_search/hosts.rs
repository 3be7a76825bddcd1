//! Names of hosts: parts joined by dots, the last one of letters alone.

/// A run of characters that hosts are made of. It is remembered, so that a text is not read again at each of its words.
#[derive(Debug, Default)]
pub(super) struct HostRun {
    is_read: bool,
    start: usize,
    end: usize,
    /// The position at which the last part of the run begins.
    last_part: usize,
    /// The last part of the run that may be the last one of a host: its dot and its end.
    last_domain: Option<(usize, usize)>,
}

impl HostRun {
    /// The end of the run from a position.
    pub(super) fn run_end(&mut self, bytes: &[u8], at: usize) -> usize {
        // The last part is read again: as the first part of a run it may go on.
        let is_inside = self.start <= at && at < self.last_part;
        if !self.is_read || (at != self.start && !is_inside) {
            *self = Self::read(bytes, at);
        }
        self.end
    }

    /// The end of the host from a position, with its port.
    pub(super) fn host_end(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        self.run_end(bytes, at);
        let (_, end) = self.last_domain.filter(|(dot, _)| *dot > at)?;
        let digits =
            |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit());
        let port = if bytes.get(end) == Some(&b':') { digits(end + 1).count() } else { 0 };
        Some(if port > 0 { end + 1 + port } else { end })
    }

    fn read(bytes: &[u8], start: usize) -> Self {
        let mut run = Self { is_read: true, start, end: start, last_part: start, last_domain: None };
        // The dot before the current part, while the part has letters alone.
        let mut dot = None;
        let mut at = start;
        loop {
            let next = bytes.get(at).copied();
            match next {
                Some(byte) if byte.is_ascii_alphabetic() => {}
                Some(byte) if byte.is_ascii_digit() => dot = None,
                _ => {
                    if let Some(before) = dot.filter(|before| at - before > 2) {
                        run.last_domain = Some((before, at));
                    }
                    let goes_on = bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
                    let is_joined = match next {
                        Some(b'.' | b'-') => goes_on && at > start,
                        Some(b'_') => goes_on && at > start && dot.is_none(),
                        _ => false,
                    };
                    if !is_joined {
                        run.end = at;
                        return run;
                    }
                    dot = if next == Some(b'.') { Some(at) } else { None };
                    run.last_part = at + 1;
                }
            }
            at += 1;
        }
    }
}
