//! Remarks on a query that do not end it.

use std::collections::BTreeMap;

/// A remark, or the parts of one that is merged over many samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Detail {
    None,
    /// Buckets that were not monotonic: smallest and largest bound, largest difference, how many samples were added,
    /// first and last time.
    Monotonicity {
        buckets: (f64, f64),
        difference: f64,
        count: usize,
        times: (i64, i64),
    },
}

/// The remarks of a query. Each text is reported once for each position in the query.
#[derive(Debug, Default)]
pub(super) struct Notes {
    warnings: BTreeMap<String, (usize, Detail)>,
    infos: BTreeMap<String, (usize, Detail)>,
}

impl Notes {
    /// Adds a warning. `offset` is where in the query, in bytes.
    pub(super) fn warn(&mut self, offset: usize, message: String) {
        self.warnings.entry(message).or_insert((offset, Detail::None));
    }

    /// Adds a note about something that may be wrong.
    pub(super) fn inform(&mut self, offset: usize, message: String, detail: Detail) {
        let entry = self.infos.entry(message).or_insert_with(|| (offset, detail.clone()));
        if let (
            Detail::Monotonicity { buckets, difference, count, times },
            Detail::Monotonicity { buckets: more, difference: other, times: (time, _), .. },
        ) = (&mut entry.1, &detail)
        {
            *buckets = (buckets.0.min(more.0), buckets.1.max(more.1));
            *difference = difference.max(*other);
            *count += 1;
            *times = (times.0.min(*time), times.1.max(*time));
        }
    }

    /// Warnings and infos in the form in which they are shown, with line and column.
    pub(super) fn shown(self, line_and_column: impl Fn(usize) -> (usize, usize)) -> (Vec<String>, Vec<String>) {
        let show = |kind: &str, notes: BTreeMap<String, (usize, Detail)>| {
            let shown = notes.into_iter().map(|(message, (start, detail))| {
                let (line, column) = line_and_column(start);
                format!("PromQL {kind}: {message}{} ({line}:{column})", shown_detail(&detail))
            });
            shown.collect()
        };
        (show("warning", self.warnings), show("info", self.infos))
    }
}

fn shown_detail(detail: &Detail) -> String {
    let Detail::Monotonicity { buckets, difference, count, times } = detail else { return String::new() };
    format!(
        ", from buckets {} to {}, with a max diff of {}, over {count} samples from {} to {}",
        buckets.0,
        buckets.1,
        two_digits(*difference),
        super::dates::rfc3339(times.0),
        super::dates::rfc3339(times.1),
    )
}

/// A number with two significant digits, as `%.2g` of C writes it.
fn two_digits(value: f64) -> String {
    let text = format!("{value:.1e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if (-4..2).contains(&exponent) {
        let digits = usize::try_from(1 - exponent).unwrap_or_default();
        let plain = format!("{value:.digits$}");
        return if plain.contains('.') { plain.trim_end_matches('0').trim_end_matches('.').to_owned() } else { plain };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
