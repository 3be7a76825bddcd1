//! The manifest of a backup. It is JSON, so that people can read it, and its name contains the hash of its bytes.

use crate::object::{STRINGS_PER_OBJECT, hash_name};
use crate::objects::{Objects, UNFINISHED};
use atsdb_core::time::format_time;
use atsdb_core::{Column, ColumnId, Error, ErrorKind, Result, TableDefinition, TableId, TimeUnit, hex};
use atsdb_engine::Moment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(crate) const FOLDER: &str = "backups";
/// The only format that this version writes and reads.
const FORMAT: u32 = 2;
/// The number of digits of the source in an id.
const SOURCE_DIGITS: usize = 8;
/// The number of digits to which numbers are padded, so that names sort like numbers.
const NUMBER_DIGITS: usize = 6;
/// Maximum number of digits of a number in a name, well below the limit of its type.
const NUMBER_DIGITS_MAX: usize = 15;

/// Selects a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupSelector {
    /// The newest backup.
    Latest,
    /// The backup with this id.
    Id(String),
    /// The newest backup taken at this time or before, in milliseconds since the Unix epoch.
    At(i64),
    /// One of the backups of a store, given by its URL or by the first digits of its identity in hexadecimal.
    Of(String, Box<BackupSelector>),
}

impl BackupSelector {
    /// Restricts the selection to the backups of one store.
    #[must_use]
    pub fn of(self, store: impl Into<String>) -> Self {
        Self::Of(store.into(), Box::new(self))
    }
}

/// One backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The object that it was read from.
    #[serde(skip)]
    pub(crate) object: String,
    /// The format of the archive, 2.
    pub format: u32,
    /// Its number in the archive, greater than those of all earlier backups. Unlike the time, it does not depend on
    /// clocks.
    pub number: u64,
    /// Its id: its number, the time it was taken and the first digits of the source.
    pub id: String,
    /// The time at which its snapshot was taken, in milliseconds since the Unix epoch.
    pub taken_ms: i64,
    /// The same time as text, in UTC.
    pub taken: String,
    /// The 128-bit identity of the source store, in hexadecimal.
    pub source: String,
    /// The source's URL, without secrets.
    pub url: String,
    /// The version of the program that wrote it.
    pub program: String,
    /// Whether it has all tables of the source.
    pub whole: bool,
    /// Rows in all tables.
    pub rows: u64,
    /// Chunks.
    pub chunks: u64,
    /// Bytes of all objects that it needs, without the manifest.
    pub bytes: u64,
    /// The tables, ordered by number.
    pub tables: Vec<TableEntry>,
}

/// One table of a backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its number in the source.
    pub id: TableId,
    /// Its definition.
    pub definition: TableDefinition,
    /// Rows.
    pub rows: u64,
    /// Chunks.
    pub chunks: u64,
    /// The object that lists the chunks. `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ObjectEntry>,
    /// The strings of mapped columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dictionaries: Vec<DictionaryEntry>,
}

/// The dictionary of one mapped column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DictionaryEntry {
    /// The column.
    pub column: ColumnId,
    /// The number of strings.
    pub strings: u64,
    /// The objects that contain them, in order of index.
    pub objects: Vec<ObjectEntry>,
}

/// A reference to an object. Its name ends with the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectEntry {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The fields that all formats have.
#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// The information in the name of a manifest, which is known even if the manifest is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameParts {
    pub(crate) number: u64,
    /// The time at which it was taken, in milliseconds since the Unix epoch; `None` unless the year has four digits.
    pub(crate) taken_ms: Option<i64>,
    /// The first digits of the source.
    pub(crate) source: String,
}

impl NameParts {
    /// Parses an id. `None` if it is not one.
    pub(crate) fn of_id(id: &str) -> Option<Self> {
        let mut parts = id.split('-');
        let (number, time, source) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = (NUMBER_DIGITS..=NUMBER_DIGITS_MAX).contains(&number.len());
        let is_whole = parts.next().is_none() && source.len() == SOURCE_DIGITS;
        let are_digits =
            number.bytes().all(|digit| digit.is_ascii_digit()) && source.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_number || !is_whole || !are_digits {
            return None;
        }
        Some(Self { number: number.parse().ok()?, taken_ms: time_of(time), source: source.to_owned() })
    }

    /// Returns whether the backup may be of this source.
    pub(crate) fn may_be_of(&self, source: &str) -> bool {
        source.starts_with(&self.source)
    }
}

/// The time of `20240301T120000000Z`.
fn time_of(compact: &str) -> Option<i64> {
    let is_plain = compact.len() == 19 && compact.is_ascii();
    let part = |from: usize, to: usize| &compact[from..to];
    let text = is_plain.then(|| {
        let (date, time) =
            ([part(0, 4), part(4, 6), part(6, 8)].join("-"), [part(9, 11), part(11, 13), part(13, 15)].join(":"));
        format!("{date}T{time}.{}", part(15, 19))
    })?;
    match Moment::parse(&text).ok()? {
        Moment::Nanoseconds(nanoseconds) => i64::try_from(nanoseconds.div_euclid(1_000_000)).ok(),
        Moment::Count(_) => None,
    }
}

/// The id in the name of a manifest's object: everything before the hash.
pub(crate) fn id_in(name: &str) -> Option<&str> {
    let (id, _) = name.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(".json")?.rsplit_once('-')?;
    Some(id)
}

impl Manifest {
    /// The id of a backup with this number, time and source.
    pub(crate) fn new_id(number: u64, taken_ms: i64, source: &str) -> String {
        let text = format_time(taken_ms, TimeUnit::Millisecond);
        let compact: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        format!("{number:0NUMBER_DIGITS$}-{compact}-{}", &source[..source.len().min(SOURCE_DIGITS)])
    }

    pub(crate) const FORMAT: u32 = FORMAT;

    /// The name and bytes of its object.
    pub(crate) fn encode(&self) -> Result<(String, Vec<u8>)> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::internal("a manifest cannot be written as JSON").with_source(error))?;
        bytes.push(b'\n');
        Ok((format!("{FOLDER}/{}-{}.json", self.id, hash_name(&bytes)), bytes))
    }

    pub(crate) fn read(objects: &dyn Objects, name: &str) -> Result<Self> {
        let bytes = objects.get(name)?;
        let manifest = Self::decode(name, &bytes);
        let manifest = manifest.map_err(|error| error.context(format_args!("{}/{name}", objects.location())))?;
        Ok(Self { object: name.to_owned(), ..manifest })
    }

    fn decode(name: &str, bytes: &[u8]) -> Result<Self> {
        let hash = name.strip_suffix(".json").and_then(|name| name.rsplit('-').next());
        if hash != Some(hash_name(bytes).as_str()) {
            return Err(damaged("its bytes do not match the hash in its name"));
        }
        let no_json = |error: serde_json::Error| damaged(error.to_string());
        let FormatOnly { format } = serde_json::from_slice(bytes).map_err(no_json)?;
        if format > FORMAT {
            let message = format!("the backup has format {format}; this version reads format {FORMAT}");
            return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb"));
        }
        if format < FORMAT {
            return Err(damaged(format!("it has format {format}, which no release has written")));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(no_json)?;
        manifest.check()?;
        if id_in(name) != Some(manifest.id.as_str()) {
            return Err(damaged(format!("it is the manifest of backup {} under another name", manifest.id)));
        }
        Ok(manifest)
    }

    /// Refuses a manifest that contradicts itself.
    fn check(&self) -> Result<()> {
        if uid_of(&self.source).is_none() {
            return Err(damaged("it names no source"));
        }
        if self.id != Self::new_id(self.number, self.taken_ms, &self.source) {
            return Err(damaged("its id does not match its number, time and source"));
        }
        // Names stay within the archive's own folders.
        let is_ours = |object: &ObjectEntry| {
            let (folder, name) = object.name.split_once('/').unwrap_or_default();
            ["lists", "dictionaries"].contains(&folder)
                && !name.is_empty()
                && name.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        if !self.named_objects().all(is_ours) {
            return Err(damaged("it refers to an object with an impossible name"));
        }
        let mut numbers = BTreeSet::new();
        for table in &self.tables {
            let name = &table.definition.name;
            table.check().map_err(|error| error.context(format_args!("table {name}")))?;
            if !numbers.insert(table.id) {
                return Err(damaged(format!("it has table {} twice", table.id.0)));
            }
        }
        let total = |count: fn(&TableEntry) -> u64| self.tables.iter().map(|table| u128::from(count(table))).sum();
        let totals: (u128, u128) = (total(|table| table.rows), total(|table| table.chunks));
        match totals == (self.rows.into(), self.chunks.into()) {
            true => Ok(()),
            false => Err(damaged("its numbers of rows and chunks do not match its tables")),
        }
    }

    /// The objects that the manifest refers to: lists and dictionaries.
    pub(crate) fn named_objects(&self) -> impl Iterator<Item = &ObjectEntry> {
        self.tables.iter().flat_map(|table| {
            table.list.iter().chain(table.dictionaries.iter().flat_map(|dictionary| &dictionary.objects))
        })
    }
}

impl TableEntry {
    fn check(&self) -> Result<()> {
        self.definition.check().map_err(|error| damaged(error.to_string()))?;
        if self.list.is_some() != (self.chunks > 0) || (self.chunks == 0 && self.rows > 0) {
            return Err(damaged("its list of chunks does not match its number of chunks"));
        }
        let mapped = self.definition.columns.iter().filter(|column| column.map.is_some());
        let mut dictionaries = self.dictionaries.iter();
        for column in mapped {
            let dictionary = dictionaries.next().filter(|dictionary| dictionary.column == column.id);
            let location = || format!("column {}", column.name);
            let dictionary = dictionary.ok_or_else(|| damaged("it has no dictionary").context(location()))?;
            dictionary.check(column).map_err(|error| error.context(location()))?;
        }
        match dictionaries.next() {
            None => Ok(()),
            Some(more) => Err(damaged(format!("it has a dictionary of column {}, which is not mapped", more.column.0))),
        }
    }
}

impl DictionaryEntry {
    fn check(&self, column: &Column) -> Result<()> {
        let capacity = column.map.map_or(0, |width| width.capacity());
        if self.strings > capacity {
            return Err(damaged(format!("a dictionary has {} strings; the maximum is {capacity}", self.strings)));
        }
        match self.strings.div_ceil(STRINGS_PER_OBJECT as u64) == self.objects.len() as u64 {
            true => Ok(()),
            false => Err(damaged(format!("{} strings in {} objects", self.strings, self.objects.len()))),
        }
    }
}

fn damaged(problem: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("the manifest is damaged: {problem}"))
}

/// The names of all manifests: all objects in their folder but unfinished ones.
pub(crate) fn names(objects: &dyn Objects) -> Result<Vec<String>> {
    let found = objects.list(FOLDER)?.into_iter().map(|(name, _)| name);
    let is_hidden = |name: &str| name.rsplit('/').next().is_some_and(|last| last.starts_with('.'));
    Ok(found.filter(|name| !is_hidden(name) && !name.ends_with(UNFINISHED)).collect())
}

/// The number of the next backup.
pub(crate) fn next_number(objects: &dyn Objects) -> Result<u64> {
    let names = names(objects)?;
    let numbers = names.iter().filter_map(|name| NameParts::of_id(id_in(name)?)).map(|parts| parts.number);
    Ok(numbers.max().unwrap_or(0) + 1)
}

/// 128 bits from their 32 digits.
pub(crate) fn uid_of(digits: &str) -> Option<[u8; 16]> {
    hex::decode(digits)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_number_time_and_source() {
        let id = Manifest::new_id(17, 1_709_294_400_123, "0123456789abcdef0123456789abcdef");
        assert_eq!(id, "000017-20240301T120000123Z-01234567");
        let parts = NameParts::of_id(&id).unwrap();
        let expected = NameParts { number: 17, taken_ms: Some(1_709_294_400_123), source: "01234567".to_owned() };
        assert_eq!(parts, expected);
        let far = NameParts::of_id(&Manifest::new_id(1_234_567, 1 << 60, "0123456789abcdef")).unwrap();
        assert_eq!((far.number, far.taken_ms), (1_234_567, None));
        for none in ["", "x", "17-20240301T120000123Z-01234567", "000017-x", "9999999999999999-x-01234567"] {
            assert_eq!(NameParts::of_id(none), None, "{none}");
        }
        assert_eq!(id_in("backups/a-b-c-0123.json"), Some("a-b-c"));
        assert_eq!(id_in("chunks/a-b-c-0123.json"), None);
    }
}
