//! `DROP FUNCTION IF EXISTS` and the like: scripts drop with it what no store has, such as functions and triggers.
//! There is nothing to drop, which a notice says. Not owned: the same without `IF EXISTS`, which is an error.

use atsdb_dialect::text::words::{Word, Words};

/// The statements that drop objects which no store has.
const VERBS: [&str; 8] = [
    "DROP AGGREGATE",
    "DROP DOMAIN",
    "DROP EXTENSION",
    "DROP FUNCTION",
    "DROP POLICY",
    "DROP PROCEDURE",
    "DROP RULE",
    "DROP TRIGGER",
];

/// A statement that drops objects which do not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DropAbsent {
    pub(crate) verb: &'static str,
    /// The notice of each object.
    pub(crate) messages: Vec<String>,
}

impl DropAbsent {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut words = Words::new(text);
        if !words.accept("drop") {
            return None;
        }
        let (verb, noun) = VERBS.into_iter().find_map(|verb| {
            let noun = verb.strip_prefix("DROP ")?.to_ascii_lowercase();
            words.accept(&noun).then_some((verb, noun))
        })?;
        if !words.accept("if") || !words.accept("exists") {
            return None;
        }
        let mut messages = Vec::new();
        loop {
            let name = last_of_name(&mut words)?;
            skip_arguments(&mut words)?;
            let of_relation = if words.accept("on") {
                format!(" for relation \"{}\"", last_of_name(&mut words)?)
            } else {
                String::new()
            };
            messages.push(format!("{noun} \"{name}\"{of_relation} does not exist, skipping"));
            if !words.accept_symbol(',') {
                break;
            }
        }
        let _ = words.accept("cascade") || words.accept("restrict");
        words.end().ok().map(|()| Self { verb, messages })
    }
}

/// Reads a name, which may have a schema before it.
fn last_of_name(words: &mut Words<'_>) -> Option<String> {
    let mut name = words.name().ok()?;
    while words.accept_symbol('.') {
        name = words.name().ok()?;
    }
    Some(name)
}

/// Reads the types of a function's arguments, if they are given.
fn skip_arguments(words: &mut Words<'_>) -> Option<()> {
    let mut open = usize::from(words.accept_symbol('('));
    while open > 0 {
        match words.next()? {
            Word::Symbol('(') => open += 1,
            Word::Symbol(')') => open -= 1,
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::DropAbsent;

    #[test]
    fn what_no_store_has_is_dropped_if_it_exists() {
        for (text, verb, messages) in [
            (
                "DROP TRIGGER IF EXISTS T ON s.\"U\" CASCADE",
                "DROP TRIGGER",
                &["trigger \"t\" for relation \"U\" does not exist, skipping"][..],
            ),
            (
                "drop function if exists s.f(int, numeric(5, 2)), g;",
                "DROP FUNCTION",
                &["function \"f\" does not exist, skipping", "function \"g\" does not exist, skipping"][..],
            ),
            (
                "/* x */ DROP EXTENSION IF EXISTS e RESTRICT",
                "DROP EXTENSION",
                &["extension \"e\" does not exist, skipping"][..],
            ),
        ] {
            let messages = messages.iter().map(|message| (*message).to_owned()).collect();
            assert_eq!(DropAbsent::of(text), Some(DropAbsent { verb, messages }), "{text}");
        }
        for text in [
            "DROP FUNCTION f",
            "DROP TABLE IF EXISTS t",
            "DROP FUNCTION IF EXISTS",
            "DROP FUNCTION IF EXISTS f(int",
            "DROP TRIGGER IF EXISTS t ON u, ",
            "DROP EXTENSION IF EXISTS e and more",
        ] {
            assert_eq!(DropAbsent::of(text), None, "{text}");
        }
    }
}
