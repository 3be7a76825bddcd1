//! Syntax of other databases in declarations that the parser does not accept. Table options without an effect here are
//! removed from the tokens, and `[names]` become quoted names.

use super::identity_options::order_options;
use crate::text::errors::{not_supported, sql_error};
use atsdb_core::Result;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Storage engines that are accepted for ordinary tables. Guarantees that some of them lack (transactions, durability)
/// hold here all the same.
const ENGINES: [&str; 9] =
    ["innodb", "myisam", "aria", "maria", "archive", "columnstore", "rocksdb", "tokudb", "ndbcluster"];

/// Options with a value that have no effect, by their first words.
const WITHOUT_EFFECT: [&str; 18] = [
    "CHARSET",
    "CHARACTER SET",
    "COLLATE",
    "AUTO_INCREMENT",
    "COMMENT",
    "ROW_FORMAT",
    "MAX_ROWS",
    "MIN_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "CHECKSUM",
    "PAGE_CHECKSUM",
    "DELAY_KEY_WRITE",
    "KEY_BLOCK_SIZE",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "TRANSACTIONAL",
];

/// Options of one or two words.
const FLAGS: [&str; 3] = ["STRICT", "WITHOUT ROWID", "WITHOUT OIDS"];

/// Rewrites the tokens of a declaration so that the parser accepts them. Other statements are not changed.
pub fn read_foreign(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let words: Vec<String> = tokens.iter().filter_map(|token| word(&token.token)).take(3).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if !matches!(words.first(), Some(&("CREATE" | "ALTER" | "DROP"))) {
        return Ok(());
    }
    quote_bracketed(tokens);
    if words.first() == Some(&"ALTER") {
        read_reset(tokens);
    }
    match words.as_slice() {
        ["CREATE", "TABLE", ..] | ["CREATE", _, "TABLE"] => {
            order_options(tokens);
            if remove_options(tokens)? {
                add_memory_option(tokens);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether a storage engine keeps rows in memory; unknown ones are refused.
pub fn is_memory_engine(name: &str) -> Result<bool> {
    match is_memory(name) || ENGINES.iter().any(|engine| engine.eq_ignore_ascii_case(name)) {
        true => Ok(is_memory(name)),
        false => Err(not_supported(format_args!("ENGINE {name}")).with_hint("leave ENGINE out")),
    }
}

fn is_memory(name: &str) -> bool {
    ["memory", "heap"].iter().any(|memory| memory.eq_ignore_ascii_case(name))
}

/// Adds `engine = memory` as an ordinary option.
fn add_memory_option(tokens: &mut Vec<TokenWithSpan>) {
    let Some(columns_end) = after_parentheses(tokens, 0) else { return };
    let span = tokens[columns_end - 1].span;
    let option = [Token::make_word("engine", None), Token::Eq, Token::SingleQuotedString("memory".to_owned())];
    let significant =
        tokens[columns_end..].iter().position(|token| !is_space(token)).map(|skipped| columns_end + skipped);
    let with = significant.filter(|at| word(&tokens[*at].token).as_deref() == Some("WITH"));
    let open =
        with.and_then(|with| tokens[with..].iter().position(|token| token.token == Token::LParen).map(|at| with + at));
    let (at, added) = match open {
        Some(open) => (open + 1, [option.to_vec(), vec![Token::Comma]].concat()),
        None => {
            let with = vec![Token::make_keyword("WITH"), Token::LParen];
            (columns_end, [with, option.to_vec(), vec![Token::RParen]].concat())
        }
    };
    tokens.splice(at..at, added.into_iter().map(|token| TokenWithSpan::new(token, span)));
}

/// An unquoted word in upper case.
fn word(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    }
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Rewrites `[a b]` where a name is expected, up to a query. A type's `[]` and an array's elements are not changed.
fn quote_bracketed(tokens: &mut Vec<TokenWithSpan>) {
    const BEFORE_A_NAME: [&str; 11] =
        ["TABLE", "EXISTS", "KEY", "INDEX", "UNIQUE", "CONSTRAINT", "COLUMN", "TO", "ON", "ADD", "DROP"];
    let (mut at, mut name_may_stand) = (0, false);
    while at < tokens.len() {
        let token = &tokens[at].token;
        if matches!(word(token).as_deref(), Some("AS" | "SELECT")) {
            return;
        }
        if *token == Token::LBracket && name_may_stand {
            let inside = tokens[at + 1..].iter().take_while(|inner| inner.token != Token::RBracket);
            let name: String = inside.clone().map(plain_text).collect();
            let end = at + 1 + inside.count();
            if end < tokens.len() && matches!(tokens[at + 1].token, Token::Word(_)) {
                tokens[at].token = Token::make_word(&name, Some('"'));
                tokens.drain(at + 1..=end);
            }
        }
        if !is_space(&tokens[at]) {
            name_may_stand = match &tokens[at].token {
                Token::LParen | Token::Comma | Token::Period => true,
                token => word(token).is_some_and(|word| BEFORE_A_NAME.contains(&word.as_str())),
            };
        }
        at += 1;
    }
}

/// Rewrites `RESET (a, b)` as `SET (a = NULL, b = NULL)`.
fn read_reset(tokens: &mut Vec<TokenWithSpan>) {
    let is_reset = |token: &TokenWithSpan| word(&token.token).as_deref() == Some("RESET");
    let Some(at) = tokens.iter().position(is_reset) else { return };
    let Some(end) = after_parentheses(tokens, at) else { return };
    tokens[at].token = Token::make_keyword("SET");
    for position in (at + 1..end).rev() {
        if matches!(tokens[position].token, Token::Word(_)) {
            let span = tokens[position].span;
            let added = [Token::Eq, Token::make_keyword("NULL")].map(|token| TokenWithSpan::new(token, span));
            tokens.splice(position + 1..position + 1, added);
        }
    }
}

fn plain_text(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    }
}

/// Removes the options between the columns and `WITH`, `AS` or the end, and those after `WITH (...)`. Returns whether
/// one of them requests a table in memory.
fn remove_options(tokens: &mut Vec<TokenWithSpan>) -> Result<bool> {
    let Some(mut at) = after_parentheses(tokens, 0) else { return Ok(false) };
    let mut in_memory = false;
    loop {
        while tokens.get(at).is_some_and(is_space) {
            at += 1;
        }
        if tokens.get(at).and_then(|token| word(&token.token)).as_deref() == Some("WITH") {
            match after_parentheses(tokens, at) {
                Some(end) => at = end,
                None => return Ok(in_memory),
            }
            continue;
        }
        match option_end(tokens, at)? {
            Some(end) => {
                let words: Vec<TokenWithSpan> = tokens.drain(at..end).collect();
                let is_word = |token: &&TokenWithSpan| !is_space(token) && token.token != Token::Comma;
                let first = words.iter().find(is_word).and_then(|token| word(&token.token)).unwrap_or_default();
                let last = words.iter().rfind(is_word).map(plain_text).unwrap_or_default();
                in_memory |= ["ENGINE", "TYPE"].contains(&first.as_str()) && is_memory(last.trim_matches('\''));
            }
            None => return Ok(in_memory),
        }
    }
}

/// The position after the first pair of parentheses, unless a query comes before it.
fn after_parentheses(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_usize);
    while at < tokens.len() {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Some(at + 1),
            Token::RParen => depth = depth.saturating_sub(1),
            token if depth == 0 && matches!(word(token).as_deref(), Some("AS" | "SELECT" | "LIKE")) => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The end of the option that begins here, including its comma; `None` if no option begins here.
fn option_end(tokens: &[TokenWithSpan], start: usize) -> Result<Option<usize>> {
    let significant = |at: usize| tokens[at..].iter().position(|token| !is_space(token)).map(|skipped| at + skipped);
    let next = |at: usize| significant(at + 1).filter(|next| *next < tokens.len());
    let Some(first) = significant(start).and_then(|at| word(&tokens[at].token)) else { return Ok(None) };
    let second = next(start).and_then(|at| word(&tokens[at].token)).unwrap_or_default();
    let with_comma = |end: usize| match significant(end).filter(|at| tokens[*at].token == Token::Comma) {
        Some(comma) => comma + 1,
        None => end,
    };
    let last_of = |word_count: usize| (1..word_count).try_fold(start, |at, _| next(at));
    for flag in FLAGS {
        let word_count = flag.split(' ').count();
        if flag == first || flag == format!("{first} {second}") {
            return Ok(last_of(word_count).map(|last| with_comma(last + 1)));
        }
    }
    let default = usize::from(first == "DEFAULT");
    let third = last_of(3).and_then(|at| word(&tokens[at].token)).unwrap_or_default();
    let (name, after) = if default == 1 { (second, third) } else { (first, second) };
    let is_engine = default == 0 && (name == "ENGINE" || name == "TYPE");
    let known = WITHOUT_EFFECT.into_iter().find(|known| *known == name || *known == format!("{name} {after}"));
    let name_words = match (is_engine, known) {
        (true, _) => 1,
        (false, Some(known)) => known.split(' ').count(),
        (false, None) => return Ok(None),
    };
    let value = last_of(default + name_words).and_then(next).and_then(|at| match tokens[at].token {
        Token::Eq => next(at),
        _ => Some(at),
    });
    let Some(value) = value else { return Err(sql_error(format!("the table option {name} has no value"))) };
    let text = plain_text(&tokens[value]);
    let text = text.trim_matches('\'');
    if is_engine {
        is_memory_engine(text)?;
    }
    Ok(Some(with_comma(value + 1)))
}
