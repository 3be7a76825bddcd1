//! Statements that take only a moment: reads of a few rows in memory, that were planned before. A caller whose thread
//! must not wait may execute them there. What may take longer is not begun.

use super::parameter_value::{ParameterValue, bound};
use super::prepare::Prepared;
use super::present_state::PresentState;
use super::state::Session;
use super::templates::{has_no_values, values_of};
use crate::run::answer::{Answer, AnswerRows};
use crate::run::permission::Permission;
use crate::run::plan_cache::{DirectReadKeys, TemplateState};
use crate::run::query::Query;
use crate::run::worker::read_directly;
use crate::scan::direct::{DirectRead, ReadLength};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::template::Template;
use atsdb_dialect::text::verbs::verb_of;
use atsdb_engine::ReadSnapshot;

impl Session {
    /// Executes a statement if that takes only a moment. `None` if it may take longer, is in a transaction, or fails:
    /// then nothing has happened, and [`execute`](Self::execute) executes it or returns the error.
    pub fn execute_at_once(&self, statement: &Statement, present: &mut PresentState) -> Option<Answer> {
        self.answer_at_once(statement, Parameters::none(), present)
    }

    /// [`execute_at_once`](Self::execute_at_once) for a prepared statement and
    /// [`execute_prepared`](Self::execute_prepared).
    pub fn execute_prepared_at_once(
        &self,
        prepared: &Prepared,
        values: &[ParameterValue],
        present: &mut PresentState,
    ) -> Option<Answer> {
        let values = bound(prepared.parameter_types(), values).ok()?;
        self.answer_at_once(prepared.statement(), Parameters::Values(values), present)
    }

    fn answer_at_once(
        &self,
        statement: &Statement,
        parameters: Parameters,
        present: &mut PresentState,
    ) -> Option<Answer> {
        let text = statement.text();
        if !self.can_at_once(text) || self.require(Permission::Read).is_err() {
            return None;
        }
        let template = if has_no_values(&parameters) { Template::of(text) } else { None };
        let plans = self.worker.plans();
        let keys = DirectReadKeys::of(text, &parameters, template.as_ref(), &self.search_path());
        if !plans.may_be_short(&keys) {
            return None;
        }
        let (snapshot, scope) = self.present(present)?;
        self.interrupt.reset();
        let (text, position) = (text.to_owned(), statement.position());
        let query = Query { text, position, parameters, snapshot, files: None, scope: Some(scope) };
        if let Some(key) = &keys.of_query
            && let Some(direct) = plans.direct_read_by_key(key, &query)
        {
            return self.read_at_once(&direct, &query.snapshot, &query.parameters);
        }
        let template = template?;
        let TemplateState::Direct(read) = plans.template_by_key(keys.of_template.as_ref()?, &query)? else {
            return None;
        };
        let values = values_of(&template.constants, &read.types)?;
        self.read_at_once(&read.direct, &query.snapshot, &Parameters::Values(values))
    }

    fn read_at_once(&self, direct: &DirectRead, snapshot: &ReadSnapshot, parameters: &Parameters) -> Option<Answer> {
        let read = read_directly(direct, snapshot, parameters, ReadLength::Moment, &self.interrupt);
        let batches = read.ok()??;
        self.interrupt.check().ok()?;
        Some(Answer::Rows(AnswerRows::read(direct.schema(), batches)))
    }

    /// Returns whether a statement of this text may take only a moment.
    pub(super) fn can_at_once(&self, text: &str) -> bool {
        self.engine.is_at_hand() && !self.in_transaction() && verb_of(text) == "SELECT"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::options::SessionOptions;
    use atsdb_core::SearchPath;
    use atsdb_engine::{Engine, EngineOptions};
    use atsdb_memory::MemoryStore;
    use std::sync::Arc;

    /// A session without maintenance, which could replace chunks whose columns are in memory.
    fn session_with(options: EngineOptions) -> Session {
        let options = EngineOptions { maintenance: false, ..options };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
        Session::new(engine, SessionOptions::default()).unwrap()
    }

    fn session() -> Session {
        let session = session_with(EngineOptions::default());
        run(&session, "CREATE TABLE t (time TIMESTAMP, sensor TEXT, n INT) WITH (map = 'sensor:u8')");
        run(
            &session,
            "INSERT INTO t SELECT TIMESTAMP '2024-01-01' + n * INTERVAL '1 minute', 's' || n % 3, n \
             FROM generate_series(0, 99) AS s(n)",
        );
        session
    }

    fn statement(sql: &str) -> Statement {
        atsdb_dialect::text::script::Statements::new(sql).next().unwrap().unwrap()
    }

    fn row_count(answer: Answer) -> usize {
        match answer {
            Answer::Rows(rows) => rows.map(|batch| batch.unwrap().num_rows()).sum(),
            Answer::Done { .. } => 0,
        }
    }

    fn run(session: &Session, sql: &str) -> usize {
        row_count(session.execute(&statement(sql), &[]).unwrap())
    }

    fn at_once(session: &Session, sql: &str) -> Option<usize> {
        session.execute_at_once(&statement(sql), &mut PresentState::default()).map(row_count)
    }

    /// Runs three queries, so that the form of them is known and their columns are in memory.
    fn plan(session: &Session, query: &dyn Fn(usize) -> String) {
        for n in 0..3 {
            run(session, &query(n));
        }
    }

    fn point(n: usize) -> String {
        format!("SELECT n FROM t WHERE sensor = 's{}' AND time = '2024-01-01 00:{n:02}:00'", n % 3)
    }

    #[test]
    fn a_read_that_is_known_takes_a_moment() {
        let session = session();
        assert_eq!(at_once(&session, &point(0)), None, "it was never planned");
        plan(&session, &point);
        for n in 3..60 {
            assert_eq!(at_once(&session, &point(n)), Some(1), "{n}");
        }
        assert_eq!(at_once(&session, &point(1).replace("s1", "s2")), Some(0));
    }

    #[test]
    fn what_may_take_longer_is_not_begun() {
        let session = session();
        for sql in ["SELECT count(*) FROM t", "SELECT sensor, max(n) FROM t GROUP BY sensor", "SELECT n + 1 FROM t"] {
            plan(&session, &|_| sql.to_owned());
            assert_eq!(at_once(&session, sql), None, "{sql}");
        }
        plan(&session, &point);
        run(&session, "BEGIN");
        assert_eq!(at_once(&session, &point(1)), None, "a transaction has its own state");
        run(&session, "COMMIT");
        assert_eq!(at_once(&session, &point(1)), Some(1));
    }

    #[test]
    fn a_read_of_many_chunks_is_not_tried_again_at_once() {
        let session = session();
        run(&session, "CREATE TABLE h (time TIMESTAMP, n INT) WITH (time = 'time', slice = 'hour')");
        run(
            &session,
            "INSERT INTO h SELECT TIMESTAMP '2024-01-01' + n * INTERVAL '1 hour', n FROM generate_series(0, 9) AS s(n)",
        );
        let after = |hour: usize| format!("SELECT n FROM h WHERE time >= '2024-01-01 {hour:02}:00:00'");
        plan(&session, &|n| after(7 + n));
        assert_eq!(at_once(&session, &after(9)), Some(1));
        assert_eq!(at_once(&session, &after(0)), None, "ten chunks");
        assert_eq!(at_once(&session, &after(9)), None, "the form is not tried for a while");
        assert_eq!(run(&session, &after(9)), 1);
    }

    #[test]
    fn columns_that_are_not_in_memory_are_not_read_at_once() {
        let warm = session();
        plan(&warm, &point);
        let all = "SELECT time, sensor, n FROM t WHERE sensor = 's1'";
        assert_eq!(at_once(&warm, all), None);
        run(&warm, all);
        assert_eq!(at_once(&warm, all), Some(33));
        let cold = session_with(EngineOptions { cache_bytes: 0, ..EngineOptions::default() });
        run(&cold, "CREATE TABLE t (time TIMESTAMP, n INT)");
        run(&cold, "INSERT INTO t VALUES ('2024-01-01', 1), ('2024-01-02', 2)");
        let sql = "SELECT n FROM t WHERE n = 1";
        plan(&cold, &|_| sql.to_owned());
        assert_eq!(at_once(&cold, sql), None, "nothing is kept in memory");
        assert_eq!(run(&cold, sql), 1);
    }

    #[test]
    fn a_later_state_and_later_definitions_are_seen() {
        let session = session();
        let other = session.sharing();
        plan(&session, &point);
        let sql = "SELECT n FROM t WHERE sensor = 'new' AND time = '2024-01-01 00:00:00'";
        assert_eq!(at_once(&session, sql), Some(0));
        let mut present = PresentState::default();
        assert!(session.execute_at_once(&statement(sql), &mut present).is_some());
        run(&other, "INSERT INTO t VALUES ('2024-01-01', 'new', 7)");
        let seen = session.execute_at_once(&statement(sql), &mut present).map(row_count);
        assert_eq!(seen, Some(0), "statements that were requested together may see one state");
        // The new chunk is not in memory yet.
        assert_eq!(run(&session, sql), 1);
        assert_eq!(at_once(&session, sql), Some(1));
        run(&other, "ALTER TABLE t RENAME COLUMN n TO m");
        assert_eq!(at_once(&session, sql), None);
        assert!(session.execute(&statement(sql), &[]).is_err());
    }

    #[test]
    fn many_rows_are_not_ordered_at_once() {
        let session = session();
        run(&session, "CREATE TABLE big (time TIMESTAMP, n INT)");
        run(&session, "INSERT INTO big SELECT '2024-01-01', n FROM generate_series(1, 20000) AS s(n)");
        for (sql, at_once_count) in [
            ("SELECT n FROM big WHERE n < 4 ORDER BY n LIMIT 2", Some(2)),
            ("SELECT n FROM big WHERE n > 4 ORDER BY n LIMIT 2", None),
        ] {
            plan(&session, &|_| sql.to_owned());
            assert_eq!(at_once(&session, sql), at_once_count, "{sql}");
            assert_eq!(run(&session, sql), 2, "{sql}");
        }
    }

    #[test]
    fn a_state_is_not_seen_with_another_search_path() {
        let session = session();
        run(&session, "CREATE SCHEMA s");
        run(&session, "CREATE TABLE s.t (time TIMESTAMP, sensor TEXT, n INT) WITH (map = 'sensor:u8')");
        run(&session, "INSERT INTO s.t VALUES ('2024-01-01', 's0', 7)");
        plan(&session, &point);
        session.set_search_path(SearchPath::parse("s").unwrap()).unwrap();
        plan(&session, &point);
        let mut present = PresentState::default();
        let mut count = || session.execute_at_once(&statement(&point(3)), &mut present).map(row_count);
        assert_eq!(count(), Some(0));
        session.set_search_path(SearchPath::default()).unwrap();
        assert_eq!(count(), Some(1));
    }

    #[test]
    fn a_prepared_read_takes_a_moment() {
        let session = session();
        let prepared = session.prepare("SELECT n FROM t WHERE sensor = $1 AND n < $2", &[]).unwrap();
        let values = [ParameterValue::from("s0"), ParameterValue::from(10_i32)];
        assert!(session.execute_prepared_at_once(&prepared, &values, &mut PresentState::default()).is_none());
        assert_eq!(row_count(session.execute_prepared(&prepared, &values).unwrap()), 4);
        let again = session.execute_prepared_at_once(&prepared, &values, &mut PresentState::default());
        assert_eq!(again.map(row_count), Some(4));
        assert!(session.execute_prepared_at_once(&prepared, &["s0".into()], &mut PresentState::default()).is_none());
    }
}
