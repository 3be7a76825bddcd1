//! Words that the parser does not know: `AS [NOT] MATERIALIZED (...)` of a common table expression, which changes no
//! answer and is removed, `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which are accepted without a lock as `FOR UPDATE`
//! and `FOR SHARE` are, and `EXCLUDE ...` of a window's frame, which is only supported as `NO OTHERS`.
//!
//! No upstream issue known.

use crate::text::errors::not_supported;
use atsdb_core::Result;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Removes words without effect, and refuses those with one.
pub(crate) fn settle_words(tokens: &mut [TokenWithSpan]) -> Result<()> {
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "MATERIALIZED") {
            drop_materialized(tokens, at);
        } else if is_word(&tokens[at], "EXCLUDE") {
            drop_exclude(tokens, at)?;
        }
    }
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

/// Removes `EXCLUDE NO OTHERS` after a frame. `* EXCLUDE (...)` is another clause, and stays.
fn drop_exclude(tokens: &mut [TokenWithSpan], at: usize) -> Result<()> {
    let is_in_frame = before(tokens, at).is_some_and(|word| {
        ["ROW", "PRECEDING", "FOLLOWING"].iter().any(|end_of_frame| is_word(&tokens[word], end_of_frame))
    });
    let Some(first) = after(tokens, at).filter(|_| is_in_frame) else { return Ok(()) };
    let second = after(tokens, first).filter(|second| is_word(&tokens[*second], "OTHERS"));
    match second.filter(|_| is_word(&tokens[first], "NO")) {
        Some(second) => {
            [at, first, second].into_iter().for_each(|at| blank(&mut tokens[at]));
            Ok(())
        }
        None => Err(not_supported("EXCLUDE in a window's frame")
            .with_hint("leave it out, and take the rows away again: sum(x) OVER (...) - x")),
    }
}

pub(super) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

pub(super) fn is_significant(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_))
}

fn before(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    tokens[..at].iter().rposition(is_significant)
}

pub(super) fn after(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    tokens[at + 1..].iter().position(is_significant).map(|skipped| at + 1 + skipped)
}

fn blank(token: &mut TokenWithSpan) {
    token.token = Token::Whitespace(Whitespace::Space);
}
