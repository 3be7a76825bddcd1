//! A set of labels.

use super::text::{METRIC_NAME, write_series};
use std::fmt;
use std::sync::Arc;

/// The labels that describe a metric. An operation that changes its meaning drops them.
const METADATA: [&str; 3] = [METRIC_NAME, "__type__", "__unit__"];

/// A name and its value.
pub type Label = (Arc<str>, Arc<str>);

/// The labels of one series, sorted by name, each name once, no value empty. A copy shares its memory.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<[Label]>);

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl Labels {
    /// Sorts the pairs. Of a repeated name the last value counts; pairs with an empty value are dropped.
    pub fn new<N: Into<Arc<str>>, V: Into<Arc<str>>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut all: Vec<Label> = Vec::new();
        for (name, value) in pairs {
            let (name, value) = (name.into(), value.into());
            match all.iter_mut().find(|label| label.0 == name) {
                Some(label) => label.1 = value,
                None => all.push((name, value)),
            }
        }
        all.retain(|label| !label.1.is_empty());
        all.sort_unstable();
        Self(all.into())
    }

    /// Creates a set from pairs that are sorted by name, with distinct names and without empty values.
    pub(crate) fn from_sorted(pairs: Vec<Label>) -> Self {
        Self(pairs.into())
    }

    /// The value of a label; empty if the set does not have it.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|label| &*label.0 == name).map_or("", |label| &*label.1)
    }

    /// The metric's name; empty if there is none.
    pub fn metric(&self) -> &str {
        self.get(METRIC_NAME)
    }

    /// All labels, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|label| (&*label.0, &*label.1))
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the labels of these names.
    pub(crate) fn keep(&self, names: &[String]) -> Self {
        self.filter(|name| names.iter().any(|other| other == name))
    }

    /// All labels but these.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        self.filter(|name| !names.iter().any(|other| other == name))
    }

    /// All labels but the metric's name, type and unit.
    pub(crate) fn without_metadata(&self) -> Self {
        self.filter(|name| !METADATA.contains(&name))
    }

    /// Returns the same labels with this one set, or removed if the value is empty.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut all: Vec<Label> = self.0.iter().filter(|label| &*label.0 != name).cloned().collect();
        if !value.is_empty() {
            let index = all.partition_point(|label| &*label.0 < name);
            all.insert(index, (name.into(), value.into()));
        }
        Self(all.into())
    }

    fn filter(&self, keep: impl Fn(&str) -> bool) -> Self {
        if self.0.iter().all(|label| keep(&label.0)) {
            return self.clone();
        }
        Self(self.0.iter().filter(|label| keep(&label.0)).cloned().collect())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_series(&mut text, self.iter());
        f.write_str(&text)
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
