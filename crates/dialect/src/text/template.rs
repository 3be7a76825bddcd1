//! The text of a query without the constants that its conditions compare with. Queries that differ only in these have
//! the same template.

use super::script::{is_of_name, piece_end, whole_string_end};

/// The bytes that operators consist of.
const OPERATOR: &[u8] = b"=<>!@#%^&|~*+-/?";

/// The operators that compare a column with a constant.
const COMPARISONS: [&[u8]; 7] = [b"=", b"<", b">", b"<=", b">=", b"<>", b"!="];

/// The words that may follow a constant.
const FOLLOWING: [&str; 5] = ["AND", "GROUP", "HAVING", "ORDER", "LIMIT"];

/// A query with parameters in place of constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The text with `$1`, `$2`, and so on.
    pub text: String,
    /// The constants, in the order of the parameters.
    pub constants: Vec<Constant>,
}

/// A constant of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// The text of `TIMESTAMP '...'`: a day, or a time without an offset.
    Time(String),
}

impl Template {
    /// The template of a query; `None` if it has no such constants, or has comments, parameters or dollar quotes.
    /// Only a plain text, an integer or `TIMESTAMP '...'` that is the whole right side of a comparison becomes a
    /// parameter, and none in or after HAVING.
    pub fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut template = Self { text: String::with_capacity(text.len()), constants: Vec::new() };
        // Whether a constant that begins here is compared with, and whether the next AND belongs to a BETWEEN.
        let (mut at, mut is_compared, mut in_between) = (0, false, false);
        // The constants of HAVING are compared with groups, not with rows.
        let mut is_of_groups = false;
        while let Some(byte) = bytes.get(at) {
            let begin = at;
            match byte {
                b'$' => return None,
                b'\'' => {
                    at = whole_string_end(bytes, at).ok()?;
                    let constant = Constant::Text(text[begin + 1..at - 1].replace("''", "'"));
                    let is_open = is_compared && !is_of_groups && may_end(&text[at..]);
                    template.add(&text[begin..at], Some(constant).filter(|_| is_open));
                    is_compared = false;
                }
                b'"' | b'`' => {
                    at = piece_end(bytes, at).ok()?;
                    template.add(&text[begin..at], None);
                    is_compared = false;
                }
                byte if byte.is_ascii_digit() => {
                    at += length(bytes, at, |byte| is_of_name(byte) || *byte == b'.');
                    let number = text[begin..at].bytes().all(|byte| byte.is_ascii_digit());
                    let constant = text[begin..at].parse().ok().filter(|_| number).map(Constant::Integer);
                    let is_open = is_compared && !is_of_groups && may_end(&text[at..]);
                    template.add(&text[begin..at], constant.filter(|_| is_open));
                    is_compared = false;
                }
                byte if is_of_name(byte) => {
                    at += length(bytes, at, is_of_name);
                    let word = &text[begin..at];
                    if is_compared
                        && !is_of_groups
                        && word.eq_ignore_ascii_case("TIMESTAMP")
                        && let Some((time, end)) = time_at(text, at)
                    {
                        template.add("", Some(Constant::Time(time.to_owned())));
                        (at, is_compared) = (end, false);
                        continue;
                    }
                    template.add(word, None);
                    let is_between = word.eq_ignore_ascii_case("BETWEEN");
                    is_of_groups |= word.eq_ignore_ascii_case("HAVING");
                    is_compared = is_between || (in_between && word.eq_ignore_ascii_case("AND"));
                    in_between = is_between || (in_between && !is_compared);
                    // A string of another form, such as E'\n'.
                    if bytes.get(at) == Some(&b'\'') {
                        at = whole_string_end(bytes, at).ok()?;
                        template.add(&text[begin + word.len()..at], None);
                    }
                }
                byte if OPERATOR.contains(byte) => {
                    at += length(bytes, at, |byte| OPERATOR.contains(byte));
                    let operator = &bytes[begin..at];
                    if operator.windows(2).any(|pair| pair == b"--" || pair == b"/*") {
                        return None;
                    }
                    template.add(&text[begin..at], None);
                    is_compared = COMPARISONS.contains(&operator);
                }
                byte => {
                    at += 1;
                    template.add(&text[begin..at], None);
                    is_compared &= byte.is_ascii_whitespace();
                }
            }
        }
        (!template.constants.is_empty()).then_some(template)
    }

    /// Adds a piece of the text, or a parameter for the constant that it is.
    fn add(&mut self, piece: &str, constant: Option<Constant>) {
        match constant {
            Some(constant) => {
                self.constants.push(constant);
                self.text.push_str(&format!("${}", self.constants.len()));
            }
            None => self.text.push_str(piece),
        }
    }
}

/// The day or time without an offset that is quoted behind a position, as a whole constant, and its end.
fn time_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    let quote = at + length(bytes, at, u8::is_ascii_whitespace);
    if bytes.get(quote) != Some(&b'\'') {
        return None;
    }
    let end = whole_string_end(bytes, quote).ok()?;
    let time = &text[quote + 1..end - 1];
    let is_plain = |(position, byte): (usize, u8)| match byte {
        b'-' => position == 4 || position == 7,
        b' ' | b'T' => position == 10,
        b':' | b'.' => position > 10,
        byte => byte.is_ascii_digit(),
    };
    (time.len() >= 10 && time.bytes().enumerate().all(is_plain) && may_end(&text[end..])).then_some((time, end))
}

/// Returns whether a constant may end before the rest of a text: nothing that follows can belong to it.
fn may_end(rest: &str) -> bool {
    let trimmed = rest.trim_ascii_start();
    let word = &trimmed[..length(trimmed.as_bytes(), 0, is_of_name)];
    trimmed.is_empty() || rest.len() > trimmed.len() && FOLLOWING.iter().any(|next| word.eq_ignore_ascii_case(next))
}

fn length(bytes: &[u8], at: usize, belongs: impl Fn(&u8) -> bool) -> usize {
    bytes[at..].iter().take_while(|byte| belongs(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Constant {
        Constant::Text(value.to_owned())
    }

    #[test]
    fn constants_that_are_compared_with_become_parameters() {
        for (query, expected, constants) in [
            (
                "SELECT v FROM t WHERE host = 'it''s' AND n>=5 ORDER BY 1 LIMIT 10",
                "SELECT v FROM t WHERE host = $1 AND n>=$2 ORDER BY 1 LIMIT 10",
                vec![text("it's"), Constant::Integer(5)],
            ),
            (
                "SELECT 1, 'x' FROM t WHERE t between '2024-01-01' and '2024-01-02' AND a = 1.5 AND b != 7",
                "SELECT 1, 'x' FROM t WHERE t between $1 and $2 AND a = 1.5 AND b != $3",
                vec![text("2024-01-01"), text("2024-01-02"), Constant::Integer(7)],
            ),
            (
                "SELECT date_trunc('hour', t), 7 FROM t WHERE a = 'x' AND t < '2024-01-02' GROUP BY 1 HAVING count(*) > 5",
                "SELECT date_trunc('hour', t), 7 FROM t WHERE a = $1 AND t < $2 GROUP BY 1 HAVING count(*) > 5",
                vec![text("x"), text("2024-01-02")],
            ),
            (
                "SELECT v FROM t WHERE t >= timestamp '2024-01-01' AND t < TIMESTAMP'2024-01-02 03:04:05.678' LIMIT 1",
                "SELECT v FROM t WHERE t >= $1 AND t < $2 LIMIT 1",
                vec![Constant::Time("2024-01-01".to_owned()), Constant::Time("2024-01-02 03:04:05.678".to_owned())],
            ),
            ("SELECT \"a = 1\" FROM t WHERE é = 'ß'", "SELECT \"a = 1\" FROM t WHERE é = $1", vec![text("ß")]),
            (
                "SELECT v FROM t WHERE a = E'\\'' AND b = 'x'",
                "SELECT v FROM t WHERE a = E'\\'' AND b = $1",
                vec![text("x")],
            ),
        ] {
            let template = Template::of(query).unwrap();
            assert_eq!((template.text.as_str(), &template.constants), (expected, &constants), "{query}");
        }
    }

    #[test]
    fn other_constants_stay() {
        for query in [
            "SELECT v FROM t",
            "SELECT v FROM t WHERE a = 1 + 2",
            "SELECT v FROM t WHERE a = 'x' || b",
            "SELECT v FROM t WHERE a = '1'::int",
            "SELECT v FROM t WHERE a = -1",
            "SELECT v FROM t WHERE a = 1e3",
            "SELECT v FROM t WHERE a = 1_000",
            "SELECT v FROM t WHERE a = 99999999999999999999",
            "SELECT v FROM t WHERE a = 'x'\n'y'",
            "SELECT v FROM t WHERE t = TIMESTAMP '2024-01-01 00:00:00+02'",
            "SELECT v FROM t WHERE t = TIMESTAMP '2024-01-01 00:00:00-02'",
            "SELECT v FROM t WHERE t = TIMESTAMP 'infinity'",
            "SELECT v FROM t WHERE t = TIMESTAMP '2024-01-01' + INTERVAL '1 day'",
            "SELECT v FROM t WHERE t = TIMESTAMPTZ '2024-01-01'",
            "SELECT v FROM t WHERE t = TIMESTAMP",
            "SELECT TIMESTAMP '2024-01-01' FROM t",
            "SELECT v FROM t WHERE j @> '{}'",
            "SELECT f(a => 5 AND b)",
            "SELECT v FROM t WHERE a = 5and b",
            "SELECT v FROM t WHERE a = $1 AND b = 5",
            "SELECT v FROM t WHERE a = $$x$$ AND b = 5",
            "SELECT v FROM t WHERE a = 5 -- AND b = 6",
            "SELECT v FROM t WHERE a /* = 1 */ = 5",
            "SELECT v FROM t WHERE a =--\n5",
            "SELECT v FROM t WHERE a = 'never ends",
        ] {
            assert_eq!(Template::of(query), None, "{query}");
        }
    }
}
