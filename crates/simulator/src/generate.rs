//! Generates histories from seeds.

use crate::action::{Action, Step, Trouble, TroubleKind};
use crate::setting::{Language, PROCESSES, SESSIONS};
use crate::subject::{Alteration, Cells, Policy, ROLLUP_NAMES, RowSelection, Shape, Summary, TABLE_NAMES, WhichBackup};
use atsdb_testkit::sample::Random;

/// The maximum number of steps of a history, after those that create its tables.
const STEPS_MAX: u64 = 30;
/// Sessions from this number on have no transactions: they act while others stall.
const VISITORS: usize = 6;

/// The main theme of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Theme {
    Anything,
    Rollups,
    Residents,
    Backups,
}

/// Returns the history of a seed.
pub fn history(seed: u64, language: Language) -> Vec<Step> {
    let mut generator =
        Generator { random: Random::new(seed), batches: Vec::new(), families: 1, theme: Theme::Anything, language };
    // A history that leaves some kinds of actions out has more of the others.
    for family in 1..32 {
        generator.families |= u32::from(generator.below(5) < 3) << family;
    }
    generator.theme = match (generator.below(6), language) {
        (0 | 1, Language::Sql) => Theme::Rollups,
        (2, Language::Sql) | (0 | 1, Language::Calls) => Theme::Residents,
        (3, _) => Theme::Backups,
        _ => Theme::Anything,
    };
    // Few tables, so that sessions often work on the same one.
    let tables = 1 + generator.below(2) as usize;
    let mut steps: Vec<Step> =
        (0..tables).map(|table| Step { action: generator.create(table), trouble: None }).collect();
    if generator.theme == Theme::Rollups {
        steps.push(Step { action: generator.create_rollup(0), trouble: None });
    }
    // The probability of a fault, in thousandths of the steps, which is sometimes zero.
    let trouble = [0, 150, 400][generator.below(3) as usize];
    for _ in 0..8 + generator.below(STEPS_MAX - 8) {
        let action = generator.action();
        let trouble = (generator.below(1_000) < trouble).then(|| generator.trouble(&action));
        steps.push(Step { action, trouble });
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

    fn meant(&mut self) -> RowSelection {
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
            Theme::Anything | Theme::Backups => {
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
            11..=12 => Action::Delete { session, table, rows: self.meant() },
            13..=16 => {
                let note = (self.below(4) > 0).then(|| self.below(3) as i64);
                Action::Update { session, table, rows: self.meant(), note }
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
            let action = match self.below(4) {
                0 => self.themed(),
                _ => self.any_action(),
            };
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
            100 if self.language == Language::Sql => self.about_rollups(session),
            101 => Action::Checkpoint { session, table: None },
            102 => self.back_up(process),
            _ => Action::Crash { process },
        }
    }

    fn trouble(&mut self, action: &Action) -> Trouble {
        let end = if self.below(2) == 0 { 5 } else { 24 };
        let call = self.below(end) as i64;
        let kind = match self.below(8) {
            0 => TroubleKind::Fails,
            1 => TroubleKind::AnswerLost,
            2 => TroubleKind::CrashBefore,
            3 => TroubleKind::CrashAfter,
            _ => {
                let other = (action.process() + 1 + self.below(PROCESSES as u64 - 1) as usize) % PROCESSES;
                TroubleKind::Stall(Box::new(self.visit(other)))
            }
        };
        Trouble { call, kind }
    }

    /// Returns the action of a process while another one stalls.
    fn visit(&mut self, process: usize) -> Action {
        match self.below(10) {
            0 if self.theme != Theme::Anything => self.visit_themed(process),
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
            Theme::Anything | Theme::Backups => self.back_up(process),
        }
    }
}
