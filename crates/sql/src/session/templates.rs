//! Queries that differ only in constants. The first two with the same template are planned. If both are the same
//! direct read with other constants, later ones are read directly, with the constants as values of parameters.

use super::parameter_value::{ParameterValue, bound};
use super::state::Session;
use crate::functions::arguments::is_text;
use crate::run::answer::{Answer, Rows};
use crate::run::plan_cache::TemplateState;
use crate::run::planned::direct_read;
use crate::run::query::Query;
use crate::text::params::Parameters;
use crate::text::template::{Constant, Template};
use arrow::datatypes::DataType;
use atsdb_core::Result;
use datafusion::common::ScalarValue;
use std::sync::Arc;

impl Session {
    /// Answers a query that is not kept with its own constants.
    pub(super) fn query_with_constants(&self, query: Query) -> Result<Answer> {
        let Some(template) = Template::of(&query.text).filter(|_| has_no_parameters(&query)) else {
            return self.run_query(query);
        };
        let plans = self.worker.plans();
        let state = plans.template(&query, &template);
        if let Some(TemplateState::Direct(types)) = &state
            && let Some(values) = values_of(&template.constants, types)
            && let Some((schema, batches)) = self.worker.answer_directly(&with_values(&query, &template, values))?
        {
            self.interrupt.check()?;
            return Ok(Answer::Rows(Rows::read(schema, batches)));
        }
        let same = with_values(&query, &template, Arc::default());
        let planned = Query { text: query.text.clone(), parameters: query.parameters.clone(), ..same };
        let answer = self.run_query(query)?;
        match state {
            None if plans.direct(&planned).is_some() => plans.put_template(&planned, &template, TemplateState::Seen),
            Some(TemplateState::Seen) => {
                let direct = self.direct_template(&planned, &template);
                plans.put_template(&planned, &template, direct.map_or(TemplateState::Planned, TemplateState::Direct));
            }
            _ => {}
        }
        Ok(answer)
    }

    /// The types of the constants, if the queries with a template are direct reads. The read of the template, with the
    /// constants of a query that was just planned, must be the read of that query.
    fn direct_template(&self, planned: &Query, template: &Template) -> Option<Arc<[DataType]>> {
        let types: Arc<[DataType]> = self.prepare(&template.text, &[]).ok()?.parameter_types().into();
        let query = with_values(planned, template, values_of(&template.constants, &types)?);
        let (parameters, own) = (query.parameters.clone(), self.worker.plans().direct(planned)?);
        let to_plan = with_values(planned, template, values_of(&template.constants, &types)?);
        let direct = self.worker.plan(move |state| direct_read(&to_plan, state)).ok()??;
        let table = own.table(&planned.snapshot)?;
        if !direct.is_same(&parameters, &own, &table.definition) {
            return None;
        }
        self.worker.plans().put_direct(&query, Arc::new(direct));
        Some(types)
    }
}

fn has_no_parameters(query: &Query) -> bool {
    match &query.parameters {
        Parameters::Texts(texts) => texts.is_empty(),
        Parameters::Values(values) => values.is_empty(),
        Parameters::Types(_) => false,
    }
}

/// The query of a template with values for its constants, in the place of another query.
fn with_values(query: &Query, template: &Template, values: Arc<[ScalarValue]>) -> Query {
    Query {
        text: template.text.clone(),
        position: query.position,
        parameters: Parameters::Values(values),
        snapshot: query.snapshot.clone(),
        files: None,
        scope: query.scope,
    }
}

/// The constants as values of these types; `None` if one might mean something else than such a value.
fn values_of(constants: &[Constant], types: &[DataType]) -> Option<Arc<[ScalarValue]>> {
    let value = |(constant, data_type): (&Constant, &DataType)| match (constant, data_type) {
        (Constant::Text(text), DataType::Timestamp(..)) if text.starts_with(|first: char| first.is_ascii_digit()) => {
            Some(ParameterValue::from(text.as_str()))
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
    use crate::run::options::SessionOptions;
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

    fn state(session: &Session, sql: &str) -> Option<TemplateState> {
        let (snapshot, scope) = session.snapshot().unwrap();
        let text = sql.to_owned();
        let (position, parameters) = (session.statements(sql).next().unwrap().unwrap().position(), Parameters::none());
        let query = Query { text, position, parameters, snapshot, files: None, scope: Some(scope) };
        session.worker.plans().template(&query, &Template::of(sql).unwrap())
    }

    #[test]
    fn the_third_query_with_a_template_is_not_planned() {
        let session = session();
        let form = |sensor: u8, minute: u8| {
            format!("SELECT n FROM t WHERE sensor = 's{sensor}' AND time = '2024-01-01 00:{minute:02}:00' AND n >= 0")
        };
        let states = [None, Some(TemplateState::Seen)];
        for (minute, wanted) in [0, 4].into_iter().zip(states) {
            assert_eq!(state(&session, &form(minute % 3, minute)), wanted);
            assert_eq!(run(&session, &form(minute % 3, minute)), 1);
        }
        assert!(matches!(state(&session, &form(0, 0)), Some(TemplateState::Direct(types)) if types.len() == 3));
        for minute in 0..60 {
            assert_eq!(run(&session, &form(1, minute)), usize::from(minute % 3 == 1));
        }
        // These queries have left no plans of their own.
        let (snapshot, scope) = session.snapshot().unwrap();
        let position = session.statements("SELECT 1").next().unwrap().unwrap().position();
        let text = form(1, 59);
        let query = Query { text, position, parameters: Parameters::none(), snapshot, files: None, scope: Some(scope) };
        assert!(session.worker.plans().direct(&query).is_none());
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
