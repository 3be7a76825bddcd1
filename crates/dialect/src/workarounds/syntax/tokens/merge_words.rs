//! Actions of `MERGE` that the parser does not know, written with those that it knows: `DO NOTHING` and `DEFAULT
//! VALUES` become a mark among the columns that an action assigns, and so does `OVERRIDING ... VALUE`, which therefore
//! must not have become a `PARTITION` before.
//!
//! No upstream issue known.

use super::statement_words::{OVERRIDING_SYSTEM, OVERRIDING_USER};
use super::words::{after, before, is_significant, is_word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The column that `DO NOTHING` assigns.
pub const NOTHING: &str = "\u{1}nothing";
/// The column that `INSERT DEFAULT VALUES` assigns.
pub const DEFAULT_VALUES: &str = "\u{1}default values";

/// Rewrites the tokens of a statement that may be a `MERGE`, from the last action to the first.
pub(crate) fn write_merge_actions(tokens: &mut Vec<TokenWithSpan>) {
    let first = tokens.iter().find(|token| is_significant(token));
    if !first.is_some_and(|first| is_word(first, "MERGE") || is_word(first, "WITH")) {
        return;
    }
    for at in (0..tokens.len()).rev() {
        if !is_word(&tokens[at], "THEN") {
            continue;
        }
        let Some(action) = after(tokens, at) else { continue };
        let Some(next) = after(tokens, action) else { continue };
        if is_word(&tokens[action], "DO") && is_word(&tokens[next], "NOTHING") {
            let Some(matched) = is_after_matched(tokens, at) else { continue };
            let words = if matched { update_of(NOTHING) } else { insert_of(NOTHING) };
            write(tokens, action, next, words);
        } else if is_word(&tokens[action], "INSERT") {
            write_insert(tokens, action, next);
        }
    }
}

/// Whether the clause of a `THEN` is about matched rows; `None` if it is no clause of a `MERGE`.
fn is_after_matched(tokens: &[TokenWithSpan], then: usize) -> Option<bool> {
    let mut at = then;
    loop {
        at = before(tokens, at)?;
        if !is_word(&tokens[at], "MATCHED") {
            continue;
        }
        let word = before(tokens, at)?;
        if is_word(&tokens[word], "WHEN") {
            return Some(true);
        }
        if is_word(&tokens[word], "NOT") && before(tokens, word).is_some_and(|when| is_word(&tokens[when], "WHEN")) {
            return Some(false);
        }
    }
}

/// `INSERT DEFAULT VALUES`, and `INSERT (a, b) OVERRIDING SYSTEM VALUE VALUES (1, 2)`.
fn write_insert(tokens: &mut Vec<TokenWithSpan>, insert: usize, next: usize) {
    if is_word(&tokens[next], "DEFAULT") {
        if let Some(values) = after(tokens, next).filter(|values| is_word(&tokens[*values], "VALUES")) {
            write(tokens, insert, values, insert_of(DEFAULT_VALUES));
        }
        return;
    }
    let has_columns = tokens[next].token == Token::LParen;
    let clause = match has_columns {
        true => (next..tokens.len()).find(|at| tokens[*at].token == Token::RParen).and_then(|at| after(tokens, at)),
        false => Some(next),
    };
    let Some(clause) = clause.filter(|clause| is_word(&tokens[*clause], "OVERRIDING")) else { return };
    let Some(whose) = after(tokens, clause) else { return };
    let mark = match () {
        () if is_word(&tokens[whose], "SYSTEM") => OVERRIDING_SYSTEM,
        () if is_word(&tokens[whose], "USER") => OVERRIDING_USER,
        () => return,
    };
    let Some(value) = after(tokens, whose).filter(|value| is_word(&tokens[*value], "VALUE")) else { return };
    for token in &mut tokens[clause..=value] {
        token.token = Token::Whitespace(Whitespace::Space);
    }
    let mark = Token::make_word(mark, Some('"'));
    match has_columns {
        true => write(tokens, next, next, vec![Token::LParen, mark, Token::Comma]),
        false => write(tokens, insert, insert, vec![Token::make_keyword("INSERT"), Token::LParen, mark, Token::RParen]),
    }
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

fn write(tokens: &mut Vec<TokenWithSpan>, from: usize, to: usize, written: Vec<Token>) {
    let span = tokens[from].span;
    tokens.splice(from..=to, written.into_iter().map(|token| TokenWithSpan::new(token, span)));
}
