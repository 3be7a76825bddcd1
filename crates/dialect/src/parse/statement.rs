//! The steps from a statement's text to its syntax tree: tokens, limits, parameters, spellings, parser.

use super::ambiguous_names::refuse_ambiguous_names;
use super::conditions::keep_conditions;
use super::foreign::read_foreign;
use super::named_schemas::{name_schemas, name_schemas_of_stars};
use super::set_columns::move_set_columns;
use super::shared_names::alias_shared_names;
use super::with_clause::settle_with;
use super::with_steps::{
    WithItem, WithStep, items_to_execute, refuse_changes_in_with, refuse_inner_changes, take_step,
};
use crate::operators::asof;
use crate::text::errors::{from_parser, sql_error, too_deep};
use crate::text::identifiers::Spellings;
use crate::text::params::{self, Parameters};
use crate::text::question_marks::join_operators;
use crate::text::result_names::items_of;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::Scope;
use crate::text::tree_walk::visit_relations;
use crate::workarounds::{self, StatementDialect};
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::{Error, ErrorKind, Result};
use datafusion::sql::sqlparser::ast::{Expr, SelectItem, Statement as Ast};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use std::ops::ControlFlow;

/// The maximum length in bytes of a text that is parsed as a whole, which `INSERT ... VALUES` with literals is not.
const PARSED_BYTES_MAX: usize = 16 << 20;

/// The maximum number of tokens between two commas, including those around enclosing parentheses. It limits the depth
/// of the tree for `a OR b OR c ...`. The time to plan such a tree grows with more than the square of its depth.
const CHAIN_TOKENS_MAX: usize = 3_000;

/// The number of tokens that an operator counts for if it makes the tree one level deeper.
const OPERATOR_TOKENS: usize = 4;

/// The value of [`CHAIN_TOKENS_MAX`] for statements that are parsed on the caller's stack.
const DECLARING_CHAIN_TOKENS_MAX: usize = 2_000;

/// The maximum number of tables in one statement, because joins make a plan deep. SQLite has the same limit.
pub const RELATIONS_MAX: usize = 64;

/// Parses without changing the spelling of names, for statements that declare them.
pub fn parse_declaring(text: &str, position: SourcePosition, parameters: &Parameters) -> Result<Ast> {
    let mut tokens = tokenized(text, position)?;
    keep_conditions(&mut tokens, text);
    let mut tokens = prepared(tokens, position, parameters, DECLARING_CHAIN_TOKENS_MAX)?;
    params::unmark(&mut tokens);
    read_foreign(&mut tokens)?;
    move_set_columns(&mut tokens)?;
    settled(parse(tokens, position)?, Scope::in_public(&[]))
}

/// Parses the condition of a CHECK constraint, without rewriting it for the planner.
pub fn parse_condition(text: &str) -> Result<Expr> {
    let position = SourcePosition::START;
    let mut tokens = tokens_of(text, position, &Parameters::none(), DECLARING_CHAIN_TOKENS_MAX)?;
    params::unmark(&mut tokens);
    parse_with(tokens, position, "expression", |parser| parser.parse_expr())
}

/// Parses a statement over tables.
pub fn parse_over(
    text: &str,
    position: SourcePosition,
    parameters: &Parameters,
    scope: Scope<'_>,
) -> Result<(Ast, Spellings)> {
    let mut tokens = tokens_of(text, position, parameters, CHAIN_TOKENS_MAX)?;
    let spellings = Spellings::unify(&mut tokens, scope);
    let tokens = asof::rewrite_tokens(tokens, position)?;
    Ok((settled(parse(tokens, position)?, scope)?, spellings))
}

/// Parses one step of a statement whose `WITH` changes rows.
pub fn parse_step(
    text: &str,
    position: SourcePosition,
    parameters: &Parameters,
    scope: Scope<'_>,
    step: &WithStep,
) -> Result<(Ast, Spellings)> {
    let mut tokens = tokens_of(text, position, parameters, CHAIN_TOKENS_MAX)?;
    let spellings = Spellings::unify(&mut tokens, scope);
    let tokens = asof::rewrite_tokens(tokens, position)?;
    let statement = take_step(parse(tokens, position)?, step)?;
    Ok((settled(statement, scope)?, spellings))
}

/// The items of a statement's `WITH` that are executed by themselves; `None` if none of them changes rows.
pub fn items_of_with(
    text: &str,
    position: SourcePosition,
    parameters: &Parameters,
    scope: Scope<'_>,
) -> Result<Option<Vec<WithItem>>> {
    let mut tokens = tokens_of(text, position, parameters, CHAIN_TOKENS_MAX)?;
    Spellings::unify(&mut tokens, scope);
    let tokens = asof::rewrite_tokens(tokens, position)?;
    let statement = parse(tokens, position)?;
    refuse_inner_changes(&statement)?;
    items_to_execute(&statement)
}

/// Parses a statement to see what its answer shows; `None` if it cannot be parsed. Names stay as they are written.
pub fn parse_answer(text: &str) -> Option<Ast> {
    let position = SourcePosition::START;
    let mut tokens = tokenized(text, position).ok()?;
    join_operators(&mut tokens);
    workarounds::rewrite_tokens(&mut tokens).ok()?;
    check_depth(&tokens, DECLARING_CHAIN_TOKENS_MAX).ok()?;
    params::unmark(&mut tokens);
    parse(asof::rewrite_tokens(tokens, position).ok()?, position).ok()
}

/// Returns the items that name the columns of a statement's answer: those of its first SELECT, or of RETURNING. `None`
/// if it has none of them, as `VALUES`.
pub fn items_of_answer(statement: &Ast) -> Option<&[SelectItem]> {
    match statement {
        Ast::Query(query) => items_of(query),
        Ast::Insert(insert) => insert.returning.as_deref(),
        Ast::Update(update) => update.returning.as_deref(),
        Ast::Delete(delete) => delete.returning.as_deref(),
        _ => None,
    }
}

fn tokens_of(
    text: &str,
    position: SourcePosition,
    parameters: &Parameters,
    chain_tokens_max: usize,
) -> Result<Vec<TokenWithSpan>> {
    prepared(tokenized(text, position)?, position, parameters, chain_tokens_max)
}

fn tokenized(text: &str, position: SourcePosition) -> Result<Vec<TokenWithSpan>> {
    if text.len() > PARSED_BYTES_MAX {
        return Err(Error::new(ErrorKind::Limit, format!("the statement has {} bytes", text.len()))
            .with_hint(format!("split it: the maximum is {PARSED_BYTES_MAX} bytes, but for INSERT with literals")));
    }
    Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().map_err(|error| {
        from_parser(ParserError::TokenizerError(format!("{}{}", error.message, error.location)), position)
    })
}

fn prepared(
    mut tokens: Vec<TokenWithSpan>,
    position: SourcePosition,
    parameters: &Parameters,
    chain_tokens_max: usize,
) -> Result<Vec<TokenWithSpan>> {
    join_operators(&mut tokens);
    workarounds::rewrite_tokens(&mut tokens)?;
    check_depth(&tokens, chain_tokens_max)?;
    params::bind(&mut tokens, parameters, position)?;
    Ok(tokens)
}

fn parse(tokens: Vec<TokenWithSpan>, position: SourcePosition) -> Result<Ast> {
    parse_with(tokens, position, "statement", |parser| parser.parse_statement())
}

/// Parses all tokens as one thing, which `what` names.
fn parse_with<T>(
    tokens: Vec<TokenWithSpan>,
    position: SourcePosition,
    what: &str,
    read: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    let end = tokens.iter().map(|token| token.span.end).max().unwrap_or_else(Location::empty);
    let dialect = StatementDialect::new(tokens.len());
    let mut parser = Parser::new(&dialect).with_recursion_limit(SQL_DEPTH_MAX).with_tokens_with_locations(tokens);
    let parsed = read(&mut parser).map_err(|error| from_parser(positioned_at_end(error, end), position))?;
    let next = parser.next_token();
    if next.token != Token::EOF {
        let message = format!("Expected: end of {what}, found: {}{}", next.token, next.span.start);
        return Err(from_parser(ParserError::ParserError(message), position));
    }
    Ok(parsed)
}

/// Rewrites a parsed statement for the planner.
fn settled(mut statement: Ast, scope: Scope<'_>) -> Result<Ast> {
    refuse_changes_in_with(&statement)?;
    workarounds::name_merged_columns(&mut statement);
    settle_with(&mut statement);
    name_schemas(&mut statement, scope);
    alias_shared_names(&mut statement)?;
    refuse_ambiguous_names(&statement)?;
    workarounds::rewrite_statement(&mut statement, scope.tables)?;
    name_schemas_of_stars(&mut statement);
    let mut relation_count = 0;
    let _ = visit_relations(&statement, |_| {
        relation_count += 1;
        ControlFlow::<()>::Continue(())
    });
    if relation_count > RELATIONS_MAX {
        return Err(sql_error(format!("the statement reads {relation_count} tables"))
            .with_hint(format!("the maximum is {RELATIONS_MAX}")));
    }
    Ok(statement)
}

/// The parser's error at the end of the statement, if something is missing there. The parser has no position for
/// that.
fn positioned_at_end(error: ParserError, end: Location) -> ParserError {
    match error {
        ParserError::ParserError(message) => match message.strip_suffix("found: EOF") {
            Some(start) => ParserError::ParserError(format!("{start}found: the end of the statement{end}")),
            None => ParserError::ParserError(message),
        },
        other => other,
    }
}

fn check_depth(tokens: &[TokenWithSpan], chain_tokens_max: usize) -> Result<()> {
    let (mut chains, mut sum) = (vec![0_usize], 0_usize);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen | Token::LBracket | Token::LBrace => {
                chains.push(0);
                if chains.len() > SQL_DEPTH_MAX {
                    return Err(too_deep());
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace if chains.len() > 1 => sum -= chains.pop().unwrap_or(0),
            Token::Comma => {
                if let Some(last) = chains.last_mut() {
                    sum -= std::mem::take(last);
                }
            }
            token => {
                let count = if deepens(token) { OPERATOR_TOKENS } else { 1 };
                if let Some(last) = chains.last_mut() {
                    (*last, sum) = (*last + count, sum + count);
                }
                if sum > chain_tokens_max {
                    return Err(sql_error(format!("an expression of more than {chain_tokens_max} parts"))
                        .with_hint("write x IN (a, b, ...) instead of x = a OR x = b ..."));
                }
            }
        }
    }
    Ok(())
}

fn deepens(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(word.keyword, Keyword::AND | Keyword::OR),
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Ast> {
        parse_declaring(text, SourcePosition::START, &Parameters::none())
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for text in [
            format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("SELECT {}1", "- ".repeat(10_000)),
            format!("SELECT {} true", "NOT ".repeat(10_000)),
            format!("SELECT 1{}", " OR 1".repeat(200_000)),
            format!("SELECT {}1", "CASE WHEN ".repeat(10_000)),
            format!("SELECT {}1", "SELECT 1 UNION ".repeat(10_000)),
            format!("SELECT 1 FROM {}", vec!["t"; 1_000].join(", ")),
        ] {
            assert_eq!(parsed(&text).unwrap_err().kind(), ErrorKind::Sql);
        }
    }

    #[test]
    fn what_people_write_is_not_too_deep() {
        parsed(&format!("SELECT {}1{}", "(".repeat(50), ")".repeat(50))).unwrap();
        parsed(&format!("SELECT x = 1{}", " OR x = 1".repeat(250))).unwrap();
        parsed(&format!("SELECT x IN (1{})", ", -1".repeat(100_000))).unwrap();
    }

    #[test]
    fn what_is_missing_is_missed_at_the_end() {
        for (text, position) in [
            ("SELECT 1 +", "line 3, column 12"),
            ("SELECT 1 FROM", "line 3, column 15"),
            ("SELECT\n1 +", "line 4, column 4"),
        ] {
            let error = parse_declaring(text, SourcePosition { line: 3, column: 2 }, &Parameters::none())
                .unwrap_err()
                .to_string();
            assert!(error.contains(position) && error.contains("found: the end of the statement"), "{text}: {error}");
        }
    }

    #[test]
    fn what_follows_a_statement_is_named() {
        let error =
            parse_declaring("SELECT 1 garbage here", SourcePosition { line: 3, column: 2 }, &Parameters::none())
                .unwrap_err();
        assert!(error.to_string().contains("at line 3, column 19"), "{error}");
    }
}
