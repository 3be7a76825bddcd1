//! Statements about materialized views, and `ALTER VIEW`, which the parser does not know; and the columns that a view
//! keeps when another one takes its place.

use super::from_query::type_name_of;
use super::statement_parts::{DroppedNames, end};
use arrow::datatypes::Schema;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::name::same_name;
use atsdb_core::{Column, Result, TableDefinition};
use atsdb_dialect::parse::text_locations::byte_of;
use atsdb_dialect::text::errors::{from_parser, not_supported, sql_error};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{
    AlterTableOperation, ObjectName, Query, RenameTableNameKind, SelectItem, SetExpr,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// A statement about a view or a materialized view.
#[derive(Debug, PartialEq)]
pub(crate) enum ViewStatement<'a> {
    /// `CREATE MATERIALIZED VIEW`: the text without `WITH [NO] DATA`.
    CreateMaterialized { text: &'a str, with_data: bool },
    /// `REFRESH MATERIALIZED VIEW`.
    Refresh(RefreshView),
    /// `DROP MATERIALIZED VIEW`.
    DropMaterialized { names: Vec<ObjectName>, if_exists: bool, cascade: bool },
    /// `ALTER [MATERIALIZED] VIEW ... RENAME`.
    Rename(Box<RenameView>),
}

/// `REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]`.
#[derive(Debug, PartialEq)]
pub(crate) struct RefreshView {
    pub(crate) name: ObjectName,
    pub(crate) is_concurrent: bool,
    pub(crate) with_data: bool,
}

/// `ALTER [MATERIALIZED] VIEW [IF EXISTS] name RENAME ...`.
#[derive(Debug, PartialEq)]
pub(crate) struct RenameView {
    pub(crate) kind: RelationKind,
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    /// The same operation of an `ALTER TABLE`.
    pub(crate) operation: AlterTableOperation,
}

impl<'a> ViewStatement<'a> {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &'a str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 5);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let skipped = match words.as_slice() {
            ["CREATE" | "REFRESH" | "DROP" | "ALTER", "MATERIALIZED", "VIEW", ..] => 3,
            ["ALTER", "VIEW", ..] => 2,
            ["CREATE", others @ ..] if others.contains(&"VIEW") => 0,
            _ => return Ok(None),
        };
        let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().map_err(|error| {
            from_parser(ParserError::TokenizerError(format!("{}{}", error.message, error.location)), position)
        })?;
        if skipped == 0 {
            return refuse_check_option(&tokens).map(|()| None);
        }
        if words[0] == "CREATE" {
            let (text, with_data) = without_data_clause(text, &tokens);
            return Ok(Some(Self::CreateMaterialized { text, with_data }));
        }
        let mut parser =
            Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).with_tokens_with_locations(tokens);
        (0..skipped).for_each(|_| drop(parser.next_token()));
        let at_position = |error| from_parser(error, position);
        match words[0] {
            "REFRESH" => refresh(&mut parser).map(|refresh| Some(Self::Refresh(refresh))).map_err(at_position),
            "DROP" => drop_views(&mut parser).map(Some).map_err(at_position),
            _ => {
                let kind = if skipped == 3 { RelationKind::MaterializedView } else { RelationKind::View };
                let renamed = rename(&mut parser, kind).map_err(at_position)?;
                let renamed = renamed.ok_or_else(|| {
                    not_supported(format_args!("{} in this form", kind.alter_verb()))
                        .with_hint("write RENAME TO name, RENAME COLUMN name TO name, or SET SCHEMA name")
                });
                renamed.map(|renamed| Some(Self::Rename(Box::new(renamed))))
            }
        }
    }
}

/// A text without `WITH [NO] DATA` at its end, and whether it says that there are rows.
pub(crate) fn without_data_clause<'a>(text: &'a str, tokens: &[TokenWithSpan]) -> (&'a str, bool) {
    let with_data = ending(tokens, &["WITH", "DATA"]).map(|start| (start, true));
    match with_data.or_else(|| ending(tokens, &["WITH", "NO", "DATA"]).map(|start| (start, false))) {
        Some((clause, with_data)) => (text[..byte_of(text, clause.span.start)].trim_end(), with_data),
        None => (text.trim_end(), true),
    }
}

/// The first token of these key words, if they end a statement.
fn ending<'t>(tokens: &'t [TokenWithSpan], words: &[&str]) -> Option<&'t TokenWithSpan> {
    let mut last = tokens
        .iter()
        .rev()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF));
    let mut start = None;
    for word in words.iter().rev() {
        let is_it = |token: &&TokenWithSpan| match &token.token {
            Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        start = Some(last.next().filter(is_it)?);
    }
    start
}

/// Refuses `CREATE VIEW ... WITH CHECK OPTION`.
fn refuse_check_option(tokens: &[TokenWithSpan]) -> Result<()> {
    let forms: [&[&str]; 3] =
        [&["WITH", "CHECK", "OPTION"], &["WITH", "LOCAL", "CHECK", "OPTION"], &["WITH", "CASCADED", "CHECK", "OPTION"]];
    match forms.iter().any(|form| ending(tokens, form).is_some()) {
        true => Err(not_supported("CREATE VIEW with CHECK OPTION")
            .with_hint("leave it out: rows cannot be inserted into a view, so there is nothing to check")),
        false => Ok(()),
    }
}

fn refresh(parser: &mut Parser<'_>) -> Result<RefreshView, ParserError> {
    let is_concurrent = parser.parse_keyword(Keyword::CONCURRENTLY);
    let name = parser.parse_object_name(false)?;
    let mut with_data = true;
    if parser.parse_keyword(Keyword::WITH) {
        with_data = !parser.parse_keyword(Keyword::NO);
        parser.expect_keyword_is(Keyword::DATA)?;
    }
    end(parser).map(|()| RefreshView { name, is_concurrent, with_data })
}

fn drop_views<'a>(parser: &mut Parser<'_>) -> Result<ViewStatement<'a>, ParserError> {
    let DroppedNames { names, if_exists, cascade } = DroppedNames::parse(parser)?;
    Ok(ViewStatement::DropMaterialized { names, if_exists, cascade })
}

/// `None` for another `ALTER`.
fn rename(parser: &mut Parser<'_>, kind: RelationKind) -> Result<Option<RenameView>, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    if !parser.parse_keyword(Keyword::RENAME) {
        return Ok(None);
    }
    let operation = if parser.parse_keyword(Keyword::TO) {
        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(parser.parse_object_name(false)?) }
    } else {
        let _ = parser.parse_keyword(Keyword::COLUMN);
        let old_column_name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::TO)?;
        AlterTableOperation::RenameColumn { old_column_name, new_column_name: parser.parse_identifier()? }
    };
    end(parser).map(|()| Some(RenameView { kind, name, if_exists, operation }))
}

/// A query with other names of its columns.
pub(crate) fn with_columns<'a>(query: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quoted).collect();
    // The query may end with a comment.
    format!("SELECT * FROM ({query}\n) AS q({})", names.join(", "))
}

/// A query with only these columns: those of a `*` may become more with the columns of its tables.
pub(crate) fn of_columns<'a>(query: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quoted).collect();
    format!("SELECT {} FROM ({query}\n) AS q", names.join(", "))
}

/// Returns whether the columns of a query depend on all columns that its tables have.
pub(crate) fn has_star(query: &Query) -> bool {
    fn is_starred(body: &SetExpr) -> bool {
        match body {
            SetExpr::Select(select) => {
                let is_star =
                    |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
                select.projection.is_empty() || select.projection.iter().any(is_star)
            }
            SetExpr::Query(query) => has_star(query),
            SetExpr::SetOperation { left, right, .. } => is_starred(left) || is_starred(right),
            SetExpr::Values(_) => false,
            _ => true,
        }
    }
    is_starred(&query.body)
}

/// Refuses a view that takes the place of another one but lacks its columns. It may have more of them at the end.
pub(crate) fn check_replacement(before: &Schema, after: &Schema) -> Result<()> {
    if after.fields().len() < before.fields().len() {
        return Err(sql_error("cannot drop columns from view").with_hint("DROP VIEW first"));
    }
    for (old, new) in before.fields().iter().zip(after.fields()) {
        if !same_name(old.name(), new.name()) {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name(), new.name());
            return Err(sql_error(message)
                .with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
        }
        let (old_type, new_type) = (type_name_of(old), type_name_of(new));
        if old_type != new_type {
            let name = old.name();
            let message = format!("cannot change data type of view column \"{name}\" from {old_type} to {new_type}");
            return Err(sql_error(message).with_hint("DROP VIEW first"));
        }
    }
    Ok(())
}

/// The next definition of a materialized view after `ALTER TABLE` or `CREATE INDEX`: its query follows the names of its
/// columns. Other tables stay as they are.
///
/// # Errors
///
/// [`ErrorKind::Sql`](atsdb_core::ErrorKind::Sql) if anything but names and indexes has changed.
pub(crate) fn materialized_as(from: &TableDefinition, mut to: TableDefinition) -> Result<TableDefinition> {
    if from.materialized.is_none() {
        return Ok(to);
    }
    let name = |column: &Column| column.name.clone();
    let is_renamed = from.columns.iter().map(name).ne(to.columns.iter().map(name));
    if let Some(materialized) = to.materialized.as_mut().filter(|_| is_renamed) {
        let names = to.columns.iter().map(|column| column.name.as_str());
        materialized.query = with_columns(&materialized.query, names);
    }
    let mut same = to.clone();
    same.name.clone_from(&from.name);
    same.schema.clone_from(&from.schema);
    same.materialized.clone_from(&from.materialized);
    (same.indexes, same.indexes_given) = (from.indexes.clone(), from.indexes_given);
    for (column, before) in same.columns.iter_mut().zip(&from.columns) {
        column.name.clone_from(&before.name);
    }
    let has_constraint = to.unique.iter().any(|unique| !unique.index);
    same.unique.clone_from(&from.unique);
    match same == *from && !has_constraint {
        true => Ok(to),
        false => {
            let name = &from.name;
            Err(sql_error(format!("{name} is a materialized view: its columns are those of its query"))
                .with_hint(format!("DROP MATERIALIZED VIEW {name}, and create it again")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};
    use atsdb_core::{ColumnType, MaterializedView};

    fn parsed(text: &str) -> Option<ViewStatement<'_>> {
        ViewStatement::of(text, SourcePosition::START).unwrap()
    }

    #[test]
    fn the_data_clause_is_taken_from_the_end_of_a_declaration() {
        for (clause, with_data) in [("", true), (" WITH DATA", true), ("\n with -- a\n no data", false)] {
            let text = format!("create materialized view m as select 'with no data' as data{clause}");
            let Some(ViewStatement::CreateMaterialized { text, with_data: found }) = parsed(&text) else { panic!() };
            assert_eq!((text, found), ("create materialized view m as select 'with no data' as data", with_data));
        }
        assert!(parsed("CREATE VIEW v AS SELECT 1").is_none());
        assert!(parsed("REFRESH ROLLUP r").is_none());
    }

    #[test]
    fn other_statements_are_read_completely() {
        let Some(ViewStatement::Refresh(refresh)) = parsed("REFRESH MATERIALIZED VIEW CONCURRENTLY s.m WITH NO DATA")
        else {
            panic!()
        };
        assert_eq!((refresh.name.to_string().as_str(), refresh.is_concurrent, refresh.with_data), ("s.m", true, false));
        let Some(ViewStatement::DropMaterialized { names, if_exists, cascade }) =
            parsed("DROP MATERIALIZED VIEW IF EXISTS a, b CASCADE")
        else {
            panic!()
        };
        assert_eq!((names.len(), if_exists, cascade), (2, true, true));
        let Some(ViewStatement::Rename(rename)) = parsed("ALTER VIEW v RENAME COLUMN a TO b") else { panic!() };
        assert_eq!((rename.kind, rename.if_exists), (RelationKind::View, false));
        for wrong in ["REFRESH MATERIALIZED VIEW m WITH", "DROP MATERIALIZED VIEW", "ALTER VIEW v OWNER TO me"] {
            assert!(ViewStatement::of(wrong, SourcePosition::START).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_check_option_is_refused_where_it_ends_a_view() {
        for clause in ["WITH CHECK OPTION", "with local check option;", "WITH CASCADED CHECK OPTION -- c"] {
            let text = format!("CREATE OR REPLACE VIEW v AS SELECT 1 {clause}");
            assert!(ViewStatement::of(&text, SourcePosition::START).is_err(), "{text}");
        }
        assert!(parsed("CREATE VIEW v AS SELECT 'with check option' AS option").is_none());
    }

    #[test]
    fn a_view_keeps_its_columns_and_may_have_more() {
        let schema = |columns: &[(&str, DataType)]| {
            let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
            Schema::new(columns.iter().map(field).collect::<Vec<_>>())
        };
        let before = schema(&[("a", DataType::Int64)]);
        check_replacement(&before, &schema(&[("A", DataType::Int64), ("b", DataType::Utf8)])).unwrap();
        for (after, message) in [
            (schema(&[]), "cannot drop columns from view"),
            (schema(&[("b", DataType::Int64)]), "cannot change name of view column \"a\" to \"b\""),
            (schema(&[("a", DataType::Utf8)]), "cannot change data type of view column \"a\" from BIGINT to TEXT"),
        ] {
            assert_eq!(check_replacement(&before, &after).unwrap_err().message(), message);
        }
    }

    #[test]
    fn only_names_and_indexes_of_a_materialized_view_change() {
        let mut from = TableDefinition::new("m").with_column("a", ColumnType::Int64, None);
        from.materialized = Some(MaterializedView::new("SELECT 1 AS a", true));
        let mut renamed = from.clone();
        renamed.columns[0].name = "b".into();
        let renamed = materialized_as(&from, renamed).unwrap();
        let query = renamed.materialized.map(|materialized| materialized.query);
        assert_eq!(query.as_deref(), Some("SELECT * FROM (SELECT 1 AS a\n) AS q(b)"));
        let wider = from.clone().with_column("c", ColumnType::Text, None);
        assert!(materialized_as(&from, wider).unwrap_err().message().contains("those of its query"));
    }
}
