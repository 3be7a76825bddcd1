//! Limits the memory of a decoded request, because a small body may name a long text many times.

use super::error::RemoteError;

/// The maximum number of labels of a series or an exemplar.
const LABELS_MAX: usize = 10_000;

/// The bytes that a decoded request may hold, and those that it holds.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    spent: usize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, spent: 0 }
    }

    /// Fails if this many further bytes would exceed the limit.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), RemoteError> {
        if bytes > self.bytes_max - self.spent {
            let limit = self.bytes_max;
            return Err(RemoteError::TooLarge(format!(
                "the request holds more than {limit} bytes of series and samples"
            )));
        }
        Ok(())
    }

    /// Counts bytes.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), RemoteError> {
        self.check(bytes)?;
        self.spent += bytes;
        Ok(())
    }

    pub(crate) fn spent(&self) -> usize {
        self.spent
    }
}

/// Fails if a series or an exemplar has too many labels.
pub(crate) fn check_label_count(count: usize) -> Result<(), RemoteError> {
    if count > LABELS_MAX {
        return Err(RemoteError::malformed(format!("a series or an exemplar has more than {LABELS_MAX} labels")));
    }
    Ok(())
}
