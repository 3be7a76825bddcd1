//! Columns that are named as an expression begins: `SELECT interval, exists FROM t GROUP BY cube`. The parser takes
//! such a word for the beginning of `INTERVAL '1 day'`, `EXISTS (...)`, `CUBE (...)` and so on; in PostgreSQL it is a
//! name where none of them follows. So it is quoted there.
//!
//! No upstream issue known.

use super::words::{after, before, is_significant, is_word};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Quotes such names.
pub(crate) fn quote_operand_names(tokens: &mut [TokenWithSpan]) {
    // The types of a prepared statement's parameters stand where operands could: `PREPARE p (INTERVAL)`.
    if tokens.iter().find(|token| is_significant(token)).is_some_and(|first| is_word(first, "PREPARE")) {
        return;
    }
    for at in 0..tokens.len() {
        if begins_expression(&tokens[at].token)
            && is_operand(tokens, at)
            && let Token::Word(word) = &mut tokens[at].token
        {
            (word.quote_style, word.keyword) = (Some('"'), Keyword::NoKeyword);
        }
    }
}

fn begins_expression(token: &Token) -> bool {
    use Keyword::{CUBE, EXISTS, INTERVAL, ROLLUP, TRIM, VALUES};
    matches!(
        token,
        Token::Word(word) if word.quote_style.is_none()
            && matches!(word.keyword, CUBE | EXISTS | INTERVAL | ROLLUP | TRIM | VALUES)
    )
}

/// Returns whether a word is where an operand begins, and is followed by what can follow an operand.
fn is_operand(tokens: &[TokenWithSpan], at: usize) -> bool {
    let begins = before(tokens, at).is_some_and(|before| precedes_operand(&tokens[before].token));
    begins && after(tokens, at).is_none_or(|next| follows_operand(&tokens[next].token))
}

/// Returns whether an operand may begin after a token.
pub(super) fn precedes_operand(token: &Token) -> bool {
    use Keyword as K;
    match token {
        Token::LParen | Token::LBracket | Token::Comma => true,
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            K::ALL
                | K::AND
                | K::BETWEEN
                | K::BY
                | K::CASE
                | K::DISTINCT
                | K::ELSE
                | K::FROM
                | K::HAVING
                | K::NOT
                | K::ON
                | K::OR
                | K::RETURNING
                | K::SELECT
                | K::SET
                | K::THEN
                | K::WHEN
                | K::WHERE
        ),
        other => is_operator(other),
    }
}

fn follows_operand(token: &Token) -> bool {
    use Keyword as K;
    match token {
        Token::RParen | Token::RBracket | Token::Comma | Token::Period | Token::SemiColon | Token::EOF => true,
        Token::DoubleColon => true,
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            K::AND
                | K::AS
                | K::ASC
                | K::BETWEEN
                | K::DESC
                | K::ELSE
                | K::END
                | K::EXCEPT
                | K::FROM
                | K::GROUP
                | K::HAVING
                | K::ILIKE
                | K::IN
                | K::INTERSECT
                | K::IS
                | K::LIKE
                | K::LIMIT
                | K::NOT
                | K::NULLS
                | K::OFFSET
                | K::OR
                | K::ORDER
                | K::THEN
                | K::UNION
                | K::WHEN
                | K::WHERE
        ),
        other => is_operator(other),
    }
}

/// Operators that stand between operands. A sign could begin one: `INTERVAL -1 DAY`.
fn is_operator(token: &Token) -> bool {
    matches!(
        token,
        Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq
            | Token::Mul
            | Token::Div
            | Token::Mod
            | Token::Plus
            | Token::StringConcat
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn rewritten(text: &str) -> String {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        quote_operand_names(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn names_of_columns_are_quoted() {
        for (text, expected) in [
            ("SELECT interval, a, values FROM t", "SELECT \"interval\", a, \"values\" FROM t"),
            ("SELECT sum(interval) + exists", "SELECT sum(\"interval\") + \"exists\""),
            (
                "SELECT trim::text FROM t ORDER BY Interval DESC",
                "SELECT \"trim\"::text FROM t ORDER BY \"Interval\" DESC",
            ),
            ("SELECT 1 FROM t GROUP BY cube, rollup", "SELECT 1 FROM t GROUP BY \"cube\", \"rollup\""),
            ("INSERT INTO t (interval, b) VALUES (1, 2)", "INSERT INTO t (\"interval\", b) VALUES (1, 2)"),
            ("UPDATE t SET interval = interval * 2", "UPDATE t SET \"interval\" = \"interval\" * 2"),
            ("SELECT interval.b FROM t AS interval", "SELECT \"interval\".b FROM t AS interval"),
        ] {
            assert_eq!(rewritten(text), expected);
        }
    }

    #[test]
    fn expressions_and_types_stay() {
        for text in [
            "SELECT INTERVAL '1 day', interval $1, INTERVAL 5 DAY, INTERVAL -1 DAY, interval(3) '1 s'",
            "SELECT a::interval, CAST(b AS INTERVAL), a::interval[], c AS interval FROM t",
            "SELECT trim(a), trim (b) FROM t WHERE EXISTS (SELECT 1) AND NOT EXISTS(VALUES (1))",
            "SELECT 1 FROM (VALUES (1), (2)) AS v (n) GROUP BY CUBE (n), ROLLUP(n)",
            "CREATE TABLE IF NOT EXISTS t (a INTERVAL, interval INT, b INTERVAL NOT NULL)",
            "ALTER TABLE t ALTER COLUMN a TYPE interval",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t DEFAULT VALUES RETURNING a",
            "PREPARE p (interval, INT) AS SELECT $1",
            "",
        ] {
            assert_eq!(rewritten(text), text);
        }
    }
}
