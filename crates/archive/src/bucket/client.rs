//! The client of a bucket: requests, and the meaning of their errors. The client's futures run on a separate runtime,
//! so that callers may block in any context.

use atsdb_core::{Error, ErrorKind, Result};
use atsdb_remote::{s3_store, start_request_threads};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::channel;
use tokio::runtime::Runtime;

/// A prefix of a bucket.
#[derive(Clone)]
pub(crate) struct Bucket {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) runtime: Arc<Runtime>,
    pub(super) prefix: String,
    pub(super) location: String,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.location)
    }
}

impl Bucket {
    /// The part after `s3://`.
    pub(crate) fn open(rest: &str) -> Result<Self> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let location = format!("s3://{}", rest.trim_end_matches('/'));
        let store = s3_store(bucket, &location, |builder| builder)?;
        Ok(Self { prefix: prefix.to_owned(), ..Self::over(Arc::new(store), &location)? })
    }

    /// A bucket without a prefix.
    pub(super) fn over(store: Arc<dyn ObjectStore>, location: &str) -> Result<Self> {
        let runtime = start_request_threads("atsdb-s3")?;
        Ok(Self { store, runtime: Arc::new(runtime), prefix: String::new(), location: location.to_owned() })
    }

    /// Runs a future on the runtime's threads and waits for it. Any thread may call this.
    pub(super) fn run<T: Send + 'static>(
        &self,
        what: &str,
        future: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = channel();
        self.runtime.spawn(async move {
            // If the caller has ended, the result is not needed.
            let _ = sender.send(future.await);
        });
        let done = receiver.recv().map_err(|_| Error::internal("a thread of the S3 client has ended"))?;
        done.map_err(|error| self.explain(what, error))
    }

    fn explain(&self, what: &str, error: object_store::Error) -> Error {
        use object_store::Error as Cause;
        let kind = match &error {
            Cause::NotFound { .. } => ErrorKind::NotFound,
            Cause::AlreadyExists { .. } | Cause::Precondition { .. } => ErrorKind::Conflict,
            Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. } => ErrorKind::ReadOnly,
            _ => ErrorKind::Unavailable,
        };
        let hint = match kind {
            ErrorKind::NotFound => "does the bucket exist?",
            ErrorKind::ReadOnly => "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions",
            _ if std::env::var_os("AWS_ACCESS_KEY_ID").is_none() => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and this machine's role provides none"
            }
            _ => "check AWS_ENDPOINT_URL, AWS_REGION and the network; the next backup uses what was written",
        };
        Error::new(kind, format!("cannot {what} of {}: {error}", self.location)).with_hint(hint)
    }

    pub(super) fn path(&self, name: &str) -> Path {
        match self.prefix.is_empty() {
            true => Path::from(name),
            false => Path::from(format!("{}/{name}", self.prefix)),
        }
    }

    pub(super) fn put_with(&self, name: &str, bytes: Vec<u8>, mode: PutMode) -> Result<UpdateVersion> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        let put = async move {
            let options = PutOptions { mode, ..PutOptions::default() };
            store.put_opts(&path, PutPayload::from(bytes), options).await
        };
        self.run(&format!("write {name}"), put).map(UpdateVersion::from)
    }

    /// An object and its version, if it exists.
    pub(super) fn get_version(&self, name: &str) -> Result<Option<(Vec<u8>, UpdateVersion)>> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        let get = async move {
            let found = store.get(&path).await?;
            let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok((found.bytes().await?.into(), version))
        };
        match self.run(&format!("read {name}"), get) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn list_some(&self, folder: &str, most: usize) -> Result<Vec<(String, u64)>> {
        let (store, path) = (Arc::clone(&self.store), self.path(folder));
        let prefix_length = if self.prefix.is_empty() { 0 } else { self.prefix.len() + 1 };
        let list = async move {
            let path = (!path.as_ref().is_empty()).then_some(path);
            let mut found = Vec::new();
            let mut stream = store.list(path.as_ref());
            while let Some(meta) = stream.try_next().await? {
                found.push((meta.location.to_string(), meta.size));
                if found.len() >= most {
                    break;
                }
            }
            Ok(found)
        };
        let mut found = self.run(&format!("list {folder}"), list)?;
        found.iter_mut().for_each(|(name, _)| drop(name.drain(..prefix_length.min(name.len()))));
        found.sort_unstable();
        Ok(found)
    }
}
