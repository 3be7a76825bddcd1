//! Selects the columns that are read from the files, and their names in the table.

use crate::options::Options;
use atsdb_core::name::{name_key, same_name, unknown_name};
use atsdb_core::{Column, Error, Result, TableDefinition};
use std::collections::HashSet;

/// A text as the value of a flag in a command that users can copy.
pub(crate) fn flag_value(text: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_-./:%+=".contains(character);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns whether the table itself gives numbers to a column that the files lack.
pub(crate) fn takes_numbers(column: &Column) -> bool {
    column.identity.is_some() || column.sequence.is_some()
}

/// Returns whether the table itself gives values to a column that the files lack: numbers, or what a default function
/// returns.
pub(crate) fn takes_values(column: &Column) -> bool {
    takes_numbers(column) || column.default_function.is_some()
}

/// Returns the name that a column of a file has in the table, or `None` if it is not read.
pub(crate) fn table_name(options: &Options, name: &str) -> Option<String> {
    if name.is_empty() || options.omit.iter().any(|omitted| same_name(omitted, name)) {
        return None;
    }
    if options.columns.is_empty() {
        return Some(name.to_owned());
    }
    options.columns.iter().find(|choice| same_name(&choice.source, name)).map(|choice| choice.name.clone())
}

/// Returns the name that a column of the table has in the files, or `None` if it is not read.
pub(crate) fn source_name(options: &Options, name: &str) -> Option<String> {
    let renamed =
        options.columns.iter().find(|choice| same_name(&choice.name, name)).map(|choice| choice.source.clone());
    let source = if options.columns.is_empty() { Some(name.to_owned()) } else { renamed };
    source.filter(|source| table_name(options, source).is_some())
}

/// Returns for each of a table's columns whether the options choose it, so that its source need not send the others. A
/// column that the options name and that is not there is an error only if the table is the `only` input.
///
/// # Errors
///
/// `NotFound` for a column that does not exist, with the most similar name.
pub fn chosen_columns(options: &Options, names: &[&str], is_only: bool) -> Result<Vec<bool>> {
    if is_only {
        check(options, names.iter().copied())?;
    }
    Ok(names.iter().map(|name| table_name(options, name).is_some()).collect())
}

/// Checks that every column which the options name exists.
pub(crate) fn check<'a>(options: &Options, names: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    let chosen = options.columns.iter().map(|choice| ("--columns", &choice.source));
    for (flag, wanted) in chosen.chain(options.omit.iter().map(|name| ("--omit", name))) {
        if !names.clone().any(|name| same_name(name, wanted)) {
            let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let at_position = number.and_then(|position| names.clone().nth(position));
            let error = unknown_name("column", wanted, names).context(flag);
            return Err(match at_position {
                Some(name) => error.with_hint(format!("write the column's name: column {wanted} is {name}")),
                None => error,
            });
        }
    }
    Ok(())
}

/// The names of the fields of a file without a header: those that the options list, or else those of the table that
/// gets the rows, or else `column1`, `column2` and so on. Also a note for the user.
pub(crate) fn names_by_position(
    file: &str,
    width: usize,
    options: &Options,
    existing: Option<&TableDefinition>,
) -> Result<(Option<Vec<String>>, Option<String>)> {
    let is_numbered = |name: &String| name.strip_prefix("column").is_some_and(|rest| rest.parse::<u16>().is_ok());
    let are_numbered = options.columns.iter().all(|choice| is_numbered(&choice.source));
    if !options.columns.is_empty() && !are_numbered {
        if let Some(choice) = options.columns.iter().find(|choice| choice.name != choice.source) {
            let message = format!("{file} has no header with a column {}", choice.source);
            let is_position = choice.source.parse::<usize>().is_ok_and(|number| (1..=width).contains(&number));
            let example =
                if is_position { format!(": {}=column{}", choice.name, choice.source) } else { String::new() };
            return Err(Error::usage(message).with_hint(format!("its columns are column1 to column{width}{example}")));
        }
        if options.columns.len() != width {
            let (fields, columns) = (counted(width, "field"), counted(options.columns.len(), "column"));
            let message = format!("{file} has no header and {fields}, for {columns}");
            return Err(
                Error::usage(message).with_hint("name all fields with --columns, and leave some out with --omit")
            );
        }
        return Ok((Some(options.columns.iter().map(|choice| choice.name.clone()).collect()), None));
    }
    let Some(existing) = existing.filter(|_| options.columns.is_empty()) else { return Ok((None, None)) };
    let is_file_name = |name: &str| options.is_file_column(name);
    let of_files: Vec<&Column> = existing.columns.iter().filter(|column| !is_file_name(&column.name)).collect();
    // The files may lack the columns that number the rows.
    let lacks_numbers = of_files.len() != width;
    let is_there = |column: &&&Column| !lacks_numbers || !takes_numbers(column);
    let names: Vec<String> = of_files.iter().filter(is_there).map(|column| column.name.clone()).collect();
    // The time of a table that was made from such a file may be of several fields. The other columns have their
    // numbers.
    let time = existing.time_column().filter(|time| !is_numbered(&time.name));
    let mut others = of_files.iter().filter(|column| time.is_some_and(|time| time.id != column.id)).peekable();
    let are_positions = others.peek().is_some() && others.all(|column| is_numbered(&column.name));
    if names.len() != width && are_positions {
        let note =
            format!("no header: the fields are column1 to column{width}, as the columns of {} say", existing.name);
        return Ok((None, Some(note)));
    }
    if names.len() != width {
        let (fields, columns) = (counted(width, "field"), counted(of_files.len(), "column"));
        let message = format!("{file} has no header and {fields}; table {} has {columns}", existing.name);
        return Err(Error::usage(message).with_hint("name the column of each field: --columns NAME,..."));
    }
    let note = format!("no header: the fields are taken as the columns of {} in their order", existing.name);
    Ok((Some(names), Some(note)))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The maximum number of names in a note.
const NAMES_SHOWN: usize = 4;

/// A note about names that occur several times, which get numbers.
pub(crate) fn repeated_note(raw: &[String]) -> Option<String> {
    let proper = proper_names(raw);
    let numbered: Vec<&str> = proper
        .iter()
        .zip(raw.iter().map(|name| cleaned(name)))
        .filter_map(|(name, own)| (!own.is_empty() && *name != own).then_some(name.as_str()))
        .collect();
    let (shown, more) = numbered.split_at(numbered.len().min(NAMES_SHOWN));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!shown.is_empty())
        .then(|| format!("columns with a name that came before are numbered: {}{more}", shown.join(", ")))
}

fn cleaned(name: &str) -> String {
    name.trim().replace(char::is_control, " ")
}

/// Names that are valid in a table: trimmed, without control characters, not empty, and distinct.
pub(crate) fn proper_names(raw: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    raw.iter()
        .enumerate()
        .map(|(position, name)| {
            let cleaned = cleaned(name);
            let base = if cleaned.is_empty() { format!("column{}", position + 1) } else { cleaned };
            let mut unique = base.clone();
            let mut count = 1;
            while !taken.insert(name_key(&unique)) {
                count += 1;
                unique = format!("{base}_{count}");
            }
            unique
        })
        .collect()
}
