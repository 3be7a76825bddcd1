//! Statements that were executed lately, parsed to see what their answers show.

use super::recently_used::RecentlyUsed;
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::text::template::Template;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The maximum size in bytes of a statement that is kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The texts of the statements that are kept have at most two times this many bytes. A syntax tree is some dozen times
/// as large as its text.
const KEPT_BYTES: usize = 512 << 10;

/// Syntax trees of statements, or `None` for those that cannot be parsed. Statements that differ only in the constants
/// of their conditions share one, because their answers show the same.
pub struct ParsedAnswers(Mutex<RecentlyUsed<String, Option<Arc<Ast>>>>);

impl ParsedAnswers {
    /// Returns the syntax tree of a statement to see what its answer shows; `None` if it cannot be parsed. Names are as
    /// they are written, and constants of conditions may be parameters.
    pub fn of(&self, text: &str) -> Option<Arc<Ast>> {
        if text.len() > TEXT_BYTES_MAX {
            return parse_answer(text).map(Arc::new);
        }
        let template = Template::of(text);
        let text = template.as_ref().map_or(text, |template| template.text.as_str());
        let kept = self.0.lock().get(text);
        kept.unwrap_or_else(|| {
            let parsed = parse_answer(text).map(Arc::new);
            self.0.lock().put(text.to_owned(), parsed.clone(), text.len());
            parsed
        })
    }
}

impl Default for ParsedAnswers {
    fn default() -> Self {
        Self(Mutex::new(RecentlyUsed::new(KEPT_BYTES)))
    }
}

impl fmt::Debug for ParsedAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParsedAnswers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_the_constants_of_conditions_are_parsed_once() {
        let answers = ParsedAnswers::default();
        let first = answers.of("SELECT id, 1 AS one FROM t WHERE id = 5 AND name = 'a'").unwrap();
        let same = answers.of("SELECT id, 1 AS one FROM t WHERE id = 6 AND name = 'b'").unwrap();
        let other = answers.of("SELECT id, 2 AS one FROM t WHERE id = 6 AND name = 'b'").unwrap();
        assert!(Arc::ptr_eq(&first, &same) && !Arc::ptr_eq(&first, &other));
        assert!(answers.of("SELEC 1").is_none() && answers.of("SELEC 1").is_none());
        let long = format!("SELECT id, {} FROM t", "id + 1, ".repeat(2_000) + "id");
        let (one, two) = (answers.of(&long).unwrap(), answers.of(&long).unwrap());
        assert!(Arc::ptr_eq(&one, &two));
    }
}
