//! Reading the text of a series.

use super::set::{Label, Labels};
use super::text::{METRIC_NAME, is_plain_metric};
use std::sync::Arc;

/// Reads a text that [`write_series`](super::write_series) wrote; `None` for any other text.
pub fn read_series(text: &str) -> Option<Labels> {
    let open = text.find('{').unwrap_or(text.len());
    let mut labels: Vec<Label> = Vec::new();
    if open > 0 {
        if !is_plain_metric(&text[..open]) {
            return None;
        }
        labels.push((METRIC_NAME.into(), text[..open].into()));
    }
    let mut rest = &text[open..];
    if !rest.is_empty() {
        rest = rest.strip_prefix('{')?;
        while !rest.starts_with('}') {
            let name: Arc<str> = if rest.starts_with('"') {
                unquote(&mut rest)?.into()
            } else {
                let end = rest.find('=')?;
                let name = &rest[..end];
                rest = &rest[end..];
                name.into()
            };
            if let Some(after) = rest.strip_prefix('=') {
                rest = after;
                labels.push((name, unquote(&mut rest)?.into()));
            } else {
                labels.push((METRIC_NAME.into(), name));
            }
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        if rest != "}" {
            return None;
        }
    }
    labels.sort_unstable();
    Some(Labels::from_sorted(labels))
}

/// Removes a quoted text from the front and returns it.
fn unquote(rest: &mut &str) -> Option<String> {
    let body = rest.strip_prefix('"')?;
    let mut text = String::new();
    let mut letters = body.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                *rest = &body[at + 1..];
                return Some(text);
            }
            '\\' => text.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_survives_its_text() {
        for pairs in [
            vec![],
            vec![("__name__", "up")],
            vec![("__name__", "up"), ("job", "a\"b\\c\nd,}={")],
            vec![("__name__", "http.requests total"), ("job", "x")],
            vec![("__name__", "http.requests total")],
            vec![("dotted.label", "1"), ("job", "x")],
            vec![("__name__", "a:b:c"), ("__aaa__", "before the name")],
        ] {
            let labels = Labels::new(pairs);
            let text = labels.to_string();
            assert_eq!(read_series(&text).as_ref(), Some(&labels), "{text}");
        }
        assert_eq!(Labels::new([("job", "x"), ("__name__", "up"), ("zone", "")]).to_string(), "up{job=\"x\"}");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["up{", "up{job}", "up{job=\"x", "up{job=\"x\"}x", "a b", "up{job=x}", "{job=\"x\",\\"] {
            assert_eq!(read_series(text), None, "{text}");
        }
    }
}
