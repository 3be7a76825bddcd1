//! Qualified names in texts.

/// The parts of a qualified name, without quotes.
pub(super) fn parts(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = name.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            letter if is_quoted => part.push(letter),
            // There may be spaces around a dot.
            letter
                if letter.is_whitespace()
                    && (part.is_empty() || letters.clone().find(|next| !next.is_whitespace()) == Some('.')) => {}
            letter => part.extend(letter.to_lowercase()),
        }
    }
    parts.push(part);
    parts
}
