//! Queries that differ only in constants. The first two with the same template are planned. If both are the same
//! direct read with other constants, later ones are read directly, with the constants as values of parameters.

use super::parameter_value::{ParameterValue, bound};
use super::state::Session;
use crate::run::answer::{Answer, AnswerRows};
use crate::run::plan_cache::{TemplateRead, TemplateState};
use crate::run::planned::direct_read;
use crate::run::query::{DefinitionScope, Query};
use crate::run::worker::read_directly;
use crate::scan::direct::ReadLength;
use arrow::datatypes::{DataType, SchemaRef};
use atsdb_codec::time_unit_of;
use atsdb_core::Result;
use atsdb_dialect::functions::base::arguments::is_text;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::template::{Constant, Template};
use atsdb_dialect::text::time_text::{RoundedFraction, read_time};
use atsdb_engine::ReadSnapshot;
use datafusion::common::ScalarValue;
use std::sync::Arc;

impl Session {
    /// Answers a query that is not kept with its own constants.
    pub(super) fn query_with_constants(&self, query: Query) -> Result<Answer> {
        let template = if has_no_values(&query.parameters) { Template::of(&query.text) } else { None };
        let Some(template) = template else { return self.run_query(query) };
        let state = self.worker.plans().template(&query, &template);
        if let Some(TemplateState::Direct(read)) = &state
            && let Some(values) = values_of(&template.constants, &read.types)
            && let Some(batches) = read_directly(
                &read.direct,
                &query.snapshot,
                &Parameters::Values(values),
                ReadLength::Any,
                &self.interrupt,
            )?
        {
            self.interrupt.check()?;
            return Ok(Answer::Rows(AnswerRows::read(read.direct.schema(), batches)));
        }
        let to_learn_from = match state {
            None | Some(TemplateState::Seen) => Some(query.clone()),
            Some(TemplateState::Direct(_) | TemplateState::Planned) => None,
        };
        let answer = self.run_query(query)?;
        if let Some(planned) = to_learn_from {
            self.learn(&planned, &template, state.is_some());
        }
        Ok(answer)
    }

    /// The columns of a query that would be read directly, with its constants as values of parameters. They are the
    /// same whatever the constants are: none of them is outside of the conditions.
    pub(super) fn columns_with_constants(
        &self,
        statement: &Statement,
        snapshot: &ReadSnapshot,
        scope: DefinitionScope,
    ) -> Option<SchemaRef> {
        let template = Template::of(statement.text())?;
        let (text, position) = (statement.text().to_owned(), statement.position());
        let (parameters, snapshot) = (Parameters::none(), snapshot.clone());
        let query = Query { text, position, parameters, snapshot, files: None, scope: Some(scope) };
        let TemplateState::Direct(read) = self.worker.plans().template(&query, &template)? else { return None };
        values_of(&template.constants, &read.types).map(|_| read.direct.schema())
    }

    /// Notes what a query that was just planned shows about its template, which was seen before or not.
    fn learn(&self, planned: &Query, template: &Template, was_seen: bool) {
        let plans = self.worker.plans();
        let state = match was_seen {
            true => match self.template_read(planned, template) {
                Some(read) => TemplateState::Direct(Arc::new(read)),
                None => TemplateState::Planned,
            },
            false if plans.direct_read(planned).is_some() => TemplateState::Seen,
            false => return,
        };
        plans.put_template(planned, template, state);
    }

    /// The direct read that the queries with a template are. With the constants of a query that was just planned, it
    /// must be the read of that query.
    fn template_read(&self, planned: &Query, template: &Template) -> Option<TemplateRead> {
        let own = self.worker.plans().direct_read(planned)?;
        let types: Arc<[DataType]> = self.prepare(&template.text, &[]).ok()?.parameter_types().into();
        let parameters = Parameters::Values(values_of(&template.constants, &types)?);
        let query = Query { text: template.text.clone(), parameters: parameters.clone(), ..planned.clone() };
        let direct = self.worker.plan(move |state| direct_read(&query, state)).ok()??;
        let table = own.table(&planned.snapshot)?;
        direct.is_same(&parameters, &own, &table.definition).then_some(TemplateRead { types, direct })
    }
}

/// Returns whether a statement has no values of parameters. Then its constants may be read as such.
pub(super) fn has_no_values(parameters: &Parameters) -> bool {
    match parameters {
        Parameters::Texts(texts) => texts.is_empty(),
        Parameters::Values(values) => values.is_empty(),
        Parameters::Types(_) => false,
    }
}

/// The constants as values of these types; `None` if one might mean something else than such a value.
pub(super) fn values_of(constants: &[Constant], types: &[DataType]) -> Option<Arc<[ScalarValue]>> {
    let value = |(constant, data_type): (&Constant, &DataType)| match (constant, data_type) {
        // A time that has more digits than the column would be a parameter of another type.
        (Constant::Text(text) | Constant::Time(text), DataType::Timestamp(unit, _)) => {
            let is_exact =
                read_time(text, time_unit_of(*unit)).is_some_and(|time| time.rest == RoundedFraction::Nothing);
            is_exact.then(|| ParameterValue::from(text.as_str()))
        }
        (Constant::Text(text), data_type) if is_text(data_type) => Some(ParameterValue::from(text.as_str())),
        (Constant::Integer(number), DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Float64) => {
            Some(ParameterValue::from(*number))
        }
        _ => None,
    };
    let values = constants.iter().zip(types).map(value).collect::<Option<Vec<ParameterValue>>>()?;
    bound(types, &values).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::interrupt::interrupted;
    use crate::run::options::SessionOptions;
    use atsdb_core::ErrorKind;
    use atsdb_engine::{Engine, EngineOptions};
    use atsdb_memory::MemoryStore;

    fn session() -> Session {
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), EngineOptions::default()).unwrap();
        let session = Session::new(engine, SessionOptions::default()).unwrap();
        for sql in [
            "CREATE TABLE t (time TIMESTAMP, sensor TEXT, n INT, x REAL) WITH (map = 'sensor:u8')",
            "INSERT INTO t SELECT TIMESTAMP '2024-01-01' + n * INTERVAL '1 minute', 's' || n % 3, n, n / 10.0 \
             FROM generate_series(0, 99) AS s(n)",
        ] {
            run(&session, sql);
        }
        session
    }

    fn run(session: &Session, sql: &str) -> usize {
        let statement = session.statements(sql).next().unwrap().unwrap();
        match session.execute(&statement, &[]).unwrap() {
            Answer::Rows(rows) => rows.map(|batch| batch.unwrap().num_rows()).sum(),
            Answer::Done { .. } => 0,
        }
    }

    fn query(session: &Session, sql: &str) -> Query {
        let (snapshot, scope) = session.snapshot().unwrap();
        let text = sql.to_owned();
        let (position, parameters) = (session.statements(sql).next().unwrap().unwrap().position(), Parameters::none());
        Query { text, position, parameters, snapshot, files: None, scope: Some(scope) }
    }

    fn state(session: &Session, sql: &str) -> Option<TemplateState> {
        session.worker.plans().template(&query(session, sql), &Template::of(sql).unwrap())
    }

    #[test]
    fn a_row_of_constants_is_planned_once() {
        let session = session();
        let answer = |sql: &str| {
            let statement = session.statements(sql).next().unwrap().unwrap();
            let Answer::Rows(rows) = session.execute(&statement, &[]).unwrap() else { panic!("{sql} has no rows") };
            (rows.schema(), rows.map(Result::unwrap).collect::<Vec<_>>())
        };
        let is_kept = |sql: &str| session.worker.plans().direct_read(&query(&session, sql)).is_some();
        for sql in [
            "SELECT 1",
            "SELECT 1 AS one, 'x' || 'y' AS two, CAST(NULL AS INT) AS three, 1.5, TRUE, ARRAY[1, 2] AS five",
            "SELECT DATE '2024-01-01' + 1, TIMESTAMP '2024-01-01', INTERVAL '1 day'",
        ] {
            assert!(!is_kept(sql), "{sql}");
            let planned = answer(sql);
            assert!(is_kept(sql), "{sql}");
            assert_eq!(answer(sql), planned, "{sql}");
        }
        for sql in ["SELECT now()", "SELECT random()", "SELECT current_user", "SELECT 1 WHERE 1 = 2"] {
            answer(sql);
            assert!(!is_kept(sql), "{sql}");
        }
    }

    #[test]
    fn the_third_query_with_a_template_is_not_planned() {
        let session = session();
        let form = |sensor: u8, minute: u8| {
            format!("SELECT n FROM t WHERE sensor = 's{sensor}' AND time = '2024-01-01 00:{minute:02}:00' AND n >= 0")
        };
        assert!(state(&session, &form(0, 0)).is_none());
        assert_eq!(run(&session, &form(0, 0)), 1);
        assert!(matches!(state(&session, &form(1, 4)), Some(TemplateState::Seen)));
        assert_eq!(run(&session, &form(1, 4)), 1);
        assert!(matches!(state(&session, &form(0, 0)), Some(TemplateState::Direct(read)) if read.types.len() == 3));
        for minute in 0..60 {
            assert_eq!(run(&session, &form(1, minute)), usize::from(minute % 3 == 1));
        }
        // These queries have left no plans of their own.
        assert!(session.worker.plans().direct_read(&query(&session, &form(1, 59))).is_none());
    }

    #[test]
    fn a_time_with_its_type_is_a_constant() {
        let session = session();
        let form = |time: &str| format!("SELECT n FROM t WHERE sensor = 's1' AND time = TIMESTAMP '2024-01-01 {time}'");
        for time in ["00:01:00", "00:02:00", "00:04:00"] {
            run(&session, &form(time));
        }
        assert!(matches!(state(&session, &form("00:07:00")), Some(TemplateState::Direct(_))));
        for minute in 0..60 {
            assert_eq!(run(&session, &form(&format!("00:{minute:02}:00"))), usize::from(minute % 3 == 1), "{minute}");
        }
        assert!(session.worker.plans().direct_read(&query(&session, &form("00:58:00"))).is_none());
        assert_eq!(run(&session, &form("00:01:00.000001")), 0);
        // The same text without the type is learned separately.
        assert!(state(&session, &form("00:07:00").replace("TIMESTAMP ", "")).is_none());
    }

    #[test]
    fn aggregates_of_a_few_rows_are_not_planned() {
        let session = session();
        for form in [
            "SELECT count(*), sum(n) FROM t WHERE sensor = 's%'",
            "SELECT date_trunc('hour', time) AS hour, max(x) FROM t WHERE sensor = 's%' AND time >= '2024-01-01 00:0%' \
             GROUP BY date_trunc('hour', time) ORDER BY hour",
            "SELECT u.sensor || '!', round(avg(u.n), 1) FROM t AS u WHERE u.n >= % GROUP BY u.sensor HAVING count(*) > 1 \
             ORDER BY 2 DESC LIMIT 2",
        ] {
            for constant in ["0", "1", "2"] {
                run(&session, &form.replace('%', constant));
            }
            // They are described without being planned, too, and as a session that knows no template describes them.
            let sql = form.replace('%', "5");
            let (statement, (snapshot, scope)) =
                (session.statements(&sql).next().unwrap().unwrap(), session.snapshot().unwrap());
            let columns = session.columns_with_constants(&statement, &snapshot, scope);
            let fresh = Session::new(session.engine().clone(), SessionOptions::default()).unwrap();
            assert_eq!(columns.as_ref(), fresh.prepare(&sql, &[]).unwrap().schema(), "{form}");
            assert!(columns.is_some(), "{form}");
            assert!(matches!(state(&session, &form.replace('%', "3")), Some(TemplateState::Direct(_))), "{form}");
        }
    }

    #[test]
    fn an_aggregate_of_many_chunks_is_planned_until_there_are_few() {
        let session = session();
        for sql in [
            "CREATE TABLE days (time TIMESTAMP, n INT) WITH (slice = 'day')",
            "INSERT INTO days SELECT TIMESTAMP '2024-01-01' + n * INTERVAL '1 day', n \
             FROM generate_series(0, 99) AS s(n)",
        ] {
            run(&session, sql);
        }
        let answer = |sql: &str| {
            let statement = session.statements(sql).next().unwrap().unwrap();
            let Answer::Rows(rows) = session.execute(&statement, &[]).unwrap() else { panic!("{sql} has no rows") };
            rows.map(|batch| batch.unwrap().columns().to_vec()).collect::<Vec<_>>()
        };
        let sql = "SELECT count(*), sum(n) FROM days WHERE n >= 0";
        // A condition that a direct read cannot have.
        let planned = "SELECT count(*), sum(n) FROM days WHERE n + 0 >= 0";
        answer(sql);
        let direct = session.worker.plans().direct_read(&query(&session, sql)).unwrap();
        let read = || {
            let (snapshot, _) = session.snapshot().unwrap();
            direct.read(&snapshot, &Parameters::none(), ReadLength::Any, &|| Ok(())).unwrap()
        };
        assert!(read().is_none(), "100 chunks");
        assert_eq!(answer(sql), answer(planned));
        run(&session, "DELETE FROM days WHERE n > 2");
        assert_eq!(answer(sql), answer(planned));
        let again = (0..1_000).find_map(|_| read()).expect("3 chunks");
        assert_eq!(vec![again[0].columns().to_vec()], answer(planned));
    }

    #[test]
    fn a_direct_read_stops_before_its_next_chunk() {
        let session = session();
        for form in ["SELECT n FROM t WHERE sensor = 's%'", "SELECT count(*), sum(n) FROM t WHERE sensor = 's%'"] {
            for constant in ["0", "1", "2"] {
                run(&session, &form.replace('%', constant));
            }
            let Some(TemplateState::Direct(read)) = state(&session, &form.replace('%', "3")) else { panic!("{form}") };
            let parameters = Parameters::Values(bound(&read.types, &["s0".into()]).unwrap());
            let (snapshot, _) = session.snapshot().unwrap();
            let stopped = read.direct.read(&snapshot, &parameters, ReadLength::Any, &|| Err(interrupted()));
            assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted, "{form}");
            let read = read.direct.read(&snapshot, &parameters, ReadLength::Any, &|| Ok(()));
            assert!(read.unwrap().is_some(), "{form}");
        }
    }

    #[test]
    fn constants_whose_type_may_differ_are_planned() {
        let session = session();
        for n in 0..3 {
            run(&session, &format!("SELECT n FROM t WHERE x = {n}"));
            run(&session, &format!("SELECT n FROM t WHERE n = '{n}'"));
            run(&session, &format!("SELECT sensor FROM t WHERE x > {n} AND n + 1 = {n}"));
        }
        let is_direct = |sql: &str| matches!(state(&session, sql), Some(TemplateState::Direct(_)));
        assert!(!is_direct("SELECT n FROM t WHERE x = 7"));
        assert!(!is_direct("SELECT n FROM t WHERE n = '7'"));
        assert!(!is_direct("SELECT sensor FROM t WHERE x > 7 AND n + 1 = 7"));
    }
}
