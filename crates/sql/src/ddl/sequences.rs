//! `CREATE SEQUENCE`, `DROP SEQUENCE`, and the forms of `ALTER SEQUENCE` that change its name; and `DEFAULT
//! nextval(...)` of columns. Not owned: the other forms of `ALTER SEQUENCE` (`identity`), which are about identity
//! columns, too.

use super::identity::{identity_of, parse_option};
use super::statement_parts::{DroppedNames, end};
use super::type_names::column_type;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::{ColumnType, Identity, QualifiedName, Result};
use atsdb_dialect::text::errors::{from_parser, sql_error};
use atsdb_dialect::text::sequence_names::{name_in, sequence_text};
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GeneratedAs, ObjectName, Value,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// A statement about sequences.
#[derive(Debug, PartialEq)]
pub(crate) enum SequenceStatement {
    Create(CreateSequence),
    Drop { names: Vec<ObjectName>, if_exists: bool, cascade: bool },
    Rename { name: ObjectName, if_exists: bool, to: String },
    Move { name: ObjectName, if_exists: bool, schema: String },
}

/// `CREATE [TEMPORARY] SEQUENCE [IF NOT EXISTS] name [AS type] options`.
#[derive(Debug, PartialEq)]
pub(crate) struct CreateSequence {
    pub(crate) name: ObjectName,
    pub(crate) is_temporary: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) column_type: ColumnType,
    pub(crate) identity: Identity,
}

impl SequenceStatement {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 3);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let skipped = match words.as_slice() {
            ["CREATE" | "DROP" | "ALTER", "SEQUENCE", ..] => 2,
            ["CREATE", "TEMP" | "TEMPORARY" | "UNLOGGED", "SEQUENCE"] => 3,
            _ => return Ok(None),
        };
        let at_position = |error| from_parser(error, position);
        let parser = Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).try_with_sql(text);
        let mut parser = parser.map_err(at_position)?;
        (0..skipped).for_each(|_| drop(parser.next_token()));
        match words[0] {
            "CREATE" => {
                let created = create(&mut parser, skipped == 3 && words[1] != "UNLOGGED").map_err(at_position)?;
                created.map(|created| Some(Self::Create(created)))
            }
            "DROP" => drop_sequences(&mut parser).map(Some).map_err(at_position),
            _ => alter(&mut parser).map_err(at_position),
        }
    }
}

fn create(parser: &mut Parser<'_>, is_temporary: bool) -> Result<Result<CreateSequence>, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let (mut options, mut declared) = (Vec::new(), None);
    loop {
        if parser.parse_keyword(Keyword::AS) {
            declared = Some(parser.parse_data_type()?);
        } else if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            // A sequence lives until it is dropped.
            if !parser.parse_keyword(Keyword::NONE) {
                parser.parse_object_name(false)?;
            }
        } else if let Some(option) = parse_option(parser)? {
            options.push(option);
        } else {
            break;
        }
    }
    end(parser)?;
    let definition = || {
        let column_type = declared.map_or(Ok(ColumnType::Int64), |declared| column_type(&declared, "sequence"))?;
        let identity = identity_of(GeneratedAs::ByDefault, &options, Some(column_type))?;
        if !Identity::fits(column_type) {
            return Err(sql_error("sequence type must be smallint, integer, or bigint"));
        }
        identity.check(column_type)?;
        Ok(CreateSequence { name, is_temporary, if_not_exists, column_type, identity })
    };
    Ok(definition())
}

fn drop_sequences(parser: &mut Parser<'_>) -> Result<SequenceStatement, ParserError> {
    let DroppedNames { names, if_exists, cascade } = DroppedNames::parse(parser)?;
    Ok(SequenceStatement::Drop { names, if_exists, cascade })
}

/// `None` for a form that changes what the sequence counts.
fn alter(parser: &mut Parser<'_>) -> Result<Option<SequenceStatement>, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let changed = if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        SequenceStatement::Rename { name, if_exists, to: parser.parse_identifier()?.value }
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        SequenceStatement::Move { name, if_exists, schema: parser.parse_identifier()?.value }
    } else {
        return Ok(None);
    };
    end(parser).map(|()| Some(changed))
}

/// The sequence of a `DEFAULT nextval('name')`, before it is looked up; `None` for another default.
pub(crate) fn sequence_of_default(expression: &Expr) -> Option<QualifiedName> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, filter: None, .. }) =
        expression
    else {
        return None;
    };
    let called = name.0.last()?.as_ident()?;
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice() else { return None };
    if !called.value.eq_ignore_ascii_case("nextval") {
        return None;
    }
    let argument = match argument {
        // `'name'::regclass`, as pg_dump writes it.
        Expr::Cast { expr, .. } => expr,
        other => other,
    };
    let Expr::Value(value) = argument else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    let TableName { schema, name } = name_in(text)?;
    let schema = match schema {
        NamedSchema::Unsaid => None,
        NamedSchema::Public => Some(atsdb_core::PUBLIC_SCHEMA.to_owned()),
        NamedSchema::Temporary => Some(atsdb_dialect::text::table_names::TEMPORARY_SCHEMA.to_owned()),
        NamedSchema::Other(schema) => Some(schema),
    };
    Some(QualifiedName { schema, name })
}

/// The default of a column that takes the numbers of a sequence.
pub(crate) fn nextval_sql(sequence: &QualifiedName) -> String {
    format!("nextval('{}')", sequence_text(sequence).replace('\'', "''"))
}
