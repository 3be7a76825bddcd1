//! The options of headlines: `MaxWords=10, StartSel="<i>"`.

use atsdb_core::{Error, Result};
use std::borrow::Cow;

/// The greatest number of words or fragments that an option may ask for.
const COUNT_MAX: usize = 100_000;

/// The options by which a headline is chosen and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadlineOptions {
    pub(super) words_max: usize,
    pub(super) words_min: usize,
    /// Words that are no longer than this are no good ends.
    pub(super) short_word: usize,
    /// The number of excerpts; 0 for one that is as good as possible.
    pub(super) fragments_max: usize,
    /// Whether the whole document is the headline.
    pub(super) highlights_all: bool,
    pub(super) start: Cow<'static, str>,
    pub(super) stop: Cow<'static, str>,
    /// The text between two excerpts.
    pub(super) delimiter: Cow<'static, str>,
}

/// The options of a call without any.
pub(super) static DEFAULTS: HeadlineOptions = HeadlineOptions {
    words_max: 35,
    words_min: 15,
    short_word: 3,
    fragments_max: 0,
    highlights_all: false,
    start: Cow::Borrowed("<b>"),
    stop: Cow::Borrowed("</b>"),
    delimiter: Cow::Borrowed(" ... "),
};

impl HeadlineOptions {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut options = DEFAULTS.clone();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let wrong = || {
                let error = Error::invalid(format!("invalid parameter list format: \"{text:.100}\""));
                error.with_hint("write options as in 'MaxWords=10, StartSel=\"<i>\"'")
            };
            let (name, after) = rest.split_once('=').ok_or_else(wrong)?;
            let (value, after) = value(after.trim_start()).ok_or_else(wrong)?;
            options.set(name.trim(), value)?;
            rest = after.trim_start();
            if let Some(next) = rest.strip_prefix(',') {
                rest = next.trim_start();
            } else if !rest.is_empty() {
                return Err(wrong());
            }
        }
        options.check()?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "maxwords" => self.words_max = count(name, &value)?,
            "minwords" => self.words_min = count(name, &value)?,
            "shortword" => self.short_word = count(name, &value)?,
            "maxfragments" => self.fragments_max = count(name, &value)?,
            "startsel" => self.start = value.into(),
            "stopsel" => self.stop = value.into(),
            "fragmentdelimiter" => self.delimiter = value.into(),
            "highlightall" => {
                let value = value.to_ascii_lowercase();
                self.highlights_all = matches!(value.as_str(), "1" | "on" | "true" | "t" | "y" | "yes");
            }
            _ => {
                let error = Error::invalid(format!("unrecognized headline parameter: \"{name:.60}\""));
                return Err(error.with_hint(
                    "available: MaxWords, MinWords, ShortWord, HighlightAll, MaxFragments, StartSel, StopSel, \
                     FragmentDelimiter",
                ));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::invalid(message).with_hint("the defaults are MaxWords=35, MinWords=15"));
        if self.highlights_all {
            return Ok(());
        }
        if self.words_min >= self.words_max {
            return wrong("MinWords should be less than MaxWords");
        }
        if self.words_min == 0 { wrong("MinWords should be positive") } else { Ok(()) }
    }
}

fn count(name: &str, value: &str) -> Result<usize> {
    value.parse().ok().filter(|count| *count <= COUNT_MAX).ok_or_else(|| {
        let error = Error::invalid(format!("{name} is not a number from 0 to {COUNT_MAX}: \"{value:.60}\""));
        error.with_hint("write a number: MaxWords=10")
    })
}

/// The value that a text begins with, perhaps in quotation marks, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(mark) = text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else {
        let end = text.find(|letter: char| letter == ',' || letter.is_whitespace()).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != mark {
            value.push(letter);
        } else if letters.next_if(|(_, next)| *next == mark).is_some() {
            value.push(mark);
        } else {
            return Some((value, &text[at + 1..]));
        }
    }
    None
}
