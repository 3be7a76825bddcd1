//! Keys, indexes, CHECK constraints and foreign keys of a `CREATE TABLE`. They are collected from the columns and the
//! table constraints in order, and added to the definition when all columns are known.

use super::checks::DeclaredCheck;
use super::references::DeclaredReference;
use atsdb_core::{ColumnId, Result, TableDefinition, Unique};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::{
    CheckConstraint, ConstraintCharacteristics, Expr, ForeignKeyConstraint, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, IndexColumn, IndexOption, IndexType, KeyOrIndexDisplay, NullsDistinctOption,
    TableConstraint, Value,
};

/// The declared keys, indexes, CHECK constraints and foreign keys.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    primary: Option<DeclaredKey>,
    unique: Vec<DeclaredKey>,
    indexes: Vec<DeclaredKey>,
    checks: Vec<DeclaredCheck>,
    references: Vec<DeclaredReference>,
}

#[derive(Debug)]
struct DeclaredKey {
    name: Option<String>,
    columns: Vec<String>,
    nulls_equal: bool,
    /// Whether it is an index only: `UNIQUE INDEX`.
    index: bool,
}

impl Constraints {
    /// `PRIMARY KEY` after a column, or for the table.
    pub(crate) fn primary(&mut self, name: Option<&Ident>, columns: Vec<String>) -> Result<()> {
        if self.primary.is_some() {
            return Err(sql_error("two primary keys").with_hint("declare one: PRIMARY KEY (COLUMN, ...)"));
        }
        self.primary = Some(DeclaredKey::new(name, columns));
        Ok(())
    }

    /// `UNIQUE` after a column.
    pub(crate) fn unique(&mut self, name: Option<&Ident>, columns: Vec<String>, nulls: NullsDistinctOption) {
        let nulls_equal = nulls == NullsDistinctOption::NotDistinct;
        self.unique.push(DeclaredKey { nulls_equal, ..DeclaredKey::new(name, columns) });
    }

    /// `CHECK` after a column, or for the table.
    pub(crate) fn check(&mut self, name: Option<&Ident>, check: &CheckConstraint) -> Result<()> {
        self.checks.push(DeclaredCheck::of(name, check)?);
        Ok(())
    }

    /// `REFERENCES` after a column.
    pub(crate) fn reference(
        &mut self,
        name: Option<&Ident>,
        columns: Vec<String>,
        key: &ForeignKeyConstraint,
    ) -> Result<()> {
        self.references.push(DeclaredReference::of(name, columns, key)?);
        Ok(())
    }

    /// Returns whether nothing was declared.
    pub(crate) fn is_empty(&self) -> bool {
        let has_no_condition = self.checks.is_empty() && self.references.is_empty();
        self.primary.is_none() && self.unique.is_empty() && self.indexes.is_empty() && has_no_condition
    }

    /// A constraint of the table.
    pub(crate) fn table_constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_clauses(key.index_type.as_ref(), &key.index_options, key.characteristics.as_ref())?;
                self.primary(key.name.as_ref(), column_names(&key.columns, false)?)
            }
            TableConstraint::Unique(key) => {
                refuse_clauses(key.index_type.as_ref(), &key.index_options, key.characteristics.as_ref())?;
                let columns = column_names(&key.columns, false)?;
                self.unique.push(DeclaredKey {
                    nulls_equal: key.nulls_distinct == NullsDistinctOption::NotDistinct,
                    index: key.index_type_display == KeyOrIndexDisplay::Index,
                    ..DeclaredKey::new(key.name.as_ref().or(key.index_name.as_ref()), columns)
                });
                Ok(())
            }
            TableConstraint::Index(index) => {
                refuse_clauses(index.index_type.as_ref(), &index.index_options, None)?;
                self.indexes.push(DeclaredKey::new(index.name.as_ref(), column_names(&index.columns, true)?));
                Ok(())
            }
            TableConstraint::ForeignKey(key) => {
                let columns = key.columns.iter().map(|column| column.value.clone()).collect();
                self.reference(None, columns, key)
            }
            TableConstraint::Check(check) => self.check(None, check),
            other => Err(not_supported(other).with_hint("leave it out")),
        }
    }

    /// Makes CHECK constraints and foreign keys hold only for rows that are written from now on: `NOT VALID`. Other
    /// constraints are refused.
    pub(crate) fn without_validation(self) -> Result<Self> {
        let refused = [(self.primary.is_some(), "PRIMARY KEY"), (!self.unique.is_empty(), "UNIQUE")];
        if let Some((_, kind)) = refused.into_iter().find(|(is_there, _)| *is_there) {
            return Err(sql_error(format!("{kind} constraints cannot be marked NOT VALID")));
        }
        let checks = self.checks.into_iter().map(DeclaredCheck::without_validation).collect();
        let references = self.references.into_iter().map(DeclaredReference::without_validation).collect();
        Ok(Self { checks, references, ..self })
    }

    /// Adds them to a definition that has its columns. The columns of the primary key become NOT NULL.
    pub(crate) fn apply(self, definition: &mut TableDefinition) -> Result<()> {
        if self.primary.is_some() && definition.unique.first().is_some_and(|unique| unique.primary) {
            return Err(sql_error(format!("multiple primary keys for table \"{}\" are not allowed", definition.name))
                .with_hint("DROP PRIMARY KEY first, or declare UNIQUE (COLUMN, ...)"));
        }
        let primary = self.primary.map(|declared| (declared, true));
        for (declared, primary) in primary.into_iter().chain(self.unique.into_iter().map(|declared| (declared, false)))
        {
            let columns = column_ids(definition, &declared.columns)?;
            let DeclaredKey { name, nulls_equal, index, .. } = declared;
            add_unique(definition, Unique { name, columns, primary, nulls_equal, index });
        }
        for declared in self.indexes {
            let columns = column_ids(definition, &declared.columns)?;
            definition.add_index(declared.name.as_deref(), columns);
        }
        self.checks.into_iter().try_for_each(|declared| declared.apply(definition))?;
        for declared in self.references {
            let columns = column_ids(definition, declared.columns())?;
            declared.apply(definition, columns);
        }
        Ok(())
    }
}

impl DeclaredKey {
    fn new(name: Option<&Ident>, columns: Vec<String>) -> Self {
        Self { name: name.map(|name| name.value.clone()), columns, nulls_equal: false, index: false }
    }
}

/// Adds a constraint. The primary key comes first, and its columns become NOT NULL.
pub(crate) fn add_unique(definition: &mut TableDefinition, unique: Unique) {
    if unique.primary {
        for column in &mut definition.columns {
            column.nullable &= !unique.columns.contains(&column.id);
        }
        definition.unique.insert(0, unique);
    } else {
        definition.unique.push(unique);
    }
}

/// The numbers of columns. Each column may occur only once.
pub(crate) fn column_ids(definition: &TableDefinition, names: &[String]) -> Result<Vec<ColumnId>> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let id = definition.column(name)?.id;
        if ids.contains(&id) {
            return Err(sql_error(format!("column {name} appears twice in a key")));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The operator classes of PostgreSQL that compare values as keys and indexes do here: texts byte by byte.
const OPERATOR_CLASSES: [&str; 20] = [
    "bool_ops",
    "bpchar_ops",
    "bpchar_pattern_ops",
    "bytea_ops",
    "date_ops",
    "float4_ops",
    "float8_ops",
    "int2_ops",
    "int4_ops",
    "int8_ops",
    "interval_ops",
    "numeric_ops",
    "text_ops",
    "text_pattern_ops",
    "time_ops",
    "timestamp_ops",
    "timestamptz_ops",
    "uuid_ops",
    "varchar_ops",
    "varchar_pattern_ops",
];

/// The names of the columns of a key or index. The sort direction is ignored. With `prefixes`, `name(10)` means the
/// column, and the whole value is indexed.
pub(crate) fn column_names(columns: &[IndexColumn], prefixes: bool) -> Result<Vec<String>> {
    let name = |column: &IndexColumn| {
        check_operator_class(column)?;
        match &column.column.expr {
            Expr::Identifier(name) => Ok(name.value.clone()),
            Expr::Function(call) if prefixes && is_length(&call.args) => {
                TableName::of(&call.name).map(|name| name.name)
            }
            other => Err(not_supported(format_args!("a key over {other}")).with_hint("a key takes columns")),
        }
    };
    columns.iter().map(name).collect()
}

fn check_operator_class(column: &IndexColumn) -> Result<()> {
    let Some(class) = &column.operator_class else { return Ok(()) };
    let name = TableName::of(class)?.name;
    if OPERATOR_CLASSES.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    Err(not_supported(format_args!("the operator class {name}")).with_hint("leave it out"))
}

fn is_length(arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else { return false };
    matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))]
        if matches!(value.value, Value::Number(..)))
}

/// Accepts `USING` with any type of index for comparisons, because there is only one type here.
pub(crate) fn check_index_type(index_type: Option<&IndexType>) -> Result<()> {
    match index_type {
        None | Some(IndexType::BTree | IndexType::Hash | IndexType::Bloom | IndexType::BRIN) => Ok(()),
        Some(other) => Err(not_supported(format_args!("USING {other}")).with_hint("leave USING out")),
    }
}

fn refuse_clauses(
    index_type: Option<&IndexType>,
    options: &[IndexOption],
    characteristics: Option<&ConstraintCharacteristics>,
) -> Result<()> {
    check_index_type(index_type)?;
    for option in options {
        if let IndexOption::Using(index_type) = option {
            check_index_type(Some(index_type))?;
        }
    }
    match characteristics {
        Some(other) => Err(not_supported(other).with_hint("leave it out")),
        None => Ok(()),
    }
}

/// The series key that a table has by its primary key: its columns without the time.
pub(crate) fn series_key_of_primary(definition: &TableDefinition) -> Vec<ColumnId> {
    let time = definition.time.map(|time| time.column);
    let primary = definition.unique.first().filter(|unique| unique.primary);
    primary.map_or_else(Vec::new, |unique| unique.columns.iter().copied().filter(|id| Some(*id) != time).collect())
}
