//! Well-known formats that are not supported and would only make meaningless columns. They are recognised by a file's
//! beginning and refused with a hint.

use crate::input::content::without_mark;
use crate::input::format::{HEAD_BYTES, has_types, says_json};
use crate::input::settings::settings_format;
use crate::values::numbers::is_number;
use atsdb_core::{Error, Result};

/// Refuses a file of such a format by its beginning. Texts are refused only if the caller names no format, and by what
/// `look_on` returns if they go on: a long list of settings may be the titles above a table.
pub(crate) fn refuse_unreadable(
    name: &str,
    head: &[u8],
    is_format_open: bool,
    look_on: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<()> {
    let (what, hint) = match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => (
            "is UTF-32".to_owned(),
            "convert it on the way: iconv -f UTF-32 -t UTF-8 FILE | atsdb import URL TABLE -".to_owned(),
        ),
        [b'B', b'Z', b'h', ..] => (
            "is compressed with bzip2".to_owned(),
            "unpack it on the way: bzcat FILE | atsdb import URL TABLE -".to_owned(),
        ),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => (
            "is compressed with xz".to_owned(),
            "unpack it on the way: xzcat FILE | atsdb import URL TABLE -".to_owned(),
        ),
        head if head.get(257..262) == Some(b"ustar".as_slice()) => {
            ("is a tar archive".to_owned(), format!("unpack it on the way: tar -xOf {name} | atsdb import URL TABLE -"))
        }
        head if head.starts_with(b"SQLite format 3\0") => (
            "is an SQLite database".to_owned(),
            format!("name a table of it: atsdb import URL TABLE 'sqlite:{name}#TABLE'"),
        ),
        head => {
            let is_open = is_format_open && !has_types(head);
            let mut found = unreadable_text(head, says_json(name)).filter(|_| is_open);
            if found.is_some() && head.len() as u64 >= HEAD_BYTES {
                found = unreadable_text(&look_on()?, says_json(name));
            }
            match found {
                Some((what, hint)) => (what.to_owned(), hint.to_owned()),
                None => return Ok(()),
            }
        }
    };
    Err(Error::usage(format!("{name} {what}")).with_hint(hint))
}

const UTF_16: &str = "seems to be UTF-16 without a byte order mark";

/// Returns what a text that cannot be imported is, in words such as `is XML`, and a hint. `None` if it may be imported.
/// `is_json` says that its extension is one of JSON.
fn unreadable_text(head: &[u8], is_json: bool) -> Option<(&'static str, &'static str)> {
    const EXPORT: &str = "export its rows as CSV";
    let bare = without_mark(head);
    let head = bare.trim_ascii_start();
    match head {
        _ if head.starts_with(b"%PDF-") => Some(("is a PDF document", EXPORT)),
        _ if has_zero_in(bare, 1) => Some((UTF_16, "pass --encoding utf-16le")),
        _ if has_zero_in(bare, 0) => Some((UTF_16, "pass --encoding utf-16be")),
        _ if is_binary(bare) => Some((
            "is neither text nor in a known format",
            "if it is text, name its encoding, such as --encoding utf-16le or --encoding latin1",
        )),
        _ if begins_with(head, "<!doctype html") || begins_with(head, "<html") => {
            Some(("is an HTML page", "fetch the file itself: a server may answer with a page that reports an error"))
        }
        _ if begins_with(head, "<?xml") || is_markup(head) => Some(("is XML", EXPORT)),
        _ if is_json && is_json_value(head) => {
            Some(("is a JSON value, not a list of records", "write an object, or a list of objects or lists"))
        }
        _ if is_sql(head) => Some(("is a script of SQL", "run it: atsdb sql URL -f FILE")),
        _ if is_metrics(head) => Some((
            "is a page of metrics in Prometheus's text format",
            "let Prometheus scrape it and send it to atsdb serve by remote write; --format csv reads its lines as text",
        )),
        _ if is_drawn_table(head) => {
            Some(("is a table drawn for people", "write CSV: psql --csv, mysql --batch, .mode csv, atsdb --format csv"))
        }
        _ => settings_format(head),
    }
}

/// Returns whether nearly all bytes of one half of each pair, and nearly none of the other half, are zero.
fn has_zero_in(head: &[u8], half: usize) -> bool {
    let zero_count = |half: usize| head.iter().skip(half).step_by(2).filter(|byte| **byte == 0).count();
    let pair_count = head.len() / 2;
    pair_count >= 4 && zero_count(half) * 10 > pair_count * 7 && zero_count(1 - half) * 10 < pair_count
}

/// Returns whether there are bytes of zero, and bytes that are not UTF-8. The last character may be cut off.
fn is_binary(head: &[u8]) -> bool {
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
    head.contains(&0) && !std::str::from_utf8(head).map_or_else(is_cut, |_| true)
}

fn begins_with(head: &[u8], start: &str) -> bool {
    head.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// Returns whether a text begins with an element of markup. Names of columns in angle brackets (`<DATE>,<OPEN>`) are no
/// elements.
fn is_markup(head: &[u8]) -> bool {
    let is_open = matches!(head, [b'<', letter, ..] if letter.is_ascii_alphabetic()) || head.starts_with(b"<!--");
    is_open && (memchr::memmem::find(head, b"</").is_some() || memchr::memmem::find(head, b"/>").is_some())
}

/// Returns whether the first line is a JSON text, a number, true, false or null.
fn is_json_value(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head).trim_ascii();
    let is_text = line.len() > 1 && line.starts_with(b"\"") && line.ends_with(b"\"");
    is_text || matches!(line, b"true" | b"false" | b"null") || is_number(line)
}

/// Returns whether the first statement, after comments, is one of those that scripts and dumps begin with.
fn is_sql(head: &[u8]) -> bool {
    const STARTS: [&str; 13] = [
        "create table ",
        "create database ",
        "create schema ",
        "create extension ",
        "drop table ",
        "insert into ",
        "begin;",
        "begin transaction;",
        "start transaction;",
        "pragma ",
        "set ",
        "use ",
        "copy (",
    ];
    let is_comment = |line: &&[u8]| line.is_empty() || line.starts_with(b"--") || line.starts_with(b"/*");
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).skip_while(is_comment);
    let Some(first) = lines.next() else { return false };
    memchr::memchr(b';', head).is_some()
        && STARTS.iter().any(|start| begins_with(first, start) && is_ended(first, start))
}

/// Returns whether a setting is a whole line: `set point;value` is a header.
fn is_ended(line: &[u8], start: &str) -> bool {
    !matches!(start, "set " | "use " | "pragma ") || line.ends_with(b";")
}

/// Returns whether the comments at the beginning declare a metric: `# TYPE http_requests_total counter`.
fn is_metrics(head: &[u8]) -> bool {
    const KINDS: [&[u8]; 7] = [b"counter", b"gauge", b"histogram", b"summary", b"untyped", b"unknown", b"info"];
    let is_declaration = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|byte| byte.is_ascii_whitespace()).collect();
        matches!(words.as_slice(), [b"#", b"TYPE", _, kind] if KINDS.contains(kind))
    };
    let mut comments =
        head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).take_while(|line| line.starts_with(b"#"));
    comments.any(is_declaration)
}

/// Returns whether the first two lines are the head of a table of Markdown, psql or mysql.
fn is_drawn_table(head: &[u8]) -> bool {
    let is_ruler =
        |line: &[u8]| line.iter().all(|byte| b"-+|: ".contains(byte)) && memchr::memmem::find(line, b"---").is_some();
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    match (lines.next(), lines.next()) {
        // Of mysql.
        (Some(first), Some(second)) if first.starts_with(b"+-") => is_ruler(first) && second.starts_with(b"|"),
        (Some(first), Some(second)) => {
            let is_split = |byte: &u8| matches!(byte, b'|' | b'+');
            let columns = |line: &[u8]| line.iter().filter(|byte| is_split(byte)).count();
            is_ruler(second) && !is_ruler(first) && columns(second) > 0 && columns(first) == columns(second)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> Option<&'static str> {
        unreadable_text(text.as_bytes(), false).map(|(what, _)| what)
    }

    const METRICS: &str = "is a page of metrics in Prometheus's text format";

    #[test]
    fn unreadable_formats_are_known_by_their_beginning() {
        for (text, wanted) in [
            ("%PDF-1.7\n%...", "is a PDF document"),
            ("\n<!DOCTYPE HTML><title>404</title>", "is an HTML page"),
            ("<html><body>404</body></html>", "is an HTML page"),
            ("<?xml version=\"1.0\"?><a><b>1</b></a>", "is XML"),
            ("<rows>\n <row a=\"1\"/>\n</rows>", "is XML"),
            ("-- a dump\n\nCREATE TABLE t (a INT);\nINSERT", "is a script of SQL"),
            ("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;", "is a script of SQL"),
            ("INSERT INTO t VALUES (1);", "is a script of SQL"),
            ("| id | v |\n|---|---|\n| 1 | x |\n", "is a table drawn for people"),
            (" id | v \n----+---\n  1 | x\n", "is a table drawn for people"),
            ("+----+---+\n| id | v |\n+----+---+\n", "is a table drawn for people"),
            ("---\n- name: a\n  value: 1\n", "is YAML"),
            ("# HELP up Is it up?\n# TYPE up gauge\nup{job=\"a\"} 1\n", METRICS),
            ("# TYPE requests_total counter\nrequests_total 1027 1395066363000\n", METRICS),
            ("[section]\nname = a\n", "is a configuration file"),
        ] {
            assert_eq!(what(text), Some(wanted), "{text}");
        }
        for text in ["\"just text\"\n", "12", "null"] {
            assert_eq!(
                unreadable_text(text.as_bytes(), true).map(|(what, _)| what.starts_with("is a JSON")),
                Some(true)
            );
            assert_eq!(what(text), None, "{text}");
        }
        for text in [
            "time,v\n1,2\n",
            "cpu,host=a usage=0.25 1700000000\n",
            "a=b c\n",
            "name value=x\n1 2\n",
            "[{\"a\":1}]",
            "[]",
            "[a],b\n",
            "{\"a\":\"FeatureCollection\"}",
            "",
            "# only\n",
            "# TYPE of sensor\ntime,v\n1,2\n",
            "# TYPE,v\n",
            "level=info msg=\"x y\" n=1\n",
            "<DATE>,<OPEN>\n20240101,1\n",
            "<DATE>\t<OPEN>\n20240101\t1\n",
            "set point;value\n1;2\n",
            "a|b\n-|1\n",
            "a,b\r\n1,2\r\n",
            "time,v\r2024-01-01,1\r",
        ] {
            assert_eq!(what(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_as_such() {
        let of_bytes = |head: &[u8]| unreadable_text(head, false).map(|(what, _)| what);
        for head in [b"\x7fELF\x02\x01\0\0\xd0\0".as_slice(), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"] {
            assert_eq!(of_bytes(head), Some("is neither text nor in a known format"), "{head:?}");
        }
        let text = "time,größe\n2024-01-01,1\n";
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let head: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            assert_eq!(of_bytes(&head), Some(UTF_16), "{head:?}");
        }
        // A log after a power cut, Latin 1, and a character that the end of the head cuts.
        for head in [b"a,b\n1,\0\0\0\n".as_slice(), b"a,b\n1,\xe9\n", b"a,\0\n1,\xc3"] {
            assert_eq!(of_bytes(head), None, "{head:?}");
        }
    }
}
