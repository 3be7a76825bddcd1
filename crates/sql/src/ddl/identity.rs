//! Identity columns in declarations: `GENERATED ... AS IDENTITY`, `SERIAL`, and the forms of `ALTER TABLE ... ALTER
//! COLUMN` and `ALTER SEQUENCE` that change them, which the parser does not know. Not owned: the order of the options
//! in a `CREATE TABLE` (`parse` of the crate `dialect`).

use atsdb_core::{Column, ColumnType, Error, Identity, QualifiedName, Result, Table, TableDefinition};
use atsdb_dialect::text::errors::{as_sql_error, from_parser, not_supported, sql_error, unknown_sequence};
use atsdb_dialect::text::sequence_names::{find_sequence, sequence_name, sequence_text};
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{Scope, TableName, unknown_table};
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, GeneratedAs, ObjectName, SequenceOptions, UnaryOperator, Value, ValueWithSpan,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// The type of a column that is declared as `SERIAL` or the like, which is an identity by default.
pub(crate) fn serial_type(declared: &DataType) -> Option<ColumnType> {
    let DataType::Custom(name, modifiers) = declared else { return None };
    match name.to_string().to_ascii_lowercase().as_str() {
        _ if !modifiers.is_empty() => None,
        "smallserial" | "serial2" => Some(ColumnType::Int16),
        "serial" | "serial4" => Some(ColumnType::Int32),
        "bigserial" | "serial8" => Some(ColumnType::Int64),
        _ => None,
    }
}

/// Makes a column an identity. Its type and its other options are known.
pub(crate) fn make_identity(column: &mut Column, identity: Identity) -> Result<()> {
    if column.has_default_value() || column.sequence.is_some() {
        return Err(sql_error(format!("both default and identity specified for column \"{}\"", column.name))
            .with_hint("leave DEFAULT out"));
    }
    identity.check(column.column_type).map_err(as_sql_error)?;
    column.nullable = false;
    column.identity = Some(identity);
    Ok(())
}

/// The identity of a `GENERATED ... AS IDENTITY (options)`. `MINVALUE` and `MAXVALUE` may be the bounds that a column
/// of the type has anyway; without a type they are refused.
pub(crate) fn identity_of(
    generated: GeneratedAs,
    options: &[SequenceOptions],
    column_type: Option<ColumnType>,
) -> Result<Identity> {
    let mut identity = Identity { always: generated == GeneratedAs::Always, ..Identity::by_default() };
    let (mut start, mut least, mut greatest) = (None, None, None);
    for option in options {
        match option {
            SequenceOptions::IncrementBy(number, _) => identity.increment = integer(number)?,
            SequenceOptions::StartWith(number, _) => start = Some(integer(number)?),
            // How many numbers are reserved ahead is no promise, neither there nor here.
            SequenceOptions::Cache(_) | SequenceOptions::MinValue(None) | SequenceOptions::MaxValue(None) => {}
            // The parser says true for NO CYCLE.
            SequenceOptions::Cycle(true) => {}
            SequenceOptions::Cycle(false) => return Err(refused("CYCLE")),
            SequenceOptions::MinValue(Some(number)) => least = Some(integer(number)?),
            SequenceOptions::MaxValue(Some(number)) => greatest = Some(integer(number)?),
        }
    }
    let declared_start = start.or(if identity.increment < 0 { greatest } else { least });
    identity.start = declared_start.unwrap_or(if identity.increment < 0 { -1 } else { 1 });
    let bounds = column_type.and_then(|column_type| identity.bounds(column_type));
    for (option, declared, bound) in
        [("MINVALUE", least, bounds.map(|bounds| bounds.0)), ("MAXVALUE", greatest, bounds.map(|bounds| bounds.1))]
    {
        if declared.is_some() && declared != bound {
            return Err(refused(format_args!("a {option} other than the bound of the type")));
        }
    }
    Ok(identity)
}

fn refused(option: impl std::fmt::Display) -> Error {
    not_supported(option)
        .with_hint("leave it out: START WITH and INCREMENT BY are supported, and numbers end with the column's type")
}

fn integer(expression: &Expr) -> Result<i64> {
    fn digits(expression: &Expr) -> Option<String> {
        match expression {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits.to_string()),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(format!("-{}", digits(expr)?)),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } | Expr::Nested(expr) => digits(expr),
            _ => None,
        }
    }
    let number = digits(expression).and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| sql_error(format!("{expression} is not an integer of 64 bits")))
}

/// The clause of an identity column in the `CREATE TABLE` that declares it. A table made by it counts on where the
/// definition says.
pub(crate) fn identity_sql(identity: &Identity, column_type: ColumnType) -> String {
    let kind = if identity.always { "ALWAYS" } else { "BY DEFAULT" };
    let options = match sequence_options(identity, column_type) {
        none if none.is_empty() => none,
        options => format!(" ({})", options.trim_start()),
    };
    format!(" GENERATED {kind} AS IDENTITY{options}")
}

/// The options of a sequence, each after a blank, unless they are the default. Of one that has ended they say where it
/// began; see [`counters_sql`].
pub(crate) fn sequence_options(identity: &Identity, column_type: ColumnType) -> String {
    let is_possible = |first: &i64| Identity::is_in_range(column_type, *first);
    let start = identity.first().filter(is_possible).unwrap_or(identity.start);
    match (start, identity.increment) {
        (1, 1) => String::new(),
        (start, 1) => format!(" START WITH {start}"),
        (start, increment) => format!(" START WITH {start} INCREMENT BY {increment}"),
    }
}

/// The statements that let columns, which have been [declared](TableDefinition::uncounted), continue where those of a
/// definition do.
pub fn counters_sql(definition: &TableDefinition) -> Vec<String> {
    let of_column = |(position, identity): (usize, &Identity)| -> Option<String> {
        let column = &definition.columns[position];
        let (last, (least, greatest)) = (identity.after?, identity.bounds(column.column_type)?);
        let name = match definition.sequence {
            true => sequence_text(&definition.qualified_name()),
            false => sequence_text(&QualifiedName {
                schema: definition.schema.clone(),
                name: sequence_name(definition.local_name(), &column.name),
            }),
        };
        match (least..=greatest).contains(&last) {
            true => Some(format!("SELECT setval('{}', {last})", name.replace('\'', "''"))),
            // Only a restart begins before the numbers that can be set.
            false => Some(format!("ALTER SEQUENCE {name} RESTART WITH {}", identity.first()?)),
        }
    };
    definition.identities().filter_map(of_column).collect()
}

/// A change of one identity column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AlterIdentity {
    /// The table and the column, or the column's sequence.
    column: AlteredColumn,
    if_exists: bool,
    changes: Vec<IdentityChange>,
}

#[derive(Debug, Clone, PartialEq)]
enum AlteredColumn {
    Named(ObjectName, String),
    OfSequence(ObjectName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdentityChange {
    Add(Identity),
    /// Counts anew, from the declared start if there is no number.
    Restart(Option<i64>),
    SetIncrement(i64),
    /// An option of `ALTER SEQUENCE` that changes nothing here.
    NoEffect,
    SetAlways(bool),
    SetStart(i64),
    Drop {
        if_exists: bool,
    },
}

impl AlterIdentity {
    /// Parses a statement; `None` if it is another one. A statement may change only one column like this.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 2);
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["ALTER", "TABLE" | "SEQUENCE"] => {}
            _ => return Ok(None),
        }
        let in_script = |error| from_parser(error, position);
        let mut parser = Parser::new(&GenericDialect).try_with_sql(text).map_err(in_script)?;
        match Self::parse(&mut parser).map_err(in_script)? {
            Some(alter) => alter.map(Some),
            None => Ok(None),
        }
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Option<Result<Self>>, ParserError> {
        parser.expect_keyword(Keyword::ALTER)?;
        let of_sequence = parser.parse_keyword(Keyword::SEQUENCE);
        if !of_sequence {
            parser.expect_keyword(Keyword::TABLE)?;
        }
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let _ = parser.parse_keyword(Keyword::ONLY);
        let name = parser.parse_object_name(false)?;
        let column = match of_sequence {
            true => AlteredColumn::OfSequence(name),
            false => {
                if !parser.parse_keyword(Keyword::ALTER) {
                    return Ok(None);
                }
                let _ = parser.parse_keyword(Keyword::COLUMN);
                AlteredColumn::Named(name, parser.parse_identifier()?.value)
            }
        };
        let mut changes = Vec::new();
        loop {
            let is_first = changes.is_empty();
            match parse_change(parser, of_sequence)? {
                Some(Ok(change)) => changes.push(change),
                Some(Err(error)) => return Ok(Some(Err(error))),
                None if is_first && !of_sequence => return Ok(None),
                None => break,
            }
        }
        let next = parser.next_token();
        match next.token {
            Token::EOF | Token::SemiColon if !changes.is_empty() => Ok(Some(Ok(Self { column, if_exists, changes }))),
            Token::Comma => Ok(Some(Err(not_supported("ALTER TABLE of an identity and of something else")
                .with_hint("write a statement for each change")))),
            _ if of_sequence => Ok(Some(Err(not_supported("ALTER SEQUENCE in this form")
                .with_hint("ALTER SEQUENCE name RESTART WITH n changes where counting continues")))),
            found => {
                Err(ParserError::ParserError(format!("Expected: end of statement, found: {found}{}", next.span.start)))
            }
        }
    }

    /// The changes in the order in which they apply, whatever their order in the statement: a restart comes last.
    fn in_order(&self) -> impl Iterator<Item = &IdentityChange> {
        let is_restart = |change: &&IdentityChange| matches!(change, IdentityChange::Restart(_));
        let others = self.changes.iter().filter(move |change| !is_restart(change));
        others.chain(self.changes.iter().filter(is_restart))
    }

    /// The verb of its answer.
    pub(crate) fn verb(&self) -> &'static str {
        match self.column {
            AlteredColumn::Named(..) => "ALTER TABLE",
            AlteredColumn::OfSequence(_) => "ALTER SEQUENCE",
        }
    }

    /// The table, or the sequence, that the statement names.
    pub(crate) fn relation(&self) -> &ObjectName {
        match &self.column {
            AlteredColumn::Named(name, _) | AlteredColumn::OfSequence(name) => name,
        }
    }

    /// The table and its definition after the change. `None` if the table does not exist and need not.
    pub(crate) fn apply(&self, scope: Scope<'_>) -> Result<Option<(Table, TableDefinition)>> {
        let (table, position) = match &self.column {
            AlteredColumn::OfSequence(name) => match find_sequence(scope, &name.to_string()) {
                Some((table, position)) => (table, position),
                None if self.if_exists => return Ok(None),
                None => return Err(unknown_sequence(&name.to_string())),
            },
            AlteredColumn::Named(name, column) => {
                let name = TableName::of(name)?;
                let Some(table) = scope.find(&name) else {
                    return match self.if_exists {
                        true => Ok(None),
                        false => Err(unknown_table(&name, scope.tables)),
                    };
                };
                (table, table.definition.position(column).map_err(as_sql_error)?)
            }
        };
        let mut definition = table.definition.clone();
        let name = definition.name.clone();
        for change in self.in_order() {
            change_identity(&mut definition.columns[position], *change)
                .map_err(|error| as_sql_error(error).context(format_args!("table {name}")))?;
        }
        definition.check().map_err(as_sql_error)?;
        Ok(Some((table.clone(), definition)))
    }
}

/// The next change of a statement; `None` if there is none, or if it is another kind of change. The inner error is
/// about a change that is not supported.
fn parse_change(parser: &mut Parser<'_>, of_sequence: bool) -> Result<Option<Result<IdentityChange>>, ParserError> {
    if parser.parse_keyword(Keyword::RESTART) {
        let with = parser.parse_keyword(Keyword::WITH);
        let is_number = matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus) || with;
        let number = if is_number { Some(parser.parse_number()?) } else { None };
        return Ok(Some(number.as_ref().map(integer).transpose().map(IdentityChange::Restart)));
    }
    if of_sequence {
        return parse_sequence_change(parser);
    }
    if parser.parse_keywords(&[Keyword::ADD, Keyword::GENERATED]) {
        let generated = match parser.parse_keyword(Keyword::ALWAYS) {
            true => GeneratedAs::Always,
            false => {
                parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
                GeneratedAs::ByDefault
            }
        };
        parser.expect_keywords(&[Keyword::AS, Keyword::IDENTITY])?;
        let options = if parser.consume_token(&Token::LParen) { parse_options(parser)? } else { Vec::new() };
        return Ok(Some(identity_of(generated, &options, None).map(IdentityChange::Add)));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::IDENTITY]) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return Ok(Some(Ok(IdentityChange::Drop { if_exists })));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::GENERATED]) {
        let always = parser.parse_keyword(Keyword::ALWAYS);
        if !always {
            parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
        }
        return Ok(Some(Ok(IdentityChange::SetAlways(always))));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::START]) {
        let _ = parser.parse_keyword(Keyword::WITH);
        let number = parser.parse_number()?;
        return Ok(Some(integer(&number).map(IdentityChange::SetStart)));
    }
    for option in [Keyword::INCREMENT, Keyword::MINVALUE, Keyword::MAXVALUE, Keyword::CYCLE, Keyword::CACHE] {
        if parser.parse_keywords(&[Keyword::SET, option]) {
            let error = not_supported(format_args!("SET {option:?} of an identity"))
                .with_hint("DROP IDENTITY, and ADD GENERATED ... AS IDENTITY (START WITH n INCREMENT BY m)");
            return Ok(Some(Err(error)));
        }
    }
    Ok(None)
}

/// The next change of an `ALTER SEQUENCE`.
fn parse_sequence_change(parser: &mut Parser<'_>) -> Result<Option<Result<IdentityChange>>, ParserError> {
    if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
        if !parser.parse_keyword(Keyword::NONE) {
            parser.parse_object_name(false)?;
        }
        return Ok(Some(Ok(IdentityChange::NoEffect)));
    }
    Ok(parse_option(parser)?.map(|option| match &option {
        SequenceOptions::IncrementBy(number, _) => integer(number).map(IdentityChange::SetIncrement),
        SequenceOptions::StartWith(number, _) => integer(number).map(IdentityChange::SetStart),
        other => {
            identity_of(GeneratedAs::ByDefault, std::slice::from_ref(other), None).map(|_| IdentityChange::NoEffect)
        }
    }))
}

/// Options in any order, up to the parenthesis that closes them.
fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<SequenceOptions>, ParserError> {
    let mut options = Vec::new();
    while !parser.consume_token(&Token::RParen) {
        if parser.parse_keyword(Keyword::SEQUENCE) {
            // The name follows from the table and the column.
            parser.parse_identifier()?;
            parser.parse_object_name(false)?;
            continue;
        }
        match parse_option(parser)? {
            Some(option) => options.push(option),
            None => return parser.expected_ref("an option of an identity", parser.peek_token_ref()),
        }
    }
    Ok(options)
}

/// The next option of a sequence.
pub(crate) fn parse_option(parser: &mut Parser<'_>) -> Result<Option<SequenceOptions>, ParserError> {
    Ok(Some(if parser.parse_keyword(Keyword::START) {
        let with = parser.parse_keyword(Keyword::WITH);
        SequenceOptions::StartWith(parser.parse_number()?, with)
    } else if parser.parse_keyword(Keyword::INCREMENT) {
        let by = parser.parse_keyword(Keyword::BY);
        SequenceOptions::IncrementBy(parser.parse_number()?, by)
    } else if parser.parse_keyword(Keyword::CACHE) {
        SequenceOptions::Cache(parser.parse_number()?)
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::MINVALUE]) {
        SequenceOptions::MinValue(None)
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::MAXVALUE]) {
        SequenceOptions::MaxValue(None)
    } else if parser.parse_keywords(&[Keyword::NO, Keyword::CYCLE]) {
        SequenceOptions::Cycle(true)
    } else if parser.parse_keyword(Keyword::MINVALUE) {
        SequenceOptions::MinValue(Some(parser.parse_number()?))
    } else if parser.parse_keyword(Keyword::MAXVALUE) {
        SequenceOptions::MaxValue(Some(parser.parse_number()?))
    } else if parser.parse_keyword(Keyword::CYCLE) {
        SequenceOptions::Cycle(false)
    } else {
        return Ok(None);
    }))
}

fn change_identity(column: &mut Column, change: IdentityChange) -> Result<()> {
    let name = column.name.clone();
    let none = || sql_error(format!("column \"{name}\" is not an identity column"));
    match change {
        IdentityChange::Add(_) if column.identity.is_some() => {
            Err(sql_error(format!("column \"{name}\" is already an identity column")))
        }
        IdentityChange::Add(_) if column.nullable => {
            Err(sql_error(format!("column \"{name}\" must be declared NOT NULL before identity can be added"))
                .with_hint(format!("ALTER TABLE ... ALTER COLUMN {name} SET NOT NULL")))
        }
        IdentityChange::Add(identity) => make_identity(column, identity),
        IdentityChange::Drop { if_exists } => match column.identity.take() {
            None if !if_exists => Err(none()),
            _ => Ok(()),
        },
        IdentityChange::Restart(from) => {
            let identity = column.identity.ok_or_else(none)?;
            let from = from.unwrap_or(identity.start);
            if !Identity::is_in_range(column.column_type, from) {
                return Err(sql_error(format!(
                    "RESTART {from} does not fit the type {}",
                    column.column_type.sql_name()
                )));
            }
            column.identity = Some(identity.restarted(from)?);
            Ok(())
        }
        IdentityChange::SetIncrement(increment) => {
            let identity = column.identity.as_mut().ok_or_else(none)?;
            // The last number stays, and the next one differs from it by the new increment.
            identity.increment = increment;
            identity.check(column.column_type)
        }
        IdentityChange::NoEffect => Ok(()),
        IdentityChange::SetAlways(always) => {
            column.identity.as_mut().ok_or_else(none)?.always = always;
            Ok(())
        }
        IdentityChange::SetStart(start) => {
            let identity = column.identity.as_mut().ok_or_else(none)?;
            // Counting continues where it is.
            identity.after = match identity.first() {
                Some(first) => first.checked_sub(identity.increment),
                None => identity.after,
            };
            identity.start = start;
            Ok(())
        }
    }
}
