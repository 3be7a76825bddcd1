//! Places in the text of a statement: the tokenizer gives their lines and characters, and edits of the text need bytes.

use datafusion::sql::sqlparser::tokenizer::Location;
use std::ops::Range;

/// The byte position of a location that the tokenizer gives in lines and characters.
pub fn byte_of(text: &str, location: Location) -> usize {
    let lines_before = location.line.saturating_sub(1) as usize;
    let line_start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    let characters_before = location.column.saturating_sub(1) as usize;
    line_start + text[line_start..].chars().take(characters_before).map(char::len_utf8).sum::<usize>()
}

/// The byte positions of locations that are asked for in ascending order. The text is read once for all of them.
pub fn bytes_in_order(text: &str) -> impl FnMut(Location) -> usize {
    let (mut letters, mut here) = (text.char_indices(), Location { line: 1, column: 1 });
    move |location| {
        while here < location
            && let Some((_, letter)) = letters.next()
        {
            here = match letter {
                '\n' => Location { line: here.line + 1, column: 1 },
                _ => Location { line: here.line, column: here.column + 1 },
            };
        }
        letters.offset()
    }
}

/// Parts of a text by their bytes instead of their locations, which must be in ascending order.
pub fn in_bytes<T>(text: &str, parts: impl IntoIterator<Item = (Range<Location>, T)>) -> Vec<(Range<usize>, T)> {
    let mut byte = bytes_in_order(text);
    parts.into_iter().map(|(Range { start, end }, part)| (byte(start)..byte(end), part)).collect()
}

/// A text with other texts in place of some of its parts, which are in ascending order and do not overlap.
pub fn with_replaced(text: &str, parts: &[(Range<usize>, String)]) -> String {
    let (mut replaced, mut end) = (String::with_capacity(text.len()), 0);
    for (part, other) in parts {
        replaced.push_str(&text[end..part.start]);
        replaced.push_str(other);
        end = part.end;
    }
    replaced.push_str(&text[end..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn positions_in_order_are_those_of_each_location() {
        let text = "é a\n\n  'ü\n' b";
        let mut in_order = bytes_in_order(text);
        for token in Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap() {
            for location in [token.span.start, token.span.end] {
                assert_eq!(in_order(location), byte_of(text, location), "{location}");
            }
        }
        assert_eq!(in_order(Location { line: 9, column: 1 }), text.len());
    }

    #[test]
    fn parts_of_a_text_are_replaced_by_their_locations() {
        let at = |line, column| Location { line, column };
        let parts = [(at(1, 2)..at(1, 3), "A"), (at(2, 1)..at(2, 1), "s."), (at(2, 2)..at(2, 3), "")];
        let parts = parts.map(|(place, other)| (place, other.to_owned()));
        assert_eq!(with_replaced("éa\ntü", &in_bytes("éa\ntü", parts)), "éA\ns.t");
    }
}
