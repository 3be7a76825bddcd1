//! Recognises YAML, and configuration files such as INI and TOML, by their first lines. All of the lines must be like
//! this, because titles above separated values, too, may be written as `name: value`. The caller shows more lines
//! of a file whose first ones are.

use crate::input::format::HEAD_BYTES;
use std::collections::HashSet;

/// Returns what a text is that begins with `head`, in words such as `is YAML`, and a hint. `None` unless it is YAML or
/// a configuration file.
pub(crate) fn settings_format(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = std::str::from_utf8(&head[..whole_bytes(head)]).ok()?;
    let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    if are_sections(&lines) {
        let hint = "write the values that it holds as CSV or JSON; --format csv reads it as separated values";
        Some(("is a configuration file", hint))
    } else if is_yaml(&lines) {
        Some(("is YAML", "convert it to JSON: yq -o json . FILE; --format csv reads it as separated values"))
    } else {
        None
    }
}

/// Returns the number of bytes without the last line, if that may be cut off.
fn whole_bytes(head: &[u8]) -> usize {
    // Blanks at the beginning of the file are not part of the head.
    let is_whole = (head.len() as u64) + 64 < HEAD_BYTES;
    if is_whole { head.len() } else { memchr::memrchr(b'\n', head).map_or(0, |end| end + 1) }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', ';'])
}

/// Returns whether the first line is `[section]`, and all others are sections, too, or `name = value`, at least once.
fn are_sections(lines: &[&str]) -> bool {
    let is_word = |text: &str| {
        let word = text.trim();
        word.starts_with(|first: char| first.is_alphabetic() || first == '_') && !word.contains([',', ';', '\t', '|'])
    };
    let is_section = |line: &str| {
        let name = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        name.is_some_and(|name| is_word(name.trim_matches(['[', ']'])))
    };
    let is_setting = |line: &str| line.split_once('=').is_some_and(|(name, _)| is_word(name));
    lines.first().is_some_and(|first| is_section(first))
        && lines.iter().any(|line| is_setting(line))
        && lines.iter().all(|line| is_section(line) || is_setting(line))
}

/// Returns whether the lines are those of a document of YAML: after `---`, or keys, each of them once, with what
/// belongs to them.
fn is_yaml(lines: &[&str]) -> bool {
    let (is_marked, lines) = match lines {
        [first, rest @ ..] if first.trim_end() == "---" => (true, rest),
        lines => (false, lines),
    };
    let key = |line: &str| -> Option<String> {
        let (key, value) = line.split_once(':')?;
        let is_word = key.starts_with(|first: char| first.is_alphabetic())
            && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'));
        (is_word && (value.is_empty() || value.starts_with(' '))).then(|| key.to_owned())
    };
    let without_dash = |line: &str| line.trim_start().trim_start_matches("- ").trim_start().to_owned();
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    let is_inside = |line: &str| line.starts_with(' ') || is_item(line);
    let Some(first) = lines.first() else { return false };
    if is_marked {
        return key(&without_dash(first)).is_some() || is_item(first);
    }
    let is_list = is_item(first);
    let has_keys = |line: &&str| key(&without_dash(line)).is_some();
    if is_list {
        return lines.len() > 1 && lines.iter().all(|line| is_inside(line) && has_keys(line));
    }
    // An indented line belongs to a key without a value, or with the beginning of one of several lines.
    let may_go_on = |line: &str| {
        let value = line.split_once(':').map(|(_, value)| value.trim());
        value.is_some_and(|value| value.is_empty() || value.starts_with(['|', '>', '&', '!', '#', '[', '{', '"', '\'']))
    };
    if lines.windows(2).any(|pair| !is_inside(pair[0]) && is_inside(pair[1]) && !may_go_on(pair[0])) {
        return false;
    }
    let (inside, tops): (Vec<&str>, Vec<&str>) = lines.iter().copied().partition(|line| is_inside(line));
    let keys: HashSet<String> = tops.iter().filter_map(|line| key(line)).collect();
    let are_keys = !tops.is_empty() && keys.len() == tops.len() && key(first).is_some();
    are_keys && lines.len() > 1 && (tops.len() > 1 || inside.iter().any(has_keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_by_their_lines() {
        for (text, wanted) in [
            ("---\n- a\n- b\n", "is YAML"),
            ("---\ntime: 1\nv: 2\n", "is YAML"),
            ("station: Berlin\nheight: 34\nvalues:\n  - 1\n  - 2\n", "is YAML"),
            ("values:\n  - time: 1\n    v: 2\n", "is YAML"),
            ("- time: 1\n  v: 2\n- time: 2\n  v: 3\n", "is YAML"),
            ("a: b\ntext: |\n  c\n  d\nlist: # none\n  - 1\n", "is YAML"),
            ("# a remark\n[station]\nname=Berlin\n\n[values]\n; none\nv = 1\n", "is a configuration file"),
            ("[[sensor]]\nname = \"a\"\n", "is a configuration file"),
        ] {
            assert_eq!(settings_format(text.as_bytes()).map(|(what, _)| what), Some(wanted), "{text}");
        }
        for text in [
            "time,v\n2024-01-01,1\n",
            "Station: Berlin\nHeight: 34 m\n\ntime,v\n2024-01-01,1\n",
            "Station: Berlin\nHeight: 34 m\n 1 2.5\n 2 3.5\n",
            "[Header]\nDate=2024-01-01\n[Data]\ntime,v\n2024-01-01,1\n",
            "INFO: began\nINFO: ended\n",
            "time:\n  12\n  13\n",
            "12:30: began\n12:31: ended\n",
            "[a],b\n[c],d\n",
            "--- \n",
            "v\n- 5\n- 6\n",
            "name:\n",
        ] {
            assert_eq!(settings_format(text.as_bytes()), None, "{text}");
        }
    }
}
