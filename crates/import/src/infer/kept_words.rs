//! Chooses the words that usually mean NULL and that a text column keeps: see [`nulls`](crate::facts::nulls).

use crate::facts::nulls::{NullCounts, WordSet};
use crate::infer::maps::map_of;

/// The evidence of a column about the words.
#[derive(Debug)]
pub(crate) struct WordUse<'a> {
    /// The number of occurrences.
    pub(crate) counts: &'a NullCounts,
    /// The number of the other distinct texts of a text column that may keep words, `None` if they were not counted,
    /// and the number of values that have them. `None` for columns of other types.
    pub(crate) texts: Option<(Option<usize>, u64)>,
}

/// The words that each column keeps.
pub(crate) fn kept_words(columns: &[WordUse<'_>]) -> Vec<WordSet> {
    let typed = columns.iter().filter(|column| column.texts.is_none());
    let null = typed.fold(WordSet::default(), |set, column| set.with(column.counts.words()));
    let free = null.others();
    let is_repeated = |column: &WordUse<'_>| {
        column.texts.is_some_and(|(distinct, value_count)| map_of(distinct, value_count).is_some())
    };
    columns.iter().map(|column| if is_repeated(column) { free } else { WordSet::default() }).collect()
}
