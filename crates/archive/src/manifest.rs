//! Manifest: what one backup is. JSON, so that people can read it; its name has the hash of its bytes.

use crate::object::hash_name;
use crate::objects::Objects;
use atsdb_core::time::format_time;
use atsdb_core::{ColumnId, Error, ErrorKind, Result, TableDefinition, TableId, TimeUnit};
use serde::{Deserialize, Serialize};

pub(crate) const FOLDER: &str = "backups";
/// The format that this version writes, and the newest that it reads.
const FORMAT: u32 = 1;

/// Which backup is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The newest.
    Latest,
    /// The one of this id.
    Id(String),
    /// The newest that was not taken after this time, in milliseconds since the Unix epoch.
    At(i64),
}

/// One backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the archive, 1.
    pub format: u32,
    /// Its name: the time it was taken and some of the source's.
    pub id: String,
    /// When its snapshot was taken, in milliseconds since the Unix epoch.
    pub taken_ms: i64,
    /// The same for people, in UTC.
    pub taken: String,
    /// The 128 bits that name the source, in hexadecimal.
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
    /// Bytes of all objects that it needs, its own not counted.
    pub bytes: u64,
    /// The tables, by number.
    pub tables: Vec<TableEntry>,
}

/// One table of a backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its number in the source.
    pub id: TableId,
    /// What it is.
    pub definition: TableDefinition,
    /// Rows.
    pub rows: u64,
    /// Chunks.
    pub chunks: u64,
    /// The object that lists them; none where there are none.
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
    /// How many strings.
    pub strings: u64,
    /// The objects that have them, in order of index.
    pub objects: Vec<ObjectEntry>,
}

/// An object by its name, which ends with the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectEntry {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What every format has.
#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Manifest {
    /// The id of a backup of this time and source.
    pub(crate) fn new_id(taken_ms: i64, source: &str) -> String {
        let text = format_time(taken_ms, TimeUnit::Millisecond);
        let compact: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        format!("{compact}-{}", &source[..source.len().min(8)])
    }

    pub(crate) const FORMAT: u32 = FORMAT;

    /// Its object's name and bytes.
    pub(crate) fn encode(&self) -> Result<(String, Vec<u8>)> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::internal("a manifest that is no JSON").with_source(error))?;
        bytes.push(b'\n');
        Ok((format!("{FOLDER}/{}-{}.json", self.id, hash_name(&bytes)), bytes))
    }

    pub(crate) fn read(objects: &dyn Objects, name: &str) -> Result<Self> {
        let bytes = objects.get(name)?;
        Self::decode(name, &bytes).map_err(|error| error.context(format_args!("{}/{name}", objects.place())))
    }

    fn decode(name: &str, bytes: &[u8]) -> Result<Self> {
        let hash = name.strip_suffix(".json").and_then(|name| name.rsplit('-').next());
        if hash != Some(hash_name(bytes).as_str()) {
            return Err(Error::corrupt("the manifest is damaged: its bytes are not those that its name says"));
        }
        let damaged = |error: serde_json::Error| {
            Error::corrupt(format!("the manifest is damaged: {error}")).with_source(error.to_string())
        };
        let FormatOnly { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format > FORMAT {
            let message = format!("the backup has format {format}; this version reads up to {FORMAT}");
            return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb"));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        for table in &manifest.tables {
            table.definition.check().map_err(|error| Error::corrupt(format!("the manifest is damaged: {error}")))?;
        }
        // Names lead nowhere but to the archive's own folders.
        let is_ours = |object: &ObjectEntry| {
            let (folder, name) = object.name.split_once('/').unwrap_or_default();
            ["lists", "dictionaries"].contains(&folder) && name.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        if !manifest.named_objects().all(is_ours) {
            return Err(Error::corrupt("the manifest is damaged: it names what is no object"));
        }
        if crate::write::uid_of(&manifest.source).is_none() {
            return Err(Error::corrupt("the manifest is damaged: it names no source"));
        }
        Ok(manifest)
    }

    /// The objects that its manifest names: lists and dictionaries.
    pub(crate) fn named_objects(&self) -> impl Iterator<Item = &ObjectEntry> {
        self.tables.iter().flat_map(|table| {
            table.list.iter().chain(table.dictionaries.iter().flat_map(|dictionary| &dictionary.objects))
        })
    }
}

/// All backups, oldest first.
pub(crate) fn all(objects: &dyn Objects) -> Result<Vec<Manifest>> {
    let mut backups = names(objects)?.iter().map(|name| Manifest::read(objects, name)).collect::<Result<Vec<_>>>()?;
    backups.sort_by(|a, b| (a.taken_ms, &a.id).cmp(&(b.taken_ms, &b.id)));
    Ok(backups)
}

/// The names of all manifests.
pub(crate) fn names(objects: &dyn Objects) -> Result<Vec<String>> {
    let found = objects.list(FOLDER)?.into_iter().map(|(name, _)| name);
    Ok(found.filter(|name| name.ends_with(".json")).collect())
}
