//! A disk that lies: what a program did to files is recorded, call by call ([`Recorder`]), and the [`Disk`] that it was
//! done to is made again as a power cut at any moment would leave it.
//!
//! What is assumed of a disk and its file system, and so not tested: what was synced is there, a write touches no byte
//! outside of it, and the names in one folder come to the disk in the order in which they were changed. All else may
//! happen to what was not synced: it is lost, in any order, and in sectors of 512 bytes. What a failed sync did not
//! make durable, a later one does not either, unless it is written once more.

mod disk;
mod recorder;

pub use disk::{Disk, Loss};
pub use recorder::{Event, Fault, Recorder, read_log};
