//! The files of the page, which are part of the program.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::sync::LazyLock;
use twox_hash::XxHash3_64;

/// A file of the page, in the form in which it is sent.
#[derive(Debug)]
pub(super) struct PageFile {
    name: &'static str,
    pub(super) media_type: &'static str,
    pub(super) bytes: &'static [u8],
    /// The content compressed by gzip.
    pub(super) compressed: Vec<u8>,
    /// Changes with the file: the value of its `ETag`.
    pub(super) tag: String,
}

macro_rules! page_files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("web/", $name)).as_slice())),*]
    };
}

static FILES: LazyLock<Vec<PageFile>> = LazyLock::new(|| {
    let files = page_files![
        "index.html",
        "style.css",
        "icon.svg",
        "main.js",
        "api.js",
        "sql.js",
        "words.js",
        "editor.js",
        "completion.js",
        "grid.js",
        "columns.js",
        "series.js",
        "axes.js",
        "chart.js",
        "chart-view.js",
        "sidebar.js",
        "activity.js",
        "memory.js",
        "export.js",
        "dom.js",
    ];
    files.into_iter().map(|(name, bytes)| prepared(name, bytes)).collect()
});

/// The file of this name.
pub(super) fn file(name: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.name == name)
}

fn prepared(name: &'static str, bytes: &'static [u8]) -> PageFile {
    let media_type = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    let compressed = encoder.finish().unwrap_or_default();
    PageFile { name, media_type, bytes, compressed, tag: format!("\"{:016x}\"", XxHash3_64::oneshot(bytes)) }
}
