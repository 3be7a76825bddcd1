//! `WITH ...` before `INSERT`, `UPDATE`, `DELETE` and `MERGE`. The parser makes a query of it, whose body is the
//! statement; DataFusion plans only queries. So the clause moves to the query whose rows are inserted, or that finds
//! the rows to change. Not owned: items of the clause that change rows themselves (`with_steps`).

use crate::text::verbs::verb_of;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as Ast, With};

/// The statements that may follow the clause and change rows.
pub const CHANGES_AFTER_WITH: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];

/// Moves the clause before an `INSERT` to its rows.
pub(super) fn settle_with(statement: &mut Ast) {
    if let Ast::Query(query) = statement
        && let SetExpr::Insert(Ast::Insert(insert)) = query.body.as_mut()
    {
        let mut insert = insert.clone();
        let with = query.with.take();
        if let Some(source) = &mut insert.source {
            add_with(source, with);
        }
        *statement = Ast::Insert(insert);
    }
}

/// Separates an `UPDATE`, `DELETE` or `MERGE` from the clause before it. Other statements keep theirs.
pub fn split_with(statement: Ast) -> (Option<With>, Ast) {
    if let Ast::Query(query) = &statement
        && let SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) = query.body.as_ref()
    {
        return (query.with.clone(), change.clone());
    }
    (None, statement)
}

/// Adds a clause to a query, before its own.
pub fn add_with(query: &mut Query, with: Option<With>) {
    let Some(mut with) = with else { return };
    if let Some(own) = query.with.take() {
        with.recursive |= own.recursive;
        with.cte_tables.extend(own.cte_tables);
    }
    query.with = Some(with);
}

/// The word that a statement's kind depends on, in upper case: the first one, or for `WITH ...` the one after the
/// clause. Empty if the statement begins with something else, such as `(`.
pub fn main_word(text: &str) -> String {
    let verb = verb_of(text);
    match verb == "WITH" {
        true => change_after_with(text).map_or(verb, str::to_owned),
        false => verb,
    }
}

/// The verb of the statement that changes rows and follows the clause.
fn change_after_with(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut follows_parenthesis) = (0, 0_usize, false);
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let skipped = match rest {
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                follows_parenthesis = false;
                1 + rest[1..].iter().position(|byte| byte == quote)? + 1
            }
            [b'-', b'-', ..] => rest.iter().position(|byte| *byte == b'\n')?,
            [b'/', b'*', ..] => rest.windows(2).position(|pair| pair == b"*/")? + 2,
            [b'(', ..] => {
                depth += 1;
                1
            }
            [b')', ..] => {
                depth = depth.checked_sub(1)?;
                follows_parenthesis = true;
                1
            }
            [letter, ..] if letter.is_ascii_alphabetic() || *letter == b'_' || !letter.is_ascii() => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
                let word = &rest[..rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())];
                if depth == 0 && follows_parenthesis {
                    let verb = CHANGES_AFTER_WITH.into_iter().find(|verb| word.eq_ignore_ascii_case(verb.as_bytes()));
                    if verb.is_some() {
                        return verb;
                    }
                    // After AS, the list of columns is over, and the query begins.
                    if !word.eq_ignore_ascii_case(b"AS") {
                        return None;
                    }
                }
                follows_parenthesis = false;
                word.len()
            }
            [byte, ..] => {
                follows_parenthesis &= byte.is_ascii_whitespace();
                1
            }
            [] => return None,
        };
        at += skipped;
    }
    None
}

/// Returns whether a statement may have an item of `WITH` that changes rows. False positives are possible.
pub fn may_change_in_with(text: &str) -> bool {
    if !text.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("WITH")) {
        return false;
    }
    let words = text.split(|character: char| !character.is_ascii_alphabetic());
    let verbs = words.filter(|word| CHANGES_AFTER_WITH.iter().any(|verb| verb.eq_ignore_ascii_case(word))).count();
    verbs > usize::from(change_after_with(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_after_with_is_found() {
        for (text, word) in [
            ("with x as (select 1) insert into t select * from x", "INSERT"),
            ("WITH x(a, b) AS (SELECT ')', 2), y AS NOT MATERIALIZED (SELECT 1) -- (\n UPDATE t SET a = 1", "UPDATE"),
            ("WITH RECURSIVE \"delete\" AS (SELECT 1 /* ) insert */ ) delete FROM t", "DELETE"),
            ("WITH x AS (SELECT 1 AS a) MERGE INTO t USING x ON t.a = x.a WHEN MATCHED THEN DELETE", "MERGE"),
            ("WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x", "WITH"),
            ("WITH x AS (SELECT 1) SELECT (1) insert FROM x", "WITH"),
            ("WITH x AS (SELECT 1", "WITH"),
            ("update t SET a = 1", "UPDATE"),
            ("(SELECT 1)", ""),
        ] {
            assert_eq!(main_word(text), word, "{text}");
        }
    }

    #[test]
    fn changes_inside_the_clause_are_suspected() {
        for (text, expected) in [
            ("with x as (select 1) insert into t select * from x", false),
            ("WITH x AS (SELECT 1) SELECT * FROM x", false),
            ("WITH x AS (delete from t) INSERT INTO t SELECT * FROM x", true),
            ("WITH x AS (-- all\n DELETE FROM t RETURNING a) SELECT * FROM x", true),
            ("DELETE FROM t WHERE a = 'delete'", false),
        ] {
            assert_eq!(may_change_in_with(text), expected, "{text}");
        }
    }
}
