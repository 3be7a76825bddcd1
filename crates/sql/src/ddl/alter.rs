//! `ALTER TABLE`: computes the next definition. It changes no chunk: older rows have a new column's
//! [`missing`](Column::missing) value, and pages of a narrower type are widened when they are read. The engine checks
//! that the rows satisfy a new key, CHECK, foreign key, NOT NULL or length of texts.

use super::checks::rename_in_checks;
use super::columns::with_column;
use super::constraint_changes::{drop_constraint, drop_index, drop_key, validate_constraint};
use super::constraints::{Constraints, series_key_of_primary};
use super::defaults::{drop_default, set_default};
use super::identity::make_identity;
use super::options::TableOptions;
use super::type_names::{column_type, text_length, unsupported};
use atsdb_core::name::same_name;
use atsdb_core::value::nearest_real;
use atsdb_core::{Column, ColumnType, CurrentTimes, DefaultFunction, Error, Result, TableDefinition, Value};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::skipped::{SkipNotice, folded};
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr, Ident,
    MySQLColumnPosition, ObjectName, RenameTableNameKind, TableConstraint,
};

/// The number of columns that operations may add.
pub(crate) fn added_count(operations: &[AlterTableOperation]) -> usize {
    operations.iter().filter(|operation| matches!(operation, AlterTableOperation::AddColumn { .. })).count()
}

/// Returns the definition after all operations, applied one after the other by a statement with these current times.
/// Operations that `IF EXISTS` or `IF NOT EXISTS` skips are added to `skipped`. The value of older rows in a new mapped
/// column is still text.
pub(crate) fn altered(
    from: &TableDefinition,
    operations: &[AlterTableOperation],
    times: CurrentTimes,
    skipped: &mut Vec<SkipNotice>,
) -> Result<TableDefinition> {
    let place = format!("table {}", from.name);
    // An unknown column is already reported with its table.
    let in_place = |error| match as_sql_error(error) {
        error if error.message().starts_with(&format!("{place}:")) => error,
        error => error.context(&place),
    };
    let step = |definition, operation| alter(from, definition, operation, times, skipped);
    let definition = operations.iter().try_fold(from.clone(), step).map_err(in_place)?;
    definition.check().map_err(as_sql_error)?;
    Ok(definition)
}

fn alter(
    from: &TableDefinition,
    mut definition: TableDefinition,
    operation: &AlterTableOperation,
    times: CurrentTimes,
    skipped: &mut Vec<SkipNotice>,
) -> Result<TableDefinition> {
    use AlterTableOperation as Do;
    match operation {
        Do::AddColumn { if_not_exists, column_def, column_position, .. } => {
            let is_there = definition.column(&column_def.name.value).is_ok();
            if is_there && *if_not_exists {
                skipped.push(skip("42701", "column", &column_def.name, from, "already exists"));
                return Ok(definition);
            }
            return add_column(definition, column_def, column_position.as_ref(), times);
        }
        Do::DropColumn { column_names, if_exists, .. } => {
            for name in column_names {
                if definition.column(&name.value).is_err() && *if_exists {
                    skipped.push(skip("00000", "column", name, from, "does not exist"));
                } else {
                    drop_column(&mut definition, &name.value)?;
                }
            }
        }
        Do::RenameColumn { old_column_name, new_column_name } => {
            let position = definition.position(&old_column_name.value)?;
            rename_column(&mut definition, position, &new_column_name.value)?;
        }
        Do::RenameTable { table_name: RenameTableNameKind::As(name) | RenameTableNameKind::To(name) } => {
            rename_table(&mut definition, name)?;
        }
        Do::AlterColumn { column_name, op } => alter_column(&mut definition, &column_name.value, op)?,
        Do::ModifyColumn { col_name, data_type, options, column_position } => {
            redeclare(&mut definition, col_name, col_name, data_type, options)?;
            place(&mut definition, &col_name.value, column_position.as_ref())?;
        }
        Do::ChangeColumn { old_name, new_name, data_type, options, column_position } => {
            redeclare(&mut definition, old_name, new_name, data_type, options)?;
            place(&mut definition, &new_name.value, column_position.as_ref())?;
        }
        Do::SetOptionsParens { options } => {
            definition = TableOptions::read(options)?.amend(from, definition)?;
        }
        Do::AddConstraint { constraint, not_valid } => add_constraint(&mut definition, constraint, *not_valid)?,
        Do::ValidateConstraint { name } => validate_constraint(&mut definition, name)?,
        Do::DropIndex { name } => drop_index(&mut definition, &name.value)?,
        Do::DropConstraint { if_exists, name, .. } => {
            if !drop_constraint(&mut definition, name, *if_exists)? {
                skipped.push(skip("00000", "constraint", name, from, "does not exist"));
            }
        }
        Do::DropPrimaryKey { .. } => drop_primary_key(&mut definition)?,
        other => return Err(not_supported(format_args!("ALTER TABLE ... {other}"))),
    }
    Ok(definition)
}

/// Returns PostgreSQL's notice about an operation on a table that is skipped: `what` is the kind of the object, and
/// `why` the reason.
fn skip(sqlstate: &'static str, what: &str, name: &Ident, table: &TableDefinition, why: &str) -> SkipNotice {
    let (name, table) = (folded(name), table.local_name());
    SkipNotice { sqlstate, message: format!("{what} \"{name}\" of relation \"{table}\" {why}, skipping") }
}

/// Adds the constraint of an `ADD CONSTRAINT`, perhaps `NOT VALID`.
fn add_constraint(definition: &mut TableDefinition, constraint: &TableConstraint, not_valid: bool) -> Result<()> {
    let mut constraints = Constraints::default();
    constraints.table_constraint(constraint)?;
    if not_valid {
        constraints = constraints.without_validation()?;
    }
    add_constraints(definition, constraints)
}

fn drop_primary_key(definition: &mut TableDefinition) -> Result<()> {
    if definition.unique.first().is_none_or(|unique| !unique.primary) {
        return Err(sql_error("there is no primary key"));
    }
    drop_key(definition, 0);
    Ok(())
}

/// Adds keys, indexes, CHECK constraints and foreign keys. The engine checks later that existing rows satisfy them. The
/// primary key is also the series key of a table that has none.
fn add_constraints(definition: &mut TableDefinition, constraints: Constraints) -> Result<()> {
    constraints.apply(definition)?;
    if definition.key.is_empty() {
        definition.key = series_key_of_primary(definition);
    }
    Ok(())
}

fn add_column(
    definition: TableDefinition,
    declared: &ColumnDef,
    position: Option<&MySQLColumnPosition>,
    times: CurrentTimes,
) -> Result<TableDefinition> {
    let mut constraints = Constraints::default();
    let owner = format!("column {}", declared.name.value);
    let mut definition = with_column(definition, declared, &owner, &mut constraints)?;
    if !constraints.is_empty() {
        add_constraints(&mut definition, constraints)?;
    }
    if let Some(column) = definition.columns.last_mut() {
        if column.identity.is_some() {
            return Err(not_supported("ADD COLUMN of an identity").with_hint(
                "declare it in CREATE TABLE and INSERT INTO that table SELECT the rows; or ADD COLUMN, UPDATE, SET NOT \
                 NULL and ADD GENERATED ... AS IDENTITY, each as a statement",
            ));
        }
        if column.sequence.is_some() {
            return Err(not_supported("ADD COLUMN with numbers of a sequence").with_hint(
                "ADD COLUMN without a default, UPDATE, and ALTER COLUMN ... SET DEFAULT nextval('s'), each as a statement",
            ));
        }
        if !column.nullable && !column.has_default_value() {
            return Err(sql_error(format!("column {} is NOT NULL, but existing rows have no value", column.name))
                .with_hint("give a default: NOT NULL DEFAULT VALUE"));
        }
        column.missing = match column.default_function {
            Some(function) => Some(value_of_older_rows(column, function, times)?),
            None => column.default.clone().map(|value| stored_value(column, value)).transpose()?,
        };
    }
    place(&mut definition, &declared.name.value, position)?;
    Ok(definition)
}

/// The one value that existing rows get from a default value.
fn stored_value(column: &Column, value: Value) -> Result<Value> {
    match (column.length, value) {
        (Some(length), Value::Text(text)) => Ok(Value::Text(length.stored(&text)?.to_owned())),
        (_, value) => Ok(value),
    }
}

/// The one value that existing rows get from a default function.
fn value_of_older_rows(column: &Column, function: DefaultFunction, times: CurrentTimes) -> Result<Value> {
    if function == DefaultFunction::GenRandomUuid {
        return Err(not_supported("ADD COLUMN with a UUID for each row").with_hint(
            "ADD COLUMN without a default, UPDATE, and ALTER COLUMN ... SET DEFAULT gen_random_uuid(), each as a \
             statement",
        ));
    }
    let time = function.time(times, column.column_type).map(Value::Int);
    time.ok_or_else(|| sql_error(format!("column {}: the current time is out of range", column.name)))
}

/// Gives a table another name in its schema.
fn rename_table(definition: &mut TableDefinition, name: &ObjectName) -> Result<()> {
    let TableName { schema, name } = TableName::of(name)?;
    let own = definition.schema.take();
    let stays = match (&schema, &own) {
        (NamedSchema::Unsaid, _) | (NamedSchema::Public, None) => true,
        (NamedSchema::Other(schema), Some(own)) => same_name(schema, own),
        _ => false,
    };
    if !stays {
        return Err(sql_error("RENAME TO takes a name in the same schema")
            .with_hint("ALTER TABLE name SET SCHEMA schema moves a table to another one"));
    }
    definition.rename(own.as_deref(), &name);
    Ok(())
}

/// Gives a column another name, also in the conditions of CHECK constraints.
fn rename_column(definition: &mut TableDefinition, position: usize, name: &str) -> Result<()> {
    let column = &mut definition.columns[position];
    if column.name == name {
        return Ok(());
    }
    let (id, before) = (column.id, std::mem::replace(&mut column.name, name.to_owned()));
    rename_in_checks(definition, id, &before, name)
}

/// Moves a column to the position given by MySQL's `FIRST` or `AFTER`.
fn place(definition: &mut TableDefinition, name: &str, position: Option<&MySQLColumnPosition>) -> Result<()> {
    let Some(position) = position else { return Ok(()) };
    let column = definition.columns.remove(definition.position(name)?);
    let at = match position {
        MySQLColumnPosition::First => 0,
        MySQLColumnPosition::After(before) => definition.position(&before.value)? + 1,
    };
    definition.columns.insert(at, column);
    Ok(())
}

/// Takes a column out of a definition, and with it the keys, the indexes and the constraints over it.
pub(crate) fn drop_column(definition: &mut TableDefinition, name: &str) -> Result<()> {
    let position = definition.position(name)?;
    let (id, column) = (definition.columns[position].id, definition.columns[position].name.clone());
    let refusal = |what: &str| sql_error(format!("column {column} cannot be dropped: {what}"));
    if definition.time.is_some_and(|time| time.column == id) {
        return Err(refusal("it is the time column"));
    }
    if definition.columns.len() == 1 {
        return Err(refusal("it is the only one"));
    }
    while let Some(key) = definition.unique.iter().position(|unique| unique.columns.contains(&id)) {
        drop_key(definition, key);
    }
    definition.indexes.retain(|index| !index.columns.contains(&id));
    if definition.key.contains(&id) {
        let hint = "ALTER TABLE ... SET (sort = 'COLUMN, ...') first, or RESET (sort)";
        return Err(refusal("it is part of the series key").with_hint(hint));
    }
    // Its number is not reused, because chunks still have pages of it.
    definition.columns_given = definition.next_column_id().0;
    definition.columns.remove(position);
    definition.drop_checks_of(id);
    definition.drop_foreign_keys_of(id);
    Ok(())
}

fn alter_column(definition: &mut TableDefinition, name: &str, operation: &AlterColumnOperation) -> Result<()> {
    use AlterColumnOperation as Do;
    let position = definition.position(name)?;
    let bound = takes_no_null(definition, position);
    let column = &mut definition.columns[position];
    let place = format!("column {}", column.name);
    if column.identity.is_some() && matches!(operation, Do::SetDefault { .. } | Do::DropDefault | Do::DropNotNull) {
        return Err(sql_error(format!("column \"{}\" is an identity column", column.name))
            .with_hint(format!("ALTER TABLE ... ALTER COLUMN {} DROP IDENTITY first", column.name)));
    }
    match operation {
        Do::SetDataType { .. } if column.enumeration.is_some() => {
            return Err(other_type_of_labels(column));
        }
        Do::SetDataType { data_type, using, .. }
            if using.as_ref().is_none_or(|using| casts(using, column, data_type)) =>
        {
            widen(column, column_type(data_type, &place)?)?;
            column.length = text_length(data_type, &place)?;
        }
        Do::SetDefault { value } => set_default(column, value).map_err(|error| error.context(place))?,
        Do::DropDefault => drop_default(column),
        Do::DropNotNull => match bound {
            Some(why) => return Err(sql_error(format!("{place} must stay NOT NULL: it is {why}"))),
            None => column.nullable = true,
        },
        Do::SetNotNull => column.nullable = false,
        other => return Err(not_supported(format_args!("ALTER COLUMN {name} {other}"))),
    }
    Ok(())
}

/// Returns whether a `USING` is the column itself or its cast to the new type, which happens without it.
fn casts(using: &Expr, column: &Column, to: &DataType) -> bool {
    match using {
        Expr::Identifier(name) => same_name(&name.value, &column.name),
        Expr::Nested(inner) => casts(inner, column, to),
        Expr::Cast { expr, data_type, .. } if data_type == to => casts(expr, column, to),
        _ => false,
    }
}

/// The reason why a column can never be NULL, if there is one.
fn takes_no_null(definition: &TableDefinition, position: usize) -> Option<&'static str> {
    let id = definition.columns[position].id;
    if definition.time.is_some_and(|time| time.column == id) {
        return Some("the time column");
    }
    let primary = definition.unique.iter().find(|unique| unique.primary);
    primary.filter(|unique| unique.columns.contains(&id)).map(|_| "part of the primary key")
}

/// Redeclares a whole column: MySQL's `MODIFY` and `CHANGE`.
fn redeclare(
    definition: &mut TableDefinition,
    name: &Ident,
    new_name: &Ident,
    data_type: &DataType,
    options: &[ColumnOption],
) -> Result<()> {
    let position = definition.position(&name.value)?;
    let bound = takes_no_null(definition, position).is_some();
    let options = options.iter().map(|option| ColumnOptionDef { name: None, option: option.clone() }).collect();
    let declared = ColumnDef { name: new_name.clone(), data_type: data_type.clone(), options };
    let mut constraints = Constraints::default();
    let place = format!("column {}", new_name.value);
    let alone = with_column(TableDefinition::new(&definition.name), &declared, &place, &mut constraints)?;
    rename_column(definition, position, &new_name.value)?;
    let column = &mut definition.columns[position];
    for declared in alone.columns {
        if declared.enumeration.is_some() {
            return Err(unsupported(data_type, &place));
        }
        widen(column, declared.column_type)?;
        column.length = declared.length;
        column.nullable = declared.nullable && !bound;
        (column.default, column.default_function) = (declared.default, declared.default_function);
        column.sequence = declared.sequence;
        if let Some(identity) = declared.identity.or(column.identity) {
            make_identity(column, identity)?;
        }
    }
    if constraints.is_empty() { Ok(()) } else { add_constraints(definition, constraints) }
}

fn other_type_of_labels(column: &Column) -> Error {
    not_supported(format_args!("another type for column {} of an enumerated type", column.name))
        .with_hint("ADD COLUMN of the new type, UPDATE, and DROP COLUMN, each as a statement")
}

/// Changes a column to a type that includes every value of its present type.
fn widen(column: &mut Column, to: ColumnType) -> Result<()> {
    if column.enumeration.is_some() {
        return Err(other_type_of_labels(column));
    }
    use ColumnType as T;
    const FAMILIES: [&[ColumnType]; 3] = [
        &[T::Int8, T::Int16, T::Int32, T::Int64],
        &[T::UInt8, T::UInt16, T::UInt32, T::UInt64],
        &[T::Float32, T::Float64],
    ];
    let from = column.column_type;
    let rank = |family: &[ColumnType], of: ColumnType| family.iter().position(|member| *member == of);
    let wider = FAMILIES.iter().any(|family| match (rank(family, from), rank(family, to)) {
        (Some(from), Some(to)) => from < to,
        _ => false,
    });
    let has_more_digits = match (from, to) {
        (T::Decimal { precision, scale }, T::Decimal { precision: wider, scale: same }) => {
            precision < wider && scale == same && from.stored() == to.stored()
        }
        _ => false,
    };
    if from != to && !wider && !has_more_digits {
        return Err(sql_error(format!(
            "column {} of type {} cannot be converted to {}",
            column.name,
            from.sql_name(),
            to.sql_name()
        ))
        .with_hint(
            "a column can get a wider type of its family; for any other type ADD COLUMN, UPDATE, and DROP COLUMN",
        ));
    }
    if let (T::Float32, T::Float64, Some(Value::Float(value))) = (from, to, &mut column.missing) {
        // Older rows have the number that the column held so far.
        *value = f64::from(nearest_real(*value));
    }
    column.column_type = to;
    Ok(())
}
