//! The values of a sliding frame, joined without subtracting those that have left it.
//!
//! Part of [`overflow`](super).

/// Two stacks. Values enter on top of the second one. When the first one is empty, the second one is turned over onto
/// it, so that the value that entered first is on top and leaves next. Each value is moved once.
#[derive(Debug)]
pub(super) struct FrameValues<T> {
    /// Joins a value with one that entered later.
    join: fn(T, T) -> T,
    /// Each value joined with those below it, which entered later.
    leaving: Vec<T>,
    entering: Vec<T>,
    /// All values that are entering.
    entered: Option<T>,
}

impl<T: Copy> FrameValues<T> {
    pub(super) fn new(join: fn(T, T) -> T) -> Self {
        Self { join, leaving: Vec::new(), entering: Vec::new(), entered: None }
    }

    pub(super) fn enter(&mut self, value: T) {
        self.entered = Some(self.entered.map_or(value, |entered| (self.join)(entered, value)));
        self.entering.push(value);
    }

    /// Removes the values that entered first.
    pub(super) fn leave(&mut self, count: usize) {
        for _ in 0..count {
            if self.leaving.is_empty() {
                self.entered = None;
                for value in self.entering.drain(..).rev() {
                    let joined = self.leaving.last().map_or(value, |later| (self.join)(value, *later));
                    self.leaving.push(joined);
                }
            }
            self.leaving.pop();
        }
    }

    pub(super) fn count(&self) -> usize {
        self.leaving.len() + self.entering.len()
    }

    /// All values of the frame; `None` if it has none.
    pub(super) fn joined(&self) -> Option<T> {
        match (self.leaving.last(), self.entered) {
            (Some(first), Some(next)) => Some((self.join)(*first, next)),
            (first, next) => first.copied().or(next),
        }
    }

    /// The bytes of the stacks.
    pub(super) fn size(&self) -> usize {
        (self.leaving.capacity() + self.entering.capacity()) * size_of::<T>()
    }
}
