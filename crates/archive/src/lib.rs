//! Backups of a store in a directory or on S3-compatible object storage.
