//! Windows of window functions, and their frames.

pub(super) mod exclusions;
pub(super) mod frames;
pub(super) mod named_windows;
