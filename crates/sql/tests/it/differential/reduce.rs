//! Reduces a failure to fewer changes, rows and columns, and a shorter query, as long as the answers differ.

use super::query::Query;
use super::run::{Sides, differs, shown};
use super::schema::Schema;
use super::shorter::shorter;
use super::sides::Answer;
use super::sides::oracle;
use super::types::{Dialect, Type};

/// The most attempts at one failure.
const ATTEMPTS_MAX: usize = 300;

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) schema: Schema,
    /// The earlier statements, those of a transaction together.
    pub(crate) changes: Vec<Vec<String>>,
    pub(crate) query: Query,
}

/// Returns the smallest case that was found, as text.
pub(crate) fn reduced(case: Case, sides: &mut Sides, layout: usize) -> String {
    let mut reducer = Reducer { sides, layout, attempts: 0 };
    match reducer.reduce(case) {
        Some(case) => reducer.text(&case),
        None => "(not the same again on tables of its own)".to_owned(),
    }
}

struct Reducer<'a> {
    sides: &'a mut Sides,
    layout: usize,
    attempts: usize,
}

impl Reducer<'_> {
    fn reduce(&mut self, mut case: Case) -> Option<Case> {
        if case.query.sql.is_empty() || !self.differs(&case) {
            return None;
        }
        let without_changes = Case { changes: Vec::new(), ..case.clone() };
        if self.differs(&without_changes) {
            case = without_changes;
        }
        self.fewer_rows(&mut case);
        self.shorter_query(&mut case);
        for at in (0..case.changes.len()).rev() {
            let mut fewer = case.clone();
            fewer.changes.remove(at);
            self.keep(&mut case, fewer);
        }
        self.fewer_rows(&mut case);
        self.fewer_columns(&mut case);
        self.shorter_query(&mut case);
        // The last attempt may have been another case, so this one runs again.
        self.attempts = 0;
        self.differs(&case).then_some(case)
    }

    fn keep(&mut self, case: &mut Case, smaller: Case) -> bool {
        let is_kept = self.differs(&smaller);
        if is_kept {
            *case = smaller;
        }
        is_kept
    }

    fn fewer_rows(&mut self, case: &mut Case) {
        let mut step = case.schema.row_count().div_ceil(2);
        while step > 0 {
            let mut first = 0;
            while first < case.schema.row_count() {
                let mut fewer = case.clone();
                let mut at = 0;
                for rows in fewer.schema.tables.iter_mut().flat_map(|table| &mut table.inserts) {
                    rows.retain(|_| {
                        at += 1;
                        at <= first || at > first + step
                    });
                }
                if !self.keep(case, fewer) {
                    first += step;
                }
            }
            step /= 2;
        }
    }

    fn fewer_columns(&mut self, case: &mut Case) {
        for table in 0..case.schema.tables.len() {
            for column in (0..case.schema.tables[table].columns.len()).rev() {
                let mut fewer = case.clone();
                let table = &mut fewer.schema.tables[table];
                table.columns.remove(column);
                table.inserts.iter_mut().flatten().for_each(|row| drop(row.remove(column)));
                if !table.columns.is_empty() {
                    self.keep(case, fewer);
                }
            }
        }
    }

    fn shorter_query(&mut self, case: &mut Case) {
        if !self.differs(case) {
            return;
        }
        let mut at = 0;
        while let Some(candidate) = shorter(&case.query.sql, at) {
            at += 1;
            if candidate.len() >= case.query.sql.len() || self.attempts > ATTEMPTS_MAX {
                continue;
            }
            let Some(query) = self.typed(candidate, &case.query) else { continue };
            let (wanted, found) = self.ask(&query);
            if differs(&wanted, &found, query.is_ordered) {
                case.query = query;
                at = 0;
            }
        }
    }

    /// Fills the tables of both sides and returns whether the answers differ.
    fn differs(&mut self, case: &Case) -> bool {
        self.attempts += 1;
        if self.attempts > ATTEMPTS_MAX {
            return false;
        }
        let Sides { dialect, oracle, atsdb } = &mut *self.sides;
        let side = &atsdb[self.layout];
        let filled = oracle::fill(oracle.as_mut(), &case.schema, *dialect);
        if filled.is_err() || side.fill(&case.schema, *dialect).is_err() {
            return false;
        }
        for statements in &case.changes {
            let _ = oracle::change(oracle.as_mut(), statements);
            let _ = side.change(statements);
        }
        let (wanted, found) = self.ask(&case.query);
        differs(&wanted, &found, case.query.is_ordered)
    }

    /// Returns a query with the types of its columns, which may differ from those of the original query.
    fn typed(&mut self, sql: String, of: &Query) -> Option<Query> {
        let types = match self.sides.dialect {
            Dialect::Sqlite => of.types.clone(),
            Dialect::Postgres => self.sides.oracle.types(&sql)?,
        };
        let has_interval = types.contains(&Type::Interval);
        let parameters = of.parameters.clone();
        (!has_interval).then(|| Query { is_ordered: of.is_ordered, parameters, ..Query::new(sql, types) })
    }

    fn ask(&mut self, query: &Query) -> (Answer, Answer) {
        let Sides { oracle, atsdb, .. } = &mut *self.sides;
        self.attempts += 1;
        (oracle.ask(query), atsdb[self.layout].ask(query))
    }

    fn text(&mut self, case: &Case) -> String {
        let (wanted, found) = self.ask(&case.query);
        let layout = self.sides.atsdb[self.layout].layout;
        let mut lines: Vec<String> =
            layout.statements(&case.schema, self.sides.dialect).into_iter().flatten().collect();
        lines.extend(case.changes.iter().flatten().cloned());
        lines.push(case.query.shown());
        format!(
            "on {}, made smaller:\n{};\nwanted: {}\nfound:  {}",
            layout.name,
            lines.join(";\n"),
            shown(&wanted, &found),
            shown(&found, &wanted)
        )
    }
}
