//! `CREATE SEQUENCE`, `DROP SEQUENCE` and new names of sequences, and the columns that take their numbers.

use super::dependents::require_same;
use super::state::Session;
use crate::ddl::sequences::{CreateSequence, SequenceStatement};
use crate::run::answer::Answer;
use atsdb_core::search_path::is_public;
use atsdb_core::{Error, ErrorKind, QualifiedName, Result, Table, TableDefinition};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error, unknown_sequence};
use atsdb_dialect::text::sequence_names::{find_sequence, sequence_name};
use atsdb_dialect::text::table_names::{Scope, TEMPORARY_SCHEMA, TableName};
use atsdb_engine::{OnCommit, TemporaryTables};
use datafusion::sql::sqlparser::ast::ObjectName;

impl Session {
    pub(super) fn sequence_statement(&self, statement: &SequenceStatement) -> Result<Answer> {
        match statement {
            SequenceStatement::Create(create) => self.create_sequence(create),
            SequenceStatement::Drop { names, if_exists, cascade } => self.drop_sequences(names, *if_exists, *cascade),
            SequenceStatement::Rename { name, if_exists, to } => self.rename_sequence(name, *if_exists, |definition| {
                let schema = definition.schema.clone();
                definition.rename(schema.as_deref(), to);
                Ok(())
            }),
            SequenceStatement::Move { name, if_exists, schema } => {
                if self.sequence_named(name)?.is_some_and(|sequence| TemporaryTables::contain(&sequence)) {
                    return Err(sql_error("cannot move objects into or out of temporary schemas"));
                }
                let schema = if is_public(schema) { None } else { Some(self.schema_named(schema)?) };
                self.rename_sequence(name, *if_exists, |definition| {
                    let name = definition.local_name().to_owned();
                    definition.rename(schema.as_deref(), &name);
                    Ok(())
                })
            }
        }
    }

    fn create_sequence(&self, create: &CreateSequence) -> Result<Answer> {
        let done = Answer::Done { verb: "CREATE SEQUENCE", row_count: None };
        let name = self.new_name(&create.name, create.is_temporary)?;
        let definition = name.give(TableDefinition::new_sequence("", create.column_type, create.identity));
        definition.check().map_err(as_sql_error)?;
        if self.of_same_kind(&name, create.is_temporary)?.is_some() {
            let shown = &definition.name;
            return match create.if_not_exists {
                true => {
                    self.skip_existing(&create.name);
                    Ok(done)
                }
                false => Err(Error::new(ErrorKind::Exists, format!("relation {shown} already exists"))
                    .with_hint("CREATE SEQUENCE IF NOT EXISTS leaves it as it is")),
            };
        }
        self.create_kept(&definition, create.is_temporary.then(OnCommit::default))?;
        Ok(done)
    }

    /// A sequence of its own, not that of a column.
    fn sequence_named(&self, name: &ObjectName) -> Result<Option<Table>> {
        let (tables, path) = (self.tables()?, self.search_path());
        let found = TableName::of(name)?.find_by(&path, &tables);
        match found {
            Some(table) if table.definition.sequence => Ok(Some(table.clone())),
            Some(table) => Err(sql_error(format!("{} is not a sequence", table.definition.name))),
            None => match find_sequence(Scope { tables: &tables, path: &path }, &name.to_string()) {
                Some((table, position)) => {
                    let (table, column) = (&table.definition.name, &table.definition.columns[position].name);
                    Err(sql_error(format!("{name} is the sequence of column {column} of table {table}"))
                        .with_hint(format!("ALTER TABLE {table} ALTER COLUMN {column} DROP IDENTITY removes it")))
                }
                None => Ok(None),
            },
        }
    }

    /// Drops sequences, all or none. Columns that take their numbers are an error without `cascade`, and with it they
    /// have no default any more.
    fn drop_sequences(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Answer> {
        self.retried(|| self.drop_sequences_once(names, if_exists, cascade))
    }

    fn drop_sequences_once(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Answer> {
        let mut dropped: Vec<Table> = Vec::new();
        for name in names {
            match self.sequence_named(name)? {
                Some(sequence) if dropped.iter().all(|other| other.id != sequence.id) => dropped.push(sequence),
                Some(_) => {}
                None if if_exists => self.skip_missing("sequence", name),
                None => return Err(unknown_sequence(&name.to_string())),
            }
        }
        let changed = self.without_defaults(&dropped, cascade)?;
        self.with_batch(|batch| {
            // A column that has become dependent on a sequence since has given it another version.
            let present = batch.tables()?;
            let is_dropped = |table: &&Table| dropped.iter().any(|other| other.id == table.id);
            require_same(dropped.iter(), present.iter().filter(is_dropped))?;
            changed.iter().try_for_each(|(table, to)| batch.redefine(table, to.clone()).map(drop))?;
            dropped.iter().try_for_each(|sequence| batch.drop_table(sequence))
        })?;
        Ok(Answer::Done { verb: "DROP SEQUENCE", row_count: None })
    }

    /// The tables whose columns take numbers of sequences that are to be dropped, without these defaults. Without
    /// `cascade`, there may be none.
    pub(super) fn without_defaults(&self, dropped: &[Table], cascade: bool) -> Result<Vec<(Table, TableDefinition)>> {
        let is_dropped = |table: &Table| dropped.iter().any(|other| other.id == table.id);
        let mut changed = Vec::new();
        for table in self.tables()?.into_iter().filter(|table| !is_dropped(table)) {
            let mut definition = table.definition.clone();
            for column in &mut definition.columns {
                let Some(name) = &column.sequence else { continue };
                let Some(sequence) = dropped.iter().find(|sequence| is_sequence(sequence, name)) else { continue };
                if !cascade {
                    let (name, column, table) = (&sequence.definition.name, &column.name, &table.definition.name);
                    let message = format!("cannot drop sequence {name} because other objects depend on it");
                    return Err(sql_error(format!("{message}: the default of column {column} of table {table}"))
                        .with_hint("DROP SEQUENCE ... CASCADE removes the default, too"));
                }
                column.sequence = None;
            }
            if definition != table.definition {
                changed.push((table, definition));
            }
        }
        Ok(changed)
    }

    /// Gives a sequence another name, also in the columns that take its numbers.
    fn rename_sequence(
        &self,
        name: &ObjectName,
        if_exists: bool,
        rename: impl Fn(&mut TableDefinition) -> Result<()>,
    ) -> Result<Answer> {
        let done = Answer::Done { verb: "ALTER SEQUENCE", row_count: None };
        let Some(sequence) = self.sequence_named(name)? else {
            if !if_exists {
                return Err(unknown_sequence(&name.to_string()));
            }
            self.skip_missing("relation", name);
            return Ok(done);
        };
        let mut renamed = sequence.definition.clone();
        rename(&mut renamed)?;
        renamed.check().map_err(as_sql_error)?;
        self.check_sequence_names(&renamed)?;
        let tables = self.tables()?;
        self.with_batch_retried(|batch| {
            batch.redefine(&sequence, renamed.clone())?;
            for table in &tables {
                let mut definition = table.definition.clone();
                for column in &mut definition.columns {
                    if column.sequence.as_ref().is_some_and(|name| is_sequence(&sequence, name)) {
                        column.sequence = Some(renamed.qualified_name());
                    }
                }
                if definition != table.definition {
                    batch.redefine(table, definition)?;
                }
            }
            Ok(())
        })?;
        Ok(done)
    }

    /// Refuses a sequence with the name that a column's sequence has, and a column whose sequence would have the name
    /// of another one.
    pub(super) fn check_sequence_names(&self, definition: &TableDefinition) -> Result<()> {
        let of_columns = |definition: &TableDefinition| -> Vec<QualifiedName> {
            let positions = definition.identities().map(|(position, _)| position).filter(|_| !definition.sequence);
            let name = |at: usize| sequence_name(definition.local_name(), &definition.columns[at].name);
            positions.map(|at| QualifiedName { schema: definition.schema.clone(), name: name(at) }).collect()
        };
        let own = of_columns(definition);
        if own.is_empty() && !definition.sequence {
            return Ok(());
        }
        for other in self.tables()?.iter().filter(|other| !TemporaryTables::contain(other)) {
            let other = &other.definition;
            let taken = match definition.sequence {
                true => of_columns(other).into_iter().find(|name| name.is_of(definition)),
                false => own.iter().find(|name| other.sequence && name.is_of(other)).cloned(),
            };
            if let Some(name) = taken {
                let message = format!("relation {} already exists", name.name);
                return Err(Error::new(ErrorKind::Exists, message)
                    .with_hint("a column that numbers the rows has a sequence TABLE_COLUMN_seq: choose other names"));
            }
        }
        Ok(())
    }

    /// Looks up the sequences that new defaults of a table name. `before` is its definition until now.
    pub(super) fn find_sequences(&self, definition: &mut TableDefinition, before: Option<&Table>) -> Result<()> {
        let is_new = |column: &atsdb_core::Column| {
            let before = before.and_then(|table| table.definition.column_by_id(column.id));
            column.sequence.is_some() && before.is_none_or(|before| before.sequence != column.sequence)
        };
        if !definition.columns.iter().any(is_new) {
            return Ok(());
        }
        let (tables, path) = (self.tables()?, self.search_path());
        for column in definition.columns.iter_mut().filter(|column| is_new(column)) {
            let Some(QualifiedName { schema, name }) = &column.sequence else { continue };
            let wanted = TableName::of_parts(schema.as_deref(), name);
            let found = wanted.find_by(&path, &tables).filter(|table| table.definition.sequence);
            let found =
                found.ok_or_else(|| unknown_sequence(&wanted.to_string()).with_hint("CREATE SEQUENCE first"))?;
            if TemporaryTables::contain(found) {
                return Err(not_supported(format_args!("a default with numbers of a sequence in {TEMPORARY_SCHEMA}")));
            }
            column.sequence = Some(found.definition.qualified_name());
        }
        definition.check().map_err(as_sql_error)
    }
}

/// Returns whether a table is the stored sequence of this name.
fn is_sequence(table: &Table, name: &QualifiedName) -> bool {
    table.definition.sequence && !TemporaryTables::contain(table) && name.is_of(&table.definition)
}
