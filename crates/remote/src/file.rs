//! Fetching a file: into a temporary file, or, if it is Parquet, piece by piece as it is read.

use crate::address::{HttpAddress, after_scheme};
use crate::bucket::Bucket;
use crate::connection::{FileConnection, FileLocation, Threads};
use crate::failure::cut;
use crate::http::HttpFile;
use crate::pieces::PiecewiseFile;
use atsdb_core::Result;
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace};
use object_store::path::Path;
use std::fmt;
use std::sync::Arc;

/// The first bytes of each Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Returns whether a text is the URL of a file that this crate can fetch.
pub fn is_remote(text: &str) -> bool {
    ["http", "https", "s3"].iter().any(|scheme| after_scheme(text, scheme).is_some())
}

/// Reads files at URLs.
pub struct RemoteClient {
    threads: Arc<Threads>,
    space: Arc<TemporarySpace>,
}

impl fmt::Debug for RemoteClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteClient").finish_non_exhaustive()
    }
}

impl RemoteClient {
    /// Starts the threads for requests. While a caller waits, `check` is called often; its error ends the wait. Files
    /// are copied to temporary files in `space`.
    ///
    /// # Errors
    ///
    /// `Resources` if no thread can be started.
    pub fn new(check: fn() -> Result<()>, space: &Arc<TemporarySpace>) -> Result<Self> {
        Ok(Self { threads: Arc::new(Threads::start(check)?), space: Arc::clone(space) })
    }

    /// The files that a URL means, in the order of their names. Only patterns and folders of buckets are looked up.
    ///
    /// # Errors
    ///
    /// `Usage` for a wrong URL or wrong settings of S3, `NotFound` if nothing matches a pattern, `Unavailable` if the
    /// bucket cannot be listed.
    pub fn files(&self, url: &str) -> Result<Vec<RemoteFile>> {
        let Some(rest) = after_scheme(url, "s3") else { return Ok(vec![self.http_file(url)?]) };
        let (bucket, name) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket = Bucket::open(bucket, &self.threads)?;
        let file = |path: Path| RemoteFile {
            name: path.filename().unwrap_or_default().to_owned(),
            connection: FileConnection {
                shown: bucket.shown(&path),
                identity: bucket.shown(&path),
                location: bucket.location(&path),
                threads: Arc::clone(&self.threads),
            },
            space: Arc::clone(&self.space),
        };
        Ok(bucket.objects(name)?.into_iter().map(file).collect())
    }

    fn http_file(&self, url: &str) -> Result<RemoteFile> {
        let address = HttpAddress::parse(url)?;
        let location = FileLocation::Http(Arc::new(HttpFile::new(&address)?));
        let HttpAddress { url: identity, shown, name, .. } = address;
        let (threads, space) = (Arc::clone(&self.threads), Arc::clone(&self.space));
        Ok(RemoteFile { name, connection: FileConnection { shown, identity, location, threads }, space })
    }
}

/// A file at a URL.
#[derive(Clone)]
pub struct RemoteFile {
    name: String,
    connection: FileConnection,
    space: Arc<TemporarySpace>,
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteFile").field(&self.connection.shown).finish()
    }
}

/// The fetched content of a file.
#[derive(Debug)]
pub enum Content {
    /// All of it, in a temporary file.
    Whole(PositionedFile),
    /// A Parquet file whose server sends ranges. Nothing of it was fetched yet.
    Pieces(Arc<PiecewiseFile>),
}

impl RemoteFile {
    /// Its URL without user, password and query.
    pub fn shown(&self) -> &str {
        &self.connection.shown
    }

    /// Its name without folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fetches the file. With `in_pieces`, a Parquet file stays where it is if its server sends ranges. `progress` gets
    /// the number of bytes that have arrived, and the size of the file if the server sends it. Returns the content, and
    /// perhaps a warning.
    ///
    /// # Errors
    ///
    /// `NotFound` if it does not exist, `Unavailable` if it does not arrive as a whole, `Resources` if it needs more
    /// space than temporary files may take, and the error that ends a wait.
    pub fn fetch(
        &self,
        in_pieces: bool,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<(Content, Option<String>)> {
        let answer = self.connection.get(None, None)?;
        let (size, e_tag, has_end) = (answer.byte_count, answer.e_tag.clone(), answer.has_end);
        let mut content = self.connection.content(answer);
        let mut head = Vec::new();
        while head.len() < PARQUET.len()
            && let Some(pieces) = content.next()?
        {
            head.extend_from_slice(&pieces.concat());
        }
        if let Some(size) = size.filter(|_| in_pieces && head.starts_with(PARQUET))
            && let Some(pieces) = PiecewiseFile::open(&self.connection, size, e_tag, &self.space)?
        {
            return Ok((Content::Pieces(Arc::new(pieces)), None));
        }
        let file = TemporaryFile::new(&self.space)?;
        let mut done = 0;
        let mut next = Some(head);
        while let Some(bytes) = next {
            let kept = file.append(&bytes);
            kept.map_err(|error| error.context(format!("cannot copy {} to a temporary file", self.connection.shown)))?;
            done += bytes.len() as u64;
            progress(done, size);
            next = content.next()?.map(|pieces| pieces.concat());
        }
        if let Some(size) = size.filter(|size| *size != done) {
            return Err(cut(&self.connection.shown, done, size));
        }
        let warning = format!(
            "the server did not say where {} ends: a cut connection would not be noticed",
            self.connection.shown
        );
        Ok((Content::Whole(PositionedFile::from(Arc::new(file))), (!has_end).then_some(warning)))
    }
}
