//! The text form of arrays in PostgreSQL: `{1,NULL,"a b"}`.

/// The reason why a text is not an array of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayTextError {
    /// It is not the text of an array.
    Malformed,
    /// It is an array of several dimensions: `{{1,2},{3,4}}`.
    Dimensions,
    /// It is an array whose positions do not begin at 1: `[0:1]={1,2}`.
    Positions,
}

impl ArrayTextError {
    /// The error as a sentence about a text.
    pub fn message(self, text: &str) -> String {
        match self {
            Self::Malformed => format!("malformed array literal: \"{text:.60}\""),
            Self::Dimensions => format!("\"{text:.60}\" has several dimensions, but arrays have one"),
            Self::Positions => format!("\"{text:.60}\" begins at another position than 1, but all arrays begin there"),
        }
    }
}

/// The elements of `{1,NULL,"a b"}`, or with their positions, `[1:3]={1,NULL,"a b"}`; `None` is NULL.
pub fn parse(text: &str) -> Result<Vec<Option<String>>, ArrayTextError> {
    let (declared, text) = split_positions(text.trim_matches(is_space))?;
    let elements = elements_of(text)?;
    if declared.is_some_and(|count| count != elements.len()) {
        return Err(ArrayTextError::Malformed);
    }
    Ok(elements)
}

/// The number of elements that the positions before them declare, if there are any, and the text of the elements.
fn split_positions(text: &str) -> Result<(Option<usize>, &str), ArrayTextError> {
    use ArrayTextError::{Dimensions, Malformed, Positions};
    let Some(positions) = text.strip_prefix('[') else { return Ok((None, text)) };
    let (positions, rest) = positions.split_once(']').ok_or(Malformed)?;
    if rest.starts_with('[') {
        return Err(Dimensions);
    }
    let (first, last) = positions.split_once(':').ok_or(Malformed)?;
    let position = |digits: &str| digits.parse::<i32>().map_err(|_| Malformed);
    let (first, last) = (position(first)?, position(last)?);
    let elements = rest.trim_start_matches(is_space).strip_prefix('=').ok_or(Malformed)?;
    if last < first {
        return Err(Malformed);
    }
    if first != 1 {
        return Err(Positions);
    }
    Ok((usize::try_from(last).ok(), elements.trim_start_matches(is_space)))
}

fn elements_of(text: &str) -> Result<Vec<Option<String>>, ArrayTextError> {
    use ArrayTextError::{Dimensions, Malformed};
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or(Malformed)?;
    let mut elements = Vec::new();
    if inner.trim_matches(is_space).is_empty() {
        return Ok(elements);
    }
    let mut letters = inner.chars().peekable();
    loop {
        while letters.next_if(|letter| is_space(*letter)).is_some() {}
        if letters.peek() == Some(&'{') {
            return Err(Dimensions);
        }
        let mut element = String::new();
        let is_quoted = letters.next_if_eq(&'"').is_some();
        if is_quoted {
            loop {
                match letters.next().ok_or(Malformed)? {
                    '"' => break,
                    '\\' => element.push(letters.next().ok_or(Malformed)?),
                    letter => element.push(letter),
                }
            }
            while letters.next_if(|letter| is_space(*letter)).is_some() {}
        } else {
            // Spaces at the end do not belong to the element, unless they are escaped.
            let mut length = 0;
            while let Some(letter) = letters.next_if(|letter| *letter != ',') {
                match letter {
                    '{' | '}' | '"' => return Err(Malformed),
                    '\\' => {
                        element.push(letters.next().ok_or(Malformed)?);
                        length = element.len();
                    }
                    letter => {
                        element.push(letter);
                        if !is_space(letter) {
                            length = element.len();
                        }
                    }
                }
            }
            element.truncate(length);
            if element.is_empty() {
                return Err(Malformed);
            }
        }
        let is_null = !is_quoted && element.eq_ignore_ascii_case("null");
        elements.push((!is_null).then_some(element));
        match letters.next() {
            None => return Ok(elements),
            Some(',') => {}
            Some(_) => return Err(Malformed),
        }
    }
}

/// The array with these elements; `None` is NULL.
pub fn format<T: AsRef<str>>(elements: impl IntoIterator<Item = Option<T>>) -> String {
    let mut out = String::from("{");
    for (position, element) in elements.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        match element {
            Some(element) => push_element(&mut out, element.as_ref()),
            None => out.push_str("NULL"),
        }
    }
    out.push('}');
    out
}

/// Appends an element that is not NULL, quoted if necessary.
pub fn push_element(out: &mut String, text: &str) {
    let is_special = |letter: char| matches!(letter, '{' | '}' | ',' | '"' | '\\') || is_space(letter);
    if !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.contains(is_special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
}

/// Returns whether a character is a space between elements. Spaces of other scripts are part of an element.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_unquoted_and_malformed_arrays_are_refused() {
        let elements = parse("{1, NULL ,\"a \\\"b\\\",\",\"NULL\", x y \u{a0}, z\\ , \\}}").unwrap();
        let text = |text: &str| Some(text.to_owned());
        let expected = [text("1"), None, text("a \"b\","), text("NULL"), text("x y \u{a0}"), text("z "), text("}")];
        assert_eq!(elements, expected);
        assert_eq!(parse(" { } "), Ok(vec![]));
        assert_eq!(parse("{\"\"}"), Ok(vec![text("")]));
        for wrong in ["{1,}", "{,1}", "1", "", "{", "}", "{\"a}", "{a}b}", "{a\"b\"}", "{\"a\"b}", "{a\\}", "{1}}"] {
            assert_eq!(parse(wrong), Err(ArrayTextError::Malformed), "{wrong}");
        }
        assert_eq!(parse("{{1,2},{3,4}}"), Err(ArrayTextError::Dimensions));
    }

    #[test]
    fn positions_are_those_of_the_elements() {
        assert_eq!(parse(" [1:2] = {a,NULL}"), Ok(vec![Some("a".to_owned()), None]));
        for wrong in ["[1:3]={1,2}", "[1:2]{1,2}", "[1:2={1,2}", "[2:1]={1,2}", "[a:b]={1,2}", "[1:2]=", "[1:1]={}"] {
            assert_eq!(parse(wrong), Err(ArrayTextError::Malformed), "{wrong}");
        }
        assert_eq!(parse("[0:1]={1,2}"), Err(ArrayTextError::Positions));
        assert_eq!(parse("[1:1][1:2]={{1,2}}"), Err(ArrayTextError::Dimensions));
    }

    #[test]
    fn arrays_come_back_from_their_text() {
        let elements = ["1", "null", "", "a b", "{}", "a,b", "\"", "\\", "\t", "grün", "\u{a0}"].map(Some);
        let elements: Vec<Option<&str>> = elements.into_iter().chain([None]).collect();
        let text = format(elements.iter().copied());
        assert_eq!(text, "{1,\"null\",\"\",\"a b\",\"{}\",\"a,b\",\"\\\"\",\"\\\\\",\"\t\",grün,\u{a0},NULL}");
        let read = parse(&text).unwrap();
        assert_eq!(read.iter().map(Option::as_deref).collect::<Vec<_>>(), elements);
        assert_eq!(format::<&str>([]), "{}");
    }
}
