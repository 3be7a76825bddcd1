//! The columns after `ON DELETE SET NULL` and `ON DELETE SET DEFAULT` in the declaration of a foreign key, which the
//! parser does not know. For it they stand after the columns of the parent, with a mark before their names.

use crate::text::errors::sql_error;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// No name in a statement begins with it.
const MARK: char = '\u{1}';

/// The columns of the parent in a syntax tree, and those that a deletion sets.
pub fn parent_and_set_columns(columns: &[Ident]) -> (Vec<String>, Vec<String>) {
    let set = columns.iter().filter_map(|column| column.value.strip_prefix(MARK)).map(str::to_owned);
    let parent = columns.iter().filter(|column| !column.value.starts_with(MARK));
    (parent.map(|column| column.value.clone()).collect(), set.collect())
}

/// Moves the columns after those of the parent.
pub(super) fn move_set_columns(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut rest = std::mem::take(tokens).into_iter();
    // The key words of the last four tokens, and the last `REFERENCES`, which has one list at most.
    let (mut last, mut references) = ([Keyword::NoKeyword; 4], None);
    while let Some(token) = rest.next() {
        if token.token == Token::LParen
            && let Some(action) = deletion_that_sets(last)?
            && let Some(references) = references.take()
        {
            let written = || sql_error(format!("{action} takes names of columns, such as {action} (a, b)"));
            let close = rest.as_slice().iter().position(|token| token.token == Token::RParen).ok_or_else(written)?;
            let list: Vec<TokenWithSpan> = rest.by_ref().take(close).collect();
            insert_after_parent(tokens, references, marked(&list).ok_or_else(written)?);
            rest.next();
            continue;
        }
        let keyword = match &token.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        if keyword == Keyword::REFERENCES {
            references = Some(tokens.len());
        }
        if !is_space(&token) {
            last = [last[1], last[2], last[3], keyword];
        }
        tokens.push(token);
    }
    Ok(())
}

/// The action of a deletion, if these key words are one that sets columns.
fn deletion_that_sets(words: [Keyword; 4]) -> Result<Option<&'static str>> {
    let (event, action) = match words {
        [Keyword::ON, event, Keyword::SET, Keyword::NULL] => (event, "SET NULL"),
        [Keyword::ON, event, Keyword::SET, Keyword::DEFAULT] => (event, "SET DEFAULT"),
        _ => return Ok(None),
    };
    match event {
        Keyword::DELETE => Ok(Some(action)),
        Keyword::UPDATE => {
            let message = format!("a column list with {action} is only supported for ON DELETE actions");
            Err(sql_error(message).with_hint("leave the list out: all columns of the foreign key are set"))
        }
        _ => Ok(None),
    }
}

/// The names of a list, with their marks; `None` if it is no list of names.
fn marked(list: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let (mut marked, mut is_name_next) = (Vec::with_capacity(list.len()), true);
    for token in list.iter().filter(|token| !is_space(token)) {
        let written = match &token.token {
            Token::Word(word) if is_name_next => Token::make_word(&format!("{MARK}{}", word.value), Some('"')),
            Token::Comma if !is_name_next => Token::Comma,
            _ => return None,
        };
        marked.push(TokenWithSpan::new(written, token.span));
        is_name_next = !is_name_next;
    }
    (!is_name_next).then_some(marked)
}

/// Inserts names after the columns of the parent that `REFERENCES` names, or as its only columns.
fn insert_after_parent(tokens: &mut Vec<TokenWithSpan>, references: usize, names: Vec<TokenWithSpan>) {
    let span = tokens[references].span;
    let one = |token: Token| vec![TokenWithSpan::new(token, span)];
    let is_name = |token: &TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Period);
    let mut last = references;
    let mut at = references + 1;
    // The name of the parent: words with periods between them.
    while at < tokens.len() && (is_space(&tokens[at]) || is_name(&tokens[at])) {
        let begins_clause =
            matches!(&tokens[at].token, Token::Word(_)) && last != references && tokens[last].token != Token::Period;
        if begins_clause {
            break;
        }
        if is_name(&tokens[at]) {
            last = at;
        }
        at += 1;
    }
    let has_columns = tokens.get(at).is_some_and(|token| token.token == Token::LParen);
    let close = tokens[at..].iter().position(|token| token.token == Token::RParen).filter(|_| has_columns);
    let (at, added) = match close {
        Some(close) => (at + close, [one(Token::Comma), names].concat()),
        None => (last + 1, [one(Token::LParen), names, one(Token::RParen)].concat()),
    };
    tokens.splice(at..at, added);
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn moved(text: &str) -> Result<String> {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        move_set_columns(&mut tokens)?;
        let text: String = tokens.iter().map(|token| token.token.to_string()).collect();
        Ok(text.replace(MARK, "!"))
    }

    #[test]
    fn the_columns_stand_after_those_of_the_parent() {
        for (text, expected) in [
            (
                "REFERENCES s.p (x, y) ON DELETE SET NULL (a, B)",
                "REFERENCES s.p (x, y,\"!a\",\"!B\") ON DELETE SET NULL ",
            ),
            (
                "REFERENCES p ON UPDATE CASCADE ON DELETE SET DEFAULT (a)",
                "REFERENCES p(\"!a\") ON UPDATE CASCADE ON DELETE SET DEFAULT ",
            ),
            ("REFERENCES p MATCH FULL ON DELETE SET NULL(a),", "REFERENCES p(\"!a\") MATCH FULL ON DELETE SET NULL,"),
            (
                "REFERENCES p ON DELETE SET NULL, b INT REFERENCES q",
                "REFERENCES p ON DELETE SET NULL, b INT REFERENCES q",
            ),
            (
                "REFERENCES p ON DELETE SET NULL (a), FOREIGN KEY (b) REFERENCES q (z) ON DELETE SET NULL (b)",
                "REFERENCES p(\"!a\") ON DELETE SET NULL , FOREIGN KEY (b) REFERENCES q (z,\"!b\") ON DELETE SET NULL ",
            ),
        ] {
            assert_eq!(moved(text).unwrap(), expected);
        }
        assert!(moved("REFERENCES p ON UPDATE SET NULL (a)").is_err());
    }

    #[test]
    fn other_lists_are_refused() {
        for list in ["()", "(a b)", "(a,)", "(a, 1)", "((a))", "(a"] {
            let error = moved(&format!("REFERENCES p ON DELETE SET NULL {list}")).unwrap_err();
            assert_eq!(error.message(), "SET NULL takes names of columns, such as SET NULL (a, b)", "{list}");
        }
    }

    /// A time for each pair of lists would be many minutes.
    #[test]
    fn a_statement_may_have_many_lists() {
        const COUNT: usize = 50_000;
        let written = moved(&"REFERENCES p ON DELETE SET NULL (a), ".repeat(COUNT)).unwrap();
        assert_eq!(written.matches("p(\"!a\")").count(), COUNT);
        let of_one = format!("REFERENCES p {}", "ON DELETE SET NULL (a) ".repeat(COUNT));
        assert_eq!(moved(&of_one).unwrap().matches('!').count(), 1);
    }

    #[test]
    fn marked_columns_are_those_that_are_set() {
        let columns = ["x", "\u{1}a", "\u{1}b"].map(Ident::new);
        let (parent, set) = parent_and_set_columns(&columns);
        assert_eq!((parent, set), (vec!["x".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    }
}
