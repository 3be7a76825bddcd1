//! `CREATE TYPE ... AS ENUM`, `ALTER TYPE` and `DROP TYPE`, the columns of such types, and their labels as SQL.

use super::statement_parts::{DroppedNames, end};
use super::type_names::{column_type, unsupported};
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::name::same_name;
use atsdb_core::{Column, Enumeration, Error, ErrorKind, QualifiedName, Result, TableDefinition};
use atsdb_dialect::parse::statement::parse_condition;
use atsdb_dialect::text::errors::{from_parser, not_supported, sql_error};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::tree_walk::visit_expressions;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{DataType, Expr, Ident, ObjectName};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use std::ops::ControlFlow;

const NO_OTHER_TYPES: &str = "types are enumerations: CREATE TYPE name AS ENUM ('a', 'b'); instead of a record use a \
                              column for each field";

/// A statement about enumerated types.
#[derive(Debug, PartialEq)]
pub(crate) enum EnumerationStatement {
    Create { name: ObjectName, labels: Vec<String> },
    Drop { names: Vec<ObjectName>, if_exists: bool, cascade: bool },
    Alter { name: ObjectName, change: EnumerationChange },
}

/// A change of an enumerated type.
#[derive(Debug, PartialEq)]
pub(crate) enum EnumerationChange {
    Add { label: String, if_not_exists: bool, beside: Option<Neighbour> },
    RenameLabel { from: String, to: String },
    Rename { to: String },
    Move { schema: String },
}

/// The label beside which a new one is placed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Neighbour {
    pub(crate) label: String,
    pub(crate) is_before: bool,
}

impl EnumerationStatement {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 2);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["CREATE" | "ALTER" | "DROP", "TYPE"] = words.as_slice() else { return Ok(None) };
        let at_position = |error| from_parser(error, position);
        let parser = Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).try_with_sql(text);
        let mut parser = parser.map_err(at_position)?;
        let verb = words[0];
        (0..2).for_each(|_| drop(parser.next_token()));
        match verb {
            "CREATE" => create(&mut parser).map_err(at_position)?,
            "DROP" => drop_types(&mut parser).map(Ok).map_err(at_position)?,
            _ => alter(&mut parser).map_err(at_position)?,
        }
        .map(Some)
    }
}

fn create(parser: &mut Parser<'_>) -> Result<Result<EnumerationStatement>, ParserError> {
    let name = parser.parse_object_name(false)?;
    if !parser.parse_keywords(&[Keyword::AS, Keyword::ENUM]) {
        return Ok(Err(not_supported("CREATE TYPE of another type than an enumeration").with_hint(NO_OTHER_TYPES)));
    }
    parser.expect_token(&Token::LParen)?;
    let mut labels = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        labels = parser.parse_comma_separated(label_of)?;
        parser.expect_token(&Token::RParen)?;
    }
    end(parser)?;
    Ok(Ok(EnumerationStatement::Create { name, labels }))
}

/// A label, which is a text in single quotes.
fn label_of(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    match parser.peek_token_ref().token {
        Token::Word(_) => parser.expected_ref("a label in single quotes", parser.peek_token_ref()),
        _ => parser.parse_literal_string(),
    }
}

fn drop_types(parser: &mut Parser<'_>) -> Result<EnumerationStatement, ParserError> {
    let DroppedNames { names, if_exists, cascade } = DroppedNames::parse(parser)?;
    Ok(EnumerationStatement::Drop { names, if_exists, cascade })
}

fn alter(parser: &mut Parser<'_>) -> Result<Result<EnumerationStatement>, ParserError> {
    let name = parser.parse_object_name(false)?;
    let change = if parser.parse_keywords(&[Keyword::ADD, Keyword::VALUE]) {
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let label = label_of(parser)?;
        let neighbour = parser.parse_one_of_keywords(&[Keyword::BEFORE, Keyword::AFTER]);
        let beside = match neighbour {
            Some(word) => Some(Neighbour { label: label_of(parser)?, is_before: word == Keyword::BEFORE }),
            None => None,
        };
        EnumerationChange::Add { label, if_not_exists, beside }
    } else if parser.parse_keywords(&[Keyword::RENAME, Keyword::VALUE]) {
        let from = label_of(parser)?;
        parser.expect_keyword(Keyword::TO)?;
        EnumerationChange::RenameLabel { from, to: label_of(parser)? }
    } else if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        EnumerationChange::Rename { to: parser.parse_identifier()?.value }
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        EnumerationChange::Move { schema: parser.parse_identifier()?.value }
    } else {
        let hint = "use ADD VALUE, RENAME VALUE, RENAME TO or SET SCHEMA";
        return Ok(Err(not_supported("this form of ALTER TYPE").with_hint(hint)));
    };
    end(parser)?;
    Ok(Ok(EnumerationStatement::Alter { name, change }))
}

/// The labels of a type with one more; the position is that of the neighbour, or the end. `None` if it has the label
/// and may keep it.
pub(crate) fn with_label(
    type_name: &str,
    labels: &[String],
    label: &str,
    if_not_exists: bool,
    beside: Option<&Neighbour>,
) -> Result<Option<Vec<String>>> {
    if labels.iter().any(|own| own == label) {
        return if if_not_exists { Ok(None) } else { Err(label_exists(label)) };
    }
    let at = match beside {
        Some(Neighbour { label: neighbour, is_before }) => {
            let at = position_of(labels, neighbour)?;
            if *is_before { at } else { at + 1 }
        }
        None => labels.len(),
    };
    let mut with = labels.to_vec();
    with.insert(at, label.to_owned());
    atsdb_core::enumeration::check_labels(&with).map_err(|error| error.context(format_args!("type {type_name}")))?;
    Ok(Some(with))
}

/// The labels of a type with one of them renamed.
pub(crate) fn with_renamed_label(labels: &[String], from: &str, to: &str) -> Result<Vec<String>> {
    let at = position_of(labels, from)?;
    if labels.iter().any(|own| own == to) {
        return Err(label_exists(to));
    }
    let mut renamed = labels.to_vec();
    to.clone_into(&mut renamed[at]);
    atsdb_core::enumeration::check_labels(&renamed)?;
    Ok(renamed)
}

fn position_of(labels: &[String], label: &str) -> Result<usize> {
    let at = labels.iter().position(|own| own == label);
    at.ok_or_else(|| sql_error(format!("\"{label}\" is not an existing enum label")))
}

fn label_exists(label: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("enum label \"{label}\" already exists"))
}

/// The enumerated type that a declared type may name: one that is no other type. Its labels are looked up later.
pub(super) fn named_type(declared: &DataType) -> Option<Enumeration> {
    let DataType::Custom(name, modifiers) = declared else { return None };
    if !modifiers.is_empty() || column_type(declared, "").is_ok() || name.to_string().to_lowercase().contains("serial")
    {
        return None;
    }
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    let type_name = match parts?.as_slice() {
        [name] => QualifiedName { schema: None, name: name.value.clone() },
        [schema, name] => QualifiedName { schema: Some(schema.value.clone()), name: name.value.clone() },
        _ => return None,
    };
    Some(Enumeration { type_name, labels: Vec::new() })
}

/// The error for a column whose type does not exist.
pub(crate) fn unknown_type(table: &TableDefinition, column: &Column, type_name: &QualifiedName) -> Error {
    let parts = type_name.schema.iter().chain([&type_name.name]).map(Ident::new);
    let declared = DataType::Custom(ObjectName::from(parts.collect::<Vec<_>>()), Vec::new());
    unsupported(&declared, &format!("table {}, column {}", table.name, column.name))
}

/// Refuses a default that is not a label of the column's type.
pub(crate) fn check_default(column: &Column) -> Result<()> {
    match (&column.enumeration, &column.default) {
        (Some(enumeration), Some(atsdb_core::Value::Text(text))) => enumeration.require(text),
        _ => Ok(()),
    }
}

/// Returns whether a condition names a type, in a cast.
pub(crate) fn names_type(condition: &str, type_name: &str) -> bool {
    let Ok(condition) = parse_condition(condition) else { return false };
    let is_it = |name: &ObjectName| {
        let last = name.0.last().and_then(|part| part.as_ident());
        last.is_some_and(|last| same_name(&last.value, type_name))
    };
    let found = visit_expressions(&condition, |expr| match expr {
        Expr::Cast { data_type: DataType::Custom(name, _), .. } if is_it(name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The name of a type as SQL.
pub(crate) fn type_sql(name: &QualifiedName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(&name.name)),
        None => quoted(&name.name),
    }
}

/// The `CREATE TYPE` of an enumerated type.
pub fn create_type_sql(enumeration: &Enumeration) -> String {
    let labels = enumeration.labels.iter().map(|label| format!("'{}'", label.replace('\'', "''")));
    format!("CREATE TYPE {} AS ENUM ({})", type_sql(&enumeration.type_name), labels.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<EnumerationStatement>> {
        EnumerationStatement::of(text, SourcePosition::START)
    }

    #[test]
    fn statements_of_types_are_read() {
        let created = parsed("CREATE TYPE s.mood AS ENUM ('sad', 'o''k');").unwrap().unwrap();
        let EnumerationStatement::Create { name, labels } = created else { panic!("{created:?}") };
        assert_eq!((name.to_string().as_str(), labels), ("s.mood", vec!["sad".to_owned(), "o'k".to_owned()]));
        let added = parsed("alter type mood add value if not exists 'x' before 'ok'").unwrap().unwrap();
        let EnumerationStatement::Alter { change, .. } = added else { panic!("{added:?}") };
        let beside = Some(Neighbour { label: "ok".into(), is_before: true });
        assert_eq!(change, EnumerationChange::Add { label: "x".into(), if_not_exists: true, beside });
        for other in ["CREATE TABLE type (a INT)", "DROP TABLE type"] {
            assert_eq!(parsed(other).unwrap(), None);
        }
        for refused in ["CREATE TYPE point AS (x INT)", "CREATE TYPE e AS ENUM (a)", "ALTER TYPE e OWNER TO me"] {
            assert!(parsed(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_label_is_placed_beside_another() {
        let labels = ["a", "c"].map(str::to_owned);
        let beside = |label: &str, is_before| Neighbour { label: label.to_owned(), is_before };
        let with = |label, beside: Option<Neighbour>| with_label("e", &labels, label, false, beside.as_ref());
        assert_eq!(with("b", Some(beside("c", true))).unwrap().unwrap(), ["a", "b", "c"]);
        assert_eq!(with("b", Some(beside("a", false))).unwrap().unwrap(), ["a", "b", "c"]);
        assert_eq!(with("d", None).unwrap().unwrap(), ["a", "c", "d"]);
        assert!(with("a", None).is_err());
        assert!(with("b", Some(beside("x", true))).is_err());
        assert_eq!(with_label("e", &labels, "a", true, None).unwrap(), None);
        assert_eq!(with_renamed_label(&labels, "a", "z").unwrap(), ["z", "c"]);
        assert!(with_renamed_label(&labels, "a", "c").is_err());
    }

    #[test]
    fn a_condition_names_the_types_of_its_casts() {
        assert!(names_type("mood <> 'sad'::s.Mood", "mood"));
        assert!(names_type("a > 0 OR CAST(b AS mood) = c", "mood"));
        assert!(!names_type("mood <> 'sad'", "mood"));
        assert!(!names_type("mood::text <> 'mood'", "mood"));
    }

    #[test]
    fn a_type_is_written_as_it_is_read() {
        let enumeration = Enumeration {
            type_name: QualifiedName { schema: None, name: "mood".into() },
            labels: vec!["sad".into(), "o'k".into()],
        };
        assert_eq!(create_type_sql(&enumeration), "CREATE TYPE mood AS ENUM ('sad', 'o''k')");
    }
}
