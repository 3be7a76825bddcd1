//! A series as text, `metric{name="value",...}`: how it is stored, and shown.

/// The label that holds a metric's name.
pub const METRIC_NAME: &str = "__name__";

/// Returns whether a metric's name can be written before the braces. Other names are written as a quoted string inside
/// them.
pub(super) fn is_plain_metric(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}

/// Returns whether a label's name can be written without quotes.
fn is_plain_label(name: &str) -> bool {
    is_plain_metric(name) && !name.contains(':')
}

/// Appends a text in double quotes, with `\`, `"` and line ends escaped.
fn quote(text: &mut String, value: &str) {
    text.push('"');
    if value.bytes().any(|byte| matches!(byte, b'"' | b'\\' | b'\n')) {
        for letter in value.chars() {
            match letter {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
    } else {
        text.push_str(value);
    }
    text.push('"');
}

/// Appends the text of a series. Its labels are sorted by name; the metric's name may be among them.
pub fn write_series<'a>(text: &mut String, labels: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    let metric = labels.clone().find(|label| label.0 == METRIC_NAME).map_or("", |label| label.1);
    let plain = is_plain_metric(metric);
    if plain {
        text.push_str(metric);
    }
    let mut first = true;
    let mut separate = |text: &mut String| {
        text.push(if first { '{' } else { ',' });
        first = false;
    };
    if !plain && !metric.is_empty() {
        separate(text);
        quote(text, metric);
    }
    for (name, value) in labels {
        if name == METRIC_NAME {
            continue;
        }
        separate(text);
        if is_plain_label(name) {
            text.push_str(name);
        } else {
            quote(text, name);
        }
        text.push('=');
        quote(text, value);
    }
    if !first {
        text.push('}');
    } else if metric.is_empty() {
        text.push_str("{}");
    }
}
