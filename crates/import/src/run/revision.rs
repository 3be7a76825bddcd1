//! Revises a plan after all rows were built: which columns are mapped, which words they keep, and the width of slices.

use crate::facts::nulls::NullTexts;
use crate::infer::kept_words::{WordUse, kept_words};
use crate::infer::slices::slice_of_rows;
use crate::plan::Plan;
use crate::plan::column::MapRule;
use crate::run::tally::Tally;
use atsdb_core::MapWidth;

/// The plan that all rows require, if it differs from the present one.
pub(crate) fn revised(plan: &Plan, tally: &Tally, nulls: &NullTexts) -> Option<Plan> {
    let mut revised = plan.clone();
    let is_kept_anew = nulls.have_words() && !plan.is_definitive && revise_words(&mut revised, tally);
    for (position, counted) in tally.distinct.iter().enumerate() {
        let column = &plan.columns[position];
        if let Some((distinct, value_count)) = counted
            && column.map_rule != MapRule::Fixed
        {
            // The state after the words that are added or removed.
            let (without, with) = (column.kept_words, revised.columns[position].kept_words);
            let ((kinds_before, before), (kinds_after, after)) =
                (tally.nulls[position].within(without), tally.nulls[position].within(with));
            let distinct = distinct.count().map(|count| count - kinds_before.min(count) + kinds_after);
            set_map(&mut revised, position, column.map_rule.map(distinct, value_count - before + after));
        }
    }
    if plan.is_slice_free && plan.definition.time.is_some() {
        revised.definition.slice = slice_of_rows(&plan.definition, tally.row_count, tally.time_bounds);
    }
    (is_kept_anew || revised.definition != plan.definition).then_some(revised)
}

/// Decides which words the text columns keep after all rows were seen. Returns whether that changes rows.
fn revise_words(plan: &mut Plan, tally: &Tally) -> bool {
    let columns = plan.columns.iter().zip(&tally.nulls).zip(&tally.distinct);
    let uses = columns.map(|((column, counts), distinct)| {
        let (kinds, count) = counts.within(column.kept_words);
        let others = distinct.as_ref().map_or((None, 0), |(distinct, value_count)| {
            (distinct.count().map(|distinct| distinct - kinds.min(distinct)), value_count - count)
        });
        WordUse { counts, texts: column.may_keep_words.then_some(others) }
    });
    let kept = kept_words(&uses.collect::<Vec<_>>());
    let mut is_other = false;
    for ((column, kept), counts) in plan.columns.iter_mut().zip(kept).zip(&tally.nulls) {
        is_other |= counts.within(column.kept_words) != counts.within(kept);
        column.kept_words = kept;
    }
    is_other
}

fn set_map(plan: &mut Plan, position: usize, map: Option<MapWidth>) {
    plan.columns[position].column.map = map;
    plan.definition.columns[position].map = map;
}
