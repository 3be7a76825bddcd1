//! The folder of the page cache for stores on servers. It is set by the URL, or else by the program, or else by the
//! environment.

use atsdb_core::size::parse_size;
use atsdb_core::{Error, Result, Store};
use atsdb_engine::{OnWarning, PageCache, PageCacheOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The default maximum size in bytes.
const BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// The folder of the page cache for stores on servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageCacheFolder {
    /// No cache: every page is read from the server.
    Off,
    /// The cache is in this folder, which is created if it does not exist. Only the user may have write permission.
    At(PathBuf),
}

/// The program's settings of the page cache.
#[derive(Clone, Default)]
pub(crate) struct Choice {
    pub(crate) folder: Option<PageCacheFolder>,
    pub(crate) bytes_max: Option<u64>,
    pub(crate) on_warning: Option<OnWarning>,
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").field("folder", &self.folder).field("bytes_max", &self.bytes_max).finish()
    }
}

impl Choice {
    /// Opens the page cache of a store. `of_url` contains the options in the store's URL.
    pub(crate) fn open(&self, store: &dyn Store, of_url: &BTreeMap<String, String>) -> Result<Option<PageCache>> {
        let from_url = of_url.get("cache").map(|text| folder_of(text)).transpose()?;
        let on_warning = self.on_warning.clone().unwrap_or_else(|| Arc::new(|_: &str| {}));
        let folder = match from_url.or_else(|| self.folder.clone()) {
            Some(folder) => folder,
            None => match from_environment()? {
                Some(folder) => folder,
                None => {
                    on_warning(
                        "pages are not kept on this machine: there is no home folder; name one in ATSDB_CACHE_DIR",
                    );
                    PageCacheFolder::Off
                }
            },
        };
        let bytes_max = match (of_url.get("cache_bytes"), self.bytes_max) {
            (Some(text), _) => parse_size(text).map_err(|error| error.context("cache_bytes of the store's URL"))?,
            (None, Some(bytes_max)) => bytes_max,
            (None, None) => match variable("ATSDB_CACHE_BYTES") {
                Some(text) => parse_size(&text.to_string_lossy())
                    .map_err(|error| error.context("the environment variable ATSDB_CACHE_BYTES"))?,
                None => BYTES_MAX_DEFAULT,
            },
        };
        match folder {
            PageCacheFolder::At(folder) if bytes_max > 0 => {
                let options = PageCacheOptions { folder, bytes_max, on_warning };
                Ok(PageCache::open(&options, store.url(), store.uid()))
            }
            _ => Ok(None),
        }
    }
}

fn folder_of(text: &str) -> Result<PageCacheFolder> {
    match text {
        "off" => Ok(PageCacheFolder::Off),
        "" => {
            Err(Error::usage("the option cache of the store's URL is empty")
                .with_hint("write cache=off or cache=FOLDER"))
        }
        folder => Ok(PageCacheFolder::At(folder.into())),
    }
}

/// The folder in `ATSDB_CACHE_DIR`, or else `atsdb` in the user's cache folder.
fn from_environment() -> Result<Option<PageCacheFolder>> {
    if let Some(folder) = variable("ATSDB_CACHE_DIR") {
        return folder_of(&folder.to_string_lossy()).map(Some);
    }
    let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache")));
    Ok(caches.map(|caches| PageCacheFolder::At(caches.join("atsdb"))))
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
