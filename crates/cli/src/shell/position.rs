//! Shows the position of an error in a statement: its line, with a mark below.

/// The lines to show below a message: the line of the statement, and a mark at the line and column in the message, or
/// at the unknown name.
pub(super) fn marked(text: &str, message: &str) -> Option<String> {
    let (line, column) = by_number(message).or_else(|| by_name(text, message))?;
    let shown = text.lines().nth(line - 1)?;
    let before: String = shown.chars().take(column - 1).map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
    (shown.chars().count() + 1 >= column && shown.len() < 500).then(|| format!("  {shown}\n  {before}^"))
}

/// `at line 2, column 5`.
fn by_number(message: &str) -> Option<(usize, usize)> {
    let rest = message.split_once("at line ")?.1;
    let (line, rest) = rest.split_once(", column ")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (line, column) = (line.parse().ok()?, rest[..digits].parse().ok()?);
    (line > 0 && column > 0).then_some((line, column))
}

/// For `no column named sensr`: the first occurrence of the word.
fn by_name(text: &str, message: &str) -> Option<(usize, usize)> {
    let rest = message.split_once(" named ")?.1;
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let name =
        rest.trim_matches(['"', '\'']).split(|letter: char| !is_part(letter)).next().filter(|name| !name.is_empty())?;
    for (number, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        for (at, _) in lower.match_indices(&name.to_lowercase()) {
            let end = at + name.len();
            let is_word = !lower[..at].ends_with(is_part) && !lower.get(end..).unwrap_or("").starts_with(is_part);
            if is_word {
                return Some((number + 1, lower[..at].chars().count() + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_error_is_marked() {
        let text = "SELECT a,\n  sensr FROM t";
        assert_eq!(marked(text, "no column named sensr").as_deref(), Some("    sensr FROM t\n    ^"));
        let numbered = marked(text, "syntax error at line 1, column 9: Expected x");
        assert_eq!(numbered.as_deref(), Some("  SELECT a,\n          ^"));
        assert_eq!(marked(text, "no function named a1"), None);
        assert_eq!(marked(text, "the disk is full"), None);
        assert_eq!(marked(text, "syntax error at line 9, column 9: x"), None);
    }
}
