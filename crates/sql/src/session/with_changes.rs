//! Statements whose `WITH` has items that change rows. All parts see the state before the statement; each item is
//! executed once and completely; they are one batch, all or nothing. If several parts change a row, the first one does.
//! The rows of `RETURNING`, and those of the answer, are held in memory until the batch is committed.

use super::insert_on_conflict::InsertOutcome;
use super::state::Session;
use crate::dml::change::{Change, ChangeKind};
use crate::dml::conflict::ConflictAction;
use crate::dml::target::Target;
use crate::run::answer::{Answer, AnswerRows, ColumnsCheck};
use crate::run::permission::Permission;
use crate::run::query::Query;
use crate::run::with_rows::{CollectedBytes, ItemRows, StepRequest};
use crate::run::worker::Started;
use crate::write::earlier_changes::EarlierChanges;
use crate::write::returning::StatementContext;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::{ConflictPolicy, Error, Result, SearchPath, Table, TableId};
use atsdb_dialect::parse::statement::items_of_with;
use atsdb_dialect::parse::with_clause::may_change_in_with;
use atsdb_dialect::parse::with_steps::{WithItem, WithStep};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::table_names::Scope;
use atsdb_engine::{Batch, ReadSnapshot};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The result of one step.
enum StepOutcome {
    Inserted(InsertOutcome),
    Answered(Answer),
}

impl Session {
    /// Executes a statement whose `WITH` changes rows; `None` if it is another statement.
    pub(super) fn with_changes(
        &self,
        statement: &Statement,
        parameters: &Parameters,
        check: ColumnsCheck<'_>,
    ) -> Result<Option<Answer>> {
        if !may_change_in_with(statement.text()) {
            return Ok(None);
        }
        let (tables, path) = (self.tables()?, self.search_path());
        let Some(items) = self.items_of_with(statement, parameters, tables, path)? else { return Ok(None) };
        self.require(Permission::Change)?;
        let outcome = self.with_batch_retried(|batch| {
            let snapshot = batch.snapshot()?;
            let bytes = CollectedBytes::new(self.options.memory_bytes);
            let has_several = items.iter().any(|item| item.is_one_of_changes);
            let touched = TouchedTables { has_several, ..TouchedTables::default() };
            let steps = Steps { session: self, statement, parameters, snapshot, bytes, touched };
            let outcome = steps.run(batch, &items)?;
            outcome.check_columns(check)?;
            Ok(outcome)
        })?;
        Ok(Some(match outcome {
            StepOutcome::Inserted(inserted) => inserted.answer(),
            StepOutcome::Answered(answer) => answer,
        }))
    }

    /// The items of a statement's `WITH` that are executed one by one; `None` if none of them changes rows.
    pub(super) fn items_of_with(
        &self,
        statement: &Statement,
        parameters: &Parameters,
        tables: Vec<Table>,
        path: SearchPath,
    ) -> Result<Option<Vec<WithItem>>> {
        let (text, position, parameters) = (statement.text().to_owned(), statement.position(), parameters.clone());
        self.worker.plan(move |_| items_of_with(&text, position, &parameters, Scope { tables: &tables, path: &path }))
    }
}

/// The items whose rows are known.
#[derive(Default)]
struct KnownItems {
    positions: Vec<usize>,
    rows: Vec<Arc<ItemRows>>,
}

impl KnownItems {
    /// The request of a step that may read them.
    fn request(&self, item: Option<usize>) -> StepRequest {
        StepRequest { step: WithStep { item, known: self.positions.clone() }, rows: self.rows.clone() }
    }
}

/// The parts of one statement.
struct Steps<'a> {
    session: &'a Session,
    statement: &'a Statement,
    parameters: &'a Parameters,
    /// The state before the statement.
    snapshot: ReadSnapshot,
    bytes: CollectedBytes,
    touched: TouchedTables,
}

impl Steps<'_> {
    fn run(mut self, batch: &mut Batch, items: &[WithItem]) -> Result<StepOutcome> {
        let (after, before): (Vec<&WithItem>, Vec<&WithItem>) = items.iter().partition(|item| item.runs_after);
        let mut known = KnownItems::default();
        for item in before {
            self.item(batch, item, &mut known)?;
        }
        let outcome = self.step(batch, known.request(None))?;
        for item in after {
            self.item(batch, item, &mut known)?;
        }
        Ok(outcome)
    }

    fn item(&mut self, batch: &mut Batch, item: &WithItem, known: &mut KnownItems) -> Result<()> {
        let outcome = self.step(batch, known.request(Some(item.position)));
        let outcome = outcome.map_err(|error| error.context(format_args!("{} of WITH", item.name)))?;
        if let (Some((schema, batches)), true) = (outcome.into_rows()?, item.has_rows) {
            known.positions.push(item.position);
            known.rows.push(Arc::new(ItemRows::new(item, &schema, batches)?));
        }
        Ok(())
    }

    fn step(&mut self, batch: &mut Batch, step: StepRequest) -> Result<StepOutcome> {
        let session = self.session;
        let query = Query {
            text: self.statement.text().to_owned(),
            position: self.statement.position(),
            parameters: self.parameters.clone(),
            snapshot: self.snapshot.clone(),
            files: session.query_files(),
            scope: None,
        };
        let worker = Arc::clone(&session.worker);
        let Started { insert, change, rows, spellings } = worker.start_step(query, step, &session.interrupt)?;
        let (snapshot, parameters) = (self.snapshot.clone(), self.parameters);
        let context = StatementContext { worker, interrupt: &session.interrupt, snapshot, spellings, parameters };
        let rows = AnswerRows::query(rows);
        match (insert, change) {
            (Some(target), _) => {
                let (table, _) = target.resolve_among(self.snapshot.tables())?;
                self.touched.note_insert(&table, &target)?;
                let outcome = session.insert_into(batch, &table, &target, rows, &context)?;
                if let InsertOutcome::Answered(rows) = &outcome {
                    self.bytes.add(rows)?;
                }
                Ok(StepOutcome::Inserted(outcome))
            }
            (None, Some(change)) => {
                let earlier = self.touched.note_change(&change, &self.snapshot)?;
                // Rows that another part has added must stay, so the table is not simply emptied.
                let kind = if change.kind == ChangeKind::Empty { ChangeKind::Delete } else { change.kind };
                let answer = session.apply_change(batch, &Change { kind, ..change }, rows, &context, earlier)?;
                self.held(answer)
            }
            (None, None) => self.held(Answer::Rows(rows)),
        }
    }

    /// Reads all rows of an answer: a query that fails must undo the changes.
    fn held(&mut self, answer: Answer) -> Result<StepOutcome> {
        Ok(StepOutcome::Answered(match answer {
            Answer::Rows(rows) => {
                let schema = rows.schema();
                Answer::Rows(AnswerRows::read(schema, self.bytes.collect(rows)?))
            }
            done @ Answer::Done { .. } => done,
        }))
    }
}

impl StepOutcome {
    /// Checks the columns of the answer, if it has rows.
    fn check_columns(&self, check: ColumnsCheck<'_>) -> Result<()> {
        match self {
            Self::Inserted(inserted) => inserted.check_columns(check),
            Self::Answered(answer) => answer.check_columns(check),
        }
    }

    /// The rows of an item.
    fn into_rows(self) -> Result<Option<(SchemaRef, Vec<RecordBatch>)>> {
        match self {
            Self::Inserted(InsertOutcome::Answered(rows)) => Ok(Some((rows.schema(), vec![rows]))),
            Self::Answered(Answer::Rows(rows)) => Ok(Some((rows.schema(), rows.collect::<Result<_>>()?))),
            Self::Inserted(InsertOutcome::Counted(..)) | Self::Answered(Answer::Done { .. }) => Ok(None),
        }
    }
}

/// The tables that the parts so far have changed. A part finds its rows in the state before the statement.
#[derive(Default)]
struct TouchedTables {
    /// Whether the statement has several parts that change existing rows.
    has_several: bool,
    /// Tables whose rows several parts may change.
    changed: HashMap<TableId, EarlierChanges>,
    /// Tables whose existing rows were changed in another way, which must be the only one.
    changed_once: BTreeSet<TableId>,
    added_to: BTreeSet<TableId>,
}

impl TouchedTables {
    fn note_insert(&mut self, table: &Table, target: &Target) -> Result<()> {
        let only_adds = match target.on_duplicate.meaning(table)? {
            ConflictAction::Policy(ConflictPolicy::Error | ConflictPolicy::Keep) => true,
            ConflictAction::Policy(_) => !table.definition.has_unique(),
            ConflictAction::Decide(_, update) => update.is_none(),
        };
        match only_adds {
            true => {
                self.added_to.insert(table.id);
                Ok(())
            }
            false => self.note_once(table, self.added_to.contains(&table.id)),
        }
    }

    /// The changes of earlier parts in the table, if other parts may change rows of it.
    fn note_change(&mut self, change: &Change, snapshot: &ReadSnapshot) -> Result<Option<&mut EarlierChanges>> {
        let (table, definition) = (&change.table, &change.table.definition);
        // A table in memory has no chunks: its rows are found in its latest state.
        if definition.is_in_memory() {
            return self.note_once(table, self.added_to.contains(&table.id)).map(|()| None);
        }
        let refers = |other: &Table| other.definition.foreign_keys.iter().any(|key| key.parent.is_of(definition));
        let has_references = !definition.foreign_keys.is_empty() || snapshot.tables().iter().any(refers);
        if change.merge.is_some() || has_references {
            return self.note_once(table, false).map(|()| None);
        }
        if self.changed_once.contains(&table.id) {
            return Err(changed_twice(table));
        }
        let earlier = self.changed.entry(table.id).or_default();
        Ok(self.has_several.then_some(earlier))
    }

    fn note_once(&mut self, table: &Table, is_late: bool) -> Result<()> {
        if is_late || self.changed.contains_key(&table.id) || !self.changed_once.insert(table.id) {
            return Err(changed_twice(table));
        }
        Ok(())
    }
}

fn changed_twice(table: &Table) -> Error {
    sql_error(format!("two parts of the statement change rows of table {}", table.definition.name))
        .with_hint("a row can change only once in a statement: write BEGIN, a statement for each change, COMMIT")
}
