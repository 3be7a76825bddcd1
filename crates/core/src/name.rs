//! Names of tables and columns. They are compared without case and kept as written.

use crate::error::{Error, Result};
use crate::limits::NAME_BYTES_MAX;
use std::collections::HashSet;
use std::iter;
use strum::VariantArray;

/// The name of the table that holds users, their roles and their tokens. No other table may have it.
pub const ACCESS_TABLE: &str = "atsdb_access";

/// Returns the form in which names are compared.
pub fn name_key(name: &str) -> String {
    name.to_lowercase()
}

/// Returns whether two names are the same.
pub fn same_name(a: &str, b: &str) -> bool {
    a == b || a.eq_ignore_ascii_case(b) || (!(a.is_ascii() && b.is_ascii()) && name_key(a) == name_key(b))
}

/// Returns a name that is not taken, and takes it: this one, or this one with a number. `taken` has the
/// [keys](name_key) of names.
pub fn free_name(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}_{number}"));
    let mut free = iter::once(name.to_owned()).chain(numbered).filter(|name| taken.insert(name_key(name)));
    free.next().unwrap_or_else(|| name.to_owned())
}

/// Returns the names of columns when the first ones get these names. The others keep theirs, with a number if another
/// column has it.
pub fn with_free_names<'a>(first: Vec<String>, columns: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken: HashSet<String> = first.iter().map(|name| name_key(name)).collect();
    let others = columns.into_iter().skip(first.len()).map(|name| free_name(name, &mut taken));
    let others: Vec<String> = others.collect();
    first.into_iter().chain(others).collect()
}

/// Refuses an empty name, one with control characters, and one longer than [`NAME_BYTES_MAX`] with a
/// [`Usage`](crate::ErrorKind::Usage) error. `what` is the noun of the message, such as `table`.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::usage(format!("a {what} needs a name")));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::usage(format!("the {what} name {:.40}... is longer than {NAME_BYTES_MAX} bytes", name)));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::usage(format!("the {what} name {name:?} holds a control character")));
    }
    Ok(())
}

/// Refuses what [`check_name`] refuses. A user's table is also refused if it has the name of one of the program's own
/// tables.
pub(crate) fn check_table_name(name: &str, is_system: bool) -> Result<()> {
    check_name("table", name)?;
    if is_system || !same_name(name, ACCESS_TABLE) {
        return Ok(());
    }
    Err(Error::usage(format!("the table name {name} is reserved"))
        .with_hint("users and their roles are kept under this name: choose another one"))
}

/// Returns the candidate closest to a misspelt name, if it is close enough to be the intended one.
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name_key(name);
    // Another letter in place of a single one is another name.
    let bound = match name.chars().count() {
        1 => 0,
        length => (length / 3).max(1),
    };
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(&name, &name_key(candidate)), candidate))
        .filter(|(distance, _)| *distance <= bound)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The [`NotFound`](crate::ErrorKind::NotFound) error `no WHAT named NAME`. Its hint is the closest candidate, or the
/// list of candidates.
pub fn unknown_name<'a>(what: &str, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Error {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let error = Error::not_found(format!("no {what} named {name}"));
    match nearest_name(name, candidates.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None if candidates.is_empty() => error,
        None => {
            let more = if candidates.len() > 12 { ", ..." } else { "" };
            let shown = &candidates[..candidates.len().min(12)];
            error.with_hint(format!("available: {}{more}", shown.join(", ")))
        }
    }
}

/// Parses the name of one of an enum's variants, in either case. Everything else is a
/// [`Usage`](crate::ErrorKind::Usage) error `unknown WHAT TEXT`, whose hint lists the names.
pub fn parse_name<T: VariantArray + Copy + Into<&'static str>>(what: &str, text: &str) -> Result<T> {
    let names: Vec<&str> = T::VARIANTS.iter().map(|variant| (*variant).into()).collect();
    if let Some(position) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(T::VARIANTS[position]);
    }
    let error = Error::usage(format!("unknown {what} {text}"));
    Err(match names.split_last() {
        Some((last, others)) => error.with_hint(format!("use {} or {last}", others.join(", "))),
        None => error,
    })
}

/// Damerau-Levenshtein distance (adjacent swaps count one).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoStaticStr;

    #[test]
    fn nearest_name_forgives_a_slip_but_does_not_guess() {
        assert_eq!(nearest_name("sensro", ["time", "sensor"]), Some("sensor"));
        assert_eq!(nearest_name("TEMP", ["temp"]), Some("temp"));
        assert_eq!(nearest_name("pressure", ["time", "sensor"]), None);
        assert_eq!((nearest_name("c", ["a", "b"]), nearest_name("C", ["a", "c"])), (None, Some("c")));
    }

    #[test]
    fn a_variant_is_named_in_either_case() {
        #[derive(Debug, Clone, Copy, PartialEq, IntoStaticStr, VariantArray)]
        #[strum(serialize_all = "snake_case")]
        enum Taste {
            Sweet,
            Sour,
            BitterSweet,
        }
        assert_eq!(parse_name::<Taste>("taste", "Bitter_Sweet").unwrap(), Taste::BitterSweet);
        let error = parse_name::<Taste>("taste", "salty").unwrap_err();
        assert_eq!(error.to_string(), "unknown taste salty (use sweet, sour or bitter_sweet)");
    }

    #[test]
    fn columns_keep_their_names_or_get_free_ones() {
        let names = |first: &[&str], columns: &[&str]| {
            let first = first.iter().map(|&name| name.to_owned()).collect();
            with_free_names(first, columns.iter().copied()).join(" ")
        };
        assert_eq!(names(&["a", "b"], &["x", "y", "z"]), "a b z");
        assert_eq!(names(&["a", "B"], &["x", "y", "a_2", "A", "b"]), "a B a_2 A_3 b_2");
        assert_eq!(names(&[], &["x", "y"]), "x y");
    }

    #[test]
    fn names_compare_without_case() {
        assert!(same_name("PM2.5", "pm2.5") && same_name("GRÖSSE", "grösse") && !same_name("a", "b"));
        // The sign of the unit kelvin is another letter with the same small one.
        assert!(same_name("\u{212a}", "k") && same_name("k", "\u{212a}") && same_name("K", "\u{212a}"));
    }
}
