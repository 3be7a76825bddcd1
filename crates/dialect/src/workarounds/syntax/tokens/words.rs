//! Words that the parser does not know: `AS [NOT] MATERIALIZED (...)` of a common table expression, which changes no
//! answer and is removed, `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which are accepted without a lock as `FOR UPDATE`
//! and `FOR SHARE` are, `FROM` without letters before it in `trim(both FROM x)`, the alias of `t.*`, `LIKE ALL` of a
//! subquery, and `EXCLUDE ...` of a window's frame, which becomes a mark among the expressions of `PARTITION BY`
//! ([`exclusions`](crate::workarounds::syntax::windows::exclusions)).
//!
//! [#1147](https://github.com/apache/datafusion-sqlparser-rs/issues/1147) of the parser (`MATERIALIZED`) is fixed for
//! its PostgreSQL dialect alone; for the others no upstream issue is known.

use crate::text::errors::sql_error;
use crate::workarounds::syntax::windows::exclusions::mark_of;
use atsdb_core::Result;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use std::ops::Range;

/// The words that a window begins with if it is not based on another.
const CLAUSES: [&str; 5] = ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"];

/// The sides of `trim`, and the functions that trim them.
const SIDES: [(&str, &str); 3] = [("BOTH", "btrim"), ("LEADING", "ltrim"), ("TRAILING", "rtrim")];

/// Removes words without effect, and marks the windows with an exclusion.
pub(crate) fn settle_words(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    // The open parentheses. One that has an exclusion has no other.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut marks: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].token == Token::LParen {
            open.push(Some(at));
        } else if tokens[at].token == Token::RParen {
            open.pop();
        } else if is_word(&tokens[at], "MATERIALIZED") {
            drop_materialized(tokens, at);
        } else if is_word(&tokens[at], "EXCLUDE") {
            marks.extend(mark_of_exclusion(tokens, at, open.last_mut())?);
        } else if is_word(&tokens[at], "FROM") {
            drop_from_of_trim(tokens, at);
        } else if is_word(&tokens[at], "AS") {
            drop_alias_of_star(tokens, at);
        } else if is_word(&tokens[at], "LIKE") || is_word(&tokens[at], "ILIKE") {
            compare_with_subquery(tokens, at);
        }
    }
    marks.sort_by_key(|(place, _)| place.start);
    replace(tokens, marks);
    Ok(())
}

/// `FOR NO KEY UPDATE` as `FOR UPDATE`, and `FOR KEY SHARE` as `FOR SHARE`.
pub(crate) fn weaken_locks(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at], "FOR") {
            continue;
        }
        let mut words = Vec::with_capacity(3);
        while let Some(next) = after(tokens, words.last().copied().unwrap_or(at)).filter(|_| words.len() < 3) {
            words.push(next);
        }
        let are = |wanted: &[&str]| {
            wanted.len() <= words.len() && wanted.iter().zip(&words).all(|(word, at)| is_word(&tokens[*at], word))
        };
        let blanked = if are(&["NO", "KEY", "UPDATE"]) {
            2
        } else if are(&["KEY", "SHARE"]) {
            1
        } else {
            0
        };
        words.into_iter().take(blanked).for_each(|at| blank(&mut tokens[at]));
    }
}

/// `trim(both FROM x)` as `trim(both x)`, `trim(FROM x)` as `trim(x)`, and `trim(leading FROM x, y)` as `ltrim(x, y)`,
/// because the parser forgets the side before two arguments.
fn drop_from_of_trim(tokens: &mut [TokenWithSpan], at: usize) {
    let Some(mut previous) = before(tokens, at) else { return };
    let side = SIDES.iter().find(|(side, _)| is_word(&tokens[previous], side)).map(|(_, name)| (previous, *name));
    if side.is_some() {
        let Some(opening) = before(tokens, previous) else { return };
        previous = opening;
    }
    let name = before(tokens, previous).filter(|name| is_word(&tokens[*name], "TRIM"));
    let Some(name) = name.filter(|_| tokens[previous].token == Token::LParen) else { return };
    blank(&mut tokens[at]);
    if let Some((side, function)) = side.filter(|_| has_comma(&tokens[at..])) {
        blank(&mut tokens[side]);
        let word = Word { value: function.to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
        tokens[name].token = Token::Word(word);
    }
}

/// Returns whether a comma comes before the parenthesis that closes the ones around these tokens.
fn has_comma(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in tokens {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return false,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// `t.* AS x` as `t.*`: PostgreSQL ignores the alias, as the columns have their own names.
fn drop_alias_of_star(tokens: &mut [TokenWithSpan], at: usize) {
    let Some(star) = before(tokens, at).filter(|star| tokens[*star].token == Token::Mul) else { return };
    let is_qualified = before(tokens, star).is_some_and(|period| tokens[period].token == Token::Period);
    if let Some(alias) = after(tokens, at).filter(|alias| matches!(tokens[*alias].token, Token::Word(_)))
        && is_qualified
    {
        blank(&mut tokens[at]);
        blank(&mut tokens[alias]);
    }
}

/// `LIKE ALL (SELECT ...)` as `~~ ALL (SELECT ...)`: after `LIKE`, the parser takes `ALL` and `SOME` for functions.
fn compare_with_subquery(tokens: &mut [TokenWithSpan], at: usize) {
    let Some(quantifier) = after(tokens, at) else { return };
    let opening = after(tokens, quantifier).filter(|opening| tokens[*opening].token == Token::LParen);
    let Some(first) = opening.and_then(|opening| after(tokens, opening)) else { return };
    let is_quantifier = is_any_word(&tokens[quantifier], &["ALL", "SOME"]);
    if !is_quantifier || !begins_query(&tokens[first]) {
        return;
    }
    let negation = before(tokens, at).filter(|before| is_word(&tokens[*before], "NOT"));
    tokens[at].token = match (negation.is_some(), is_word(&tokens[at], "ILIKE")) {
        (false, false) => Token::DoubleTilde,
        (false, true) => Token::DoubleTildeAsterisk,
        (true, false) => Token::ExclamationMarkDoubleTilde,
        (true, true) => Token::ExclamationMarkDoubleTildeAsterisk,
    };
    if let Some(negation) = negation {
        blank(&mut tokens[negation]);
    }
}

fn drop_materialized(tokens: &mut [TokenWithSpan], at: usize) {
    let opens = after(tokens, at).is_some_and(|next| tokens[next].token == Token::LParen);
    let Some(previous) = before(tokens, at).filter(|_| opens) else { return };
    if is_word(&tokens[previous], "AS") {
        blank(&mut tokens[at]);
    } else if is_word(&tokens[previous], "NOT")
        && before(tokens, previous).is_some_and(|word| is_word(&tokens[word], "AS"))
    {
        blank(&mut tokens[previous]);
        blank(&mut tokens[at]);
    }
}

/// Removes `EXCLUDE ...` after a frame. Returns its mark, with the place of it among the expressions of `PARTITION BY`.
/// `* EXCLUDE (...)` is another clause, and stays.
fn mark_of_exclusion(
    tokens: &mut [TokenWithSpan],
    at: usize,
    open: Option<&mut Option<usize>>,
) -> Result<Option<TokenReplacement>> {
    let is_in_frame =
        before(tokens, at).is_some_and(|word| is_any_word(&tokens[word], &["ROW", "PRECEDING", "FOLLOWING"]));
    let Some(first) = after(tokens, at).filter(|_| is_in_frame) else { return Ok(None) };
    let second = after(tokens, first);
    let is_second = |wanted: &str| second.is_some_and(|second| is_word(&tokens[second], wanted));
    let (rows, count) = if is_word(&tokens[first], "TIES") {
        (Some("ties"), 1)
    } else if is_word(&tokens[first], "GROUP") {
        (Some("group"), 1)
    } else if is_word(&tokens[first], "CURRENT") && is_second("ROW") {
        (Some("current row"), 2)
    } else if is_word(&tokens[first], "NO") && is_second("OTHERS") {
        (None, 2)
    } else {
        return Err(sql_error("EXCLUDE of which rows?").with_hint("CURRENT ROW, GROUP, TIES or NO OTHERS"));
    };
    [Some(at), Some(first), second.filter(|_| count == 2)].into_iter().flatten().for_each(|at| blank(&mut tokens[at]));
    let Some(rows) = rows else { return Ok(None) };
    let unsuited = || sql_error("EXCLUDE outside of a window");
    let open = open.and_then(Option::take).ok_or_else(unsuited)?;
    let mut position = after(tokens, open).ok_or_else(unsuited)?;
    // The name of the window that it is based on comes first.
    if !is_any_word(&tokens[position], &CLAUSES) {
        position = after(tokens, position).ok_or_else(unsuited)?;
    }
    let mark = Token::Word(Word { value: mark_of(rows), quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let space = || Token::Whitespace(Whitespace::Space);
    let written = match is_word(&tokens[position], "PARTITION") {
        true => {
            position = after(tokens, position).ok_or_else(unsuited)? + 1;
            vec![space(), mark, Token::Comma, space()]
        }
        false => vec![Token::make_keyword("PARTITION"), space(), Token::make_keyword("BY"), space(), mark, space()],
    };
    let span = tokens[at].span;
    let written = written.into_iter().map(|token| TokenWithSpan::new(token, span)).collect();
    Ok(Some((position..position, written)))
}

pub(crate) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

pub(super) fn is_any_word(token: &TokenWithSpan, wanted: &[&str]) -> bool {
    wanted.iter().any(|word| is_word(token, word))
}

/// Returns whether a token is the first one of a query without parentheses around it.
pub(super) fn begins_query(token: &TokenWithSpan) -> bool {
    is_any_word(token, &["SELECT", "VALUES", "WITH"])
}

pub(crate) fn is_significant(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_))
}

pub(crate) fn before(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    tokens[..at].iter().rposition(is_significant)
}

pub(crate) fn after(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    tokens[at + 1..].iter().position(is_significant).map(|skipped| at + 1 + skipped)
}

/// The parenthesis that closes one.
pub(super) fn end_of_parentheses(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let closes = |token: &TokenWithSpan| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    tokens[open..].iter().position(closes).map(|count| open + count)
}

/// Some tokens, and others in place of them.
pub(super) type TokenReplacement = (Range<usize>, Vec<TokenWithSpan>);

/// Replaces tokens. The ranges are in order, and do not overlap.
pub(super) fn replace(tokens: &mut Vec<TokenWithSpan>, replacements: Vec<TokenReplacement>) {
    if replacements.is_empty() {
        return;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let (mut rest, mut at) = (std::mem::take(tokens).into_iter(), 0);
    for (replaced, others) in replacements {
        written.extend(rest.by_ref().take(replaced.start - at));
        rest.by_ref().take(replaced.len()).for_each(drop);
        written.extend(others);
        at = replaced.end;
    }
    written.extend(rest);
    *tokens = written;
}

pub(super) fn blank(token: &mut TokenWithSpan) {
    token.token = Token::Whitespace(Whitespace::Space);
}
