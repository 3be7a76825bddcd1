//! Files that a query reads as tables: `FROM 'day.csv'`, `FROM read_csv('day.csv', skip = 3)`. Their rows are held
//! in memory while the query runs, or where their reader stores them.

use crate::dml::files::{FileReader, FileRows, FileTable, FileTableRequest, no_files};
use crate::plan::stored_rows::StoredTable;
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use atsdb_core::{Error, Result};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::file_functions;
use atsdb_dialect::text::identifiers::Spellings;
use atsdb_dialect::text::tree_walk::visit_mut;
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Statement as Ast, TableAlias, TableFactor,
    Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The schema in which a query finds the files that it names. No statement can write this name.
pub(crate) const FILE_SCHEMA: &str = "\u{1}file";

/// The reader of files for a query, and the maximum size of their rows.
#[derive(Debug, Clone)]
pub(crate) struct QueryFiles {
    pub(crate) reader: Arc<dyn FileReader>,
    pub(crate) bytes_max: usize,
}

/// Reads the files that a statement names, and replaces each in the statement by its name in [`FILE_SCHEMA`]. The
/// result has the statement's other tables first.
pub(crate) fn take_files(
    statement: &mut Ast,
    files: Option<&QueryFiles>,
    spellings: &Spellings,
    others: Vec<Arc<dyn TableProvider>>,
) -> Result<Vec<Arc<dyn TableProvider>>> {
    let mut found = FileResolver { files, spellings, providers: others };
    match visit_mut(statement, &mut found) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(found.providers),
    }
}

struct FileResolver<'a> {
    files: Option<&'a QueryFiles>,
    spellings: &'a Spellings,
    providers: Vec<Arc<dyn TableProvider>>,
}

impl VisitorMut for FileResolver<'_> {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.replace(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl FileResolver<'_> {
    fn replace(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, args, .. } = factor else { return Ok(()) };
        let [part] = name.0.as_slice() else { return Ok(()) };
        let Some(ident) = part.as_ident() else { return Ok(()) };
        let mut request = match args {
            None if ident.quote_style == Some('\'') => {
                FileTableRequest { paths: vec![ident.value.clone()], format: None, options: Vec::new(), bytes_max: 0 }
            }
            Some(arguments) => {
                let function = ident.value.to_ascii_lowercase();
                let Some(format) = file_functions::format_of(&function) else { return Ok(()) };
                request_of(&function, format, &arguments.args)?
            }
            None => return Ok(()),
        };
        let Some(files) = self.files else {
            return Err(no_files());
        };
        request.bytes_max = files.bytes_max;
        let provider = self.provider(files.reader.table(&request)?)?;
        if alias.is_none() {
            let first = request.paths.first().map_or("", String::as_str);
            *alias = Some(alias_of(self.spellings.spell(&stem(first)))?);
        }
        *name = ObjectName::from(vec![Ident::new(FILE_SCHEMA), Ident::new(self.providers.len().to_string())]);
        *args = None;
        self.providers.push(provider);
        Ok(())
    }

    /// The rows as a table, whose columns are spelled as in the statement.
    fn provider(&self, table: FileTable) -> Result<Arc<dyn TableProvider>> {
        let field = |field: &Arc<Field>| field.as_ref().clone().with_name(self.spellings.spell(field.name()));
        let schema = Arc::new(Schema::new(table.schema.fields().iter().map(field).collect::<Vec<_>>()));
        let batches = match table.rows {
            FileRows::Memory(batches) => batches,
            FileRows::Stored(rows) => return Ok(Arc::new(StoredTable { schema, rows })),
        };
        let named = |batch: &RecordBatch| Ok(RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?);
        let batches = batches.iter().map(named).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(MemTable::try_new(schema, vec![batches]).map_err(from_datafusion)?))
    }
}

/// The arguments of a function that reads files: a path or a list of paths, then names and values of options.
fn request_of(function: &str, format: &'static str, arguments: &[FunctionArg]) -> Result<FileTableRequest> {
    let usage = || {
        sql_error(format!("{function} takes the name of a file, or a list of names, then name = value"))
            .with_hint(format!("for example {function}('day.{format}', skip = 3)"))
    };
    let mut paths = Vec::new();
    let mut options = Vec::new();
    for argument in arguments {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) => {
                let name = option_name(left).ok_or_else(usage)?;
                options.push((name, literal(right).ok_or_else(usage)?));
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if paths.is_empty() => {
                paths = path_list(value).ok_or_else(usage)?;
            }
            FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. }
            | FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                options.push((name.value.to_ascii_lowercase(), literal(value).ok_or_else(usage)?));
            }
            _ => return Err(usage()),
        }
    }
    if paths.is_empty() {
        return Err(usage());
    }
    Ok(FileTableRequest { paths, format: Some(format), options, bytes_max: 0 })
}

/// A path, or those of a list such as `['a.csv', 'b.csv']`.
fn path_list(value: &Expr) -> Option<Vec<String>> {
    match value {
        Expr::Array(list) => list.elem.iter().map(literal).collect(),
        value => Some(vec![literal(value)?]),
    }
}

/// The name of an option. The word of `null = 'NA'` is not an identifier.
fn option_name(name: &Expr) -> Option<String> {
    match name {
        Expr::Identifier(name) => Some(name.value.to_ascii_lowercase()),
        Expr::Value(value) if matches!(value.value, Value::Null) => Some("null".to_owned()),
        _ => None,
    }
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.clone()),
            Value::Number(number, _) => Some(number.to_string()),
            Value::Boolean(word) => Some(word.to_string()),
            _ => None,
        },
        // `sep = "|"`.
        Expr::Identifier(name) if name.quote_style.is_some() => Some(name.value.clone()),
        _ => None,
    }
}

/// The name of a file without folders and extensions.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name).to_owned()
}

/// `AS name`.
fn alias_of(name: &str) -> Result<TableAlias> {
    let mut parser =
        Parser::new(&GenericDialect).try_with_sql("a AS c").map_err(|error| Error::internal(error.to_string()))?;
    match parser.parse_table_factor() {
        Ok(TableFactor::Table { alias: Some(mut alias), .. }) => {
            alias.name = Ident::new(name);
            Ok(alias)
        }
        _ => Err(Error::internal("a table has no alias")),
    }
}
