//! The conditions of CHECK constraints in a declaration. They are kept as they are written, but on one line, so that
//! every program that reads the definition can plan them: what this parser makes of them is not stored.

use super::text_locations::bytes_in_order;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

/// Replaces each condition in the tokens of a `CREATE TABLE` or `ALTER TABLE` by one string with its text, which the
/// syntax tree then has in its place.
pub(super) fn keep_conditions(tokens: &mut Vec<TokenWithSpan>, text: &str) {
    if !declares_table(tokens) {
        return;
    }
    let (mut kept, mut start) = (Vec::with_capacity(tokens.len()), 0);
    let mut byte = bytes_in_order(text);
    while let Some(open) = next_opening(tokens, start)
        && let Some(close) = closing(tokens, open)
    {
        let condition = Token::SingleQuotedString(text_of(&tokens[open + 1..close], text, &mut byte));
        let span = Span::new(tokens[open].span.end, tokens[close].span.start);
        kept.extend_from_slice(&tokens[start..=open]);
        kept.push(TokenWithSpan::new(condition, span));
        start = close;
    }
    kept.extend_from_slice(&tokens[start..]);
    *tokens = kept;
}

fn declares_table(tokens: &[TokenWithSpan]) -> bool {
    let significant = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let words: Vec<Keyword> = significant.map_while(|token| keyword_of(&token.token)).take(5).collect();
    matches!(words.first(), Some(Keyword::CREATE | Keyword::ALTER)) && words.contains(&Keyword::TABLE)
}

fn keyword_of(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// The position of the next parenthesis after `CHECK`.
fn next_opening(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let mut significant = (start..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let mut follows_check = false;
    significant.find(|at| {
        let is_opening = follows_check && tokens[*at].token == Token::LParen;
        follows_check = keyword_of(&tokens[*at].token) == Some(Keyword::CHECK);
        is_opening
    })
}

/// The position of the parenthesis that closes the one at a position.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The text of some tokens, with one space for each comment or space between them. `byte` returns the byte of each
/// location of the text.
fn text_of(tokens: &[TokenWithSpan], text: &str, mut byte: impl FnMut(Location) -> usize) -> String {
    let (mut condition, mut is_spaced) = (String::new(), false);
    for TokenWithSpan { token, span } in tokens {
        if matches!(token, Token::Whitespace(_)) {
            is_spaced = true;
            continue;
        }
        if std::mem::take(&mut is_spaced) && !condition.is_empty() {
            condition.push(' ');
        }
        condition.push_str(text.get(byte(span.start)..byte(span.end)).unwrap_or_default());
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::keep_conditions;
    use crate::parse::statement::parse_declaring;
    use crate::text::params::Parameters;
    use crate::text::source_position::SourcePosition;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

    fn shown(text: &str) -> String {
        parse_declaring(text, SourcePosition::START, &Parameters::none()).unwrap().to_string()
    }

    #[test]
    fn a_condition_is_kept_as_it_is_written() {
        let text = "CREATE TABLE t (a INT CHECK ( a > 0 -- positive\n AND  \"é\" IN ('(', E'\\n')), \"check\" INT, \
                    CONSTRAINT c CHECK ((a)<(b) AND f(1) NOTNULL))";
        let shown = shown(text);
        assert!(shown.contains("CHECK ('a > 0 AND \"é\" IN (''('', E''\\n'')')"), "{shown}");
        assert!(shown.contains("CONSTRAINT c CHECK ('(a)<(b) AND f(1) NOTNULL')"), "{shown}");
    }

    #[test]
    fn constraints_may_be_added_later() {
        let altered = shown("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0), ADD CHECK (b)");
        assert!(altered.contains("CHECK ('a > 0')") && altered.contains("CHECK ('b')"), "{altered}");
    }

    /// This takes minutes if the text is read again for each token, or the tokens are moved for each condition.
    #[test]
    fn very_many_conditions_are_kept() {
        let text = format!("CREATE TABLE t (a INT{})", ", CHECK (a > 0)".repeat(100_000));
        let mut tokens = Tokenizer::new(&GenericDialect, &text).tokenize_with_location().unwrap();
        keep_conditions(&mut tokens, &text);
        let kept = Token::SingleQuotedString("a > 0".to_owned());
        assert_eq!(tokens.iter().filter(|token| token.token == kept).count(), 100_000);
    }
}
