//! The columns after `ON DELETE SET NULL` and `ON DELETE SET DEFAULT` in the declaration of a foreign key, which the
//! parser does not know. For it they stand behind the columns of the parent, with a mark before their names.

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

/// Moves the columns behind those of the parent.
pub(super) fn move_set_columns(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut from = 0;
    while let Some(SetColumns { references, open, close }) = next_list(tokens, from)? {
        let list: Vec<TokenWithSpan> = tokens.drain(open..=close).collect();
        from = open;
        let mut marked = Vec::new();
        for token in list {
            if let Token::Word(word) = &token.token {
                let separator = if marked.is_empty() { Vec::new() } else { vec![Token::Comma] };
                let name = Token::make_word(&format!("{MARK}{}", word.value), Some('"'));
                let added = separator.into_iter().chain([name]);
                marked.extend(added.map(|added| TokenWithSpan::new(added, token.span)));
            }
        }
        insert_behind_parent(tokens, references, marked);
    }
    Ok(())
}

/// A list of columns after `SET NULL` or `SET DEFAULT`, by the positions of tokens.
struct SetColumns {
    /// The `REFERENCES` that it belongs to.
    references: usize,
    /// Its parentheses.
    open: usize,
    close: usize,
}

fn next_list(tokens: &[TokenWithSpan], from: usize) -> Result<Option<SetColumns>> {
    let code: Vec<usize> = (0..tokens.len()).filter(|at| !is_space(&tokens[*at])).collect();
    let keyword = |at: usize| match &tokens[at].token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    for window in code.windows(5) {
        let [on, event, set, value, open] = *window else { continue };
        let is_list = on >= from
            && keyword(on) == Keyword::ON
            && matches!(keyword(event), Keyword::DELETE | Keyword::UPDATE)
            && keyword(set) == Keyword::SET
            && matches!(keyword(value), Keyword::NULL | Keyword::DEFAULT)
            && tokens[open].token == Token::LParen;
        if !is_list {
            continue;
        }
        if keyword(event) == Keyword::UPDATE {
            let action = if keyword(value) == Keyword::NULL { "SET NULL" } else { "SET DEFAULT" };
            let message = format!("a column list with {action} is only supported for ON DELETE actions");
            return Err(sql_error(message).with_hint("leave the list out: all columns of the foreign key are set"));
        }
        let references = (0..on).rev().find(|at| keyword(*at) == Keyword::REFERENCES);
        let close = (open..tokens.len()).find(|at| tokens[*at].token == Token::RParen);
        return Ok(match (references, close) {
            (Some(references), Some(close)) => Some(SetColumns { references, open, close }),
            _ => None,
        });
    }
    Ok(None)
}

/// Inserts names behind the columns of the parent that `REFERENCES` names, or as its only columns.
fn insert_behind_parent(tokens: &mut Vec<TokenWithSpan>, references: usize, names: Vec<TokenWithSpan>) {
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
    fn the_columns_stand_behind_those_of_the_parent() {
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
    fn marked_columns_are_those_that_are_set() {
        let columns = ["x", "\u{1}a", "\u{1}b"].map(Ident::new);
        let (parent, set) = parent_and_set_columns(&columns);
        assert_eq!((parent, set), (vec!["x".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    }
}
