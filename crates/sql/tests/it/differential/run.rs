//! A run: tables are created and filled on all sides, then the statements of a seed are executed and compared.

use super::generator::Generator;
use super::keys;
use super::query::{Query, RunStep};
use super::reduce::{Case, reduced};
use super::report::Report;
use super::sides::atsdb::Atsdb;
use super::sides::oracle::{self, Oracle};
use super::sides::{Answer, Failure, Row, is_same};
use super::types::{Dialect, Type};

/// The number of statements per seed.
pub(crate) const STEPS: usize = 100;

/// The number of layouts on which a query runs in addition to the first. They take turns.
const OTHERS: usize = 3;

/// All sides of a dialect, with the servers that they need.
pub(crate) struct Sides {
    pub(crate) dialect: Dialect,
    pub(crate) oracle: Box<dyn Oracle>,
    pub(crate) atsdb: Vec<Atsdb>,
}

impl Sides {
    /// Returns `None` if the oracle is not installed.
    pub(crate) fn new(dialect: Dialect) -> Option<Self> {
        Some(Self { dialect, oracle: oracle::oracle(dialect)?, atsdb: Atsdb::all() })
    }

    pub(crate) fn run(&mut self, seed: u64, report: &mut Report) {
        let mut generator = Generator::new(seed, self.dialect);
        self.fill(&generator, seed);
        let mut done: Vec<Vec<String>> = Vec::new();
        for step in 0..=STEPS {
            let turn = seed as usize * STEPS + step;
            let failed = match generator.next_step() {
                // In the end the tables of all layouts must be the same.
                _ if step == STEPS => self.hold_the_same(&generator, |_, _| true),
                RunStep::Query(query) => self.compare(&query, turn, report),
                RunStep::Changes(statements) => self.change(&generator, statements, &mut done, report),
            };
            let Some(Difference { query, layout, what }) = failed else { continue };
            let case = Case { schema: generator.schema.clone(), changes: done.clone(), query };
            let text = match report.has_time_to_reduce() {
                true => reduced(case, self, layout),
                false => case.query.sql,
            };
            report.failures.push(format!("ATSDB_TEST_SEED={seed}, step {step}: {what}\n{text}"));
            // The reduction changed the tables.
            self.fill(&generator, seed);
            for statements in &done {
                let _ = oracle::change(self.oracle.as_mut(), statements);
                self.atsdb.iter().for_each(|side| drop(side.change(statements)));
            }
            if what.starts_with("change") {
                return;
            }
        }
    }

    fn fill(&mut self, generator: &Generator, seed: u64) {
        let schema = &generator.schema;
        let filled = oracle::fill(self.oracle.as_mut(), schema, self.dialect);
        filled.unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
        for side in &self.atsdb {
            let filled = side.fill(schema, self.dialect);
            filled.unwrap_or_else(|failure| panic!("seed {seed}, {}: {failure:?}", side.layout.name));
        }
    }

    /// Compares the oracle with the first layout, and that with some of the others.
    fn compare(&mut self, query: &Query, turn: usize, report: &mut Report) -> Option<Difference> {
        report.queries += 1;
        let wanted = match query.is_extension {
            true => Err(Failure::Refused("only the layouts are compared".to_owned())),
            false => self.oracle.ask(query),
        };
        if let Err(Failure::Refused(why)) = &wanted
            && !query.is_extension
        {
            report.oracle_refused.count(why, &query.sql);
        }
        let first = self.atsdb[0].ask(query);
        report.compared += 1;
        match &first {
            Err(Failure::Refused(why)) => report.refused.count(why, &query.sql),
            Ok(rows) => report.rows += rows.len(),
            Err(_) => {}
        }
        if differs(&wanted, &first, query.is_ordered) {
            return Some(Difference::new(query.clone(), 0, &wanted, &first, "the oracle"));
        }
        let others = self.atsdb.len() - 1;
        for at in (0..OTHERS).map(|at| 1 + (turn * OTHERS + at) % others) {
            let other = self.atsdb[at].ask(query);
            report.compared += 1;
            if differs(&first, &other, query.is_ordered) {
                return Some(Difference::new(query.clone(), at, &first, &other, "the first layout"));
            }
        }
        let (without, condition) = query.partition.as_ref()?;
        let (whole, parts) = self.parts(turn % self.atsdb.len(), without, condition, &query.types)?;
        report.partitions += 1;
        if is_same(&whole, &parts, false) {
            return None;
        }
        let at = turn % self.atsdb.len();
        // A part that differs from the oracle's answer can be reduced.
        for part in ["{p}", "NOT ({p})", "({p}) IS NULL"] {
            let sql = format!("{without} WHERE {}", part.replace("{p}", condition));
            let (wanted, found) = (self.oracle.query(&sql, &query.types), self.atsdb[at].query(&sql, &query.types));
            if differs(&wanted, &found, false) {
                return Some(Difference::new(Query::new(sql, query.types.clone()), at, &wanted, &found, "the oracle"));
            }
        }
        let (whole, parts) = (Ok(whole), Ok(parts));
        Some(Difference::new(query.clone(), at, &whole, &parts, "the rows without a condition, to those of all three"))
    }

    /// Returns all rows, and those of `WHERE p`, `NOT p` and `p IS NULL` together, if all of them are answered.
    fn parts(&self, at: usize, without: &str, condition: &str, types: &[Type]) -> Option<(Vec<Row>, Vec<Row>)> {
        let ask = |condition: &str| self.atsdb[at].query(&format!("{without}{condition}"), types).ok();
        let whole = ask("")?;
        let mut parts = ask(&format!(" WHERE {condition}"))?;
        parts.extend(ask(&format!(" WHERE NOT ({condition})"))?);
        parts.extend(ask(&format!(" WHERE ({condition}) IS NULL"))?);
        Some((whole, parts))
    }

    /// Changes the tables of all sides, then compares their contents.
    fn change(
        &mut self,
        generator: &Generator,
        statements: Vec<String>,
        done: &mut Vec<Vec<String>>,
        report: &mut Report,
    ) -> Option<Difference> {
        report.changes += 1;
        let first = self.atsdb[0].change(&statements);
        if let Err(Failure::Refused(why)) = &first {
            // Then no side executes them.
            report.refused.count(why, &statements.join("; "));
            return None;
        }
        done.push(statements.clone());
        let wanted = oracle::change(self.oracle.as_mut(), &statements);
        for (at, side) in self.atsdb.iter().enumerate() {
            let found = if at == 0 { first.clone() } else { side.change(&statements) };
            if wanted.is_ok() != found.is_ok() || matches!(found, Err(Failure::Internal(_))) {
                let sql = statements.join("; ");
                let what = format!("change on {}: {found:?} instead of {wanted:?}: {sql}", side.layout.name);
                return Some(Difference { query: Query::default(), layout: at, what });
            }
        }
        let turn = report.changes;
        let is_chosen = |at: usize, count: usize| at == 0 || (at + turn).is_multiple_of(count / OTHERS);
        let mut difference = self.hold_the_same(generator, is_chosen)?;
        difference.what = format!("change {}, {}", statements.join("; "), difference.what);
        Some(difference)
    }

    /// Compares the contents of the tables, in the layouts that are chosen by their position.
    fn hold_the_same(&mut self, generator: &Generator, is_chosen: impl Fn(usize, usize) -> bool) -> Option<Difference> {
        let tables = generator.schema.tables.iter();
        let wholes = tables.map(|table| (table.whole(), table.columns.iter().map(|column| column.ty).collect()));
        let keyed = (keys::WHOLE.to_owned(), vec![Type::Int, Type::Text, Type::Int]);
        for (sql, types) in wholes.chain([keyed]) {
            let wanted = self.oracle.query(&sql, &types);
            let count = self.atsdb.len();
            for (at, side) in self.atsdb.iter().enumerate().filter(|(at, _)| is_chosen(*at, count)) {
                let found = side.query(&sql, &types);
                if differs(&wanted, &found, false) {
                    return Some(Difference::new(Query::new(sql, types), at, &wanted, &found, "the oracle"));
                }
            }
        }
        None
    }
}

struct Difference {
    query: Query,
    /// The position of the layout that answered differently.
    layout: usize,
    what: String,
}

impl Difference {
    fn new(query: Query, layout: usize, wanted: &Answer, found: &Answer, whose: &str) -> Self {
        let what = format!(
            "layout {layout} answers otherwise than {whose}: {}\nwanted: {}\nfound:  {}",
            query.shown(),
            shown(wanted, found),
            shown(found, wanted)
        );
        Self { query, layout, what }
    }
}

/// Returns whether two answers of a query differ. A refusal on either side makes no difference, an error does, and an
/// internal error differs from everything. PostgreSQL computes constants when it plans, so that it may report an error
/// in one that no row needs.
pub(crate) fn differs(wanted: &Answer, found: &Answer, is_ordered: bool) -> bool {
    match (wanted, found) {
        (_, Err(Failure::Internal(_))) => true,
        (Err(Failure::Refused(_) | Failure::Internal(_)), _) | (_, Err(Failure::Refused(_))) => false,
        (Err(Failure::Value(_)), Err(Failure::Value(_))) => false,
        (Err(Failure::Value(_)), Ok(found)) => !found.is_empty(),
        (Ok(_), Err(Failure::Value(_))) => true,
        (Ok(wanted), Ok(found)) => !is_same(wanted, found, is_ordered),
    }
}

/// Returns the number of rows, and the rows that the other side does not have.
pub(crate) fn shown(answer: &Answer, other: &Answer) -> String {
    let rows = match answer {
        Err(failure) => return failure.text(),
        Ok(rows) => rows,
    };
    let none = Vec::new();
    let others = other.as_ref().unwrap_or(&none);
    let text = |row: &Row| row.iter().map(|cell| cell.shown()).collect::<Vec<_>>().join(" | ");
    let own: Vec<String> = rows.iter().filter(|row| !others.contains(row)).take(4).map(text).collect();
    match own.is_empty() {
        true => format!("{} rows, all on the other side too; first {:?}", rows.len(), rows.first().map(text)),
        false => format!("{} rows, among them only here: {}", rows.len(), own.join(" // ")),
    }
}
