//! The stores that `atsdb serve` is given, and the names of their databases: `[NAME=]URL`. A text may hold several,
//! each with a name, and a blank before each name but the first. So one variable or one line of a file can hold all of
//! them.

use atsdb::{Error, Result};
use std::path::Path;

/// A store, and the name of its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedStore {
    /// `None` for a single store that was given without a name: clients may use any.
    pub(crate) name: Option<String>,
    pub(crate) url: String,
}

/// Reads the texts of the arguments, of a variable or of a file.
pub(crate) fn served_stores(texts: &[String]) -> Result<Vec<ServedStore>> {
    let mut stores: Vec<ServedStore> = texts.iter().flat_map(|text| of_text(text)).collect();
    // A variable in a shell may have been empty.
    if let Some(store) = stores.iter().find(|store| store.url.trim().is_empty() || store.url.starts_with('=')) {
        let text = store.name.as_ref().map_or_else(|| store.url.clone(), |name| format!("{name}={}", store.url));
        return Err(
            Error::usage(format!("\"{text}\" lacks the name or the URL of a store")).with_hint("write NAME=URL")
        );
    }
    if stores.len() > 1 {
        for store in stores.iter_mut().filter(|store| store.name.is_none()) {
            store.name = Some(name_of(&store.url)?);
        }
    }
    Ok(stores)
}

fn of_text(text: &str) -> Vec<ServedStore> {
    // Splitting gives no word of an empty text, which is refused as a store without a place.
    if text.is_empty() {
        return vec![ServedStore { name: None, url: String::new() }];
    }
    let mut stores: Vec<ServedStore> = Vec::new();
    for word in text.split_inclusive(' ') {
        let may_begin = stores.last().is_none_or(|last| last.name.is_some());
        match with_name(word).filter(|_| may_begin) {
            Some((name, url)) => stores.push(ServedStore { name: Some(name.to_owned()), url: url.to_owned() }),
            None => match stores.last_mut() {
                // A blank in a path.
                Some(last) => last.url.push_str(word),
                None => stores.push(ServedStore { name: None, url: word.to_owned() }),
            },
        }
    }
    let count = stores.len();
    for store in &mut stores[..count.saturating_sub(1)] {
        store.url.truncate(store.url.trim_end().len());
    }
    stores
}

/// Splits `NAME=URL`. The part of a URL before its first `=` has letters that no name has.
fn with_name(text: &str) -> Option<(&str, &str)> {
    let (name, url) = text.split_once('=')?;
    let is_first = |letter: char| letter.is_alphabetic() || letter == '_';
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    (name.starts_with(is_first) && name.chars().all(is_letter)).then_some((name, url))
}

/// The name of the database in a store that was given without one: that of its file, or of the database in its URL.
fn name_of(url: &str) -> Result<String> {
    let plain = url.split('?').next().unwrap_or_default();
    let (scheme, place) = plain.split_once(':').unwrap_or(("", plain));
    let name = match scheme {
        "memory" => Some("memory"),
        // The host is not a name.
        _ if place.starts_with("//") && scheme != "sqlite" => {
            place[2..].split_once('/').map(|(_, database)| database).filter(|name| !name.is_empty())
        }
        "sqlite" => Path::new(place).file_stem().and_then(|stem| stem.to_str()),
        _ => Path::new(plain).file_stem().and_then(|stem| stem.to_str()),
    };
    name.map(str::to_owned)
        .ok_or_else(|| Error::usage(format!("cannot derive a database name from {url}")).with_hint("write NAME=URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(texts: &[&str]) -> Vec<(Option<String>, String)> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        served_stores(&texts).unwrap().into_iter().map(|store| (store.name, store.url)).collect()
    }

    fn pair(name: Option<&str>, url: &str) -> (Option<String>, String) {
        (name.map(str::to_owned), url.to_owned())
    }

    #[test]
    fn a_single_store_needs_no_name() {
        for url in ["air.db", "my data/air.db", "sqlite:air.db?split=slice", "./a=b.db", "postgresql://h/d?a=b c=d"] {
            assert_eq!(stores(&[url]), [pair(None, url)]);
        }
        assert_eq!(stores(&["air=x.db"]), [pair(Some("air"), "x.db")]);
        for text in ["=x.db", "air=", "", " "] {
            assert!(served_stores(&[text.to_owned()]).unwrap_err().to_string().contains("NAME=URL"), "{text}");
        }
    }

    #[test]
    fn several_are_named_after_their_places() {
        let found =
            stores(&["data/air.db", "sqlite:/x/b.sqlite?shards=2", "postgresql://me@h:5432/c?ssl=on", "memory:"]);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
        assert_eq!(names, ["air", "b", "c", "memory"]);
        let texts = ["air.db".to_owned(), "postgresql://host".to_owned()];
        assert!(served_stores(&texts).unwrap_err().to_string().contains("NAME=URL"));
    }

    #[test]
    fn one_text_holds_several() {
        let expected = [pair(Some("air"), "/my data/air.db"), pair(Some("m-2"), "mysql://h/m?a=b")];
        assert_eq!(stores(&["air=/my data/air.db  m-2=mysql://h/m?a=b"]), expected);
        assert_eq!(stores(&["air=/my data/air.db", "m-2=mysql://h/m?a=b"]), expected);
    }
}
