//! Clauses that the parser knows and DataFusion ignores silently. They are rewritten where other words mean the same,
//! else refused.
//!
//! No upstream issue known that names them all; [#17716](https://github.com/apache/datafusion/issues/17716) is about
//! one of them, `FETCH`.

use super::forms::composed_functions::composed_function;
use super::forms::constant_in::count_instead;
use super::forms::extreme_items::keep_extreme_items;
use super::forms::flat_arrays::{flatten, flatten_operands};
use super::forms::hypothetical_ranks::hypothetical_rank;
use super::forms::like_escape::write_backslashes;
use super::forms::like_lists::match_each;
use super::forms::line_ends::match_line_ends;
use super::forms::other_forms::other_forms;
use super::forms::other_functions::{other_functions, plain_call, plain_calls_of_rows};
use super::forms::row_members::compare_rows;
use super::forms::units_of_rows::part_of_rows;
use super::forms::variadic::spread_array;
use super::literals::instants::{mark_instants, mark_returned_instants};
use super::literals::integers::{in_columns, in_expression, in_rows, of_function};
use super::literals::intervals::{keep_sign, read_interval};
use super::literals::session_words::call_session_word;
use super::literals::times::settle_times;
use super::literals::typed_rows::type_rows;
use super::literals::types_of_text::{bind_operators, types_of_text, unite_rows};
use super::names::alias_columns::complete_aliases;
use super::names::outer_names::name_outer_tables;
use super::names::output_names::{keep_texts, name_inner_columns, name_other_sides, texts_of_items};
use super::names::stars::name_repeated_columns;
use super::names::subquery_names::name_subqueries;
use super::queries::aliased_joins::select_aliased_join;
use super::queries::first_joins::open_first_joins;
use super::queries::group_casts::tell_groups_apart;
use super::queries::group_keys::complete_groups;
use super::queries::group_names::count_group_names;
use super::queries::groups::regroup;
use super::queries::hiding_names::rename_hiding_names;
use super::queries::limits::settle_limits;
use super::queries::natural::name_natural_columns;
use super::queries::order_all::order_by_positions;
use super::queries::order_names::settle_order_names;
use super::queries::outer_aggregates::compute_outer_aggregates;
use super::queries::outer_merged::write_outer_merged;
use super::queries::samples::select_sample;
use super::queries::set_all::count_rows;
use super::queries::subquery_widths::refuse_wrong_widths;
use super::queries::using::merge_columns;
use super::rows::array_queries::collect_rows;
use super::rows::equal_lists::tell_lists_apart;
use super::rows::json_aggregates::collect_json;
use super::rows::json_rows::select_json_rows;
use super::rows::names_beside_rows::name_beside_rows;
use super::rows::outer_stars::name_outer_stars;
use super::rows::row_texts::write_row_texts;
use super::rows::rows_from::write_rows_from;
use super::rows::rows_of_functions::{
    name_series, narrow_series, number_rows, refuse_rows, select_outer_elements, unnest_functions, unnest_lists,
};
use super::rows::subscripts::write_subscripts;
use super::rows::values_of_subqueries::{select_listed, select_rows};
use super::rows::whole_rows::write_whole_rows;
use super::tokens::between::either_order;
use super::tokens::binding::{plain_operator, settle_operators};
use super::windows::exclusions::exclude_rows;
use super::windows::frames::{constant_bounds, empty_frame};
use super::windows::named_windows::complete_windows;
use crate::text::errors::not_supported;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::has_answer;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, GroupByWithModifier, OrderBy, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableFactor, VisitorMut, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Rewrites a parsed statement over these tables.
pub(crate) fn settle_clauses(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    refuse_wrong_widths(statement)?;
    rename_hiding_names(statement);
    if let ControlFlow::Break(error) = visit_mut(statement, &mut PlainTables) {
        return Err(error);
    }
    name_outer_stars(statement, tables);
    write_rows_from(statement)?;
    order_by_positions(statement, tables);
    name_beside_rows(statement)?;
    name_series(statement);
    complete_aliases(statement, tables)?;
    count_group_names(statement, tables);
    settle_order_names(statement, tables)?;
    complete_groups(statement, tables);
    compute_outer_aggregates(statement, tables)?;
    tell_groups_apart(statement);
    name_repeated_columns(statement, tables);
    name_subqueries(statement, tables);
    let texts = texts_of_items(statement);
    write_subscripts(statement)?;
    name_outer_tables(statement, tables);
    write_whole_rows(statement, tables)?;
    write_row_texts(statement)?;
    name_natural_columns(statement, tables);
    write_outer_merged(statement, tables);
    mark_returned_instants(statement)?;
    let declares = matches!(statement, Statement::CreateTable(_) | Statement::AlterTable(_));
    let answers = has_answer(statement);
    let is_parsed_again = matches!(statement, Statement::CreateTable(_) | Statement::CreateView(_));
    match visit_mut(statement, &mut Clauses { depth: 0, declares, answers, is_parsed_again }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => {
            count_instead(statement)?;
            keep_texts(statement, texts);
            Ok(())
        }
    }
}

/// Rewrites samples and joins in parentheses, before what follows looks for the names of tables.
struct PlainTables;

impl VisitorMut for PlainTables {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        open_first_joins(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match select_sample(factor).and_then(|()| select_aliased_join(factor)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

struct Clauses {
    /// The number of queries that the visitor is inside of.
    depth: usize,
    /// Whether the statement declares columns, whose defaults stay as they are written.
    declares: bool,
    /// Whether the columns of the outermost query are those of an answer.
    answers: bool,
    /// Whether the query of a declaration is parsed again by itself, when the tables that it reads are known.
    is_parsed_again: bool,
}

impl VisitorMut for Clauses {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Query { locks, for_clause, settings, format_clause, .. } = query;
        // Of two transactions that change the same rows, the later one fails, with or without a lock.
        locks.clear();
        if let Some(clause) = for_clause {
            return refuse(clause, "leave it out");
        }
        if settings.is_some() || format_clause.is_some() {
            return refuse("SETTINGS or FORMAT in a query", "leave it out");
        }
        if let Err(error) = settle_limits(query).and_then(|()| select_rows(query, self.depth > 0)) {
            return ControlFlow::Break(error);
        }
        if self.depth > 0 {
            name_inner_columns(query, self.depth);
        } else {
            name_other_sides(query)
        }
        if (self.depth > 0 || self.answers)
            && let Err(error) = mark_instants(query)
        {
            return ControlFlow::Break(error);
        }
        if let SetExpr::Values(values) = query.body.as_mut()
            && let Err(error) = unite_rows(values)
        {
            return ControlFlow::Break(error);
        }
        // The rows of an INSERT get the types of the columns, each for itself.
        if let SetExpr::Values(values) = query.body.as_mut()
            && (self.depth > 0 || self.answers || self.declares)
        {
            type_rows(values);
        }
        if self.depth > 0 || self.answers {
            in_rows(&mut query.body);
        }
        self.depth += 1;
        let Query { body, order_by, .. } = query;
        if let Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) = order_by
            && let Err(error) = orders.iter().try_for_each(|order| refuse_rows(&order.expr))
        {
            return ControlFlow::Break(error);
        }
        if let SetExpr::Select(select) = body.as_mut() {
            // The SELECT is finished here, with the ORDER BY of its query. The visitor does not rewrite it again.
            complete_windows(select, order_by.as_mut())?;
            return merge_columns(select, order_by.as_mut());
        }
        match count_rows(query) {
            Err(error) if !self.is_parsed_again => ControlFlow::Break(error),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        plain_call(expr);
        plain_operator(expr);
        bind_operators(expr);
        either_order(expr);
        flatten_operands(expr);
        keep_extreme_items(expr);
        if let Err(error) = match_each(expr).and_then(|()| collect_rows(expr)) {
            return ControlFlow::Break(error);
        }
        let settled = match expr {
            Expr::Identifier(_) => exclude_rows(expr),
            Expr::BinaryOp { .. } => settle_operators(expr),
            Expr::Like { .. } | Expr::ILike { .. } => write_backslashes(expr),
            Expr::Function(_) => {
                constant_bounds(expr).and_then(|()| exclude_rows(expr)).and_then(|()| empty_frame(expr))
            }
            Expr::InSubquery { .. } => select_listed(expr),
            Expr::Interval(_) => read_interval(expr),
            Expr::UnaryOp { .. } => {
                keep_sign(expr);
                Ok(())
            }
            _ => Ok(()),
        };
        in_expression(expr);
        match settled {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.declares {
            of_function(expr);
            return ControlFlow::Continue(());
        }
        if let Err(error) = match_line_ends(expr) {
            return ControlFlow::Break(error);
        }
        of_function(expr);
        match spread_array(expr)
            .and_then(|()| other_functions(expr))
            .and_then(|()| hypothetical_rank(expr))
            .and_then(|()| collect_json(expr))
            .and_then(|()| composed_function(expr))
            .and_then(|()| types_of_text(expr))
            .and_then(|()| compare_rows(expr))
            .and_then(|()| other_forms(expr))
            .and_then(|()| settle_times(expr))
            .and_then(|()| call_session_word(expr))
        {
            Ok(()) => {
                part_of_rows(expr);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        if let Some(into) = &select.into {
            return refuse(format_args!("SELECT {into}"), "write CREATE TABLE ... AS SELECT ...");
        }
        if select.prewhere.is_some() {
            return refuse("PREWHERE", "write WHERE");
        }
        if !select.connect_by.is_empty() {
            return refuse("CONNECT BY", "write WITH RECURSIVE");
        }
        if !select.distribute_by.is_empty() {
            return refuse("DISTRIBUTE BY", "leave it out");
        }
        if select.value_table_mode.is_some() {
            return refuse("SELECT AS STRUCT or VALUE", "name the columns");
        }
        for item in &select.projection {
            let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else { continue };
            if options.opt_ilike.is_some() {
                return refuse("* ILIKE", "name the columns");
            }
        }
        complete_windows(select, None)?;
        merge_columns(select, None)?;
        in_columns(select);
        plain_calls_of_rows(select);
        if let Some(first) = select.from.first_mut()
            && let Err(error) =
                select_json_rows(&mut first.relation, true).and_then(|()| select_outer_elements(&mut first.relation))
        {
            return ControlFlow::Break(error);
        }
        if let Err(error) = unnest_functions(select) {
            return ControlFlow::Break(error);
        }
        if let Err(error) = regroup(select) {
            return ControlFlow::Break(error);
        }
        settle_groups(&mut select.group_by)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let TableFactor::UNNEST { array_exprs, .. } = factor {
            array_exprs.iter_mut().for_each(flatten);
        }
        if let Err(error) = select_json_rows(factor, false)
            .and_then(|()| unnest_lists(factor))
            .and_then(|()| tell_lists_apart(factor))
            .and_then(|()| number_rows(factor))
        {
            return ControlFlow::Break(error);
        }
        match factor {
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                refuse("TABLESAMPLE", "write WHERE random() < 0.1")
            }
            TableFactor::Table { version: Some(version), .. } => refuse(version, "restore a backup of that time"),
            TableFactor::Table { with_ordinality: true, .. } => refuse("WITH ORDINALITY", "write row_number() OVER ()"),
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => {
                refuse("PARTITION in FROM", "narrow the time range in WHERE: only its slices are read")
            }
            TableFactor::Table { json_path: Some(_), .. } => refuse("a path into JSON", "read the column"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match narrow_series(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// `GROUP BY a, b WITH ROLLUP` as `GROUP BY ROLLUP (a, b)`.
fn settle_groups(groups: &mut GroupByExpr) -> ControlFlow<Error> {
    let (modifiers, sets) = match groups {
        GroupByExpr::All(modifiers) if modifiers.is_empty() => return ControlFlow::Continue(()),
        GroupByExpr::All(_) => return refuse("GROUP BY ALL WITH", "name the columns"),
        GroupByExpr::Expressions(exprs, modifiers) => (modifiers, exprs),
    };
    let all = |sets: &mut Vec<Expr>| sets.drain(..).map(|expr| vec![expr]).collect::<Vec<_>>();
    let grouped = match modifiers.as_slice() {
        [] => return ControlFlow::Continue(()),
        [GroupByWithModifier::Rollup] => Expr::Rollup(all(sets)),
        [GroupByWithModifier::Cube] => Expr::Cube(all(sets)),
        [other, ..] => {
            return refuse(format_args!("GROUP BY ... {other}"), "write GROUP BY ROLLUP (...) or CUBE (...)");
        }
    };
    *sets = vec![grouped];
    modifiers.clear();
    ControlFlow::Continue(())
}

fn refuse(what: impl std::fmt::Display, hint: &str) -> ControlFlow<Error> {
    ControlFlow::Break(not_supported(what).with_hint(hint))
}
