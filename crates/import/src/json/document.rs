//! Locates the records of a JSON document, and determines their kind.

use crate::json::outline::{Element, List, Outline};
use crate::options::Options;
use atsdb_core::name::unknown_name;
use atsdb_core::{Error, Result};

/// Maximum number of lists that a note names.
const LISTS_SHOWN: usize = 4;

/// Bytes of a document, and the line in which they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) line: u64,
}

/// The location and the kind of the records.
#[derive(Debug, Default)]
pub(crate) struct JsonRecords {
    /// The list that holds them; `None` for the whole document.
    pub(crate) range: Option<JsonRange>,
    /// Whether they are arrays.
    pub(crate) are_arrays: bool,
    /// Whether they are the features of GeoJSON.
    pub(crate) is_geojson: bool,
    /// A note for the user.
    pub(crate) note: Option<String>,
}

impl JsonRecords {
    /// Finds the records of a document: those of the list that the options name, or else of the only list of objects or
    /// arrays in a document of one object.
    /// `head` is the document's beginning.
    pub(crate) fn find(name: &str, head: &[u8], outline: &Outline, options: &Options) -> Result<Self> {
        let has_records = |list: &&List| matches!(list.element, Element::Object | Element::List);
        let list = match &options.path {
            Some(path) if path.is_empty() => return Ok(Self::default()),
            Some(path) => {
                let named = outline.lists.iter().find(|list| list.path == *path);
                if outline.has_more {
                    let message = format!("{name}: --path reads one document, and this is several");
                    return Err(Error::usage(message).with_hint("leave --path out"));
                }
                named.ok_or_else(|| {
                    let names = outline.lists.iter().map(|list| list.path.as_str()).filter(|path| !path.is_empty());
                    unknown_name("list", path, names).context(name)
                })?
            }
            None => {
                let on_top = outline.lists.iter().find(|list| list.path.is_empty());
                let inside: Vec<&List> = outline.lists.iter().filter(has_records).collect();
                match (on_top, inside.as_slice()) {
                    // One array in each line.
                    (Some(list), _) if outline.has_more && list.element != Element::Object => {
                        return Ok(Self { are_arrays: true, ..Self::default() });
                    }
                    (Some(list), _) if list.element == Element::Scalar => {
                        return Err(Error::usage(format!("{name} is a list of values without names"))
                            .with_hint("write each value as an object, or as an array of its own"));
                    }
                    (Some(list), _) if list.element == Element::List => list,
                    (Some(_), _) => return Ok(Self::default()),
                    (None, _) if outline.has_more => return Ok(Self::default()),
                    (None, []) => return Ok(Self { note: one_row_note(&outline.lists), ..Self::default() }),
                    (None, [list]) => list,
                    (None, several) => {
                        let names: Vec<&str> = several.iter().map(|list| list.path.as_str()).collect();
                        let message = format!("{} is one object with several lists: {}", name, names.join(", "));
                        return Err(Error::usage(message)
                            .with_hint(format!("choose the records: --path {}; --path '' is the object", names[0])));
                    }
                }
            }
        };
        let is_geojson = list.path == "features" && is_feature_collection(head);
        let note = (!list.path.is_empty() && options.path.is_none()).then(|| {
            let what = if is_geojson { "features" } else { "records" };
            format!("the {what} are those of the list {}; --path '' reads the object around it", list.path)
        });
        if list.element == Element::Scalar {
            let message = format!("{}: the list {} holds values without names", name, list.path);
            return Err(Error::usage(message).with_hint("name a list of objects or arrays"));
        }
        let range = Some(JsonRange { start: list.start, end: list.end, line: list.line });
        Ok(Self { range, are_arrays: list.element == Element::List, is_geojson, note })
    }
}

/// What becomes of a document of several lists of values, which may be meant as columns.
fn one_row_note(lists: &[List]) -> Option<String> {
    let of_values = |list: &&List| list.element == Element::Scalar;
    let paths: Vec<&str> = lists.iter().filter(of_values).map(|list| list.path.as_str()).collect();
    let shown = paths[..paths.len().min(LISTS_SHOWN)].join(", ");
    let more = if paths.len() > LISTS_SHOWN { ", ..." } else { "" };
    (paths.len() > 1).then(|| {
        format!(
            "the document is one object and becomes one row; its lists of values stay JSON text: {shown}{more}; to \
             make rows of them, write one object for each row"
        )
    })
}

/// Whether the document has `"type": "FeatureCollection"` at its beginning.
fn is_feature_collection(head: &[u8]) -> bool {
    let collection = memchr::memmem::find(head, b"\"FeatureCollection\"");
    let is_type = |at: usize| {
        let before = head[..at].trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|before| before.trim_ascii_end().ends_with(b"\"type\""))
    };
    collection.is_some_and(is_type)
}
