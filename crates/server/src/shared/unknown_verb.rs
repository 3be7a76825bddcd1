//! Statements that begin with no verb of SQL, such as `SELEC 1`. A session whose rights are restricted refuses them
//! like changes, because it does not know what they do. The author of the statement needs another message.

use atsdb::sql::{Statement, nearest_verb, verb_kind, verb_of};
use atsdb::{Error, ErrorKind};

/// The error of a statement. If a statement that begins with no verb is not permitted, the error says instead that
/// there is no such statement.
pub(crate) fn explained(error: Error, statement: &Statement) -> Error {
    let verb = verb_of(statement.text());
    if error.kind() != ErrorKind::ReadOnly || verb.is_empty() || verb_kind(&verb).is_some() {
        return error;
    }
    let is_of_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let word: String = statement.text().chars().take_while(is_of_word).collect();
    let (line, column) = (statement.line(), statement.column());
    let error = Error::new(
        ErrorKind::Sql,
        format!("syntax error at line {line}, column {column}: no statement begins with {word:.60}"),
    );
    match nearest_verb(&verb) {
        Some(meant) => error.with_hint(format!("did you mean {meant}?")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::explained;
    use atsdb::sql::Statements;
    use atsdb::{Error, ErrorKind};

    #[test]
    fn only_what_begins_with_no_verb_is_explained() {
        let explain = |text: &str, kind| {
            let statement = Statements::new(text).next().unwrap().unwrap();
            let error = explained(Error::new(kind, "refused"), &statement);
            (error.kind(), error.message().to_owned())
        };
        for text in ["DELETE FROM t", "(SELECT 1)", "create table t (a int)"] {
            assert_eq!(explain(text, ErrorKind::ReadOnly), (ErrorKind::ReadOnly, "refused".to_owned()), "{text}");
        }
        assert_eq!(explain("selec 1", ErrorKind::Conflict).0, ErrorKind::Conflict);
        let message = "syntax error at line 2, column 3: no statement begins with selec";
        assert_eq!(explain("\n  selec 1", ErrorKind::ReadOnly), (ErrorKind::Sql, message.to_owned()));
    }

    #[test]
    fn the_verb_that_was_meant_is_suggested() {
        let hint = |text: &str| {
            let statement = Statements::new(text).next().unwrap().unwrap();
            explained(Error::new(ErrorKind::ReadOnly, "refused"), &statement).hint().map(str::to_owned)
        };
        assert_eq!(hint("selec 1").as_deref(), Some("did you mean SELECT?"));
        assert_eq!(hint("abracadabra"), None);
    }
}
