//! Files at `http://`, `https://` and `s3://` URLs, for programs that block.
//!
//! A file is copied to a temporary file while it arrives, or read piece by piece if it is Parquet and its server sends
//! ranges. It is never in memory as a whole.
//!
//! One part per file: `address` reads URLs and hides their secrets, `bucket` is the client of S3 with its settings,
//! `http` that of HTTP, `answer` is a server's answer, `connection` waits for answers, `failure` explains failed
//! requests, `file` fetches a file, `pieces` reads ranges of a file, `request_threads` starts the threads that do so.
//!
//! Not owned: what is in the files, and backups in buckets.

mod address;
mod answer;
mod bucket;
mod connection;
mod failure;
mod file;
mod http;
mod pieces;
mod request_threads;

pub use address::path_of_url;
pub use bucket::s3_store;
pub use file::{Content, RemoteClient, RemoteFile, is_remote};
pub use pieces::PiecewiseFile;
pub use request_threads::start_request_threads;
