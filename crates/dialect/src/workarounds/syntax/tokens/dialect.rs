//! Words that may name a column of the answer or a table without `AS`: as in PostgreSQL, `top` and other words may, and
//! `ON` and `FOR` may not. The parser mistakes `SELECT 1 ON` for a column named `ON`. No name has `#` in it, or begins
//! with `@`, unless in quotes. `|/`, `||/`, `@` and `!!` before an expression are operators, which the parser reads in
//! PostgreSQL's dialect alone. Names may have any character beyond ASCII. The parser lets `~` bind tighter than
//! arithmetic. `INTERVAL(2) '...'` is a cast: the parser drops the digits.
//!
//! Where the parser cannot read what follows a word such as `NOT` or `CEIL`, it tries again with the word as the name
//! of a function, and so twice as often for each level of nesting. Here `NOT`, `CASE` and `CAST` are never names, and
//! the number of attempts is limited.
//!
//! The attempts are fixed upstream by [#2352](https://github.com/apache/datafusion-sqlparser-rs/pull/2352) of the
//! parser, which is not in DataFusion 55.2's sqlparser 0.62; for the names no upstream issue is known. All else is the
//! parser's generic dialect.

use crate::text::words::is_of_names;
use datafusion::sql::sqlparser::ast::{CastKind, Expr, UnaryOperator};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use std::any::TypeId;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of expressions that the parser begins to read, for each token and in addition.
const ATTEMPTS_OF_TOKEN: usize = 16;
const MORE_ATTEMPTS: usize = 10_000;

/// Words that begin an expression, and name no function.
const NEVER_FUNCTIONS: [Keyword; 3] = [Keyword::NOT, Keyword::CASE, Keyword::CAST];

/// The dialect in which one statement is parsed.
#[derive(Debug)]
pub struct StatementDialect {
    attempts_left: AtomicUsize,
}

impl StatementDialect {
    /// The dialect for a statement of this many tokens.
    pub fn new(token_count: usize) -> Self {
        let attempts = token_count.saturating_mul(ATTEMPTS_OF_TOKEN).saturating_add(MORE_ATTEMPTS);
        Self { attempts_left: AtomicUsize::new(attempts) }
    }
}

/// Words that begin a clause. The parser also asks for them after a comma, so no word is here that begins an
/// expression or may be the name of a column.
const NEVER_NAMES: [Keyword; 3] = [Keyword::ON, Keyword::FOR, Keyword::AS];

/// Forwards the properties of the generic dialect, all of which are true.
macro_rules! as_generic {
    ($($property:ident,)*) => {
        $(fn $property(&self) -> bool {
            GenericDialect.$property()
        })*
    };
}

impl Dialect for StatementDialect {
    /// The parser compares this with the dialects that it knows.
    fn dialect(&self) -> TypeId {
        GenericDialect.dialect()
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        GenericDialect.is_delimited_identifier_start(character)
    }

    /// `a#>'{b}'`, `a#b` and `@b` are operators, as in PostgreSQL.
    fn is_identifier_start(&self, character: char) -> bool {
        is_of_names(character) || (!matches!(character, '#' | '@') && GenericDialect.is_identifier_start(character))
    }

    fn is_identifier_part(&self, character: char) -> bool {
        is_of_names(character) || (character != '#' && GenericDialect.is_identifier_part(character))
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    fn supports_create_table_like_parenthesized(&self) -> bool {
        true
    }

    fn supports_alter_column_type_using(&self) -> bool {
        true
    }

    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        NEVER_FUNCTIONS.contains(&word) || GenericDialect.is_reserved_for_identifier(word)
    }

    /// Called before the parser reads an expression.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        // One thread parses a statement.
        let left = self.attempts_left.load(Ordering::Relaxed);
        self.attempts_left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        // Arithmetic binds tighter: `|/ a + b` is the root of the sum. `!!` has operands without arithmetic.
        let (op, precedence) = match parser.peek_token_ref().token {
            Token::PGSquareRoot => (UnaryOperator::PGSquareRoot, Precedence::Xor),
            Token::PGCubeRoot => (UnaryOperator::PGCubeRoot, Precedence::Xor),
            Token::AtSign => (UnaryOperator::PGAbs, Precedence::Xor),
            Token::Tilde => (UnaryOperator::BitwiseNot, Precedence::Xor),
            Token::DoubleExclamationMark => (UnaryOperator::PGPrefixFactorial, Precedence::MulDivModOp),
            _ => return rounded_interval(parser),
        };
        parser.advance_token();
        let operand = parser.parse_subexpr(self.prec_value(precedence));
        Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
    }

    /// Returns whether a word behind an expression of SELECT names its column. The parser is behind the word.
    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser) -> bool {
        let next = parser.peek_token_ref();
        let next_word = match &next.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match word {
            Keyword::TOP | Keyword::VIEW | Keyword::EXPLAIN | Keyword::ANALYZE => true,
            Keyword::SORT | Keyword::CLUSTER | Keyword::DISTRIBUTE => next_word != Keyword::BY,
            Keyword::LATERAL => next.token != Token::LParen && next_word != Keyword::VIEW,
            Keyword::EXCLUDE => next.token == Token::Comma || next_word == Keyword::FROM || next.token == Token::EOF,
            Keyword::MINUS => {
                next.token != Token::LParen && !matches!(next_word, Keyword::SELECT | Keyword::ALL | Keyword::DISTINCT)
            }
            word if NEVER_NAMES.contains(word) => false,
            word => GenericDialect.is_column_alias(word, parser),
        }
    }

    /// Returns whether a word behind a table in FROM names it. The parser is behind the word.
    fn is_table_alias(&self, word: &Keyword, parser: &mut Parser) -> bool {
        let next_word = match &parser.peek_token_ref().token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match word {
            Keyword::VIEW | Keyword::EXPLAIN => true,
            Keyword::START => next_word != Keyword::WITH,
            Keyword::CLUSTER => next_word != Keyword::BY,
            word => GenericDialect.is_table_alias(word, parser),
        }
    }

    as_generic! {
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_multiline_comment_hints,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    }
}

/// Parses `INTERVAL(2) '...'`; `None` of anything else.
fn rounded_interval(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if !matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::INTERVAL) {
        return None;
    }
    let [_, Token::LParen, Token::Number(..), Token::RParen, Token::SingleQuotedString(_)] = parser.peek_tokens()
    else {
        return None;
    };
    let data_type = match parser.parse_data_type() {
        Ok(data_type) => data_type,
        Err(error) => return Some(Err(error)),
    };
    let cast =
        |value: Expr| Expr::Cast { kind: CastKind::Cast, expr: Box::new(value), data_type, array: false, format: None };
    Some(parser.parse_interval().map(cast))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parses(text: &str) -> bool {
        let dialect = StatementDialect::new(text.len());
        let parser = Parser::new(&dialect).try_with_sql(text);
        parser.and_then(|mut parser| parser.parse_statements()).is_ok()
    }

    #[test]
    fn words_name_columns_where_postgresql_lets_them() {
        for text in [
            "SELECT 1 top, 2 sort, 3 minus, 4 view, 5 exclude FROM t",
            "SELECT 1 lateral",
            "SELECT 🦆.🔑, n° FROM 🦆",
            "SELECT 1, ARRAY[1], filter, window, top, sort FROM t",
            "SELECT 1 FOR UPDATE",
            "INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING",
            "SELECT 1 MINUS SELECT 2",
            "SELECT * EXCLUDE (a) FROM t SORT BY b",
            "SELECT a FROM t, LATERAL (SELECT 1) AS u",
            "SELECT view.a FROM t view JOIN u start ON start.a = view.a, v cluster WHERE cluster.a = 1",
            "SELECT a FROM t CLUSTER BY a",
            "SELECT a FROM t START WITH a = 1 CONNECT BY PRIOR a = b",
        ] {
            assert!(parses(text), "{text}");
        }
        for text in ["SELECT 1 ON", "SELECT 1 ON FROM t"] {
            assert!(!parses(text), "{text}");
        }
    }
}
