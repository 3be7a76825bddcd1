//! The conformance suite: the cases, one file for each part of the contract, and their runner.

mod amendments;
mod commits;
mod concurrency;
mod counters;
mod definitions;
mod guards;
mod helpers;
mod leases;
mod mapping;
mod open_stages;
mod reclaim;
mod snapshots;
mod stages;
mod tables;
mod whole;

use crate::sample::Plan;
use atsdb_core::{ChunkId, ColumnId, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns a new, empty store each time it is called. The previous one may still be open.
pub type OpenStore<'a> = &'a dyn Fn() -> Box<dyn Store>;

/// One promise of the contract.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The promise.
    pub name: &'static str,
    /// Panics if an empty store does not keep the promise.
    pub run: fn(&dyn Store),
}

macro_rules! cases {
    ($($module:ident: $($name:ident),+;)+) => {
        vec![$($(Case { name: concat!(stringify!($module), "::", stringify!($name)), run: $module::$name }),+),+]
    };
}

/// All cases.
pub fn cases() -> Vec<Case> {
    cases! {
        tables:
            a_new_store_is_empty_and_undamaged,
            a_created_table_is_listed_as_defined,
            a_name_is_taken_in_any_case,
            a_definition_that_cannot_be_is_refused,
            dropping_takes_the_chunks_along,
            dropping_what_is_not_there_is_not_found,
            a_dropped_table_leaves_its_name_but_not_its_number,
            a_staged_table_appears_with_its_commit,
            a_staged_table_whose_name_was_taken_is_refused_whole,
            a_staged_table_is_removed_with_its_stage,
            names_may_hold_anything_printable;
        mapping:
            indices_count_up_in_the_order_given,
            strings_are_bytes,
            columns_and_tables_have_their_own_dictionaries,
            a_full_dictionary_adds_nothing,
            dictionaries_of_staged_tables_are_there_at_commit,
            a_dropped_table_takes_no_strings,
            a_part_of_a_dictionary_is_read_from_any_index,
            threads_agree_on_every_index;
        counters:
            blocks_follow_each_other,
            columns_and_tables_have_their_own_counters,
            a_restart_begins_anew_once,
            the_extremes_of_64_bits_are_numbers,
            a_dropped_table_gives_no_numbers,
            a_dropped_table_takes_no_counter_of_another,
            a_staged_table_counts_on_after_its_commit,
            definitions_of_identities_come_back,
            threads_never_share_a_number;
        stages:
            staged_chunks_appear_together_at_commit,
            a_staged_chunk_is_numbered_by_its_commit,
            an_abandoned_stage_leaves_nothing,
            abandoning_a_missing_stage_does_nothing,
            numbers_of_stages_are_not_used_again,
            a_missing_stage_accepts_no_chunks,
            an_idle_stage_is_abandoned_and_a_touched_one_is_not,
            a_clock_that_is_ahead_takes_no_stage_that_is_written_to,
            staging_for_a_table_that_is_not_there_writes_nothing,
            committing_a_stage_for_a_dropped_table_is_not_found,
            a_chunk_may_join_a_table_of_the_same_commit;
        open_stages:
            open_stages_are_listed,
            a_stage_is_read_before_its_commit,
            staged_chunks_are_listed_like_visible_ones,
            a_snapshot_of_a_stage_does_not_change,
            a_missing_stage_is_not_found,
            chunks_removed_from_a_stage_do_not_appear,
            removing_missing_chunks_from_a_stage_removes_none,
            a_table_is_removed_from_a_stage_with_its_chunks,
            chunks_removed_from_a_stage_are_reclaimed;
        commits:
            committed_chunks_are_read_back_unchanged,
            a_change_over_many_tables_is_all_or_nothing,
            a_change_that_fails_leaves_the_others,
            a_missing_chunk_is_a_conflict_and_nothing_is_done,
            a_swap_is_seen_whole,
            a_batch_sent_twice_counts_once,
            a_batch_twice_in_one_commit_counts_once,
            the_parts_of_a_batch_are_recorded_with_it,
            a_duplicate_drops_its_stage,
            a_batch_that_failed_may_be_sent_again,
            a_batch_is_remembered_for_its_time,
            a_clock_that_is_ahead_forgets_no_batch,
            old_batches_are_forgotten_in_steps,
            later_commits_have_higher_numbers,
            numbers_of_chunks_are_not_used_again,
            a_dropped_table_takes_no_chunks,
            an_empty_change_can_be_committed,
            a_chunk_that_contradicts_itself_is_refused;
        guards:
            a_guard_holds_while_nothing_newer_is_there,
            chunks_of_the_change_itself_do_not_break_its_guard,
            chunks_of_another_writer_break_a_guard,
            removed_and_amended_chunks_break_no_guard,
            a_guard_is_of_one_table_and_of_what_is_visible,
            a_guard_is_of_a_table_that_is_there,
            every_guard_of_a_change_must_hold,
            a_guard_sees_the_changes_before_it,
            the_newest_number_is_a_guard_for_every_table;
        definitions:
            every_part_of_a_definition_is_kept,
            a_view_is_a_table_without_columns,
            a_new_definition_leaves_everything_else,
            a_definition_that_changed_meanwhile_is_a_conflict,
            every_new_definition_has_the_next_version,
            a_change_made_under_another_definition_is_a_conflict,
            a_refused_change_names_tables_as_it_knows_them,
            a_staged_table_has_its_first_definition,
            a_table_is_redefined_step_by_step_in_one_change,
            a_later_change_of_a_commit_finds_the_tables_of_an_earlier_one,
            a_name_that_another_table_has_is_not_given,
            names_are_exchanged_in_one_change,
            a_staged_table_does_not_occupy_its_name,
            a_definition_that_cannot_be_is_not_given,
            only_visible_tables_are_redefined_or_dropped,
            a_change_drops_a_table_with_all_it_has,
            another_table_takes_the_name_of_a_dropped_one,
            a_dropped_table_takes_no_more_part_in_its_change;
        amendments:
            an_amended_chunk_keeps_what_it_has,
            a_snapshot_does_not_see_later_pages,
            of_two_amendments_one_wins,
            an_amendment_without_pages_requires_its_chunk,
            a_chunk_is_amended_step_by_step_in_one_change,
            only_a_visible_chunk_of_the_table_is_amended,
            an_amendment_that_contradicts_itself_is_refused,
            added_pages_count_and_are_removed_with_their_chunk;
        whole:
            a_change_of_all_parts_is_done_whole,
            a_part_that_fails_undoes_all_others,
            a_duplicate_does_no_part_of_it;
        snapshots:
            a_snapshot_does_not_change,
            a_snapshot_outlives_removal_and_reclaiming,
            a_snapshot_outlives_a_dropped_table,
            chunks_are_listed_by_slice_then_number,
            chunks_are_pruned_by_time_exactly,
            pages_come_in_the_order_asked,
            a_missing_page_is_corrupt,
            a_thousand_columns_and_an_empty_page_are_kept,
            an_unknown_table_has_no_chunks_and_no_strings,
            many_snapshots_do_not_block_writers;
        leases:
            a_lease_is_held_by_one_until_it_runs_out,
            a_lease_is_extended_by_its_holder,
            a_lease_is_released_only_by_its_holder,
            leases_of_other_names_are_free,
            a_lease_for_ever_is_one_of_the_longest_time,
            a_lease_that_ends_later_than_any_can_has_run_out;
        reclaim:
            nothing_to_reclaim_ends_at_once,
            removed_chunks_are_reclaimed_in_steps,
            visible_chunks_are_not_reclaimed,
            sizes_tell_what_tables_hold,
            sizes_leave_out_what_waits_to_be_reclaimed;
        concurrency:
            commits_of_many_threads_all_count,
            of_swaps_of_one_chunk_one_wins,
            a_reader_never_sees_half_a_change,
            a_batch_sent_by_many_counts_once,
            of_guarded_appends_one_wins,
            of_redefinitions_of_one_table_one_wins,
            of_amendments_of_one_chunk_one_wins,
            one_thread_gets_a_lease;
    }
}

/// Commits a table with one chunk, and returns the chunk and its columns.
pub fn one_chunk(store: &dyn Store) -> (ChunkId, Vec<ColumnId>) {
    let table = helpers::create(store, "t");
    helpers::commit(store, helpers::adding(vec![Plan::new(1).chunk(table)])).unwrap();
    (helpers::visible(store, table)[0].id, helpers::columns(3))
}

/// Runs every case on a separate store. At the end it panics with the names of those that failed; their panic messages
/// are printed above.
pub fn store_conformance(open: OpenStore<'_>) {
    let all = cases();
    let failed: Vec<&str> = all
        .iter()
        .filter(|case| {
            let run = || {
                let store = open();
                (case.run)(&*store);
                assert_eq!(store.verify().unwrap(), [], "verify after {}", case.name);
            };
            catch_unwind(AssertUnwindSafe(run)).is_err()
        })
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "{} of {} cases failed: {}", failed.len(), all.len(), failed.join(", "));
}
