//! Statements and clauses that the parser does not know, written with others before it sees them: `TABLE t` is
//! `SELECT * FROM t`, `ANY (VALUES ...)` selects from the values, `ORDER BY x USING >` is `ORDER BY x DESC`,
//! `ROWS FROM (f(), g())` becomes a call, `substring(x SIMILAR p ESCAPE e)` is `substring(x FROM p FOR e)`,
//! `INSERT INTO t AS x` inserts into `t`, whose name replaces `x` after `ON CONFLICT` and `RETURNING`,
//! `OVERRIDING ... VALUE` becomes a mark, and `CONCURRENTLY` in `DROP INDEX` becomes `PURGE`, a word that other
//! dialects have at the end. `ONLY` before a table is left out. `COMMENT ON CONSTRAINT c ON t` is a comment on an
//! index: comments are not kept.
//!
//! [#2246](https://github.com/apache/datafusion-sqlparser-rs/pull/2246) adds `USING` to the parser's PostgreSQL
//! dialect, and is not in DataFusion 55.2's sqlparser 0.62; for the others no upstream issue is known.

use super::created_columns::name_created_columns;
use super::words::{after, before, is_significant, is_word, opening};
use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_TABLE_ALIAS};
use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

/// The mark of an `INSERT` with `OVERRIDING SYSTEM VALUE`.
pub const OVERRIDING_SYSTEM: &str = "\u{1}overriding system value";
/// The mark of an `INSERT` with `OVERRIDING USER VALUE`.
pub const OVERRIDING_USER: &str = "\u{1}overriding user value";

/// The function that `ROWS FROM` becomes.
pub(crate) const ROWS_FROM: &str = "rows_from";

/// Rewrites the tokens of a statement.
pub(crate) fn write_statements(tokens: &mut Vec<TokenWithSpan>) {
    sort_by_operators(tokens);
    write_similar_substrings(tokens);
    leave_out_only(tokens);
    if first_is(tokens, "INSERT") {
        name_target(tokens);
    }
    if first_is(tokens, "CREATE") {
        name_created_columns(tokens);
    }
    if first_is(tokens, "COMMENT") {
        comment_on_index(tokens);
    }
    if first_is(tokens, "DROP") {
        mark_concurrently(tokens);
    }
    mark_overriding(tokens);
    call_rows_from(tokens);
    select_tables(tokens);
    select_values(tokens);
}

/// `CONCURRENTLY` in `DROP INDEX CONCURRENTLY i`, which becomes `PURGE`. In `DROP INDEX concurrently ON t` it is the
/// name of the index.
fn mark_concurrently(tokens: &mut Vec<TokenWithSpan>) {
    let mut words = (0..tokens.len()).filter(|at| is_significant(&tokens[*at]));
    let (Some(_), Some(index), Some(word), Some(next)) = (words.next(), words.next(), words.next(), words.next())
    else {
        return;
    };
    let is_name = matches!(tokens[next].token, Token::Word(_)) && !is_word(&tokens[next], "ON");
    if !is_word(&tokens[index], "INDEX") || !is_word(&tokens[word], "CONCURRENTLY") || !is_name {
        return;
    }
    let span = tokens[word].span;
    tokens[word].token = Token::Whitespace(Whitespace::Space);
    let is_end = |token: &TokenWithSpan| token.token == Token::SemiColon || is_word(token, "ON");
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    if let Some(last) = tokens[..end].iter().rposition(|token| matches!(token.token, Token::Word(_))) {
        let purge = [Token::Whitespace(Whitespace::Space), Token::make_keyword("PURGE")];
        tokens.splice(last + 1..last + 1, purge.map(|token| TokenWithSpan::new(token, span)));
    }
}

/// `OVERRIDING SYSTEM VALUE` and `OVERRIDING USER VALUE`, which become a `PARTITION` with a mark.
fn mark_overriding(tokens: &mut Vec<TokenWithSpan>) {
    for at in (0..tokens.len()).rev() {
        if !is_word(&tokens[at], "OVERRIDING") {
            continue;
        }
        let Some(whose) = after(tokens, at) else { continue };
        let mark = match () {
            () if is_word(&tokens[whose], "SYSTEM") => OVERRIDING_SYSTEM,
            () if is_word(&tokens[whose], "USER") => OVERRIDING_USER,
            () => continue,
        };
        let Some(value) = after(tokens, whose).filter(|value| is_word(&tokens[*value], "VALUE")) else { continue };
        let span = tokens[at].span;
        let (partition, mark) = (Token::make_keyword("PARTITION"), Token::make_word(mark, Some('"')));
        let clause = [partition, Token::LParen, mark, Token::RParen];
        tokens.splice(at..=value, clause.map(|token| TokenWithSpan::new(token, span)));
    }
}

/// `ROWS FROM (` where a table may stand.
fn call_rows_from(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        let Some(from) = after(tokens, at).filter(|next| is_word(&tokens[*next], "FROM")) else { continue };
        let is_call = after(tokens, from).is_some_and(|next| tokens[next].token == Token::LParen);
        let is_table = before(tokens, at).is_some_and(|before| {
            let before = &tokens[before];
            before.token == Token::Comma || ["FROM", "JOIN", "LATERAL"].iter().any(|word| is_word(before, word))
        });
        if is_word(&tokens[at], "ROWS") && is_call && is_table {
            tokens[at].token = Token::make_word(ROWS_FROM, None);
            tokens[from].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `ONLY` before the name of a table, which has no descendants. The name may have parentheses.
fn leave_out_only(tokens: &mut [TokenWithSpan]) {
    // For each open parenthesis, whether its present clause lists tables.
    let mut lists_tables = vec![false];
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::LParen => lists_tables.push(false),
            Token::RParen if lists_tables.len() > 1 => drop(lists_tables.pop()),
            Token::Word(word) if word.quote_style.is_none() => {
                if let Some(lists) = lists_tables.last_mut() {
                    *lists = match word.keyword {
                        Keyword::FROM | Keyword::USING => true,
                        Keyword::SELECT | Keyword::WHERE | Keyword::BY | Keyword::SET | Keyword::RETURNING => false,
                        _ => *lists,
                    };
                }
            }
            _ => {}
        }
        if !is_word(&tokens[at], "ONLY") {
            continue;
        }
        let is_table = before(tokens, at).is_some_and(|before| match &tokens[before].token {
            Token::Comma => lists_tables.last() == Some(&true),
            _ => ["FROM", "JOIN", "UPDATE", "USING"].iter().any(|word| is_word(&tokens[before], word)),
        });
        let Some(next) = after(tokens, at).filter(|_| is_table) else { continue };
        if names_table(&tokens[next]) {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        } else if tokens[next].token == Token::LParen
            && let Some(name) = after(tokens, next).filter(|name| names_table(&tokens[*name]))
            && let Some(close) = end_of_name(tokens, name).and_then(|last| after(tokens, last))
            && tokens[close].token == Token::RParen
        {
            for at in [at, next, close] {
                tokens[at].token = Token::Whitespace(Whitespace::Space);
            }
        }
    }
}

/// Whether a token may begin the name of a table.
fn names_table(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) if word.quote_style.is_some() => true,
        Token::Word(word) => word.keyword != Keyword::AS && !RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword),
        _ => false,
    }
}

/// `USING >` and `USING <` in ORDER BY.
fn sort_by_operators(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at], "USING") {
            continue;
        }
        let Some(next) = after(tokens, at) else { continue };
        let direction = match tokens[next].token {
            Token::Gt => "DESC",
            Token::Lt => "ASC",
            _ => continue,
        };
        tokens[at].token = Token::make_keyword(direction);
        tokens[next].token = Token::Whitespace(Whitespace::Space);
    }
}

/// `substring(text SIMILAR pattern ESCAPE escape)`, which is `substring(text FROM pattern FOR escape)`.
fn write_similar_substrings(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at], "SIMILAR") || after(tokens, at).is_some_and(|next| is_word(&tokens[next], "TO")) {
            continue;
        }
        let open = opening(tokens, at).filter(|open| {
            let name = before(tokens, *open);
            name.is_some_and(|name| is_word(&tokens[name], "SUBSTRING"))
        });
        let Some(open) = open else { continue };
        let is_escape = |at: &usize| is_word(&tokens[*at], "ESCAPE") && opening(tokens, *at) == Some(open);
        if let Some(escape) = (at + 1..tokens.len()).find(is_escape) {
            tokens[at].token = Token::make_keyword("FROM");
            tokens[escape].token = Token::make_keyword("FOR");
        }
    }
}

/// `TABLE t` where a query may stand.
fn select_tables(tokens: &mut Vec<TokenWithSpan>) {
    let creates = first_is(tokens, "CREATE");
    for at in (0..tokens.len()).rev() {
        let names_table = after(tokens, at).is_some_and(|next| matches!(tokens[next].token, Token::Word(_)));
        if !is_word(&tokens[at], "TABLE") || !names_table {
            continue;
        }
        let begins_query = match tokens[..at].iter().rposition(is_significant) {
            None => true,
            Some(before) => {
                let before = &tokens[before];
                before.token == Token::LParen
                    || ["UNION", "EXCEPT", "INTERSECT", "ALL"].iter().any(|word| is_word(before, word))
                    || (creates && is_word(before, "AS"))
            }
        };
        if begins_query {
            let span = tokens[at].span;
            tokens.splice(at..=at, select_all_from(span));
        }
    }
}

/// `VALUES` after `ANY` and `ALL`.
fn select_values(tokens: &mut Vec<TokenWithSpan>) {
    for at in (0..tokens.len()).rev() {
        if !["ANY", "SOME", "ALL"].iter().any(|word| is_word(&tokens[at], word)) {
            continue;
        }
        let Some(open) = after(tokens, at).filter(|next| tokens[*next].token == Token::LParen) else { continue };
        let Some(values) = after(tokens, open).filter(|next| is_word(&tokens[*next], "VALUES")) else { continue };
        let mut depth = 0_usize;
        let close = (open..tokens.len()).find(|at| {
            match tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(close) = close else { continue };
        let span = tokens[values].span;
        tokens.insert(close, TokenWithSpan::new(Token::RParen, span));
        let bracket = TokenWithSpan::new(Token::LParen, span);
        tokens.splice(values..values, select_all_from(span).into_iter().chain([bracket]));
    }
}

/// `SELECT * FROM `, written where the span is.
fn select_all_from(span: Span) -> [TokenWithSpan; 6] {
    let space = Token::Whitespace(Whitespace::Space);
    let (select, from) = (Token::make_keyword("SELECT"), Token::make_keyword("FROM"));
    [select, space.clone(), Token::Mul, space.clone(), from, space].map(|token| TokenWithSpan::new(token, span))
}

/// `INSERT INTO t AS x`.
fn name_target(tokens: &mut [TokenWithSpan]) {
    let Some(into) = tokens.iter().position(is_significant).and_then(|first| after(tokens, first)) else { return };
    let name = after(tokens, into).filter(|_| is_word(&tokens[into], "INTO"));
    let Some(name) = name.and_then(|first| end_of_name(tokens, first)) else { return };
    let Some(as_word) = after(tokens, name).filter(|next| is_word(&tokens[*next], "AS")) else { return };
    let Some(alias) = after(tokens, as_word) else { return };
    let (Token::Word(table), Token::Word(given)) = (tokens[name].token.clone(), tokens[alias].token.clone()) else {
        return;
    };
    for at in [as_word, alias] {
        tokens[at].token = Token::Whitespace(Whitespace::Space);
    }
    let mut is_about_target = false;
    for at in alias + 1..tokens.len() {
        is_about_target |= is_word(&tokens[at], "CONFLICT") || is_word(&tokens[at], "RETURNING");
        let is_prefix = after(tokens, at).is_some_and(|next| tokens[next].token == Token::Period);
        if let Token::Word(word) = &mut tokens[at].token
            && is_about_target
            && is_prefix
            && word.value.eq_ignore_ascii_case(&given.value)
        {
            *word = table.clone();
        }
    }
}

/// `COMMENT ON CONSTRAINT c ON t IS`.
fn comment_on_index(tokens: &mut [TokenWithSpan]) {
    let Some(on) = tokens.iter().position(is_significant).and_then(|first| after(tokens, first)) else { return };
    let Some(object) = after(tokens, on).filter(|at| is_word(&tokens[*at], "CONSTRAINT")) else { return };
    let Some(of_table) = after(tokens, object).and_then(|name| after(tokens, name)) else { return };
    let Some(table) = after(tokens, of_table).filter(|_| is_word(&tokens[of_table], "ON")) else { return };
    let Some(end) = end_of_name(tokens, table) else { return };
    let names = [table, end].map(|at| matches!(tokens[at].token, Token::Word(_)));
    if names == [true, true] && after(tokens, end).is_some_and(|next| is_word(&tokens[next], "IS")) {
        tokens[object].token = Token::make_keyword("INDEX");
        for token in &mut tokens[of_table..=end] {
            token.token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// The last word of a name that begins at a token, such as `t` and `s.t`.
fn end_of_name(tokens: &[TokenWithSpan], first: usize) -> Option<usize> {
    let mut name = first;
    while let Some(period) = after(tokens, name).filter(|next| tokens[*next].token == Token::Period) {
        name = after(tokens, period)?;
    }
    Some(name)
}

fn first_is(tokens: &[TokenWithSpan], wanted: &str) -> bool {
    tokens.iter().find(|token| is_significant(token)).is_some_and(|first| is_word(first, wanted))
}
