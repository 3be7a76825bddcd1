//! Paths of files: the search for their ends.

/// The greatest number of dots and slashes without a name between them. Without a limit, each of them would be read as
/// the beginning of the rest.
const MARKS_MAX: usize = 256;

/// The beginning of a path, which has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStart {
    Slash,
    Tilde,
    /// A dot after a name.
    Dot,
    /// A dot at the beginning of a path.
    FirstDot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathPart {
    /// The position after a slash.
    First,
    Tilde,
    Name,
    /// The position after a dot in a name.
    NameDot,
    /// The position after a dot at the beginning of the path.
    FirstDot,
    /// The position after a slash and a dot.
    Dot,
    DotDot,
}

/// The end of the path of which something stands before a position; `None` if there is no path.
pub(super) fn path_end(bytes: &[u8], mut at: usize, start: PathStart) -> Option<usize> {
    use PathPart as P;
    let mut part = match start {
        PathStart::Slash => P::First,
        PathStart::Tilde => P::Tilde,
        PathStart::Dot => P::NameDot,
        PathStart::FirstDot => P::FirstDot,
    };
    // The end of what is a path, whatever follows.
    let mut end = None;
    let mut marks = 0;
    while marks < MARKS_MAX {
        let next = bytes.get(at).copied();
        let is_letter = next.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        part = match (part, next) {
            (P::First | P::Tilde | P::Dot | P::NameDot | P::Name, _) if is_letter => P::Name,
            (P::Name, Some(b'-')) => P::Name,
            (P::Name, Some(b'.')) => {
                end = Some(at);
                P::NameDot
            }
            (P::Name | P::DotDot, Some(b'/')) => {
                end = Some(at);
                P::First
            }
            (P::Name, _) => return Some(at),
            (P::DotDot, next) if next.is_none_or(|byte| byte.is_ascii_whitespace()) => return Some(at),
            (P::First, Some(b'.')) => P::Dot,
            (P::First, Some(b'~')) => P::Tilde,
            (P::Dot | P::FirstDot, Some(b'.')) => P::DotDot,
            (P::Dot | P::FirstDot | P::Tilde, Some(b'/')) => P::First,
            _ => return end,
        };
        marks = if part == P::Name { 0 } else { marks + 1 };
        at += 1;
    }
    end
}
