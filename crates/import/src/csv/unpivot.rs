//! Columns that become rows: a record of `time,a,b` becomes two, with the time, the name of a column, and its value.

use crate::facts::nulls::NullTexts;
use crate::options::Options;
use crate::records::{Field, Records};
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Error, Result};

/// How the records of one file become longer and narrower.
#[derive(Debug, Clone)]
pub(crate) struct Unpivot {
    /// The number of fields of a record in the file.
    pub(crate) width: usize,
    /// The positions and names of the columns that become rows.
    columns: Vec<(usize, String)>,
    /// The positions of the other columns.
    kept: Vec<usize>,
    nulls: NullTexts,
}

impl Unpivot {
    /// Finds the columns in a file, whose names are replaced by those of the new records: the other columns, the name
    /// and the value. `None` if the options name no such columns, or the file is empty.
    pub(crate) fn of(
        file: &str,
        names: &mut Vec<String>,
        options: &Options,
        nulls: &NullTexts,
    ) -> Result<Option<Self>> {
        let Some(choice) = options.unpivot.as_ref().filter(|_| !names.is_empty()) else { return Ok(None) };
        if !options.columns.is_empty() {
            return Err(Error::usage("columns that become rows cannot be chosen as columns")
                .with_hint("leave out --columns; --omit leaves columns out"));
        }
        let is_named = |name: &String| !name.is_empty() && choice.columns.iter().any(|pattern| matches(pattern, name));
        for pattern in &choice.columns {
            if !names.iter().any(|name| !name.is_empty() && matches(pattern, name)) {
                let error = unknown_name("column", pattern, names.iter().map(String::as_str));
                return Err(error.context(format_args!("--unpivot: {file}")));
            }
        }
        let (columns, kept): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|at| is_named(&names[*at]));
        let columns: Vec<(usize, String)> = columns.into_iter().map(|at| (at, names[at].clone())).collect();
        let mut new_names: Vec<String> = kept.iter().map(|at| names[*at].clone()).collect();
        for new in [&choice.name, &choice.value] {
            if new_names.iter().any(|name| same_name(name, new)) {
                return Err(Error::usage(format!("{file}: there are two columns named {new}"))
                    .with_hint("name the new columns: --into NAME,VALUE"));
            }
            new_names.push(new.clone());
        }
        let width = std::mem::replace(names, new_names).len();
        Ok(Some(Self { width, columns, kept, nulls: nulls.clone() }))
    }

    /// The new records. The names of the columns are appended to the text. A field that is empty, or that means NULL,
    /// makes no record.
    pub(crate) fn expand(&self, text: &mut String, wide: &Records) -> Records {
        let names: Vec<Field> = self.columns.iter().map(|(_, name)| appended(text, name)).collect();
        let (comment_count, header_count) = (wide.comment_count, wide.header_count);
        let width = self.kept.len() + 2;
        let mut long = Records { width, comment_count, header_count, ..Records::default() };
        for (record, start) in wide.fields.chunks_exact(wide.width.max(1)).zip(&wide.starts) {
            for ((position, _), name) in self.columns.iter().zip(&names) {
                let value = record[*position];
                if !value.is_quoted() && self.nulls.null(value, text.as_bytes()).is_some() {
                    continue;
                }
                long.fields.extend(self.kept.iter().map(|kept| record[*kept]));
                long.fields.extend([*name, value]);
                long.starts.push(*start);
            }
        }
        long
    }
}

fn appended(text: &mut String, name: &str) -> Field {
    let start = text.len();
    text.push_str(name);
    Field::quoted(start, text.len(), false)
}

/// Returns whether a name fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return same_name(pattern, name) };
    let (rest, name) = (rest.to_lowercase(), name.to_lowercase());
    let Some(mut left) = name.strip_prefix(&start.to_lowercase()) else { return false };
    let (inner, end) = rest.rsplit_once('*').unwrap_or(("", &rest));
    for part in inner.split('*') {
        match left.find(part) {
            Some(found) => left = &left[found + part.len()..],
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in
            [("*", "a"), ("s*", "S1"), ("*_c", "t_c"), ("a*b*c", "axxbyc"), ("a", "A"), ("a*a", "aa")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("s*", "time"), ("*_c", "t_d"), ("a*b*c", "acb"), ("a*a", "a"), ("ab", "abc")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
