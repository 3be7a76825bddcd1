//! Statements in another spelling than the parser's: `ANALYSE`, also after `EXPLAIN`, is `ANALYZE`, and
//! `SET SCHEMA 'name'` is `SET search_path = 'name'`. The options of an `EXPLAIN` in parentheses are left alone.
//!
//! No upstream issue known.

use super::words::{after, is_any_word, is_significant, is_word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes a statement as the parser knows it.
pub(crate) fn write_known_spelling(tokens: &mut Vec<TokenWithSpan>) {
    let Some(first) = tokens.iter().position(is_significant) else { return };
    if is_word(&tokens[first], "SET") {
        write_set_schema(tokens, first);
        return;
    }
    let analyze = if is_word(&tokens[first], "EXPLAIN") { after(tokens, first) } else { Some(first) };
    if let Some(at) = analyze.filter(|at| is_word(&tokens[*at], "ANALYSE")) {
        tokens[at].token = Token::make_keyword("ANALYZE");
    }
}

fn write_set_schema(tokens: &mut Vec<TokenWithSpan>, set: usize) {
    let is_scope = |at: &usize| is_any_word(&tokens[*at], &["SESSION", "LOCAL"]);
    let next = after(tokens, set);
    let setting = match next.filter(is_scope) {
        Some(scope) => after(tokens, scope),
        None => next,
    };
    let Some(schema) = setting.filter(|at| is_word(&tokens[*at], "SCHEMA")) else { return };
    let Some(name) = after(tokens, schema) else { return };
    if matches!(tokens[name].token, Token::SingleQuotedString(_)) {
        let span = tokens[name].span;
        tokens[schema].token = Token::make_word("search_path", None);
        tokens.insert(name, TokenWithSpan::new(Token::Eq, span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn statements_get_the_spelling_of_the_parser() {
        for (text, expected) in [
            ("analyse t", "ANALYZE t"),
            ("EXPLAIN ANALYSE SELECT analyse FROM t", "EXPLAIN ANALYZE SELECT analyse FROM t"),
            ("SELECT analyse", "SELECT analyse"),
            ("SET SCHEMA 's'", "SET search_path ='s'"),
            ("SET LOCAL schema 's'", "SET LOCAL search_path ='s'"),
            ("SET schema = 's'", "SET schema = 's'"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            write_known_spelling(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected);
        }
    }
}
