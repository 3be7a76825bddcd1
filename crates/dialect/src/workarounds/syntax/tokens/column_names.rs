//! Columns that are named as MySQL begins an index: `CREATE TABLE r (time TIMESTAMP, key TEXT)`. The parser reads such
//! a word as the beginning of an index in the generic dialect; in PostgreSQL it is a name. So it is quoted unless the
//! columns of an index follow.
//!
//! [#2342](https://github.com/apache/datafusion-sqlparser-rs/issues/2342) of the parser is closed: the name needs
//! quotes there.

use super::words::{after, is_any_word, is_significant, is_word};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Quotes such names where `CREATE TABLE` and `ALTER TABLE ... ADD` declare columns.
pub(crate) fn quote_column_names(tokens: &mut [TokenWithSpan]) {
    for before in beginnings(tokens) {
        let Some(name) = after(tokens, before).filter(|name| !is_index(tokens, *name)) else { continue };
        if let Token::Word(word) = &mut tokens[name].token
            && word.quote_style.is_none()
            && matches!(word.keyword, Keyword::KEY | Keyword::INDEX | Keyword::FULLTEXT | Keyword::SPATIAL)
        {
            (word.quote_style, word.keyword) = (Some('"'), Keyword::NoKeyword);
        }
    }
}

/// The tokens before the declarations of columns and constraints: `ADD`, or the bracket and the commas of a list.
fn beginnings(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let Some(first) = tokens.iter().position(is_significant) else { return Vec::new() };
    if is_word(&tokens[first], "ALTER") {
        return (first..tokens.len()).filter(|at| is_word(&tokens[*at], "ADD")).collect();
    }
    let list = if is_word(&tokens[first], "CREATE") { list_of_columns(tokens) } else { None };
    let (mut depth, mut found) = (0_usize, Vec::new());
    for at in list.into_iter().flat_map(|opening| opening..tokens.len()) {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        match (&tokens[at].token, depth) {
            (_, 0) => break,
            (Token::LParen | Token::Comma, 1) => found.push(at),
            _ => {}
        }
    }
    found
}

/// The bracket after the name of a table that is created, if columns stand in it.
fn list_of_columns(tokens: &[TokenWithSpan]) -> Option<usize> {
    let table = tokens.iter().position(|token| is_word(token, "TABLE"))?;
    let is_of_name = |token: &TokenWithSpan| match token.token {
        Token::Word(_) => !is_word(token, "WITH") && !is_word(token, "AS"),
        Token::Whitespace(_) | Token::Period | Token::LBracket | Token::RBracket => true,
        _ => false,
    };
    let opening = table + tokens[table..].iter().position(|token| !is_of_name(token))?;
    (tokens[opening].token == Token::LParen).then_some(opening)
}

/// Returns whether a word is followed by the columns of an index, with or without its name: `KEY (a)`, `INDEX i (a)`,
/// `KEY i USING BTREE (a)`, `FULLTEXT KEY i (a)`. The parentheses of a type have numbers in them: `key VARCHAR(20)`.
fn is_index(tokens: &[TokenWithSpan], word: usize) -> bool {
    let Some(next) = after(tokens, word) else { return false };
    match tokens[next].token {
        Token::LParen => true,
        Token::Word(_) if is_any_word(&tokens[next], &["USING", "KEY", "INDEX"]) => true,
        Token::Word(_) => after(tokens, next).is_some_and(|behind| {
            let inside = || after(tokens, behind).map(|inside| &tokens[inside].token);
            is_word(&tokens[behind], "USING")
                || tokens[behind].token == Token::LParen && matches!(inside(), Some(Token::Word(_) | Token::LParen))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn rewritten(text: &str) -> String {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        quote_column_names(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn names_of_columns_are_quoted() {
        for (text, expected) in [
            ("CREATE TABLE r (key TEXT, Index INT)", "CREATE TABLE r (\"key\" TEXT, \"Index\" INT)"),
            (
                " create or replace table if not exists a.\"r\" (\n-- ?\nfulltext VARCHAR (20), spatial TIMESTAMP(3))",
                " create or replace table if not exists a.\"r\" (\n-- ?\n\"fulltext\" VARCHAR (20), \"spatial\" TIMESTAMP(3))",
            ),
            (
                "CREATE TABLE r (a INT, key, index) AS SELECT 1",
                "CREATE TABLE r (a INT, \"key\", \"index\") AS SELECT 1",
            ),
            ("CREATE TABLE [r] (key ENUM('a'))", "CREATE TABLE [r] (\"key\" ENUM('a'))"),
            ("ALTER TABLE r ADD key TEXT, ADD index INT", "ALTER TABLE r ADD \"key\" TEXT, ADD \"index\" INT"),
        ] {
            assert_eq!(rewritten(text), expected);
        }
    }

    #[test]
    fn indexes_and_other_lists_stay() {
        for text in [
            "CREATE TABLE r (a INT, KEY (a), KEY i (a), INDEX i USING BTREE (a), KEY USING HASH (a), INDEX ((a + 1)))",
            "CREATE TABLE r (a TEXT, FULLTEXT KEY i (a), FULLTEXT (a), SPATIAL INDEX i (a), FULLTEXT i (a))",
            "CREATE TABLE r (a INT PRIMARY KEY, b INT, PRIMARY KEY (b), UNIQUE KEY u (a))",
            "CREATE TABLE r (a INT) WITH (key = 'a')",
            "CREATE TABLE r WITH (key = 'a') AS SELECT 1",
            "CREATE TABLE r AS SELECT max(key), index FROM t",
            "CREATE VIEW r (a, key) AS SELECT key, index FROM t",
            "ALTER TABLE r ADD KEY (a), ADD INDEX i (a), ADD COLUMN key TEXT",
            "SELECT (key), index FROM t",
            "CREATE TABLE r (a INT",
            "",
        ] {
            assert_eq!(rewritten(text), text);
        }
    }
}
