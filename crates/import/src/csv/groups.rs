//! A header of two records: groups of columns above the names of the columns, as tables made for people have it.
//!
//! ```text
//! ,North,,South,
//! Date,temp,hum,temp,hum
//! 2024-01-01,1.5,50,2.5,60
//! ```

use crate::csv::header::{column_facts, kinds_of, stands_above};
use crate::csv::separator::Separator;
use crate::facts::kind;
use crate::facts::nulls::NullTexts;
use crate::options::Options;
use crate::records::Field;
use crate::records::error::shown;
use std::collections::HashSet;

/// The groups above the names of columns.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The text of each column's group; empty without one.
    names: Vec<String>,
    /// The byte at which the record of the columns' names begins.
    pub(crate) end: usize,
}

impl Groups {
    /// The groups in the first record of a text. The second record names the columns, and those of groups of several
    /// columns have no texts below that, or, if names recur, most columns of the file have none. Names that recur in
    /// several groups show that the groups belong to them; where none does, each column after the first must be in a
    /// group of several columns, and there must be two such groups or more, because a title may have two texts.
    pub(crate) fn of(separator: Separator, text: &[u8], options: &Options, nulls: &NullTexts) -> Option<Self> {
        if options.header.is_some() || options.names.is_some() {
            return None;
        }
        let starts = separator.starts_and_widths(text, 3);
        let [(start, width), (second, second_width), (third, third_width)] = *starts.as_slice() else { return None };
        if width < 3 || second_width != width || third_width != width {
            return None;
        }
        let (above, below) = (&text[start..second], &text[second..third]);
        let names = texts_of(separator, above, nulls)?;
        let columns = texts_of(separator, below, nulls)?;
        // A bad record has no fields.
        if names.len() != width || columns.len() != width {
            return None;
        }
        // If the text of a group stands above each of its columns, empty fields belong to no group.
        let is_repeated = names.windows(2).any(|pair| !pair[0].is_empty() && pair[0] == pair[1]);
        let groups = if is_repeated { names.clone() } else { filled(&names) };
        let is_spanned = |position: usize| {
            let is_same = |other: Option<&String>| other == Some(&groups[position]);
            let is_beside = is_same(groups.get(position + 1)) || is_same(position.checked_sub(1).map(|at| &groups[at]));
            !groups[position].is_empty() && is_beside
        };
        let is_named = |position: usize| !columns[position].is_empty() || !names[position].is_empty();
        let joined = joined(&groups, &columns);
        if distinct_count(&names) < 2
            || !(0..width).all(is_named)
            || !(0..width).any(is_spanned)
            || distinct_count(&joined) < width
        {
            return None;
        }
        let recurs = distinct_count(&columns) < columns.iter().filter(|column| !column.is_empty()).count();
        let is_in_group = |position: usize| groups[position].is_empty() || is_spanned(position);
        let are_groups = !is_spanned(0) && distinct_count(&groups[1..]) > 1 && (1..width).all(is_in_group);
        if !recurs && !are_groups {
            return None;
        }
        let facts = column_facts(separator, &text[third..], width, 0..width, options, nulls);
        let (head, _) = separator.records(below, None);
        let is_above = |position: &usize| {
            let (field, below_it) = (&head.fields[*position..=*position], &facts[*position..=*position]);
            stands_above(below, field, below_it, nulls)
        };
        let spanned = || (0..width).filter(|position| is_spanned(*position));
        let are_words = spanned().all(|position| columns[position].contains(char::is_alphabetic));
        let are_most_above = || recurs && (0..width).filter(is_above).count() * 2 > width;
        let are_names = are_words && (spanned().all(|position| is_above(&position)) || are_most_above());
        are_names.then_some(Self { names: groups, end: second })
    }

    /// Returns the note that says how these names were formed.
    pub(crate) fn note(names: &[String]) -> Option<String> {
        let last = names.last()?;
        Some(format!("the header has two lines, whose texts are joined: {}; --skip leaves lines out", shown(last)))
    }

    /// The names of the columns, each after that of its group. `None` if there are other columns.
    pub(crate) fn names_with(&self, columns: &[String]) -> Option<Vec<String>> {
        (self.names.len() == columns.len()).then(|| joined(&self.names, columns))
    }
}

fn joined(groups: &[String], columns: &[String]) -> Vec<String> {
    let name = |(group, column): (&String, &String)| match (group.trim(), column.trim()) {
        ("", column) => column.to_owned(),
        (group, column) if column.is_empty() || column == group => group.to_owned(),
        (group, column) => format!("{group} {column}"),
    };
    groups.iter().zip(columns).map(name).collect()
}

/// The number of different texts that are not empty.
fn distinct_count(names: &[String]) -> usize {
    names.iter().filter(|name| !name.is_empty()).collect::<HashSet<_>>().len()
}

/// The fields of a record, if each of them is a text or empty.
fn texts_of(separator: Separator, record: &[u8], nulls: &NullTexts) -> Option<Vec<String>> {
    let (read, _) = separator.records(&record[..separator.first_end(record)], None);
    let are_texts = kinds_of(record, &read.fields, nulls).iter().all(|kinds| matches!(*kinds, 0 | kind::TEXT));
    let text = |field: &Field| String::from_utf8_lossy(field.bytes(record)).trim().to_owned();
    are_texts.then(|| read.fields.iter().map(text).collect())
}

/// An empty field belongs to the group before it.
fn filled(names: &[String]) -> Vec<String> {
    let mut group = String::new();
    let mut filled = Vec::with_capacity(names.len());
    for name in names {
        if !name.is_empty() {
            group.clone_from(name);
        }
        filled.push(group.clone());
    }
    filled
}
