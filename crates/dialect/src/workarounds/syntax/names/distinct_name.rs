//! Unique names for columns of an answer that would have the same name.
//!
//! Part of [`output_names`](super::output_names), which explains why.

use datafusion::sql::sqlparser::ast::Ident;

/// Separates a name from the suffix that makes it unique.
const MARK: char = '\u{1}';

/// Added to the positions of items beside a `*`. Beyond the positions of columns: `using` expands a `*` later, and its
/// columns are named by their positions then.
pub(super) const BESIDE_STARS: usize = 1 << 20;

/// A name as it is shown to users.
pub fn shown(name: &str) -> &str {
    match name.find(MARK) {
        // A mark at the start belongs to internal names.
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// A line of a plan with its names as they are shown.
pub fn without_marks(line: &str) -> String {
    let mut parts = line.split(MARK);
    let mut shown = parts.next().unwrap_or("").to_owned();
    // A mark and a position follow a name; a name that begins with a mark keeps what follows it.
    parts.for_each(|part| shown.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit())));
    shown
}

/// A name that is unique to the column at a position.
pub fn distinct(name: &str, position: usize) -> Ident {
    Ident::with_quote('"', format!("{name}{MARK}{position}"))
}
