//! JSON as text: checking it, and finding values in it. A value that is found is the text between its first and last
//! character, as it was written. Values are found by hand, because a parser would convert each of them.

use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Checks that a text is one JSON value, nested at most 127 levels deep. The error describes the problem and its
/// position.
pub fn check(text: &str) -> Result<(), String> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| error.to_string())
}

/// The end of the object or array that begins some bytes, behind blanks; `None` if they end within it.
///
/// Errors: the bytes do not begin with an object or array of JSON, as far as they go.
pub fn first_nested(bytes: &[u8]) -> Result<Option<usize>, String> {
    if !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return Err("it is neither an object nor an array".to_owned());
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(Some(values.byte_offset())),
        Some(Err(error)) if error.is_eof() => Ok(None),
        Some(Err(error)) => Err(error.to_string()),
        None => Ok(None),
    }
}

/// The type of a [checked](check) value: `object`, `array`, `string`, `number`, `boolean` or `null`.
pub fn kind(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// The value of a key of a [checked](check) object. If the key occurs several times, it is the last value.
pub fn member<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let values = Items::of(json, b'{')?.filter(|(name, _)| name.is_some_and(|name| string(name) == key));
    values.last().map(|(_, value)| value)
}

/// The element of a [checked](check) array at a position from 0, or from the end if it is negative.
pub fn element(json: &str, position: i64) -> Option<&str> {
    let from_start = match position {
        0.. => position,
        _ => i64::try_from(Items::of(json, b'[')?.count()).ok()?.checked_add(position)?,
    };
    Items::of(json, b'[')?.nth(usize::try_from(from_start).ok()?).map(|(_, value)| value)
}

/// Returns the number of elements of a [checked](check) array; `None` if the value is not an array.
pub fn array_length(json: &str) -> Option<usize> {
    Items::of(json, b'[').map(Iterator::count)
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The elements of a [checked](check) array; `None` if the value is not an array.
pub fn elements(json: &str) -> Option<impl Iterator<Item = &str>> {
    Some(Items::of(json, b'[')?.map(|(_, value)| value))
}

/// The members of a [checked](check) object: each key in its quotes, and the value; `None` if the value is not an
/// object.
pub fn members(json: &str) -> Option<impl Iterator<Item = (&str, &str)>> {
    Some(Items::of(json, b'{')?.filter_map(|(key, value)| Some((key?, value))))
}

/// A [checked](check) value as SQL has it: the characters of a string, NULL for `null`, other values as JSON.
pub fn as_text(json: &str) -> Option<Cow<'_, str>> {
    match kind(json) {
        "null" => None,
        "string" => Some(string(json)),
        _ => Some(Cow::Borrowed(json)),
    }
}

/// The characters of a string.
fn string(json: &str) -> Cow<'_, str> {
    let quoted = json.trim();
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|inner| !inner.contains('\\')) {
        Some(plain) => Cow::Borrowed(plain),
        // A lone half of a surrogate pair is not a character.
        None => Cow::Owned(serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_owned())),
    }
}

/// The items of an array or object: the key of an object's member, quoted, and the value.
struct Items<'a> {
    json: &'a str,
    at: usize,
    has_keys: bool,
}

impl<'a> Items<'a> {
    fn of(json: &'a str, opening: u8) -> Option<Self> {
        let json = json.trim_start();
        (json.as_bytes().first() == Some(&opening)).then_some(Self { json, at: 1, has_keys: opening == b'{' })
    }

    fn skip(&mut self, what: impl Fn(u8) -> bool) {
        let rest = self.json.as_bytes()[self.at..].iter();
        self.at += rest.take_while(|byte| what(**byte)).count();
    }

    /// The value that begins here.
    fn value(&mut self) -> &'a str {
        let (start, bytes) = (self.at, self.json.as_bytes());
        let (mut depth, mut in_string) = (0_usize, false);
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' if in_string => self.at += 1,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' | b':' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.json[start..self.at.min(bytes.len())].trim_end()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = (Option<&'a str>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let is_space = |byte: u8| byte.is_ascii_whitespace();
        self.skip(|byte| is_space(byte) || byte == b',');
        if matches!(self.json.as_bytes().get(self.at), None | Some(b'}' | b']')) {
            return None;
        }
        let key = self.has_keys.then(|| self.value());
        if self.has_keys {
            self.skip(|byte| is_space(byte) || byte == b':');
        }
        Some((key, self.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        for text in ["{}", " [1, 2.5e3, null] ", "\"a\"", "true", r#"{"a": {"a": 1}, "a": 2}"#] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in ["", "{a: 1}", "[1,]", "1 2", "'a'", "NaN", &"[".repeat(200_000)] {
            assert!(check(text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn values_are_found_as_they_are_written() {
        let json =
            r#" { "a" : [ 1.50, "x,]\"" , {"b": null}, [] ] , "c\u0064" : {"b" : "\u00e4\n"},"a2":true, "e":{} } "#;
        check(json).unwrap();
        let list = member(json, "a").unwrap();
        assert_eq!(list, r#"[ 1.50, "x,]\"" , {"b": null}, [] ]"#);
        assert_eq!(array_length(list), Some(4));
        let elements: Vec<_> = (-5..=4).map(|position| element(list, position)).collect();
        let all = [Some("1.50"), Some(r#""x,]\"""#), Some(r#"{"b": null}"#), Some("[]")];
        assert_eq!(elements, [vec![None], all.to_vec(), all.to_vec(), vec![None]].concat());
        assert_eq!(as_text(member(member(json, "cd").unwrap(), "b").unwrap()).as_deref(), Some("ä\n"));
        assert_eq!(as_text(element(list, 1).unwrap()).as_deref(), Some("x,]\""));
        assert_eq!(as_text(member(element(list, 2).unwrap(), "b").unwrap()), None);
        assert_eq!(
            (member(json, "b"), member(list, "a"), element(json, 0), array_length(json)),
            (None, None, None, None)
        );
        assert_eq!((array_length(" [ ] "), member("{}", ""), element("[]", -1)), (Some(0), None, None));
        assert_eq!(member(r#"{"a": 1, "a": 2}"#, "a"), Some("2"));
        let pairs: Vec<_> = members(r#"{"a" : [1, 2], "b\"" :null}"#).unwrap().collect();
        assert_eq!(pairs, [("\"a\"", "[1, 2]"), (r#""b\"""#, "null")]);
        assert!(members("[]").is_none());
        let kinds = [json, list, "\"a\"", " -1", "false", "null"].map(kind);
        assert_eq!(kinds, ["object", "array", "string", "number", "boolean", "null"]);
    }
}
