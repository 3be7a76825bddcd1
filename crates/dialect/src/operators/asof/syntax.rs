//! Translates both syntaxes of an ASOF join:
//!
//! ```text
//! a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k     Snowflake: every row of a stays
//! a ASOF JOIN b ON a.k = b.k AND a.t >= b.t                   DuckDB: rows without a match go
//! a ASOF LEFT JOIN b ..., a ASOF INNER JOIN b ...             both
//! ```
//! The parser only knows the first one, so the tokens are rewritten to those of an ordinary join whose condition begins
//! with a mark.

use super::rule::MARK;
use crate::text::errors::from_parser;
use crate::text::source_position::SourcePosition;
use atsdb_core::Result;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// Rewrites the ASOF joins of a statement.
pub fn rewrite_tokens(tokens: Vec<TokenWithSpan>, position: SourcePosition) -> Result<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| is(token, Keyword::ASOF)) {
        return Ok(tokens);
    }
    let mut tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::ASOF) && !is_name(&tokens, at) {
            rewrite(&mut tokens, at).map_err(|at| syntax_error(&tokens, at, position))?;
        }
        at += 1;
    }
    Ok(tokens)
}

/// Returns whether `ASOF` is a table's name: a name is required there, and no JOIN follows.
fn is_name(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let names_follow = before.is_none_or(|before| {
        matches!(before.token, Token::Comma | Token::Period | Token::LParen)
            || [Keyword::FROM, Keyword::JOIN, Keyword::AS, Keyword::SELECT].iter().any(|keyword| is(before, *keyword))
    });
    let joins = [Keyword::JOIN, Keyword::LEFT, Keyword::INNER];
    names_follow || !tokens.get(at + 1).is_some_and(|next| joins.iter().any(|keyword| is(next, *keyword)))
}

/// Rewrites one join, whose `ASOF` is at `at`. `Err` has the position of an unexpected token.
fn rewrite(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Result<(), usize> {
    let mut join = at + 1;
    let explicit = match &tokens[join] {
        token if is(token, Keyword::LEFT) => Some(Keyword::LEFT),
        token if is(token, Keyword::INNER) => Some(Keyword::INNER),
        _ => None,
    };
    join += usize::from(explicit.is_some());
    if explicit == Some(Keyword::LEFT) && tokens.get(join).is_some_and(|token| is(token, Keyword::OUTER)) {
        tokens.remove(join);
    }
    if !tokens.get(join).is_some_and(|token| is(token, Keyword::JOIN)) {
        return Err(join);
    }
    let condition = condition_of(tokens, join + 1)?;
    let is_match = is(&tokens[condition], Keyword::MATCH_CONDITION);
    if is_match {
        // MATCH_CONDITION (c) ON k: ON mark() AND (c) AND k
        let close = closing(tokens, condition + 1)?;
        if let Some(next) = tokens.get_mut(close + 1) {
            if is(next, Keyword::ON) {
                next.token = word("AND");
            } else if is(next, Keyword::USING) {
                return Err(close + 1);
            }
        }
        tokens[condition].token = word("ON");
    }
    let span = tokens[condition].span;
    let mark = [word(MARK), Token::LParen, Token::RParen, word("AND")];
    tokens.splice(condition + 1..condition + 1, mark.map(|token| TokenWithSpan { token, span }));
    let kind = explicit.unwrap_or(if is_match { Keyword::LEFT } else { Keyword::INNER });
    tokens[at].token = word(if kind == Keyword::LEFT { "LEFT" } else { "INNER" });
    tokens.drain(at + 1..join);
    Ok(())
}

/// The start of the condition of the join whose right side begins at `from`.
fn condition_of(tokens: &[TokenWithSpan], from: usize) -> Result<usize, usize> {
    let mut at = from;
    while let Some(token) = tokens.get(at) {
        match &token.token {
            Token::LParen => at = closing(tokens, at)?,
            Token::RParen | Token::Comma | Token::SemiColon => return Err(at),
            _ if is(token, Keyword::ON) || is(token, Keyword::MATCH_CONDITION) => return Ok(at),
            _ if is(token, Keyword::USING) || is(token, Keyword::JOIN) || is(token, Keyword::WHERE) => return Err(at),
            _ => {}
        }
        at += 1;
    }
    Err(at)
}

/// The position of the parenthesis that closes the one at `from`.
fn closing(tokens: &[TokenWithSpan], from: usize) -> Result<usize, usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Ok(at),
            Token::RParen => depth -= 1,
            _ if depth == 0 => return Err(at),
            _ => {}
        }
    }
    Err(tokens.len())
}

fn is(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(Word { keyword: found, quote_style: None, .. }) if *found == keyword)
}

fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

fn syntax_error(tokens: &[TokenWithSpan], at: usize, position: SourcePosition) -> atsdb_core::Error {
    let found = tokens.get(at).map_or("end of statement".to_owned(), |token| token.token.to_string());
    let span = tokens.get(at).or(tokens.last()).map_or(Span::empty(), |token| token.span);
    let expected = "ON a.k = b.k AND a.t >= b.t, or MATCH_CONDITION (a.t >= b.t) ON a.k = b.k, after ASOF JOIN";
    from_parser(ParserError::ParserError(format!("Expected: {expected}, found: {found}{}", span.start)), position)
}
