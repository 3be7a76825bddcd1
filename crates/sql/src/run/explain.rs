//! EXPLAIN: its options, and its answer, which is one row for each line of a plan, or one JSON text.

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use atsdb_codec::declared_field;
use atsdb_core::{ColumnType, Error, Result};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::workarounds::output_names::without_marks;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::common::format::{ExplainAnalyzeCategories, ExplainFormat, MetricCategory};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::sql::sqlparser::ast::{AnalyzeFormatKind, Expr, Statement as Ast, UtilityOption, Value};
use std::sync::Arc;

/// The mark of [`without_marks`] as JSON writes it.
const MARK_IN_JSON: &str = "\\u0001";

/// The options of an EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExplainOptions {
    is_json: bool,
    is_verbose: bool,
    has_times: bool,
}

impl ExplainOptions {
    /// Takes the options out of a statement; `None` if it is no EXPLAIN.
    pub(super) fn take(statement: &mut Ast) -> Result<Option<Self>> {
        let Ast::Explain { analyze, verbose, estimate, format, options, .. } = statement else { return Ok(None) };
        if *estimate {
            return Err(not_supported("EXPLAIN ESTIMATE").with_hint("write EXPLAIN"));
        }
        let mut explained = Self { is_json: false, is_verbose: *verbose, has_times: true };
        if let Some(AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format)) = format.take() {
            explained.is_json = is_json(&format.to_string())?;
        }
        let (mut timing, mut wal) = (false, false);
        for option in options.take().unwrap_or_default() {
            match option.name.value.to_lowercase().as_str() {
                "analyze" | "analyse" => *analyze = truth(&option)?,
                "verbose" => explained.is_verbose = truth(&option)?,
                "format" => explained.is_json = is_json(&argument(&option).unwrap_or_default())?,
                "timing" => {
                    timing = truth(&option)?;
                    explained.has_times = timing;
                }
                "wal" => wal = truth(&option)?,
                // What they show of PostgreSQL's plans, these plans do not have.
                "costs" | "buffers" | "settings" | "summary" => {
                    truth(&option)?;
                }
                other => {
                    return Err(sql_error(format!("unrecognized EXPLAIN option \"{other}\"")).with_hint(
                        "use ANALYZE, VERBOSE, TIMING or FORMAT; BUFFERS, COSTS, SETTINGS, SUMMARY and WAL have \
                         no effect",
                    ));
                }
            }
        }
        if let Some((_, name)) = [(timing, "TIMING"), (wal, "WAL")].into_iter().find(|(is_on, _)| *is_on && !*analyze) {
            return Err(sql_error(format!("EXPLAIN option {name} requires ANALYZE")));
        }
        *verbose = explained.is_verbose && !explained.is_json;
        Ok(Some(explained))
    }

    /// Gives a plan the options that the parser's statement cannot express.
    pub(super) fn apply(self, mut plan: LogicalPlan) -> LogicalPlan {
        if let LogicalPlan::Analyze(analyze) = &mut plan {
            if self.is_json {
                (analyze.format, analyze.verbose) = (ExplainFormat::PostgresJSON, self.is_verbose);
            }
            if !self.has_times {
                let shown = vec![MetricCategory::Rows, MetricCategory::Bytes, MetricCategory::Uncategorized];
                analyze.analyze_categories = Some(ExplainAnalyzeCategories::Only(shown));
            }
        }
        plan
    }

    /// The physical plan of an EXPLAIN.
    pub(super) async fn physical_plan(
        self,
        plan: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = state.query_planner();
        let explain = match plan {
            LogicalPlan::Explain(explain) if self.is_json => explain,
            plan => return planner.create_physical_plan(plan, state).await.map_err(from_datafusion),
        };
        // DataFusion would show the logical plan.
        let inner = match explain.logical_optimization_succeeded {
            true => Arc::clone(&explain.plan),
            false => Arc::new(state.optimize(&explain.plan).map_err(from_datafusion)?),
        };
        let inner = planner.create_physical_plan(&inner, state).await.map_err(from_datafusion)?;
        let text = displayable(inner.as_ref()).pgjson(self.is_verbose).to_string();
        let text = StringifiedPlan::new(PlanType::FinalPhysicalPlan, text);
        Ok(Arc::new(ExplainExec::new(Arc::clone(explain.schema.inner()), vec![text], false)))
    }

    /// The columns of the answer, if DataFusion's are these.
    pub(super) fn schema(self, of_plan: SchemaRef) -> SchemaRef {
        match self.is_json {
            true => {
                let field = Field::new("QUERY PLAN", DataType::Utf8, false);
                Arc::new(Schema::new(vec![declared_field(field, ColumnType::Json)]))
            }
            false => of_plan,
        }
    }

    /// The rows of the answer, from DataFusion's, which have a whole plan in one cell.
    pub(super) fn rows(self, plans: &RecordBatch) -> Result<RecordBatch> {
        if self.is_json { one_json(plans) } else { one_row_a_line(plans) }
    }
}

/// Returns whether a format is JSON. Other formats than this and text are refused.
fn is_json(format: &str) -> Result<bool> {
    match format.to_lowercase().as_str() {
        "json" => Ok(true),
        "text" => Ok(false),
        "xml" | "yaml" | "tree" | "graphviz" | "traditional" => {
            Err(not_supported(format!("EXPLAIN with FORMAT {}", format.to_uppercase()))
                .with_hint("write FORMAT TEXT or FORMAT JSON"))
        }
        other => Err(sql_error(format!("unrecognized value for EXPLAIN option \"format\": \"{other}\""))
            .with_hint("write FORMAT TEXT or FORMAT JSON")),
    }
}

/// The value of an option that is on or off.
fn truth(option: &UtilityOption) -> Result<bool> {
    let Some(argument) = argument(option) else { return Ok(true) };
    match argument.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(sql_error(format!("{} requires a Boolean value", option.name.value.to_lowercase()))
            .with_hint("write ON or OFF")),
    }
}

/// The word, number or text after an option's name.
fn argument(option: &UtilityOption) -> Option<String> {
    Some(match option.arg.as_ref()? {
        Expr::Identifier(word) => word.value.clone(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    })
}

/// Splits DataFusion's rows into one row for each line.
fn one_row_a_line(plans: &RecordBatch) -> Result<RecordBatch> {
    let columns =
        (plans.column(0).as_string_opt::<i32>(), plans.columns().get(1).and_then(|array| array.as_string_opt::<i32>()));
    let (Some(kinds), Some(texts)) = columns else { return Ok(plans.clone()) };
    let lines = kinds.iter().zip(texts).flat_map(|(kind, text)| {
        let lines = text.unwrap_or_default().trim_end_matches('\n').split('\n');
        lines.map(move |line| (kind, Some(without_marks(line))))
    });
    let (kinds, lines): (Vec<Option<&str>>, Vec<Option<String>>) = lines.unzip();
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(kinds)), Arc::new(StringArray::from(lines))];
    RecordBatch::try_new(plans.schema(), columns).map_err(Error::from)
}

/// DataFusion's rows as a column of JSON.
fn one_json(plans: &RecordBatch) -> Result<RecordBatch> {
    let texts = plans.columns().get(1).and_then(|array| array.as_string_opt::<i32>());
    let texts = texts.ok_or_else(|| Error::internal("an EXPLAIN without texts"))?;
    let texts: StringArray = texts.iter().map(|text| text.map(without_marks_in_json)).collect();
    let schema = Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(texts)]).map_err(Error::from)
}

/// JSON with the names in its texts as they are shown.
fn without_marks_in_json(json: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('\\') {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.strip_prefix(MARK_IN_JSON) {
            Some(after) => rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit()),
            None => {
                // Another escape: a backslash and an ASCII character.
                let (escape, after) = rest.split_at_checked(2).unwrap_or((rest, ""));
                shown.push_str(escape);
                rest = after;
            }
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_dialect::parse::statement::parse_declaring;
    use atsdb_dialect::text::params::Parameters;
    use atsdb_dialect::text::source_position::SourcePosition;

    fn taken(sql: &str) -> Result<(Option<ExplainOptions>, bool)> {
        let mut statement = parse_declaring(sql, SourcePosition::START, &Parameters::none())?;
        let explained = ExplainOptions::take(&mut statement)?;
        Ok((explained, matches!(statement, Ast::Explain { analyze: true, options: None, format: None, .. })))
    }

    #[test]
    fn options_are_honoured_or_refused() {
        let plain = ExplainOptions { is_json: false, is_verbose: false, has_times: true };
        let json = ExplainOptions { is_json: true, ..plain };
        for (sql, expected, analyzes) in [
            ("EXPLAIN SELECT 1", plain, false),
            ("EXPLAIN (ANALYZE, BUFFERS) SELECT 1", plain, true),
            ("EXPLAIN (ANALYZE off, COSTS OFF, FORMAT text) SELECT 1", plain, false),
            ("EXPLAIN (FORMAT JSON) SELECT 1", json, false),
            ("EXPLAIN FORMAT JSON SELECT 1", json, false),
            ("EXPLAIN (FORMAT 'json', ANALYZE 1) SELECT 1", json, true),
            ("EXPLAIN (ANALYZE, TIMING off) SELECT 1", ExplainOptions { has_times: false, ..plain }, true),
            ("EXPLAIN (VERBOSE) SELECT 1", ExplainOptions { is_verbose: true, ..plain }, false),
            ("EXPLAIN (VERBOSE, ANALYSE) SELECT 1", ExplainOptions { is_verbose: true, ..plain }, true),
        ] {
            assert_eq!(taken(sql).unwrap(), (Some(expected), analyzes), "{sql}");
        }
        assert_eq!(taken("SELECT 1").unwrap(), (None, false));
        for (sql, message) in [
            ("EXPLAIN (NONSENSE) SELECT 1", "unrecognized EXPLAIN option \"nonsense\""),
            ("EXPLAIN (FORMAT XML) SELECT 1", "EXPLAIN with FORMAT XML is not supported yet"),
            ("EXPLAIN (FORMAT odd) SELECT 1", "unrecognized value for EXPLAIN option \"format\": \"odd\""),
            ("EXPLAIN (ANALYZE maybe) SELECT 1", "analyze requires a Boolean value"),
            ("EXPLAIN (TIMING) SELECT 1", "EXPLAIN option TIMING requires ANALYZE"),
        ] {
            assert_eq!(taken(sql).unwrap_err().message(), message, "{sql}");
        }
    }

    #[test]
    fn json_has_no_marks_and_keeps_other_escapes() {
        assert_eq!(without_marks_in_json(r#"["a\u000112 b\n\\u0001\"]"#), r#"["a b\n\\u0001\"]"#);
    }
}
