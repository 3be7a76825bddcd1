//! The client of a bucket: requests, and the meaning of their errors. The client's futures run on a separate runtime,
//! so that callers may block in any context.

use atsdb_core::{Error, ErrorKind, Result};
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
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
    pub(super) place: String,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.place)
    }
}

impl Bucket {
    /// The part after `s3://`.
    pub(crate) fn open(rest: &str) -> Result<Self> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        if bucket.is_empty() || bucket.contains(['@', ':', '?']) {
            return Err(Error::usage("an S3 URL is s3://BUCKET/PREFIX, without a password")
                .with_hint("give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"));
        }
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        if std::env::var_os("AWS_REGION").is_none() && std::env::var_os("AWS_DEFAULT_REGION").is_none() {
            builder = builder.with_region("us-east-1");
        }
        if let Some(endpoint) = &endpoint {
            let is_told = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|told| told.eq_ignore_ascii_case("true"));
            if is_plain(endpoint) {
                if !is_loopback(endpoint) && !is_told {
                    return Err(Error::usage("AWS_ENDPOINT_URL uses http, so others could read the data in transit")
                        .with_hint("use https, or set AWS_ALLOW_HTTP=true"));
                }
                builder = builder.with_allow_http(true);
            }
        }
        let place = format!("s3://{}", rest.trim_end_matches('/'));
        let store = builder.build().map_err(|error| {
            Error::usage(format!("cannot use {place}: {error}"))
                .with_hint("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL say how")
        })?;
        Ok(Self { prefix: prefix.to_owned(), ..Self::over(Arc::new(store), &place)? })
    }

    /// A bucket without a prefix.
    pub(super) fn over(store: Arc<dyn ObjectStore>, place: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("atsdb-s3")
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorKind::Unavailable, "cannot start a thread").with_source(error))?;
        Ok(Self { store, runtime: Arc::new(runtime), prefix: String::new(), place: place.to_owned() })
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
        Error::new(kind, format!("cannot {what} of {}: {error}", self.place)).with_hint(hint)
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

fn is_plain(endpoint: &str) -> bool {
    endpoint.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
}

fn is_loopback(endpoint: &str) -> bool {
    let rest = endpoint.get(7..).unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_encryption_unless_told() {
        for near in ["http://localhost:5000", "HTTP://127.0.0.1", "http://[::1]:9/x", "http://127.8.8.8:1"] {
            assert!(is_plain(near) && is_loopback(near), "{near}");
        }
        for far in ["http://minio:9000", "http://localhost.example.com", "http://10.0.0.1", "http://127.0.0.1@evil"] {
            assert!(is_plain(far) && !is_loopback(far), "{far}");
        }
        assert!(!is_plain("https://minio"));
        assert!(Bucket::open("key:secret@bucket/x").is_err() && Bucket::open("").is_err());
    }
}
