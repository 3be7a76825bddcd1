//! Rows as one JSON array of arrays. Numbers are read here, to their last bit, which the reader of whole documents does
//! not promise for fractions.

use crate::data::answer::Cell;
use crate::failure::Failure;
use serde_json::Value;

/// A cell as a value.
pub(super) fn json_of_cell(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(value) => Value::from(*value),
        Cell::Float(value) => Value::from(*value),
        Cell::Text(text) => Value::from(text.as_str()),
    }
}

/// The rows of a file.
pub(super) fn json_rows(text: &str) -> Result<Vec<Vec<Cell>>, Failure> {
    let (mut rows, mut row, mut depth) = (Vec::new(), Vec::new(), 0);
    let mut rest = text.trim_end();
    while let Some(first) = rest.bytes().next() {
        let taken = match first {
            b'[' => {
                depth += 1;
                1
            }
            b']' => {
                depth -= 1;
                if depth == 1 {
                    rows.push(std::mem::take(&mut row));
                }
                1
            }
            b',' | b' ' | b'\n' => 1,
            b'"' => {
                let end = end_of_text(rest)?;
                row.push(Cell::Text(serde_json::from_str(&rest[..end]).map_err(Failure::broken)?));
                end
            }
            _ => {
                let end = rest.find([',', ']']).unwrap_or(rest.len());
                row.push(scalar(&rest[..end])?);
                end
            }
        };
        rest = &rest[taken..];
    }
    match depth {
        0 => Ok(rows),
        _ => Err(Failure::wrong("the file ends in the middle of an array")),
    }
}

/// The position after the closing quote.
fn end_of_text(text: &str) -> Result<usize, Failure> {
    let mut is_escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return Ok(position + 1),
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    Err(Failure::wrong("a text has no closing quote"))
}

fn scalar(text: &str) -> Result<Cell, Failure> {
    if text == "null" {
        return Ok(Cell::Null);
    }
    match text.parse() {
        Ok(integer) => Ok(Cell::Integer(integer)),
        Err(_) => text.parse().map(Cell::Float).map_err(Failure::broken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_survive_a_file_to_their_last_bit() {
        let texts = ["a,\"b\"]\n", "\\", "", "é"].map(|text| Cell::Text(text.to_owned()));
        let numbers = [Cell::Null, Cell::Integer(i64::MIN), Cell::Float(0.5), Cell::Float(-1e300)];
        // A number that a fast reader gets wrong by one bit.
        let awkward = Cell::Float(38.480_000_000_000_004);
        let row: Vec<Cell> = texts.into_iter().chain(numbers).chain([awkward]).collect();
        let rows = vec![row, vec![Cell::Integer(1)], Vec::new()];
        let values: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(json_of_cell).collect()).collect();
        let text = serde_json::to_string(&values).expect("a text");
        assert_eq!(json_rows(&text).expect("rows"), rows);
        assert!(json_rows("[[1,2").is_err() && json_rows("[[\"a").is_err());
    }
}
