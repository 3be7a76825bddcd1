//! The client of an S3 bucket, with its settings from the usual environment, and the objects that a pattern matches.

use crate::address::after_scheme;
use crate::connection::{Arrivals, FileLocation, Threads};
use crate::failure::Failure;
use crate::http::RETRIES_MAX;
use atsdb_core::{Error, ErrorKind, Result};
use futures::{StreamExt, TryStreamExt};
use glob::{MatchOptions, Pattern};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectMeta, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// A file that stops arriving later than this after its first request is not resumed.
const RESUMED_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The client of a bucket. `shown` is its URL in errors, and `adjust` may change the settings from the environment:
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL` and others.
///
/// # Errors
///
/// `Usage` if the name of the bucket or the settings are wrong, or would send data over a network without encryption.
pub fn s3_store(
    bucket: &str,
    shown: &str,
    adjust: impl FnOnce(AmazonS3Builder) -> AmazonS3Builder,
) -> Result<AmazonS3> {
    if bucket.is_empty() || bucket.contains(['@', ':', '?']) {
        return Err(Error::usage("an S3 URL is s3://BUCKET/NAME, without a password")
            .with_hint("give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"));
    }
    let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    if std::env::var_os("AWS_REGION").is_none() && std::env::var_os("AWS_DEFAULT_REGION").is_none() {
        builder = builder.with_region("us-east-1");
    }
    if let Some(endpoint) = endpoint.filter(|endpoint| is_plain(endpoint)) {
        let is_allowed = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
        if !is_loopback(&endpoint) && !is_allowed {
            return Err(Error::usage("AWS_ENDPOINT_URL uses http, so others could read the data in transit")
                .with_hint("use https, or set AWS_ALLOW_HTTP=true"));
        }
        builder = builder.with_allow_http(true);
    }
    adjust(builder).build().map_err(|error| {
        Error::usage(format!("cannot use {shown}: {error}"))
            .with_hint("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL configure it")
    })
}

fn is_plain(endpoint: &str) -> bool {
    after_scheme(endpoint, "http").is_some()
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

/// A bucket whose objects are read.
pub(crate) struct Bucket {
    name: String,
    store: Arc<dyn ObjectStore>,
    threads: Arc<Threads>,
}

impl Bucket {
    pub(crate) fn open(name: &str, threads: &Arc<Threads>) -> Result<Self> {
        let retries = RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RESUMED_MAX, ..RetryConfig::default() };
        let store = s3_store(name, &format!("s3://{name}"), |builder| {
            // A file may be large.
            builder.with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), "30 days").with_retry(retries)
        })?;
        Ok(Self { name: name.to_owned(), store: Arc::new(store), threads: Arc::clone(threads) })
    }

    pub(crate) fn location(&self, object: &Path) -> FileLocation {
        FileLocation::Object(Arc::clone(&self.store), object.clone())
    }

    /// Returns the objects that a name means: itself; those in a folder, whose name ends with a slash; those that match
    /// a pattern, in which `*` does not match a slash.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Path>> {
        let shown = format!("s3://{}/{name}", self.name);
        let pattern = match name.find(['*', '?', '[']) {
            _ if name.is_empty() || name.ends_with('/') => format!("{}*", Pattern::escape(name)),
            Some(_) => name.to_owned(),
            None => return Ok(vec![path(name, &shown)?]),
        };
        let start = name.find(['*', '?', '[']).unwrap_or(name.len());
        let folder = name[..start].rsplit_once('/').map_or("", |(folder, _)| folder);
        let pattern = Pattern::new(&pattern).map_err(|error| Error::usage(format!("{shown}: {error}")))?;
        let folder = path(folder, &shown)?;
        let prefix = (!folder.as_ref().is_empty()).then_some(folder);
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        // An empty object with the name of a folder stands for the folder.
        let is_file = |object: &ObjectMeta| object.size > 0 || !object.location.as_ref().ends_with('/');
        let fits = |object: &ObjectMeta| pattern.matches_with(object.location.as_ref(), options) && is_file(object);
        let all = self.store.list(prefix.as_ref()).map_err(|error| Failure::of_store(&error)).boxed();
        let (mut listed, mut found) = (Arrivals::new(&self.threads, &shown, all), Vec::new());
        while let Some(objects) = listed.next()? {
            found.extend(objects.into_iter().filter(fits).map(|object| object.location));
        }
        found.sort();
        if found.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, format!("no object matches {shown}"))
                .with_hint("a folder ends with a slash; * does not match a slash, ** matches folders"));
        }
        Ok(found)
    }

    pub(crate) fn shown(&self, object: &Path) -> String {
        format!("s3://{}/{object}", self.name)
    }
}

fn path(name: &str, shown: &str) -> Result<Path> {
    Path::parse(name).map_err(|error| Error::usage(format!("{shown} is not the name of an object: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        for near in ["http://localhost:5000", "HTTP://127.0.0.1", "http://[::1]:9/x", "http://127.8.8.8:1"] {
            assert!(is_plain(near) && is_loopback(near), "{near}");
        }
        for far in ["http://minio:9000", "http://localhost.example.com", "http://10.0.0.1", "http://127.0.0.1@evil"] {
            assert!(is_plain(far) && !is_loopback(far), "{far}");
        }
        assert!(!is_plain("https://minio"));
        for wrong in ["key:secret@bucket", "", "b?x=1"] {
            assert!(s3_store(wrong, "s3://", |builder| builder).is_err(), "{wrong}");
        }
    }
}
