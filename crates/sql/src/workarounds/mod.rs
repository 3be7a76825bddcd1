//! Code that exists only because DataFusion 55.2 answers wrongly, or has a limit that this crate cannot accept.
//!
//! Each file, or the `mod.rs` of its folder, names the fault of DataFusion and the issue whose fix would make the file
//! superfluous, except `expressions`, `filters` and `operator`, which several of them share. All are listed here, in
//! the order in which they are plugged in. To try an upgrade without one of them, remove it from its list. Not owned:
//! what DataFusion does not claim to do (`operators`, `functions`), and its errors in plain words (`text`).

mod array_comparison;
mod array_constants;
mod array_elements;
mod array_members;
mod array_subscripts;
mod bounded_functions;
mod cast_statistics;
mod casts;
mod collected_order;
mod compare_times;
mod computed_order;
mod constant_order;
mod date_part;
mod date_trunc;
mod decimals;
mod declared_relations;
mod declared_results;
mod declared_texts;
mod distinct_beside_sums;
mod distinct_rows;
mod empty_arrays;
mod equal_zeros;
mod excluded_rows;
mod expressions;
mod extremes;
mod filters;
mod first_values;
mod hidden_steps;
mod in_lists;
mod in_subqueries;
mod intervals;
mod json_operands;
mod literal_places;
mod long_literals;
mod mapped_operands;
mod number_results;
mod one_row;
mod operator;
mod overflow;
mod percentiles;
mod plain_results;
mod plain_values;
mod regexp_match;
mod regexp_replace;
mod repeated_keys;
mod repeated_parts;
mod round_places;
mod series_of_dates;
mod shifted_rows;
mod similar_to;
mod stoppable;
mod subqueries;
mod subquery_order;
mod syntax;
mod text_outputs;
mod time_words;
mod times_of_day;
mod unambiguous_filters;
mod union_constants;
mod united_types;
mod untyped_operands;
mod untyped_texts;
mod uuid_arrays;

pub(crate) use array_constants::write_array_constants;
pub(crate) use casts::postgres::{array_texts, with_postgres_casts};
pub(crate) use date_trunc::{DateTrunc, cut as cut_by_unit};
pub(crate) use decimals::literals::write_numbers;
pub(crate) use declared_results::declare_columns;
pub(crate) use long_literals::batch_rows;
pub(crate) use overflow::{AVERAGE, WIDE_SUM, average, checked, fitting_sum, sums_as};
pub(crate) use percentiles::{Fraction, PERCENTILE};
pub(crate) use repeated_parts::refuse_repeated_parts;
pub(crate) use syntax::dialect::StatementDialect;
pub(crate) use syntax::output_names;
pub(crate) use syntax::stars::Stars;
pub(crate) use syntax::statement_words::{OVERRIDING_SYSTEM, OVERRIDING_USER};
pub(crate) use time_words::{has_time_words, read_time_words};

use crate::text::errors::from_parser;
use crate::text::source_position::SourcePosition;
use atsdb_core::Table;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::planner::{ExprPlanner, RelationPlanner};
use datafusion::optimizer::{AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;
use std::sync::Arc;

/// Rewrites the tokens of a statement before they are parsed.
pub(crate) fn rewrite_tokens(tokens: &mut Vec<TokenWithSpan>) -> atsdb_core::Result<()> {
    syntax::texts::refuse_letters_after_numbers(tokens)?;
    syntax::distinct_from::words_to_operators(tokens);
    syntax::texts::join_texts(tokens)?;
    syntax::texts::write_null_tests(tokens);
    syntax::between::mark_symmetric(tokens);
    syntax::statement_words::write_statements(tokens);
    syntax::binding::sharps_to_words(tokens);
    syntax::binding::join_containment(tokens);
    syntax::column_names::quote_column_names(tokens);
    syntax::words::weaken_locks(tokens);
    syntax::words::settle_words(tokens)
}

/// Rewrites a parsed statement over tables. `position` is its position in the script.
pub(crate) fn rewrite_statement(
    statement: &mut Statement,
    tables: &[Table],
    position: SourcePosition,
) -> atsdb_core::Result<()> {
    syntax::repetition::refuse_repetition(statement)?;
    syntax::distinct_from::operators_to_expressions(statement);
    syntax::binding::words_to_sharps(statement);
    syntax::clauses::settle_clauses(statement, tables)?;
    syntax::constant_in::count_instead(statement).map_err(|error| from_parser(error, position))
}

/// Planners that see an expression before DataFusion's own.
pub(crate) fn expression_planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![
        Arc::new(json_operands::JsonOperands),
        Arc::new(mapped_operands::MappedOperands),
        Arc::new(untyped_texts::UntypedTexts),
        Arc::new(array_subscripts::Subscripts),
        Arc::new(intervals::arithmetic::LengthArithmetic),
        Arc::new(decimals::arithmetic::DecimalArithmetic),
        Arc::new(date_part::Extract),
        Arc::new(untyped_operands::UntypedOperands),
    ]
}

/// Planners of the relations of one statement.
pub(crate) fn relation_planners() -> Vec<Arc<dyn RelationPlanner>> {
    vec![Arc::new(declared_relations::DeclaredRelations::default())]
}

/// Rules of the analyzer that run before it makes types equal.
pub(crate) fn rules_before_types() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    vec![
        Arc::new(subquery_order::SubqueryOrder),
        Arc::new(literal_places::LiteralPlaces),
        Arc::new(declared_results::DeclaredResults),
        Arc::new(distinct_rows::DistinctRows),
        Arc::new(number_results::NumberResults),
        Arc::new(subqueries::rule::AnySubquery),
        Arc::new(one_row::OneRow),
        Arc::new(united_types::UnitedTypes),
        Arc::new(in_subqueries::UnknownMembers),
        Arc::new(intervals::comparison::Lengths),
        Arc::new(equal_zeros::EqualZeros),
        Arc::new(compare_times::CompareTimes),
        Arc::new(times_of_day::CompareTimesOfDay),
        Arc::new(uuid_arrays::UuidArrays),
        Arc::new(array_comparison::CompareArrays),
        Arc::new(declared_texts::DeclaredTexts),
        Arc::new(decimals::rule::SettleDecimals),
        Arc::new(in_lists::CompareLists),
        Arc::new(similar_to::SimilarTo),
        Arc::new(text_outputs::TextOutputs),
    ]
}

/// The rule of the analyzer that checks arithmetic. Types must have been made equal.
pub(crate) fn rule_of_arithmetic() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(overflow::CheckNumbers)
}

/// Rules of the analyzer that replace casts, and that need the final arguments of functions. They run after all rules
/// that look for casts.
pub(crate) fn rules_of_casts() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    vec![
        Arc::new(casts::exact::ExactCasts),
        Arc::new(casts::postgres::PostgresCasts),
        Arc::new(collected_order::SortDistinct),
    ]
}

/// The rule of the analyzer for frames without some rows. The types of all expressions must have been settled.
pub(crate) fn rule_of_frames() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(excluded_rows::rule::ExcludeRows)
}

/// Rules of the optimizer that run after its own.
pub(crate) fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(plain_values::PlainValues),
        Arc::new(constant_order::ConstantOrder),
        Arc::new(computed_order::ComputedOrder),
    ]
}

/// Changes the rules of the logical optimizer.
pub(crate) fn change_logical_rules(optimizer: &mut Optimizer) {
    distinct_beside_sums::keep_types(optimizer);
    repeated_keys::name_each_key_once(optimizer);
}

/// Changes the rules of the physical optimizer.
pub(crate) fn change_physical_rules(optimizer: &mut PhysicalOptimizer) {
    unambiguous_filters::keep_filters_unambiguous(optimizer);
    cast_statistics::answer_from_true_statistics(optimizer);
    union_constants::sort_by_all_keys(optimizer);
    optimizer.rules.push(Arc::new(stoppable::Stoppable));
}

/// Registers functions that replace DataFusion's. `memory_bytes` is a query's memory limit.
pub(crate) fn register_functions(context: &SessionContext, memory_bytes: usize) {
    date_trunc::register(context);
    date_part::register(context);
    extremes::register(context);
    first_values::register(context);
    collected_order::register(context);
    regexp_match::register(context);
    regexp_replace::register(context);
    array_members::register(context);
    array_elements::register(context);
    empty_arrays::register(context);
    round_places::register(context);
    shifted_rows::register(context);
    percentiles::register(context);
    series_of_dates::register(context);
    bounded_functions::bound_functions(context, memory_bytes);
    plain_results::plain_results(context);
    excluded_rows::rule::register(context);
    overflow::check_functions(context);
}
