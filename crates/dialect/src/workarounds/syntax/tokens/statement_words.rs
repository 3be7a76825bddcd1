//! Statements and clauses that the parser does not know, written with others before it sees them: `TABLE t` is
//! `SELECT * FROM t`, `ANY (VALUES ...)` and `x = (VALUES ...)` select from the values, `ORDER BY x USING >` is
//! `ORDER BY x DESC`, `ROWS FROM (f(), g())` becomes a call, `substring(x SIMILAR p ESCAPE e)` is
//! `substring(x FROM p FOR e)`, `INSERT INTO t (VALUES (1))` has no parentheses, `INSERT INTO t AS x` inserts into
//! `t`, whose name replaces `x` after `ON CONFLICT` and `RETURNING`, `OVERRIDING ... VALUE` becomes a mark,
//! `LIKE p ESCAPE e` with a column calls a function, and `CONCURRENTLY` in `DROP INDEX` becomes `PURGE`, a word that
//! other dialects have at the end. `ONLY` before a table is left out. `COMMENT ON CONSTRAINT c ON t` is a comment on an
//! index: comments are not kept. Other files rewrite `FETCH` and the columns of new tables.
//!
//! [#2246](https://github.com/apache/datafusion-sqlparser-rs/pull/2246) adds `USING` to the parser's PostgreSQL
//! dialect, and is not in DataFusion 55.2's sqlparser 0.62; for the others no upstream issue is known.

use super::created_columns::write_created_table;
use super::fetched_rows::limit_fetched_rows;
use super::operand_names::precedes_operand;
use super::words::{
    TokenReplacement, after, before, end_of_parentheses, is_any_word, is_significant, is_word, replace,
};
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
        open_values(tokens);
    }
    if first_is(tokens, "CREATE") {
        write_created_table(tokens);
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
    limit_fetched_rows(tokens);
    call_like_escape(tokens);
}

/// `x LIKE pattern ESCAPE e`, where `e` is a column: `x LIKE like_escape(pattern, e)`. The parser knows only literals
/// after `ESCAPE`.
fn call_like_escape(tokens: &mut Vec<TokenWithSpan>) {
    // For the statement and each open parenthesis, the last `LIKE` in it.
    let mut likes: Vec<Option<usize>> = vec![None];
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::LParen => likes.push(None),
            Token::RParen if likes.len() > 1 => drop(likes.pop()),
            Token::Word(word) if word.quote_style.is_none() => {
                let Some(like) = likes.last_mut() else { continue };
                match word.keyword {
                    Keyword::LIKE | Keyword::ILIKE => *like = Some(at),
                    Keyword::AND | Keyword::OR | Keyword::SIMILAR => *like = None,
                    Keyword::ESCAPE => {
                        let Some((like, end)) = like.take().zip(end_of_column(tokens, at)) else { continue };
                        let span = tokens[at].span;
                        let tokens_of =
                            |parts: Vec<Token>| parts.into_iter().map(|part| TokenWithSpan::new(part, span));
                        let space = Token::Whitespace(Whitespace::Space);
                        let call = vec![space, Token::make_word("like_escape", None), Token::LParen];
                        written.push((like + 1..like + 1, tokens_of(call).collect()));
                        written.push((at..at + 1, tokens_of(vec![Token::Comma]).collect()));
                        written.push((end + 1..end + 1, tokens_of(vec![Token::RParen]).collect()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// The last word of the column after `ESCAPE`; `None` if something else follows.
fn end_of_column(tokens: &[TokenWithSpan], escape: usize) -> Option<usize> {
    let first = after(tokens, escape)?;
    let is_name = matches!(&tokens[first].token, Token::Word(word) if word.keyword != Keyword::NULL);
    let end = end_of_name(tokens, first).filter(|_| is_name)?;
    let is_call = after(tokens, end).is_some_and(|next| tokens[next].token == Token::LParen);
    (!is_call).then_some(end)
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
    let mut marks = Vec::new();
    for at in 0..tokens.len() {
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
        marks.push((at..value + 1, clause.map(|token| TokenWithSpan::new(token, span)).to_vec()));
    }
    replace(tokens, marks);
}

/// `ROWS FROM (` where a table may stand.
fn call_rows_from(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at], "ROWS") {
            continue;
        }
        let Some(from) = after(tokens, at).filter(|next| is_word(&tokens[*next], "FROM")) else { continue };
        let is_call = after(tokens, from).is_some_and(|next| tokens[next].token == Token::LParen);
        let is_table = before(tokens, at).is_some_and(|before| {
            let before = &tokens[before];
            before.token == Token::Comma || is_any_word(before, &["FROM", "JOIN", "LATERAL"])
        });
        if is_call && is_table {
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
            _ => is_any_word(&tokens[before], &["FROM", "JOIN", "UPDATE", "USING"]),
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

/// Returns whether a token may begin the name of a table.
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
    // For each open parenthesis, whether it is that of a `substring`, and the last `SIMILAR` in it.
    let mut open: Vec<(bool, Option<usize>)> = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].token == Token::LParen {
            open.push((before(tokens, at).is_some_and(|name| is_word(&tokens[name], "SUBSTRING")), None));
        } else if tokens[at].token == Token::RParen {
            open.pop();
        } else if let Some((true, similar)) = open.last_mut() {
            if is_word(&tokens[at], "SIMILAR") && !after(tokens, at).is_some_and(|next| is_word(&tokens[next], "TO")) {
                *similar = Some(at);
            } else if is_word(&tokens[at], "ESCAPE")
                && let Some(similar) = similar.take()
            {
                tokens[similar].token = Token::make_keyword("FROM");
                tokens[at].token = Token::make_keyword("FOR");
            }
        }
    }
}

/// `TABLE t` where a query may stand, also behind the parentheses of a `WITH`.
fn select_tables(tokens: &mut Vec<TokenWithSpan>) {
    let creates = first_is(tokens, "CREATE");
    let begins_query = |at: usize| match before(tokens, at) {
        None => true,
        Some(before) => {
            let before = &tokens[before];
            matches!(before.token, Token::LParen | Token::RParen)
                || is_any_word(before, &["UNION", "EXCEPT", "INTERSECT", "ALL"])
                || (creates && is_word(before, "AS"))
        }
    };
    let names_table = |at: usize| after(tokens, at).is_some_and(|next| matches!(tokens[next].token, Token::Word(_)));
    let is_query = |at: &usize| is_word(&tokens[*at], "TABLE") && names_table(*at) && begins_query(*at);
    let queries = (0..tokens.len()).filter(is_query);
    let selects = queries.map(|at| (at..at + 1, select_all_from(tokens[at].span).to_vec())).collect();
    replace(tokens, selects);
}

/// `VALUES` after `ANY` and `ALL`, and as a value, as in `x = (VALUES (1))`.
fn select_values(tokens: &mut Vec<TokenWithSpan>) {
    // For each open parenthesis, the `VALUES` that begins such a list in it.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut written = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].token == Token::LParen {
            let is_operand = before(tokens, at).is_some_and(|before| precedes_values(&tokens[before]));
            open.push(after(tokens, at).filter(|next| is_operand && is_word(&tokens[*next], "VALUES")));
        } else if tokens[at].token == Token::RParen
            && let Some(values) = open.pop().flatten()
        {
            let span = tokens[values].span;
            let mut select = select_all_from(span).to_vec();
            select.push(TokenWithSpan::new(Token::LParen, span));
            written.push((values..values, select));
            written.push((at..at, vec![TokenWithSpan::new(Token::RParen, span)]));
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// Returns whether `(VALUES ...)` after a token is an operand. After a comma and another parenthesis, it may be a
/// table.
fn precedes_values(before: &TokenWithSpan) -> bool {
    let may_list_tables = matches!(before.token, Token::Comma | Token::LParen) || is_word(before, "FROM");
    is_word(before, "ANY") || is_word(before, "SOME") || precedes_operand(&before.token) && !may_list_tables
}

/// `SELECT * FROM `, written where the span is.
fn select_all_from(span: Span) -> [TokenWithSpan; 6] {
    let space = Token::Whitespace(Whitespace::Space);
    let (select, from) = (Token::make_keyword("SELECT"), Token::make_keyword("FROM"));
    [select, space.clone(), Token::Mul, space.clone(), from, space].map(|token| TokenWithSpan::new(token, span))
}

/// `INSERT INTO t AS x`.
fn name_target(tokens: &mut [TokenWithSpan]) {
    let Some(name) = target_of_insert(tokens) else { return };
    let Some(as_word) = after(tokens, name).filter(|next| is_word(&tokens[*next], "AS")) else { return };
    let Some(alias) = after(tokens, as_word) else { return };
    let (Token::Word(table), Token::Word(alias_word)) = (tokens[name].token.clone(), tokens[alias].token.clone())
    else {
        return;
    };
    for at in [as_word, alias] {
        tokens[at].token = Token::Whitespace(Whitespace::Space);
    }
    let mut is_about_target = false;
    for at in alias + 1..tokens.len() {
        is_about_target |= is_word(&tokens[at], "CONFLICT") || is_word(&tokens[at], "RETURNING");
        let is_alias =
            matches!(&tokens[at].token, Token::Word(word) if word.value.eq_ignore_ascii_case(&alias_word.value));
        let is_prefix = || after(tokens, at).is_some_and(|next| tokens[next].token == Token::Period);
        if is_about_target && is_alias && is_prefix() {
            tokens[at].token = Token::Word(table.clone());
        }
    }
}

/// The last word of the name of the table that an `INSERT` adds rows to.
fn target_of_insert(tokens: &[TokenWithSpan]) -> Option<usize> {
    let into = tokens.iter().position(is_significant).and_then(|first| after(tokens, first))?;
    let first = after(tokens, into).filter(|_| is_word(&tokens[into], "INTO"))?;
    end_of_name(tokens, first)
}

/// `INSERT INTO t (VALUES (1))`, which inserts the values. The parser takes them for names of columns.
fn open_values(tokens: &mut [TokenWithSpan]) {
    let Some(name) = target_of_insert(tokens) else { return };
    let mut open = after(tokens, name);
    while let Some(at) = open.filter(|at| tokens[*at].token == Token::LParen) {
        let values = after(tokens, at).filter(|next| is_word(&tokens[*next], "VALUES"));
        // `(values)` and `(values, b)` are columns.
        let first = values.and_then(|values| after(tokens, values));
        let has_rows = first.is_some_and(|first| tokens[first].token == Token::LParen);
        let Some(close) = end_of_parentheses(tokens, at) else { return };
        if has_rows {
            for at in [at, close] {
                tokens[at].token = Token::Whitespace(Whitespace::Space);
            }
            return;
        }
        open = after(tokens, close);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workarounds::syntax::tokens::dialect::StatementDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn rewritten(text: &str) -> String {
        let mut tokens = Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().unwrap();
        write_statements(&mut tokens);
        tokens.iter().map(|token| token.to_string()).collect()
    }

    #[test]
    fn statements_are_written_with_known_words() {
        for (text, expected) in [
            ("TABLE t UNION TABLE u", "SELECT * FROM  t UNION SELECT * FROM  u"),
            ("CREATE TABLE t AS TABLE u", "CREATE TABLE t AS SELECT * FROM  u"),
            (
                "WITH t AS (SELECT 1) TABLE t UNION ALL TABLE t",
                "WITH t AS (SELECT 1) SELECT * FROM  t UNION ALL SELECT * FROM  t",
            ),
            ("CREATE TABLE t AS SELECT 1 WITH NO DATA", "CREATE TABLE t AS SELECT 1      "),
            ("CREATE TABLE t AS SELECT a FROM data", "CREATE TABLE t AS SELECT a FROM data"),
            (
                "SELECT 1 = ANY (VALUES (2 < ALL (VALUES (3))))",
                "SELECT 1 = ANY (SELECT * FROM (VALUES (2 < ALL (SELECT * FROM (VALUES (3))))))",
            ),
            ("SELECT (VALUES (1))", "SELECT (SELECT * FROM (VALUES (1)))"),
            ("SELECT a FROM (VALUES (1)) t, (VALUES (2)) u", "SELECT a FROM (VALUES (1)) t, (VALUES (2)) u"),
            ("INSERT INTO s.t (VALUES (1), (2)) RETURNING a", "INSERT INTO s.t  VALUES (1), (2)  RETURNING a"),
            ("INSERT INTO t (a) (VALUES (1))", "INSERT INTO t (a)  VALUES (1) "),
            ("INSERT INTO t (values) VALUES (1)", "INSERT INTO t (values) VALUES (1)"),
            ("substring((a) SIMILAR f(b, 'ESCAPE') ESCAPE c)", "substring((a) FROM f(b, 'ESCAPE') FOR c)"),
            ("substring(a SIMILAR TO b ESCAPE c)", "substring(a SIMILAR TO b ESCAPE c)"),
            (
                "a LIKE b || c ESCAPE t.e AND d LIKE f ESCAPE '!' OR g SIMILAR TO h ESCAPE i",
                "a LIKE like_escape( b || c , t.e) AND d LIKE f ESCAPE '!' OR g SIMILAR TO h ESCAPE i",
            ),
            ("(a ILIKE b ESCAPE NULL)", "(a ILIKE b ESCAPE NULL)"),
            (
                "INSERT INTO t OVERRIDING USER VALUE VALUES (1)",
                "INSERT INTO t PARTITION(\"\u{1}overriding user value\") VALUES (1)",
            ),
            (
                "INSERT INTO t AS x VALUES (x.a) ON CONFLICT DO UPDATE SET a = x.a",
                "INSERT INTO t     VALUES (x.a) ON CONFLICT DO UPDATE SET a = t.a",
            ),
        ] {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }

    /// A time for each pair of words would be many minutes.
    #[test]
    fn a_statement_may_have_many_words() {
        const COUNT: usize = 50_000;
        let tables = rewritten(&format!("TABLE a{}", " UNION TABLE a".repeat(COUNT)));
        assert_eq!(tables.matches("SELECT").count(), COUNT + 1);
        let open = "substring(x SIMILAR y = ANY(VALUES (".repeat(COUNT);
        assert_eq!(rewritten(&open), open);
        let escapes = format!("substring({})", "x SIMILAR y ESCAPE z ".repeat(COUNT));
        assert_eq!(rewritten(&escapes).matches(" FOR ").count(), COUNT);
        let blanks = format!("INSERT INTO t AS x{}", " ".repeat(COUNT));
        assert_eq!(rewritten(&blanks).trim_end(), "INSERT INTO t");
    }
}
