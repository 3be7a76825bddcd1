//! The options of `GENERATED ... AS IDENTITY (...)` in a declaration, in the order in which the parser reads them:
//! PostgreSQL accepts any. The name of the sequence, which follows from the table and the column, is left out.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The first words of the options, in the parser's order. `NO` is read with the word after it.
const ORDER: [&str; 6] = ["INCREMENT", "MINVALUE", "MAXVALUE", "START", "CACHE", "CYCLE"];

/// Orders the options of all identity columns.
pub(super) fn order_options(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let opens = is_word(&tokens[at].token, "IDENTITY").then(|| next_code(tokens, at)).flatten();
        if let Some(open) = opens.filter(|open| tokens[*open].token == Token::LParen)
            && let Some(length) = tokens[open..].iter().position(|token| token.token == Token::RParen)
        {
            let inside = open + 1..open + length;
            if let Some(ordered) = ordered(&tokens[inside.clone()]) {
                tokens.splice(inside, ordered);
            }
        }
        at += 1;
    }
}

/// The options in order; `None` if one of them is not known, which the parser then reports.
fn ordered(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let code: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let is_no = is_word(&code[at].token, "NO");
        let named = code.get(at + usize::from(is_no))?;
        if is_word(&named.token, "SEQUENCE") && code.get(at + 1).is_some_and(|next| is_word(&next.token, "NAME")) {
            at += 3;
            while code.get(at).is_some_and(|next| next.token == Token::Period) {
                at += 2;
            }
            continue;
        }
        let rank = ORDER.iter().position(|word| is_word(&named.token, word))?;
        let first = at;
        at += 1 + usize::from(is_no);
        while code.get(at).is_some_and(|next| !begins_option(&next.token)) {
            at += 1;
        }
        options.push((rank, code[first..at].iter().map(|token| (*token).clone()).collect()));
    }
    options.sort_by_key(|(rank, _)| *rank);
    Some(options.into_iter().flat_map(|(_, tokens)| tokens).collect())
}

fn begins_option(token: &Token) -> bool {
    ["NO", "SEQUENCE"].iter().chain(&ORDER).any(|word| is_word(token, word))
}

fn next_code(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}
