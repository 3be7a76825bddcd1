//! Generates histories from seeds.

use crate::action::{Action, Fault, FaultKind, HistoryStep, REFERENCES_FAMILY};
use crate::references::{AMOUNTS_END, Child, KeyClauses, MOODS_END, ReferenceChange};
use crate::setting::{Language, PROCESSES, SESSIONS};
use crate::subject::{Alteration, Cells, Policy, ROLLUP_NAMES, RowSelection, Shape, Summary, TABLE_NAMES, WhichBackup};
use atsdb_core::{Initially, ReferentialAction};
use atsdb_testkit::sample::Random;

/// The maximum number of steps of a history, after those that create its tables.
const STEPS_MAX: u64 = 30;
/// A history about parents begins with those below this number.
const FIRST_PARENTS: i64 = 3;
/// Sessions from this number on have no transactions: they act while others stall.
const VISITORS: usize = 6;

/// The main theme of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Theme {
    Anything,
    Rollups,
    Residents,
    Backups,
    References,
}

/// Returns the history of a seed.
pub fn history(seed: u64, language: Language) -> Vec<HistoryStep> {
    let mut generator =
        Generator { random: Random::new(seed), batches: Vec::new(), families: 1, theme: Theme::Anything, language };
    // A history that leaves some kinds of actions out has more of the others.
    for family in 1..32 {
        generator.families |= u32::from(generator.below(5) < 3) << family;
    }
    let theme_count = if language == Language::Sql { 8 } else { 6 };
    generator.theme = match (generator.below(theme_count), language) {
        (0 | 1, Language::Sql) => Theme::Rollups,
        (2, Language::Sql) | (0 | 1, Language::Calls) => Theme::Residents,
        (3, _) => Theme::Backups,
        (4 | 5, Language::Sql) => Theme::References,
        _ => Theme::Anything,
    };
    // Few tables, so that sessions often work on the same one.
    let tables = 1 + generator.below(2) as usize;
    let mut steps: Vec<HistoryStep> =
        (0..tables).map(|table| HistoryStep { action: generator.create(table), fault: None }).collect();
    if generator.theme == Theme::Rollups {
        steps.push(HistoryStep { action: generator.create_rollup(0), fault: None });
    }
    if generator.theme == Theme::References {
        generator.families |= 1 << REFERENCES_FAMILY;
        let declared = ReferenceChange::Declare(generator.key_clauses(true));
        for change in [declared, ReferenceChange::AddParents((0..FIRST_PARENTS).collect())] {
            steps.push(HistoryStep { action: Action::Refer { session: 0, change }, fault: None });
        }
    }
    // The probability of a fault, in thousandths of the steps, which is sometimes zero.
    let fault_rate = [0, 150, 400][generator.below(3) as usize];
    for _ in 0..8 + generator.below(STEPS_MAX - 8) {
        let action = generator.action();
        let fault = (generator.below(1_000) < fault_rate).then(|| generator.fault(&action));
        steps.push(HistoryStep { action, fault });
    }
    steps
}

struct Generator {
    random: Random,
    /// Batches with ids, which may be sent again.
    batches: Vec<Action>,
    /// The kinds of actions that the history contains.
    families: u32,
    theme: Theme,
    language: Language,
}

impl Generator {
    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn session(&mut self) -> usize {
        // Sessions in the same process share the rows of tables in memory.
        if self.theme == Theme::Residents && self.below(3) > 0 {
            return self.one_of(&[0, PROCESSES]);
        }
        // Two transactions that are open at the same time.
        if self.theme == Theme::References && self.below(4) > 0 {
            return self.one_of(&[0, 1]);
        }
        self.below(SESSIONS as u64) as usize
    }

    fn process(&mut self) -> usize {
        self.below(PROCESSES as u64) as usize
    }

    /// Returns a table, mostly one of the first two.
    fn table(&mut self) -> usize {
        match self.below(8) {
            0 => self.below(TABLE_NAMES.len() as u64) as usize,
            other => (other % 2) as usize,
        }
    }

    fn cells(&mut self) -> Cells {
        let number = |random: &mut Random, end: u64| (random.below(6) > 0).then(|| random.below(end) as i64);
        let random = &mut self.random;
        // Tables with keys refuse a sensor that is NULL.
        let sensor = (random.below(40) > 0).then(|| random.below(4) as i64);
        let time = match random.below(4) {
            0 => random.below(96) as i64,
            _ => 60 + random.below(8) as i64,
        };
        Cells { time, sensor, note: number(random, 3), count: number(random, 8), extra: number(random, 3) }
    }

    fn rows(&mut self) -> Vec<Cells> {
        let count = 1 + self.below(5);
        (0..count).map(|_| self.cells()).collect()
    }

    fn row_selection(&mut self) -> RowSelection {
        match self.below(6) {
            0 => RowSelection::All,
            1 => RowSelection::Before(60 + self.below(8) as i64),
            2 => RowSelection::Sensor(self.below(4) as i64),
            3 => RowSelection::NoNote,
            _ => RowSelection::Count(self.below(8) as i64),
        }
    }

    fn policy(&mut self) -> Policy {
        self.one_of(&[Policy::Error, Policy::Replace, Policy::Keep])
    }

    fn create(&mut self, table: usize) -> Action {
        let session = self.session();
        let shape = match self.theme {
            Theme::Rollups => self.one_of(&[Shape::Series, Shape::Keyed, Shape::Expiring, Shape::Expiring]),
            Theme::Residents => {
                self.one_of(&[Shape::Resident, Shape::ResidentCounted, Shape::ResidentCounted, Shape::Series])
            }
            Theme::Anything | Theme::Backups | Theme::References => {
                self.one_of(&[Shape::Plain, Shape::Counted, Shape::Series, Shape::Keyed, Shape::Expiring])
            }
        };
        let policy = if self.below(4) == 0 { Policy::Merge } else { self.policy() };
        Action::Create { session, table, shape, policy, is_checked: self.below(6) == 0 }
    }

    fn alteration(&mut self) -> Alteration {
        match self.below(11) {
            0 | 1 => Alteration::AddColumn((self.below(2) == 0).then(|| self.below(3) as i64)),
            2 => Alteration::DropColumn,
            3 => Alteration::RenameNote,
            4 => Alteration::Rename(self.table()),
            5 => Alteration::Widen,
            6 => Alteration::Retain(self.below(3) as u32),
            7 | 8 => Alteration::Key,
            _ => Alteration::Slice,
        }
    }

    fn append(&mut self, session: usize) -> Action {
        if !self.batches.is_empty() && self.below(8) == 0 {
            let mut again = self.batches[self.random.below(self.batches.len() as u64) as usize].clone();
            if let Action::Append { session: of, .. } = &mut again {
                *of = session;
            }
            return again;
        }
        let policy = if self.below(3) == 0 { Some(self.policy()) } else { None };
        let (table, rows) = (self.table(), self.rows());
        if self.below(6) > 0 || self.batches.len() > 200 {
            return Action::Append { session, table, policy, batch: None, rows };
        }
        let batch = Some(self.batches.len() as u8);
        let append = Action::Append { session, table, policy, batch, rows };
        self.batches.push(append.clone());
        append
    }

    /// Returns an action of a session, which may be part of a transaction.
    fn statement(&mut self, session: usize) -> Action {
        let table = self.table();
        match self.below(26) {
            0..=9 => self.append(session),
            10 => Action::Upsert { session, table, row: self.cells() },
            11..=12 => Action::Delete { session, table, rows: self.row_selection() },
            13..=16 => {
                let note = (self.below(4) > 0).then(|| self.below(3) as i64);
                Action::Update { session, table, rows: self.row_selection(), note }
            }
            17 => Action::Truncate { session, table },
            18 | 19 => Action::Read { session, table },
            20 | 21 => match self.create(table) {
                Action::Create { table, shape, policy, is_checked, .. } => {
                    Action::Create { session, table, shape, policy, is_checked }
                }
                other => other,
            },
            22 => Action::Drop { session, table, cascade: self.below(4) == 0 },
            _ => Action::Alter { session, table, alteration: self.alteration() },
        }
    }

    fn action(&mut self) -> Action {
        loop {
            // Parents and children are few, so that most of such a history is about them.
            let themed = if self.theme == Theme::References { 3 } else { 1 };
            let action = if self.below(4) < themed { self.themed() } else { self.any_action() };
            if self.families >> action.family() & 1 == 1 {
                return action;
            }
        }
    }

    fn create_rollup(&mut self, rollup: usize) -> Action {
        let (session, table) = (self.session(), self.table());
        let summary = Summary { daily: self.below(3) == 0, by_sensor: self.below(2) == 0, notes: self.below(2) == 0 };
        Action::CreateRollup { session, rollup, table, summary }
    }

    /// Returns an action of the history's main theme.
    fn themed(&mut self) -> Action {
        let (session, process) = (self.session(), self.process());
        match self.theme {
            Theme::Anything => self.any_action(),
            Theme::Rollups => self.about_rollups(session),
            Theme::Residents => {
                let table = (self.below(3) == 0).then(|| self.table());
                Action::Checkpoint { session, table }
            }
            Theme::Backups => match self.below(5) {
                0 | 1 => self.back_up(process),
                2 | 3 => self.restore(process),
                _ => Action::Tick { hours: 1 + self.below(12) as i64 },
            },
            Theme::References => self.about_references(session),
        }
    }

    /// Returns an action on parents and children, or a bracket around some.
    fn about_references(&mut self, session: usize) -> Action {
        let change = match self.below(32) {
            0..=2 => return Action::Begin { session },
            3..=6 => return Action::Commit { session },
            7 | 8 => return Action::ReadReferences { session },
            9 => return Action::Seal { process: session % PROCESSES },
            10 | 11 => self.declaration(),
            12 | 13 => ReferenceChange::Refresh,
            14 => ReferenceChange::SetConstraints { deferred: self.below(2) == 0 },
            _ => self.reference_change(),
        };
        Action::Refer { session, change }
    }

    fn referential_action(&mut self) -> ReferentialAction {
        self.one_of(&[
            ReferentialAction::NoAction,
            ReferentialAction::Restrict,
            ReferentialAction::Cascade,
            ReferentialAction::SetNull,
            ReferentialAction::SetDefault,
        ])
    }

    fn key_clauses(&mut self, is_valid: bool) -> KeyClauses {
        KeyClauses {
            on_delete: self.referential_action(),
            on_update: self.referential_action(),
            deferrable: self.one_of(&[None, Some(Initially::Immediate), Some(Initially::Deferred)]),
            is_valid,
        }
    }

    fn declaration(&mut self) -> ReferenceChange {
        match self.below(16) {
            0 => ReferenceChange::Forget,
            1 => ReferenceChange::Declare(self.key_clauses(true)),
            2 | 3 => ReferenceChange::DropParents { cascade: self.below(2) == 0 },
            4 | 5 => ReferenceChange::CreateParents,
            6 => ReferenceChange::DropKey,
            7 | 8 => {
                let is_valid = self.below(2) == 0;
                ReferenceChange::AddKey(self.key_clauses(is_valid))
            }
            9 => ReferenceChange::DropCheck,
            10 | 11 => ReferenceChange::AddCheck,
            12 | 13 => ReferenceChange::Validate,
            _ => ReferenceChange::AddMood(MOODS_END + self.below(2) as i64),
        }
    }

    /// The key of a parent, mostly one of the first.
    fn parent(&mut self) -> i64 {
        if self.below(4) == 0 { self.later_parent() } else { self.below(FIRST_PARENTS.unsigned_abs()) as i64 }
    }

    fn later_parent(&mut self) -> i64 {
        FIRST_PARENTS + self.below(2) as i64
    }

    fn parent_or_null(&mut self) -> Option<i64> {
        (self.below(6) > 0).then(|| self.parent())
    }

    fn child(&mut self) -> Child {
        let mood = (self.below(6) > 0).then(|| self.mood());
        let amount = (self.below(6) > 0).then(|| self.amount());
        Child { id: self.below(16) as i64, parent: self.parent_or_null(), mood, amount }
    }

    /// The number of a label, which the type may not have.
    fn mood(&mut self) -> i64 {
        match self.below(8) {
            0 => MOODS_END + self.below(2) as i64,
            _ => self.below(MOODS_END.unsigned_abs()) as i64,
        }
    }

    fn amount(&mut self) -> i64 {
        match self.below(8) {
            0 => AMOUNTS_END + self.below(2) as i64,
            _ => self.below(AMOUNTS_END.unsigned_abs()) as i64,
        }
    }

    fn reference_change(&mut self) -> ReferenceChange {
        match self.below(20) {
            0..=1 => ReferenceChange::AddParents(vec![self.parent()]),
            2..=3 => ReferenceChange::AddParents(vec![self.later_parent()]),
            4..=9 => {
                let count = 1 + self.below(2);
                let rows = (0..count).map(|_| self.child()).collect();
                let (has_mood, has_amount) = (self.below(2) == 0, self.below(2) == 0);
                ReferenceChange::AddChildren { rows, has_mood, has_amount }
            }
            10..=12 => ReferenceChange::DeleteParents((self.below(8) > 0).then(|| self.parent())),
            13 => ReferenceChange::MoveParent { from: self.parent(), to: self.parent() },
            14 | 15 => ReferenceChange::MoveChildren { from: self.parent_or_null(), to: self.parent_or_null() },
            16 => ReferenceChange::DeleteChildren(self.parent_or_null()),
            17 | 18 => {
                // Whether a constant that is no label is refused if no row gets it is not tested here.
                let mood = (self.below(6) > 0).then(|| self.below(MOODS_END.unsigned_abs()) as i64);
                ReferenceChange::SetChild { id: self.below(16) as i64, mood, amount: Some(self.amount()) }
            }
            _ if self.below(2) == 0 => ReferenceChange::TruncateChildren,
            _ => ReferenceChange::TruncateParents { cascade: self.below(2) == 0 },
        }
    }

    fn about_rollups(&mut self, session: usize) -> Action {
        let rollup = if self.below(4) == 0 { 1 % ROLLUP_NAMES.len() } else { 0 };
        match self.below(15) {
            0 => self.create_rollup(rollup),
            1 => Action::DropRollup { session, rollup },
            2..=5 => Action::Refresh { session, rollup },
            6 | 7 => Action::Look { process: session % PROCESSES },
            8 => Action::Retain { process: session % PROCESSES },
            // Long enough for rows to expire while they have rollups.
            9 | 10 => Action::Tick { hours: 6 + self.below(30) as i64 },
            _ => Action::ReadRollup { session, rollup },
        }
    }

    fn back_up(&mut self, process: usize) -> Action {
        let keep = (self.below(3) == 0).then(|| 1 + self.below(3) as usize);
        Action::Backup { process, keep }
    }

    fn restore(&mut self, process: usize) -> Action {
        let which = match self.below(2) {
            0 => WhichBackup::Newest,
            _ => WhichBackup::HoursAgo(self.below(30) as i64),
        };
        Action::Restore { process, which, afresh: self.below(2) == 0 }
    }

    fn any_action(&mut self) -> Action {
        let (session, process) = (self.session(), self.process());
        let mark = self.below(2) as u8;
        match self.below(103) {
            0..=47 => self.statement(session),
            48..=55 => Action::Begin { session },
            56..=62 => Action::Commit { session },
            63 => Action::Rollback { session },
            64..=66 => Action::Mark { session, mark },
            67..=68 => Action::ReturnTo { session, mark },
            69 => Action::ReleaseMark { session, mark },
            70..=71 => Action::OpenAppender { session, table: self.table() },
            72..=75 => Action::Push { session, together: self.below(2) == 0, rows: self.rows() },
            76..=78 => Action::Flush { session },
            79..=81 => Action::Index { process, table: self.table() },
            82..=85 => Action::Seal { process },
            86..=88 => Action::Look { process },
            89 => Action::Retain { process },
            90..=92 => Action::Hold { process },
            93 => Action::Copy { process },
            94..=97 => Action::Tick { hours: 1 + self.below(12) as i64 },
            99 if self.language == Language::Sql => self.about_references(session),
            100 if self.language == Language::Sql => self.about_rollups(session),
            101 => Action::Checkpoint { session, table: None },
            102 => self.back_up(process),
            _ => Action::Crash { process },
        }
    }

    fn fault(&mut self, action: &Action) -> Fault {
        let end = if self.below(2) == 0 { 5 } else { 24 };
        let call = self.below(end) as i64;
        let kind = match self.below(8) {
            0 => FaultKind::Fails,
            1 => FaultKind::AnswerLost,
            2 => FaultKind::CrashBefore,
            3 => FaultKind::CrashAfter,
            _ => {
                let other = (action.process() + 1 + self.below(PROCESSES as u64 - 1) as usize) % PROCESSES;
                let visit = self.visit(other);
                // A process cannot act while it stalls itself.
                let is_own = visit.process() == action.process();
                FaultKind::Stall(Box::new(if is_own { Action::Look { process: other } } else { visit }))
            }
        };
        Fault { call, kind }
    }

    /// Returns the action of a process while another one stalls.
    fn visit(&mut self, process: usize) -> Action {
        match self.below(10) {
            0 if self.theme != Theme::Anything => self.visit_themed(process),
            0..=6 if self.theme == Theme::References => self.visit_themed(process),
            0..=6 => self.statement(VISITORS + process),
            7 => Action::Index { process, table: self.table() },
            8 => Action::Seal { process },
            _ => Action::Look { process },
        }
    }

    fn visit_themed(&mut self, process: usize) -> Action {
        let session = VISITORS + process;
        match self.theme {
            // Time passes only between two steps.
            Theme::Rollups => match self.about_rollups(session) {
                Action::Tick { .. } => Action::Refresh { session, rollup: 0 },
                other => other,
            },
            Theme::Residents => Action::Checkpoint { session, table: None },
            Theme::References => match self.about_references(session) {
                Action::Begin { .. } | Action::Commit { .. } => {
                    Action::Refer { session, change: self.reference_change() }
                }
                other => other,
            },
            Theme::Anything | Theme::Backups => self.back_up(process),
        }
    }
}
