//! The operators `?`, `?|` and `?&` of JSON. The tokenizer mistakes their question marks for parameters, which are
//! never written so here.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words after which an expression begins, so that a question mark is not an operator.
const BEFORE_EXPRESSIONS: [Keyword; 24] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::FETCH,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SET,
    Keyword::THEN,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Turns question marks after an operand into operators.
pub fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    let (mut at, mut follows_operand) = (0, false);
    while at < tokens.len() {
        let is_mark = matches!(&tokens[at].token, Token::Placeholder(mark) if mark == "?");
        if is_mark && follows_operand {
            let (operator, is_long) = match tokens.get(at + 1).map(|token| &token.token) {
                Some(Token::Pipe) => (Token::QuestionPipe, true),
                Some(Token::Ampersand) => (Token::QuestionAnd, true),
                _ => (Token::Question, false),
            };
            tokens[at].token = operator;
            if is_long {
                tokens.remove(at + 1);
            }
        }
        if !matches!(tokens[at].token, Token::Whitespace(_)) {
            follows_operand = ends_operand(&tokens[at].token);
        }
        at += 1;
    }
}

fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen | Token::RBracket => true,
        Token::Placeholder(id) => id != "?",
        Token::Word(word) => word.quote_style.is_some() || !BEFORE_EXPRESSIONS.contains(&word.keyword),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn joined(text: &str) -> String {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        join_operators(&mut tokens);
        tokens.iter().map(|token| format!("{}|", token.token)).collect()
    }

    #[test]
    fn marks_behind_operands_are_operators() {
        for (text, wanted) in
            [("doc ? 'a'", "doc| |?| |'a'|"), ("data ?| x", "data| |?|| |x|"), ("f(x) ?& $1", "f|(|x|)| |?&| |$1|")]
        {
            assert_eq!(joined(text), wanted);
        }
        let mut tokens = Tokenizer::new(&GenericDialect, "WHERE a = ? AND ? LIMIT ?").tokenize_with_location().unwrap();
        join_operators(&mut tokens);
        assert!(!tokens.iter().any(|token| token.token == Token::Question));
    }
}
