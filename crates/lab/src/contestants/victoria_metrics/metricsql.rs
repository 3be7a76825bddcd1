//! Questions in MetricsQL. A question's times become windows, each ending a millisecond before the next begins: a
//! window contains its end and not its begin, and times are whole milliseconds. The incomplete buckets at both ends of
//! the question's range are separate windows.

use crate::contestants::line_protocol::Role;
use crate::contestants::series::{Aggregate, Item, Question, SeriesTable};
use crate::failure::Failure;

/// Windows of one length, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Windows {
    /// The first begins here, in milliseconds.
    pub(super) begin: i64,
    /// Their length in milliseconds.
    pub(super) length: i64,
    pub(super) count: i64,
    /// The start of the bucket that the first window is in.
    pub(super) bucket: i64,
}

impl Windows {
    /// The times at which they are queried: the first and the last, in milliseconds.
    pub(super) fn ends(self) -> (i64, i64) {
        let first = self.begin + self.length - 1;
        (first, first + (self.count - 1) * self.length)
    }
}

/// Returns the windows of a question about times from `begin` to `end`, in milliseconds: one for each bucket, if
/// `bucket` gives a width, else a single one.
pub(super) fn windows(begin: i64, end: i64, bucket: Option<i64>) -> Vec<Windows> {
    let Some(length) = bucket else {
        return vec![Windows { begin, length: end - begin, count: 1, bucket: begin }];
    };
    let (first, last) = (begin.div_euclid(length) * length, end.div_euclid(length) * length);
    let whole = if first == begin { first } else { first + length };
    let part = |begin: i64, end: i64, bucket: i64| Windows { begin, length: end - begin, count: 1, bucket };
    let all = [
        part(begin, whole.min(end), first),
        Windows { begin: whole, length, count: (last - whole) / length, bucket: whole },
        part(last.max(whole), end, last),
    ];
    all.into_iter().filter(|windows| windows.length > 0 && windows.count > 0).collect()
}

/// A time or a length of milliseconds, in seconds.
pub(super) fn seconds(milliseconds: i64) -> String {
    let (sign, count) = (if milliseconds < 0 { "-" } else { "" }, milliseconds.unsigned_abs());
    format!("{sign}{}.{:03}", count / 1_000, count % 1_000)
}

/// The query of a window for some columns of an answer.
#[derive(Debug, PartialEq)]
pub(super) struct WindowQuery {
    /// The positions of the columns, each with the metric that has its values, if one query has several.
    pub(super) columns: Vec<(usize, Option<String>)>,
    pub(super) text: String,
}

/// Returns the name of a field's metric.
pub(super) fn metric(table: &SeriesTable, field: &str) -> String {
    format!("{}_{field}", table.name)
}

/// The queries for the aggregates of a question, over windows of this length in milliseconds.
pub(super) fn aggregates(question: &Question, table: &SeriesTable, length: i64) -> Result<Vec<WindowQuery>, Failure> {
    if !question.above.is_empty() {
        return Err(Failure::cannot("has conditions of a series' own values, not of another field in the same row"));
    }
    let tags: Vec<&str> = question.group_tags().collect();
    let is_one_series = !table.key.is_empty() && table.key.iter().all(|tag| tags.contains(&tag.as_str()));
    let mut asked: Vec<WindowQuery> = Vec::new();
    for aggregate in [Aggregate::Min, Aggregate::Max, Aggregate::Mean] {
        // Those that keep the metrics' names are in one query, as is usual. A mean is one of them only if a
        // group is one series: a mean of means has no weights.
        if aggregate == Aggregate::Mean && !is_one_series {
            continue;
        }
        let columns = question.items.iter().enumerate().filter_map(|(position, item)| match item {
            Item::Aggregate(this, Some(field)) if *this == aggregate => Some((position, metric(table, field))),
            _ => None,
        });
        let columns: Vec<(usize, String)> = columns.collect();
        if columns.is_empty() {
            continue;
        }
        let names: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
        let selector = selector(&format!("__name__=~{}", regex(&names)), question, length);
        let name = if aggregate == Aggregate::Min {
            "min"
        } else if aggregate == Aggregate::Max {
            "max"
        } else {
            "avg"
        };
        let by = [["__name__"].as_slice(), tags.as_slice()].concat().join(", ");
        asked.push(WindowQuery {
            text: format!("{name}({name}_over_time({selector})) by ({by})"),
            columns: columns.into_iter().map(|(position, name)| (position, Some(name))).collect(),
        });
    }
    let by = if tags.is_empty() { String::new() } else { format!(" by ({})", tags.join(", ")) };
    for (position, item) in question.items.iter().enumerate() {
        let Item::Aggregate(aggregate, field) = item else { continue };
        let field = field.as_ref().map_or_else(|| table.counted().map(|field| &field.name), Ok)?;
        let selector = selector(&format!("__name__={}", quoted(&metric(table, field))), question, length);
        let total = |function: &str| format!("sum({function}_over_time({selector})){by}");
        let text = match aggregate {
            Aggregate::Count => total("count"),
            Aggregate::Sum => total("sum"),
            Aggregate::Mean if !is_one_series => format!("{} / {}", total("sum"), total("count")),
            Aggregate::Min | Aggregate::Max | Aggregate::Mean => continue,
        };
        asked.push(WindowQuery { columns: vec![(position, None)], text });
    }
    Ok(asked)
}

/// The queries for the last values of all fields and for their times, over a window of this length.
pub(super) fn last(question: &Question, table: &SeriesTable, length: i64) -> [String; 2] {
    let names: Vec<String> = table.fields().map(|field| metric(table, &field.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let selector = selector(&format!("__name__=~{}", regex(&names)), question, length);
    ["last_over_time", "tlast_over_time"].map(|function| format!("{function}({selector}) keep_metric_names"))
}

/// All fields of a table, of all series.
pub(super) fn all(table: &SeriesTable) -> String {
    let names: Vec<String> = table.fields().map(|field| metric(table, &field.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!("{{__name__=~{}}}", regex(&names))
}

fn selector(name: &str, question: &Question, length: i64) -> String {
    let tag = |(name, values): &(String, Vec<String>)| match values.as_slice() {
        [value] => format!("{name}={}", quoted(value)),
        values => format!("{name}=~{}", regex(&values.iter().map(String::as_str).collect::<Vec<_>>())),
    };
    let labels: Vec<String> = [name.to_owned()].into_iter().chain(question.tags.iter().map(tag)).collect();
    format!("{{{}}}[{length}ms]", labels.join(","))
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Returns a regular expression, in quotes, that matches one of these texts.
fn regex(texts: &[&str]) -> String {
    let escaped = |text: &&str| -> String {
        let letter = |letter: char| match letter.is_alphanumeric() || letter == '_' {
            true => vec![letter],
            false => vec!['\\', letter],
        };
        text.chars().flat_map(letter).collect()
    };
    quoted(&texts.iter().map(escaped).collect::<Vec<_>>().join("|"))
}

/// Checks that names can be those of metrics and labels without quotes.
pub(super) fn check_names(table: &SeriesTable) -> Result<(), Failure> {
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.as_bytes()[0].is_ascii_digit()
    };
    let names = table.columns.iter().filter(|column| column.role != Role::Time).map(|column| &column.name);
    match names.chain([&table.name]).find(|name| !is_plain(name)) {
        Some(name) => Err(Failure::cannot(format!("has names of letters, digits and underscores, not {name}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::series::catalogue::SeriesColumn;

    fn cpu(key: &[&str]) -> SeriesTable {
        let column = |(name, role): (&str, Role)| SeriesColumn { name: name.to_owned(), role, nullable: false };
        let columns = [("time", Role::Time), ("host", Role::Tag), ("load", Role::Float), ("idle", Role::Float)];
        let (columns, key) = (columns.map(column).to_vec(), key.iter().map(|tag| (*tag).to_owned()).collect());
        SeriesTable { name: "cpu".to_owned(), columns, per_second: 1, key, rows: 0, times: None }
    }

    fn texts(sql: &str, table: &SeriesTable) -> Vec<String> {
        let (question, _) = Question::read(sql, |_| Ok(table)).expect("a question");
        aggregates(&question, table, 60_000).expect("queries").into_iter().map(|asked| asked.text).collect()
    }

    #[test]
    fn windows_are_whole_buckets_and_what_is_cut_off() {
        let window = |begin, length, count, bucket| Windows { begin, length, count, bucket };
        assert_eq!(windows(0, 180, Some(60)), [window(0, 60, 3, 0)]);
        assert_eq!(windows(10, 130, Some(60)), [window(10, 50, 1, 0), window(60, 60, 1, 60), window(120, 10, 1, 120)]);
        assert_eq!(windows(10, 20, Some(60)), [window(10, 10, 1, 0)]);
        assert_eq!(windows(10, 60, Some(60)), [window(10, 50, 1, 0)]);
        assert_eq!(windows(50, 70, Some(60)), [window(50, 10, 1, 0), window(60, 10, 1, 60)]);
        assert_eq!(windows(10, 20, None), [window(10, 10, 1, 10)]);
        assert_eq!(window(60, 60, 3, 60).ends(), (119, 239));
        assert_eq!([-1, 61_999].map(seconds), ["-0.001", "61.999"]);
    }

    #[test]
    fn aggregates_of_many_series_have_their_weights() {
        let sql =
            "SELECT host, max(load), max(idle), avg(load), count(*) FROM cpu WHERE host IN ('a.b', 'c') GROUP BY host";
        let hosts = r#"host=~"a\\.b|c""#;
        let max =
            format!(r#"max(max_over_time({{__name__=~"cpu_load|cpu_idle",{hosts}}}[60000ms])) by (__name__, host)"#);
        let load = format!(r#"({{__name__="cpu_load",{hosts}}}[60000ms])) by (host)"#);
        let mean = format!("sum(sum_over_time{load} / sum(count_over_time{load}");
        let count = format!("sum(count_over_time{load}");
        assert_eq!(texts(sql, &cpu(&[])), [max.clone(), mean, count.clone()]);
        let mean = format!(r#"avg(avg_over_time({{__name__=~"cpu_load",{hosts}}}[60000ms])) by (__name__, host)"#);
        assert_eq!(texts(sql, &cpu(&["host"])), [max, mean, count], "a group is one series");
        let all = [r#"sum(sum_over_time({__name__="cpu_idle"}[60000ms]))"#];
        assert_eq!(texts("SELECT sum(idle) FROM cpu", &cpu(&["host"])), all);
    }

    #[test]
    fn names_that_would_need_quotes_are_refused() {
        assert!(check_names(&cpu(&[])).is_ok());
        for name in ["", "a b", "1a", "ü"] {
            assert!(check_names(&SeriesTable { name: name.to_owned(), ..cpu(&[]) }).is_err(), "{name}");
        }
    }
}
