//! Lines that describe series: `metric{label="value"} 0+10x5 _ stale`.

use atsdb_prom::evaluate::STALE_BITS;
use atsdb_prom::histogram::Histogram;
use atsdb_prom::labels::Labels;
use atsdb_prom::promql::{ExprKind, parse, parse_selector};
use std::sync::Arc;

/// One item of a sequence of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Gap,
    Value(f64),
    /// A native histogram, and whether its hint is given.
    Histogram(Arc<Histogram>, bool),
}

/// Parses a signed number or duration.
pub(crate) fn number(text: &str) -> Option<f64> {
    match parse(text).ok()?.kind {
        ExprKind::Number(number) => Some(number),
        _ => None,
    }
}

fn labels(text: &str) -> Labels {
    let text = text.trim();
    if text.is_empty() || text == "{}" {
        return Labels::default();
    }
    // With a condition that is never empty, every set of labels is a valid selector.
    let (name, rest) = text.split_once('{').unwrap_or((text, "}"));
    let selector = parse_selector(&format!("{{never=\"empty\",{rest}"))
        .or_else(|_| parse_selector(&format!("{{never=\"empty\"{rest}")))
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let pairs = selector.matchers.iter().filter(|matcher| matcher.name != "never");
    let pairs = pairs.map(|matcher| (matcher.name.clone(), matcher.value.clone()));
    let name = (!name.trim().is_empty()).then(|| ("__name__".to_owned(), name.trim().to_owned()));
    Labels::new(pairs.chain(name))
}

/// Returns the end of the labels in a line.
fn end_of_labels(line: &str) -> usize {
    let open = line.find('{');
    let space = line.find([' ', '\t']).unwrap_or(line.len());
    let Some(open) = open.filter(|open| *open < space && !line[*open..].starts_with("{{")) else { return space };
    let mut quote = None;
    let mut escaped = false;
    for (place, letter) in line.char_indices().skip_while(|(place, _)| *place < open) {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '}') => return place + 1,
            _ => {}
        }
    }
    panic!("no end of labels: {line}");
}

/// Returns whether a line has the start times of counters.
pub(crate) fn is_start_line(line: &str) -> bool {
    line.split([' ', '\t']).next().is_some_and(|first| first.ends_with("@st"))
}

pub(crate) fn parse_series(line: &str) -> (Labels, Vec<Item>) {
    let end = end_of_labels(line);
    let mut items = Vec::new();
    let mut rest = line[end..].trim_start();
    while !rest.is_empty() {
        let end = if rest.starts_with("{{") {
            let mut end = rest.find("}}").unwrap() + 2;
            while rest[end..].starts_with("+{{") || rest[end..].starts_with("-{{") {
                end += rest[end..].find("}}").unwrap() + 2;
            }
            end + rest[end..].find([' ', '\t']).unwrap_or(rest.len() - end)
        } else {
            rest.find([' ', '\t']).unwrap_or(rest.len())
        };
        sequence(&rest[..end], &mut items);
        rest = rest[end..].trim_start();
    }
    (labels(&line[..end]), items)
}

fn sequence(word: &str, items: &mut Vec<Item>) {
    let (body, times) = match word.rsplit_once('x') {
        Some((body, times)) if times.bytes().all(|byte| byte.is_ascii_digit()) && !times.is_empty() => {
            (body, Some(times.parse::<usize>().unwrap()))
        }
        _ => (word, None),
    };
    let count = times.map_or(1, |times| times + 1);
    if body == "_" {
        items.extend(std::iter::repeat_n(Item::Gap, times.unwrap_or(1)));
    } else if body.starts_with("{{") {
        super::literals::sequence(body, count, items);
    } else if body == "stale" {
        items.extend(std::iter::repeat_n(Item::Value(f64::from_bits(STALE_BITS)), count));
    } else if let Some(value) = number(body) {
        items.extend(std::iter::repeat_n(Item::Value(value), count));
    } else {
        // A value and the increment.
        let bytes = body.as_bytes();
        let place = (1..body.len())
            .find(|place| matches!(bytes[*place], b'+' | b'-') && !matches!(bytes[place - 1], b'e' | b'E'))
            .unwrap_or_else(|| panic!("not a value: {word}"));
        let (mut value, step) = (number(&body[..place]).unwrap(), number(&body[place..]).unwrap());
        for _ in 0..count {
            items.push(Item::Value(value));
            value += step;
        }
    }
}
