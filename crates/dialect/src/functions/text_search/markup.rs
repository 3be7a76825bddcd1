//! Tags, comments and entities of XML and HTML.

/// The length of the entity that a text begins with.
pub(super) fn entity_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('&')?;
    let (prefix, name) = if let Some(number) = rest.strip_prefix('#') {
        match number.strip_prefix(['x', 'X']) {
            Some(number) => (3, letters_length(number, |letter| letter.is_ascii_hexdigit())),
            None => (2, letters_length(number, |letter| letter.is_ascii_digit())),
        }
    } else {
        let is_name = rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, ':' | '_'));
        (1, if is_name { letters_length(rest, is_of_name) } else { 0 })
    };
    let length = prefix + name;
    (name > 0 && text.as_bytes().get(length) == Some(&b';')).then_some(length + 1)
}

fn letters_length(text: &str, is_wanted: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_wanted(letter)).unwrap_or(text.len())
}

/// Returns whether a character may be part of the name of a tag or an entity.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, ':' | '_' | '.' | '-')
}

/// The length of the comment that a text begins with.
pub(super) fn comment_length(text: &str) -> Option<usize> {
    text.get(4..)?.find("-->").map(|length| 4 + length + 3)
}

/// Returns true if a text begins with a tag that begins a script or a style sheet, and false if the tag ends one.
pub(super) fn starts_or_ends_script(text: &str) -> Option<bool> {
    let begins_with = |name: &str| {
        text.split_at_checked(name.len()).is_some_and(|(begin, rest)| {
            begin.eq_ignore_ascii_case(name) && rest.starts_with(|letter: char| letter == '>' || letter.is_whitespace())
        })
    };
    if begins_with("<script") || begins_with("<style") {
        return Some(true);
    }
    (begins_with("</script") || begins_with("</style")).then_some(false)
}

/// The length of the tag that a text begins with.
pub(super) fn tag_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('<')?;
    let is_first = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, ':' | '_');
    let name = match rest.chars().next()? {
        '!' if rest[1..].starts_with(['D', 'd']) => return attributes_end(text, 3),
        '?' if rest[1..].starts_with('x') => return attributes_end(text, 3),
        '/' if rest[1..].starts_with(|letter: char| letter.is_ascii_alphabetic()) => 2,
        first if is_first(first) => 1,
        _ => return None,
    };
    let end = name + letters_length(&text[name..], is_of_name);
    let after = &text[end..];
    match after.chars().next()? {
        '>' => Some(end + 1),
        '/' => after.starts_with("/>").then_some(end + 2),
        letter if letter.is_whitespace() => attributes_end(text, end),
        _ => None,
    }
}

/// The end of the tag whose attributes begin at a position.
fn attributes_end(text: &str, from: usize) -> Option<usize> {
    let mut letters = text.get(from..)?.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '>' => return Some(from + at + 1),
            '\'' | '"' => loop {
                match letters.next()?.1 {
                    '\\' => {
                        letters.next();
                    }
                    other if other == letter => break,
                    _ => {}
                }
            },
            '=' | '-' | '_' | '#' | '/' | ':' | '.' | '&' | '?' | '%' | '~' => {}
            letter if letter.is_ascii_alphanumeric() || letter.is_whitespace() => {}
            _ => return None,
        }
    }
    None
}
