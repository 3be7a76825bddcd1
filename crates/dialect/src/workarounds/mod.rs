//! Code that exists only because DataFusion 55.2 answers wrongly, or has a limit that cannot be accepted.
//!
//! Each file, or the `mod.rs` of its folder, names the fault of DataFusion and the issue whose fix would make the file
//! superfluous. All are listed here, in the order in which they are plugged in. To try an upgrade without one of them,
//! remove it from its list.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it repairs |
//! |---|---|
//! | `subqueries` | subqueries in expressions, conditions and `LATERAL`, and the order of those in FROM |
//! | `ordered_texts` | labels, network addresses, ranges and full-text search: their types, order and operators |
//! | `declared` | UUIDs, JSON, labels, addresses and others, which are texts for DataFusion |
//! | `arrays` | comparing arrays, and their elements, positions and dimensions |
//! | `untyped` | constants and parameters without a type |
//! | `texts` | functions and operators of texts, and texts of mapped columns |
//! | `aggregates` | aggregates and window functions |
//! | `numbers` | decimals, results out of range, and comparisons and functions of floats and integers |
//! | `times` | times, dates and intervals |
//! | `casts` | casts from one type to another |
//! | `plans` | steps of logical plans that are planned or optimized wrongly |
//! | `steps` | rules of the physical optimizer that assume too much, and steps that do not yield |
//! | `syntax` | tokens and syntax trees, before DataFusion plans them |
//! | `resources` | time and memory that are taken without a limit |
//! | `shared` | nothing: it holds what several of the others need |
//!
//! Not owned: what DataFusion does not claim to do (`operators`, `functions`), and its errors in plain words (`text`).

mod aggregates;
mod arrays;
mod casts;
mod declared;
mod numbers;
mod ordered_texts;
mod plans;
mod resources;
mod shared;
mod steps;
mod subqueries;
mod syntax;
mod texts;
mod times;
mod untyped;

pub use aggregates::percentiles::{Fraction, PERCENTILE};
pub(crate) use arrays::items::{appended, prepended};
pub use casts::postgres::{array_texts, value_texts, with_postgres_casts};
pub use casts::shown_rows::{has_structs, show_rows};
pub use declared::results::declare_columns;
pub use numbers::decimals::literals::write_numbers;
pub use numbers::overflow::{AVERAGE, IntegerOperation, WIDE_SUM, average, checked, fitting_sum, sums_as};
pub use plans::computed_sets::compute_sets;
pub use resources::long_literals::batch_rows;
pub use resources::repeated_parts::refuse_repeated_parts;
pub use syntax::names::output_names;
pub use syntax::names::stars::Stars;
pub use syntax::rows::values_of_subqueries::{is_default, select_rows};
pub use syntax::tokens::created_columns::CREATED_QUERY;
pub use syntax::tokens::dialect::StatementDialect;
pub use syntax::tokens::merge_words::{DEFAULT_VALUES, NOTHING};
pub use syntax::tokens::statement_words::{OVERRIDING_SYSTEM, OVERRIDING_USER};
pub use syntax::tokens::using_aliases::name_merged_columns;
pub use times::date_trunc::{DateTrunc, cut as cut_by_unit};
pub use times::words::{has_time_words, read_time_words};
pub use untyped::array_constants::write_array_constants;

use crate::text::tree_walk::visit_expressions_mut;
use atsdb_core::Table;
use atsdb_engine::ReadSnapshot;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::planner::{ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::optimizer::{AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rewrites the tokens of a statement before they are parsed.
pub fn rewrite_tokens(tokens: &mut Vec<TokenWithSpan>) -> atsdb_core::Result<()> {
    syntax::tokens::catalogue_types::drop_catalogue(tokens);
    syntax::tokens::texts::refuse_letters_after_numbers(tokens)?;
    syntax::tokens::distinct_from::words_to_operators(tokens);
    syntax::tokens::texts::write_plain_texts(tokens);
    syntax::tokens::texts::join_texts(tokens)?;
    syntax::tokens::texts::write_null_tests(tokens);
    syntax::tokens::between::mark_symmetric(tokens);
    syntax::tokens::merge_words::write_merge_actions(tokens);
    syntax::tokens::statement_words::write_statements(tokens);
    syntax::tokens::other_spellings::write_known_spelling(tokens);
    syntax::tokens::binding::sharps_to_words(tokens);
    syntax::tokens::binding::join_at_operators(tokens);
    syntax::tokens::typed_texts::write_casts(tokens);
    syntax::tokens::frame_bounds::enclose_casts(tokens);
    syntax::tokens::array_words::write_brackets(tokens);
    syntax::tokens::operators::join_operators(tokens);
    syntax::tokens::row_fields::open_rows(tokens);
    syntax::tokens::column_names::quote_column_names(tokens);
    syntax::tokens::operand_names::quote_operand_names(tokens);
    syntax::tokens::variadic::open_variadic(tokens);
    syntax::tokens::using_aliases::keep_using_aliases(tokens);
    syntax::tokens::empty_selects::complete_empty_selects(tokens);
    syntax::tokens::nested_queries::name_first_queries(tokens);
    syntax::tokens::nested_sets::flatten_sets(tokens);
    syntax::tokens::nested_joins::enclose_nested_joins(tokens);
    syntax::tokens::words::weaken_locks(tokens);
    syntax::tokens::words::settle_words(tokens)
}

/// Rewrites a parsed statement over tables.
pub fn rewrite_statement(statement: &mut Statement, tables: &[Table]) -> atsdb_core::Result<()> {
    syntax::repetition::refuse_repetition(statement)?;
    let _ = visit_expressions_mut(statement, |expr| {
        syntax::tokens::distinct_from::operator_to_expression(expr);
        syntax::tokens::binding::word_to_sharp(expr);
        ControlFlow::<()>::Continue(())
    });
    syntax::clauses::settle_clauses(statement, tables)
}

/// Planners that see an expression before DataFusion's own.
pub fn expression_planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![
        Arc::new(ordered_texts::range_operands::RangeOperands),
        Arc::new(ordered_texts::search_operands::SearchOperands),
        Arc::new(ordered_texts::address_operands::AddressOperands),
        Arc::new(declared::json_operands::JsonOperands),
        Arc::new(texts::mapped_operands::MappedOperands),
        Arc::new(untyped::texts::UntypedTexts),
        Arc::new(texts::functions_of_bytes::FormsWithWords),
        Arc::new(arrays::subscripts::Subscripts),
        Arc::new(arrays::items::AddedItems),
        Arc::new(times::intervals::arithmetic::LengthArithmetic),
        Arc::new(numbers::decimals::arithmetic::DecimalArithmetic),
        Arc::new(times::date_part::Extract),
        Arc::new(untyped::operands::UntypedOperands),
    ]
}

/// Planners of the relations of one statement.
pub fn relation_planners() -> Vec<Arc<dyn RelationPlanner>> {
    vec![Arc::new(declared::relations::DeclaredRelations::default())]
}

/// The planner of types, for statements over a snapshot.
pub fn type_planner(snapshot: &ReadSnapshot) -> Arc<dyn TypePlanner> {
    Arc::new(ordered_texts::types::EnumTypes::new(snapshot, times::time_types::TimeTypes))
}

/// Rules of the analyzer that run before it makes types equal.
pub fn rules_before_types() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    vec![
        Arc::new(subqueries::order::SubqueryOrder),
        Arc::new(plans::computed_once::ComputedOnce),
        Arc::new(numbers::literal_places::LiteralPlaces),
        Arc::new(declared::results::DeclaredResults),
        Arc::new(ordered_texts::rule::OrderedTexts),
        Arc::new(plans::distinct_rows::DistinctRows),
        Arc::new(numbers::results::NumberResults),
        Arc::new(numbers::shifts::SmallShifts),
        Arc::new(subqueries::rule::AnySubquery),
        Arc::new(plans::one_row::OneRow),
        Arc::new(untyped::united_types::UnitedTypes),
        Arc::new(untyped::boolean_texts::BooleanTexts),
        Arc::new(subqueries::unknown_members::UnknownMembers),
        Arc::new(times::intervals::comparison::Lengths),
        Arc::new(numbers::equal_zeros::EqualZeros),
        Arc::new(times::comparison::CompareTimes),
        Arc::new(times::dates_beside_times::DatesBesideTimes),
        Arc::new(times::times_of_day::CompareTimesOfDay),
        Arc::new(aggregates::range_frames::RangeFrames),
        Arc::new(declared::uuid_arrays::UuidArrays),
        Arc::new(arrays::comparison::CompareArrays),
        Arc::new(declared::texts::DeclaredTexts),
        Arc::new(numbers::decimals::rule::SettleDecimals),
        Arc::new(numbers::in_lists::CompareLists),
        Arc::new(texts::similar_to::SimilarTo),
        Arc::new(texts::byte_lengths::ByteLengths),
        Arc::new(texts::outputs::TextOutputs),
    ]
}

/// The rule of the analyzer that checks arithmetic. Types must have been made equal.
pub fn rule_of_arithmetic() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(numbers::overflow::CheckNumbers)
}

/// Rules of the analyzer that replace operators and casts, and that need the final arguments of functions. They run
/// after all rules that look for casts.
pub fn rules_of_casts() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    vec![
        Arc::new(texts::regexp_like::MatchByFunction),
        Arc::new(casts::exact::ExactCasts),
        Arc::new(casts::postgres::PostgresCasts),
        Arc::new(aggregates::collected_order::SortDistinct),
    ]
}

/// The rule of the analyzer for frames without some rows. The types of all expressions must have been settled.
pub fn rule_of_frames() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(aggregates::excluded_rows::rule::ExcludeRows)
}

/// Rules of the optimizer that run after its own.
pub fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(texts::plain_values::PlainValues),
        Arc::new(resources::flat_cases::FlatCases),
        Arc::new(plans::constant_order::ConstantOrder),
        Arc::new(plans::computed_order::ComputedOrder),
        Arc::new(casts::condition_casts::ConditionCasts),
        Arc::new(plans::guarded_conditions::GuardedConditions),
    ]
}

/// Changes the rules of the logical optimizer.
pub fn change_logical_rules(optimizer: &mut Optimizer) {
    plans::null_conditions::settle_null_conditions(optimizer);
    plans::distinct_beside_sums::keep_types(optimizer);
    plans::null_keys::keep_keys(optimizer);
    plans::repeated_keys::name_each_key_once(optimizer);
    plans::volatile_conditions::keep_conditions(optimizer);
}

/// Changes the rules of the physical optimizer.
pub fn change_physical_rules(optimizer: &mut PhysicalOptimizer) {
    steps::unambiguous_filters::keep_filters_unambiguous(optimizer);
    steps::cast_statistics::answer_from_true_statistics(optimizer);
    steps::union_constants::sort_by_all_keys(optimizer);
    steps::joined_rows::know_less_of_joined_rows(optimizer);
    steps::sliding_counts::know_less_of_sliding_counts(optimizer);
    steps::grouping_sets::know_nothing_of_grouping_sets(optimizer);
    optimizer.rules.push(Arc::new(steps::stoppable::Stoppable));
}

/// Registers functions that replace DataFusion's. `memory_bytes` is a query's memory limit.
pub fn register_functions(context: &SessionContext, memory_bytes: usize) {
    times::date_trunc::register(context);
    times::date_part::register(context);
    times::time_results::register(context);
    aggregates::extremes::register(context);
    resources::first_values::register(context);
    aggregates::collected_order::register(context);
    aggregates::joined_bytes::register(context);
    texts::letter_cases::register(context);
    texts::regexp_like::register(context);
    texts::regexp_match::register(context);
    texts::regexp_replace::register(context);
    texts::functions_of_bytes::register(context);
    casts::row_texts::register(context);
    arrays::members::register(context);
    arrays::items::register(context);
    arrays::elements::register(context);
    arrays::empty_arrays::register(context);
    numbers::round_places::register(context);
    aggregates::shifted_rows::register(context);
    aggregates::percentiles::register(context);
    times::series::register(context);
    numbers::decimal_series::register(context, memory_bytes);
    resources::bounded_functions::bound_functions(context, memory_bytes);
    texts::plain_results::plain_results(context);
    aggregates::excluded_rows::rule::register(context);
    numbers::overflow::check_functions(context);
}
