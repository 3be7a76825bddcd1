//! Locates the records of a JSON document, and determines their kind: objects or arrays in a list, the items of several
//! lists, each of which is a column, or the members of an object.

use crate::json::members::object_with_members;
use crate::json::outline::{Element, KeyedObjects, List, Outline};
use crate::options::Options;
use atsdb_core::json_text;
use atsdb_core::name::unknown_name;
use atsdb_core::{Error, Result};

/// Reads the document as one record, for hints.
const AS_RECORD: &str = "--path '' reads the object as one record";

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
    /// The lists that are the columns of a table, all of the same length. If there are some, the source has their items
    /// as arrays, one for each row.
    pub(crate) columns: Vec<List>,
    /// The names that lead to the object whose members are the records, with dots between them. If there is one, the
    /// source has them as objects.
    pub(crate) members: Option<String>,
    /// Whether they are arrays.
    pub(crate) are_arrays: bool,
    /// Whether they are the features of GeoJSON.
    pub(crate) is_geojson: bool,
    /// A note for the user.
    pub(crate) note: Option<String>,
}

impl JsonRecords {
    /// Finds the records of a document: those of the list, of the columns or of the members that the options name, or
    /// else of the only list of objects or arrays in a document of one object, or else of the columns that this object
    /// is made of. `head` is the document's beginning.
    pub(crate) fn find(name: &str, head: &[u8], outline: &Outline, options: &Options) -> Result<Self> {
        let has_records = |list: &&List| matches!(list.element, Element::Object | Element::List);
        let list = match &options.path {
            Some(path) if path.is_empty() => return Ok(Self::default()),
            // The reader of the records reports what is not closed.
            _ if outline.is_cut_off => return Ok(Self::default()),
            Some(path) => {
                if outline.has_more {
                    let message = format!("{name}: --path reads one document, and this is several");
                    return Err(Error::usage(message).with_hint("leave --path out"));
                }
                if let Some(object) = object_with_members(path) {
                    return Ok(Self { members: Some(object.to_owned()), ..Self::default() });
                }
                if let Some(list) = outline.lists.iter().find(|list| list.path == *path) {
                    list
                } else if let Some(object) = outline.objects.iter().position(|object| object.path == *path) {
                    return Self::of_columns(name, outline, object, options);
                } else {
                    let lists = outline.lists.iter().map(|list| list.path.as_str());
                    let objects = outline.objects.iter().map(|object| object.path.as_str());
                    let names = lists.chain(objects).filter(|path| !path.is_empty());
                    return Err(unknown_name("list", path, names).context(name));
                }
            }
            None => {
                let on_top = outline.lists.iter().find(|list| list.object.is_none());
                let inside: Vec<&List> = outline.lists.iter().filter(has_records).collect();
                match (on_top, inside.as_slice()) {
                    (Some(_), _) if has_lists_of_objects(head) => {
                        let note = Some("the records are the objects in its lists".to_owned());
                        return Ok(Self { note, ..Self::default() });
                    }
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
                    (None, []) => return Self::of_values(name, outline, options),
                    (None, [list]) => list,
                    (None, several) => {
                        let names: Vec<&str> = several.iter().map(|list| list.path.as_str()).collect();
                        let message = format!("{} is one object with several lists: {}", name, names.join(", "));
                        let choices = names.join(" or --path ");
                        return Err(Error::usage(message)
                            .with_hint(format!("choose the records: --path {choices}; --path '' is the object")));
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
            return Err(Error::usage(message)
                .with_hint("name a list of objects or arrays, or an object of lists that are the columns"));
        }
        let range = Some(JsonRange { start: list.start, end: list.end, line: list.line });
        Ok(Self { range, are_arrays: list.element == Element::List, is_geojson, note, ..Self::default() })
    }

    /// The records of a document of one object without lists of objects or arrays: its lists may be columns.
    fn of_values(name: &str, outline: &Outline, options: &Options) -> Result<Self> {
        let list_count = |object| outline.lists.iter().filter(|list| list.object == Some(object)).count();
        let is_table = |object: &usize| outline.objects[*object].other.is_none() && list_count(*object) > 1;
        let path = |object: usize| outline.objects[object].path.as_str();
        match (0..outline.objects.len()).find(is_table) {
            Some(object) if path(object).is_empty() => Self::of_columns(name, outline, object, options),
            table => {
                let keyed = || outline.keyed.as_ref().map(keyed_note);
                Ok(Self { note: one_row_note(&outline.lists, table.map(path)).or_else(keyed), ..Self::default() })
            }
        }
    }

    /// Reads the records of an object that has a list for each column. Fails if the lists are nested or of different
    /// lengths.
    fn of_columns(name: &str, outline: &Outline, object: usize, options: &Options) -> Result<Self> {
        let columns: Vec<List> = outline.lists.iter().filter(|list| list.object == Some(object)).cloned().collect();
        let Some(first) = columns.first() else { return Ok(Self::default()) };
        let object = &outline.objects[object];
        let what = if object.path.is_empty() { "the object" } else { object.path.as_str() };
        if let Some(other) = &object.other {
            let message = format!("{name}: {what} is not a table of columns: its member {other} is not a list");
            return Err(Error::usage(message).with_hint(AS_RECORD));
        }
        if let Some(list) = columns.iter().find(|list| matches!(list.element, Element::Object | Element::List)) {
            let message = format!("{name}: {what} is not a table of columns: the list {} is nested", list.path);
            let hint = format!("--path {} reads its items as records; {AS_RECORD}", list.path);
            return Err(Error::usage(message).with_hint(hint));
        }
        if let Some(list) = columns.iter().find(|list| list.item_count != first.item_count) {
            let (a, b) = (first.item_count, list.item_count);
            let message = format!(
                "{name}: {what} is not a table of columns: the list {} has {a} items, and the list {} has {b}",
                first.path, list.path
            );
            return Err(Error::invalid(message).with_hint(format!("correct the file; {AS_RECORD}")));
        }
        let note =
            options.path.is_none().then(|| format!("the lists of {what} are the columns of the table; {AS_RECORD}"));
        Ok(Self { columns, are_arrays: true, note, ..Self::default() })
    }
}

/// Returns the note about a document of several lists of values that becomes one row, although the lists may be meant
/// as columns. `None` for fewer than two lists. `table` is the path of an object that holds nothing but lists.
fn one_row_note(lists: &[List], table: Option<&str>) -> Option<String> {
    let of_values = |list: &&List| list.element == Element::Scalar;
    let paths: Vec<&str> = lists.iter().filter(of_values).map(|list| list.path.as_str()).collect();
    let shown = paths[..paths.len().min(LISTS_SHOWN)].join(", ");
    let more = if paths.len() > LISTS_SHOWN { ", ..." } else { "" };
    let advice = match table {
        Some(table) => format!("--path {table} reads the lists of {table} as columns"),
        None => "lists are columns if their object holds nothing else".to_owned(),
    };
    (paths.len() > 1).then(|| {
        format!(
            "the document is one object and becomes one row; its lists of values stay JSON text: {shown}{more}; \
             {advice}"
        )
    })
}

/// Returns the note about a document that becomes one row, although the members of an object may be the records.
fn keyed_note(keyed: &KeyedObjects) -> String {
    let (path, count) = (keyed.names.join("."), keyed.count);
    let (of, path) =
        if path.is_empty() { (String::new(), "*".to_owned()) } else { (format!(" of {path}"), format!("{path}.*")) };
    // A single quote ends the text of the shell.
    let path = path.replace('\'', r"'\''");
    format!(
        "the document is one object and becomes one row; if its {count} objects{of} are records, --path '{path}' reads \
         them as rows, with their names in the column key"
    )
}

/// Returns whether a document is a list of lists with nothing but objects in them, as far as its beginning shows:
/// `[[{"v": 1}, {"v": 2}], [{"v": 3}]]`. Some of the lists may be empty.
fn has_lists_of_objects(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let Some(lists) = text.strip_prefix(b"[") else { return false };
    let (mut rest, mut object_count) = (lists.trim_ascii_start(), 0);
    loop {
        let Some(list) = rest.strip_prefix(b"[") else { return rest.is_empty() && object_count > 0 };
        let Some((count, behind)) = objects_of_list(list) else { return false };
        object_count += count;
        match behind.trim_ascii_start().split_first() {
            Some((b',', more)) => rest = more.trim_ascii_start(),
            other => return object_count > 0 && other.is_none_or(|(byte, _)| *byte == b']'),
        }
    }
}

/// The number of objects in a list, whose bracket is before these bytes, and the bytes behind the list. `None` if it
/// has another item. A list that is cut off ends there.
fn objects_of_list(list: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = list.trim_ascii_start();
    if let Some(behind) = rest.strip_prefix(b"]") {
        return Some((0, behind));
    }
    let mut count = 0;
    while rest.starts_with(b"{") {
        count += 1;
        let end = json_text::first_nested(rest).ok()?.unwrap_or(rest.len());
        match rest[end..].trim_ascii_start().split_first() {
            Some((b',', more)) => rest = more.trim_ascii_start(),
            Some((b']', behind)) => return Some((count, behind)),
            Some(_) => return None,
            None => return Some((count, &rest[rest.len()..])),
        }
    }
    rest.is_empty().then_some((count, rest))
}

/// Returns whether the document has `"type": "FeatureCollection"` at its beginning.
fn is_feature_collection(head: &[u8]) -> bool {
    let collection = memchr::memmem::find(head, b"\"FeatureCollection\"");
    let is_type = |at: usize| {
        let before = head[..at].trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|before| before.trim_ascii_end().ends_with(b"\"type\""))
    };
    collection.is_some_and(is_type)
}
