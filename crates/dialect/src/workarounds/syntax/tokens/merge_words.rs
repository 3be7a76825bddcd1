//! Actions of `MERGE` that the parser does not know, written with those that it knows: `DO NOTHING` and `DEFAULT
//! VALUES` become a mark among the columns that an action assigns, and so does `OVERRIDING ... VALUE`, which therefore
//! must not have become a `PARTITION` before.
//!
//! No upstream issue known.

use super::statement_words::{OVERRIDING_SYSTEM, OVERRIDING_USER};
use super::words::{TokenReplacement, after, before, blank, is_significant, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::ops::Range;

/// The column that `DO NOTHING` assigns.
pub const NOTHING: &str = "\u{1}nothing";
/// The column that `INSERT DEFAULT VALUES` assigns.
pub const DEFAULT_VALUES: &str = "\u{1}default values";

/// Rewrites the tokens of a statement that may be a `MERGE`.
pub(crate) fn write_merge_actions(tokens: &mut Vec<TokenWithSpan>) {
    let first = tokens.iter().find(|token| is_significant(token));
    if !first.is_some_and(|first| is_word(first, "MERGE") || is_word(first, "WITH")) {
        return;
    }
    // Whether the clause is about matched rows; `None` before the first clause.
    let mut matched = None;
    // They are in order, and apart from each other: each begins after a THEN, and has none in it.
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "MATCHED") {
            matched = is_about_matched(tokens, at).or(matched);
            continue;
        }
        if !is_word(&tokens[at], "THEN") {
            continue;
        }
        let Some(action) = after(tokens, at) else { continue };
        let Some(next) = after(tokens, action) else { continue };
        if is_word(&tokens[action], "DO") && is_word(&tokens[next], "NOTHING") {
            let Some(matched) = matched else { continue };
            let words = if matched { update_of(NOTHING) } else { insert_of(NOTHING) };
            written.push(replacement(tokens, action..next + 1, words));
        } else if is_word(&tokens[action], "INSERT") {
            written.extend(written_insert(tokens, action, next));
        }
    }
    replace(tokens, written);
}

/// Returns whether the clause that a `MATCHED` begins is about matched rows; `None` if it begins no clause.
fn is_about_matched(tokens: &[TokenWithSpan], at: usize) -> Option<bool> {
    let word = before(tokens, at)?;
    if is_word(&tokens[word], "WHEN") {
        return Some(true);
    }
    let when = before(tokens, word)?;
    (is_word(&tokens[word], "NOT") && is_word(&tokens[when], "WHEN")).then_some(false)
}

/// `INSERT DEFAULT VALUES`, and `INSERT (a, b) OVERRIDING SYSTEM VALUE VALUES (1, 2)`.
fn written_insert(tokens: &mut [TokenWithSpan], insert: usize, next: usize) -> Option<TokenReplacement> {
    if is_word(&tokens[next], "DEFAULT") {
        let values = after(tokens, next).filter(|values| is_word(&tokens[*values], "VALUES"))?;
        return Some(replacement(tokens, insert..values + 1, insert_of(DEFAULT_VALUES)));
    }
    let has_columns = tokens[next].token == Token::LParen;
    let clause = match has_columns {
        true => after(tokens, end_of_columns(tokens, next)?)?,
        false => next,
    };
    if !is_word(&tokens[clause], "OVERRIDING") {
        return None;
    }
    let whose = after(tokens, clause)?;
    let mark = match () {
        () if is_word(&tokens[whose], "SYSTEM") => OVERRIDING_SYSTEM,
        () if is_word(&tokens[whose], "USER") => OVERRIDING_USER,
        () => return None,
    };
    let value = after(tokens, whose).filter(|value| is_word(&tokens[*value], "VALUE"))?;
    tokens[clause..=value].iter_mut().for_each(blank);
    let mark = Token::make_word(mark, Some('"'));
    Some(match has_columns {
        true => replacement(tokens, next..next + 1, vec![Token::LParen, mark, Token::Comma]),
        false => {
            let words = vec![Token::make_keyword("INSERT"), Token::LParen, mark, Token::RParen];
            replacement(tokens, insert..insert + 1, words)
        }
    })
}

/// The closing parenthesis of a list of columns, in which there are no other parentheses.
fn end_of_columns(tokens: &[TokenWithSpan], opening: usize) -> Option<usize> {
    let is_parenthesis = |at: &usize| matches!(tokens[*at].token, Token::LParen | Token::RParen);
    (opening + 1..tokens.len()).find(is_parenthesis).filter(|at| tokens[*at].token == Token::RParen)
}

/// `UPDATE SET mark = NULL`.
fn update_of(mark: &str) -> Vec<Token> {
    let [update, set, null] = ["UPDATE", "SET", "NULL"].map(Token::make_keyword);
    vec![update, space(), set, space(), Token::make_word(mark, Some('"')), Token::Eq, null, space()]
}

/// `INSERT (mark) VALUES (NULL)`.
fn insert_of(mark: &str) -> Vec<Token> {
    let [insert, values, null] = ["INSERT", "VALUES", "NULL"].map(Token::make_keyword);
    let mark = Token::make_word(mark, Some('"'));
    vec![insert, Token::LParen, mark, Token::RParen, values, Token::LParen, null, Token::RParen]
}

fn space() -> Token {
    Token::Whitespace(Whitespace::Space)
}

/// Words in place of some tokens.
fn replacement(tokens: &[TokenWithSpan], replaced: Range<usize>, words: Vec<Token>) -> TokenReplacement {
    let span = tokens[replaced.start].span;
    (replaced, words.into_iter().map(|token| TokenWithSpan::new(token, span)).collect())
}
