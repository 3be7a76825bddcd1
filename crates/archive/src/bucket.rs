//! Objects in a bucket of S3, or of what speaks its language.
//!
//! The client's futures run on threads of a runtime of its own, so that callers block wherever they are.

use crate::objects::{Lock, Objects};
use atsdb_core::{Error, ErrorKind, Result};
use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The object that a writer keeps.
const LOCK: &str = "lock";
const RENEW: Duration = Duration::from_secs(3);
/// A lock that was not renewed for so long is that of a writer that is gone.
const PATIENCE: Duration = Duration::from_secs(12);
const WAIT_STEP: Duration = Duration::from_millis(500);

/// A prefix of a bucket.
#[derive(Clone)]
pub(crate) struct Bucket {
    store: Arc<AmazonS3>,
    runtime: Arc<Runtime>,
    prefix: String,
    place: String,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.place)
    }
}

impl Bucket {
    /// What stands behind `s3://`.
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
                    return Err(Error::usage("AWS_ENDPOINT_URL is http: everybody on the way could read the data")
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("atsdb-s3")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Unavailable, "the operating system gave no thread").with_source(error)
            })?;
        Ok(Self { store: Arc::new(store), runtime: Arc::new(runtime), prefix: prefix.to_owned(), place })
    }

    /// Runs a future on the runtime's threads and waits for it, on any thread.
    fn run<T: Send + 'static>(
        &self,
        what: &str,
        future: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = channel();
        self.runtime.spawn(async move {
            // Nobody listens when the caller is gone.
            let _ = sender.send(future.await);
        });
        let done = receiver.recv().map_err(|_| Error::internal("a thread of the S3 client is gone"))?;
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
            ErrorKind::ReadOnly => "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do",
            _ => "check AWS_ENDPOINT_URL, AWS_REGION and the network; what was written is used by the next backup",
        };
        Error::new(kind, format!("cannot {what} of {}: {error}", self.place)).with_hint(hint)
    }

    fn path(&self, name: &str) -> Path {
        match self.prefix.is_empty() {
            true => Path::from(name),
            false => Path::from(format!("{}/{name}", self.prefix)),
        }
    }

    fn put_with(&self, name: &str, bytes: Vec<u8>, mode: PutMode) -> Result<UpdateVersion> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        let put = async move {
            let options = PutOptions { mode, ..PutOptions::default() };
            store.put_opts(&path, PutPayload::from(bytes), options).await
        };
        self.run(&format!("write {name}"), put).map(UpdateVersion::from)
    }

    fn list_some(&self, folder: &str, most: usize) -> Result<Vec<(String, u64)>> {
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

impl Objects for Bucket {
    fn place(&self) -> &str {
        &self.place
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.put_with(name, bytes, PutMode::Overwrite).map(drop)
    }

    fn get(&self, name: &str) -> Result<Vec<u8>> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        let get = async move { store.get(&path).await?.bytes().await };
        self.run(&format!("read {name}"), get).map(Into::into)
    }

    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        self.list_some(folder, usize::MAX)
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(self.list_some("", 2)?.iter().all(|(name, _)| name == LOCK))
    }

    fn delete(&self, name: &str) -> Result<()> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        match self.run(&format!("delete {name}"), async move { store.delete(&path).await }) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        Ok(Box::new(Locked::take(self)?))
    }

    fn at_once(&self) -> usize {
        8
    }
}

/// The lock object, renewed by a thread. Each version of it has another text; a writer that waits sees whether it changes.
struct Locked {
    bucket: Bucket,
    is_lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Locked {
    fn take(bucket: &Bucket) -> Result<Self> {
        let text = |count: u64| format!("process {} writes a backup, {count}\n", std::process::id()).into_bytes();
        let mut seen: Option<(Vec<u8>, Instant)> = None;
        let started = Instant::now();
        let version = loop {
            match bucket.put_with(LOCK, text(0), PutMode::Create) {
                Ok(version) => break version,
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
            match bucket.get(LOCK) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
                Ok(now) => match &seen {
                    Some((before, since)) if *before == now => {
                        if since.elapsed() > PATIENCE {
                            bucket.delete(LOCK)?;
                            seen = None;
                            continue;
                        }
                    }
                    // It is renewed: its writer lives.
                    Some(_) if started.elapsed() > PATIENCE => {
                        return Err(Error::new(
                            ErrorKind::Busy,
                            format!("something else is being backed up to {}", bucket.place),
                        )
                        .with_hint("try again when it is done"));
                    }
                    _ => seen = Some((now, Instant::now())),
                },
            }
            std::thread::sleep(WAIT_STEP);
        };
        let is_lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel::<()>();
        let renew = {
            let (bucket, mut version, is_lost) = (bucket.clone(), version, Arc::clone(&is_lost));
            move || {
                let mut count = 0;
                while stopped.recv_timeout(RENEW) == Err(RecvTimeoutError::Timeout) {
                    count += 1;
                    match bucket.put_with(LOCK, text(count), PutMode::Update(version.clone())) {
                        Ok(next) => version = next,
                        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                            is_lost.store(true, Ordering::SeqCst);
                            return;
                        }
                        // What fails now is tried again: others are patient for some renewals.
                        Err(_) => {}
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("atsdb-s3-lock".into()).spawn(renew).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the operating system gave no thread").with_source(error)
        })?;
        Ok(Self { bucket: bucket.clone(), is_lost, stop: Some(stop), thread: Some(thread) })
    }
}

impl Lock for Locked {
    fn require(&self) -> Result<()> {
        match self.is_lost.load(Ordering::SeqCst) {
            false => Ok(()),
            true => {
                Err(Error::new(ErrorKind::Conflict, format!("another backup to {} has taken over", self.bucket.place))
                    .with_hint("back up again: what was written is used"))
            }
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !self.is_lost.load(Ordering::SeqCst) {
            // What stays is given up when it is not renewed.
            let _ = self.bucket.delete(LOCK);
        }
    }
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
