//! Rows from an export: each of its lines is one field of one series, with all its values and times.

use super::metricsql::metric;
use crate::contestants::json_scan::{Scalar, Scanner};
use crate::contestants::line_protocol::Role;
use crate::contestants::series::SeriesTable;
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::failure::Failure;
use std::collections::BTreeMap;

/// The exported lines of a range of times, sorted by series.
pub(super) struct ExportedRows<'a> {
    table: &'a SeriesTable,
    /// The name of each field's metric, and the field's position.
    fields: BTreeMap<String, usize>,
    /// The samples of each field, by the values of tags in the order of the table's columns.
    series: BTreeMap<Vec<Option<String>>, Vec<Samples>>,
}

/// The samples of one field of one series, in the order of their times, which are in milliseconds.
#[derive(Default, Clone)]
struct Samples {
    times: Vec<i64>,
    values: Vec<f64>,
    next: usize,
}

impl Samples {
    fn time(&self) -> Option<i64> {
        self.times.get(self.next).copied()
    }
}

impl<'a> ExportedRows<'a> {
    /// Creates an empty set for a table.
    pub(super) fn new(table: &'a SeriesTable) -> Self {
        let fields = table.fields().enumerate().map(|(place, field)| (metric(table, &field.name), place)).collect();
        Self { table, fields, series: BTreeMap::new() }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: &str) -> Result<(), Failure> {
        let mut scanner = Scanner::new(line);
        let cut_off = || Failure::wrong("a line of VictoriaMetrics' export has no samples");
        if !scanner.find("metric") {
            return Err(cut_off());
        }
        let mut labels: BTreeMap<String, String> = scanner.object_of_texts()?.into_iter().collect();
        let mut samples = Samples::default();
        if !scanner.find("values") {
            return Err(cut_off());
        }
        scanner.list(|scanner| {
            let Scalar::Number(number) = scanner.scalar()? else { return Err(cut_off()) };
            samples.values.push(number.parse().map_err(Failure::broken)?);
            Ok(())
        })?;
        if !scanner.find("timestamps") {
            return Err(cut_off());
        }
        scanner.list(|scanner| {
            let Scalar::Number(number) = scanner.scalar()? else { return Err(cut_off()) };
            samples.times.push(number.parse().map_err(Failure::broken)?);
            Ok(())
        })?;
        let name = labels.remove("__name__").unwrap_or_default();
        let place = *self.fields.get(&name).ok_or_else(|| Failure::wrong(format!("an export has a metric {name}")))?;
        let tags = self.table.columns.iter().filter(|column| column.role == Role::Tag);
        let tags = tags.map(|column| labels.remove(&column.name)).collect();
        let fields = self.series.entry(tags).or_insert_with(|| vec![Samples::default(); self.fields.len()]);
        // A series may be in several lines, one after another.
        fields[place].times.append(&mut samples.times);
        fields[place].values.append(&mut samples.values);
        Ok(())
    }

    /// Adds the rows to a digest: the samples of a series' fields that have one time are a row.
    pub(super) fn add_to(self, digest: &mut RowDigest) -> Result<(), Failure> {
        let per_second = self.table.per_second;
        for (tags, mut fields) in self.series {
            while let Some(time) = fields.iter().filter_map(Samples::time).min() {
                let (mut tags, mut number) = (tags.iter(), 0);
                let mut samples = fields.iter_mut();
                for column in &self.table.columns {
                    let cell = match column.role {
                        Role::Time => integer_cell(time / (1_000 / per_second)),
                        Role::Tag => match tags.next() {
                            Some(Some(text)) => text_cell(text.as_bytes()),
                            _ => null_cell(),
                        },
                        role => match samples.next().filter(|samples| samples.time() == Some(time)) {
                            Some(samples) => take(samples, role)?,
                            None => null_cell(),
                        },
                    };
                    number = fold(number, cell);
                }
                digest.add_row(number);
            }
        }
        Ok(())
    }
}

/// The number of the next sample's value.
fn take(samples: &mut Samples, role: Role) -> Result<u64, Failure> {
    let value = samples.values.get(samples.next).copied().unwrap_or(f64::NAN);
    samples.next += 1;
    if samples.time() == samples.times.get(samples.next - 1).copied() {
        return Err(Failure::cannot(
            "has several values of one series and one time, and no rows that say which belong together",
        ));
    }
    Ok(match role {
        Role::Float => value.to_bits(),
        _ => integer_cell(value as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::series::catalogue::SeriesColumn;

    fn table() -> SeriesTable {
        let column = |(name, role): (&str, Role)| SeriesColumn { name: name.to_owned(), role, nullable: true };
        let columns = [("time", Role::Time), ("host", Role::Tag), ("load", Role::Float), ("count", Role::Integer)];
        let (columns, key) = (columns.map(column).to_vec(), Vec::new());
        SeriesTable { name: "cpu".to_owned(), columns, per_second: 1, key, rows: 0, times: None }
    }

    fn digest(lines: &[&str]) -> Result<RowDigest, Failure> {
        let (table, mut digest) = (table(), RowDigest::default());
        let mut rows = ExportedRows::new(&table);
        lines.iter().try_for_each(|line| rows.add(line))?;
        rows.add_to(&mut digest)?;
        Ok(digest)
    }

    #[test]
    fn samples_of_one_time_are_a_row() {
        let load = r#"{"metric":{"__name__":"cpu_load","host":"a"},"values":[0.5,1.5],"timestamps":[1000,3000]}"#;
        let count = r#"{"metric":{"__name__":"cpu_count","host":"a"},"values":[7,8],"timestamps":[1000,2000]}"#;
        let mut expected = RowDigest::default();
        let host = text_cell(b"a");
        for (time, load, count) in [
            (1, 0.5_f64.to_bits(), integer_cell(7)),
            (2, null_cell(), integer_cell(8)),
            (3, 1.5_f64.to_bits(), null_cell()),
        ] {
            expected.add_row([integer_cell(time), host, load, count].into_iter().fold(0, fold));
        }
        assert_eq!(digest(&[load, count]).expect("rows"), expected);
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let twice = r#"{"metric":{"__name__":"cpu_load","host":"a"},"values":[1,2],"timestamps":[1000,1000]}"#;
        assert!(matches!(digest(&[twice]), Err(Failure::Cannot(_))));
        assert!(digest(&[r#"{"metric":{"__name__":"mem_load"},"values":[1],"timestamps":[1]}"#]).is_err());
        assert!(digest(&[r#"{"metric":{"__name__":"cpu_load"},"values":[1"#]).is_err());
    }
}
