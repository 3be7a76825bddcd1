//! Objects in a bucket of S3 or a compatible service.

mod client;
mod lock;

pub(crate) use client::Bucket;

use crate::objects::{Lock, Objects};
use atsdb_core::{ErrorKind, Result};
use lock::{BucketLock, LOCK, LockTimes};
use object_store::{ObjectStoreExt, PutMode};
use std::sync::Arc;
use std::time::Duration;

/// A deletion that takes longer is abandoned, because its writer may have lost the lock by then.
const DELETE_TIMEOUT: Duration = Duration::from_secs(7);

impl Objects for Bucket {
    fn location(&self) -> &str {
        &self.location
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
        let delete = async move {
            let is_late = |source: tokio::time::error::Elapsed| object_store::Error::Generic {
                store: "S3",
                source: Box::new(source),
            };
            tokio::time::timeout(DELETE_TIMEOUT, store.delete(&path)).await.unwrap_or_else(|late| Err(is_late(late)))
        };
        match self.run(&format!("delete {name}"), delete) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        Ok(Box::new(BucketLock::take(self, LockTimes::DEFAULT)?))
    }

    fn at_once(&self) -> usize {
        8
    }
}
