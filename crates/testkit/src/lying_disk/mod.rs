//! A simulated disk that lies: the file operations of a program are recorded, call by call ([`Recorder`]), and the
//! [`Disk`] is rebuilt in the state that a power cut at any moment would leave. These assumptions about a disk and its
//! file system are not tested: synced data survives, a write touches no byte outside of its range, and the names in one
//! folder reach the disk in the order in which they were changed. Data that was not synced may be lost, in any order,
//! in sectors of 512 bytes. Data that a failed sync did not make durable is not made durable by a later sync either,
//! unless it is written again.

mod disk;
mod recorder;

pub use disk::{Disk, Loss};
pub use recorder::{Event, Fault, Recorder, read_log};
