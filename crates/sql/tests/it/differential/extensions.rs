//! Queries with what PostgreSQL does not have: buckets, gap filling, nearest rows, first and last values. Their answers
//! are compared between layouts.

use super::generator::{Generator, Scope};
use super::queries::named;
use super::query::Query;
use super::types::Type;
use Type::{Float, Int, Text};

impl Generator {
    pub(crate) fn extension(&mut self) -> Query {
        let scope = self.scope("a", "l");
        let query = match self.below(4) {
            0 => self.bucketed(&scope),
            1 => self.gap_filled(&scope),
            2 => self.nearest(&scope),
            _ => self.first_and_last(&scope),
        };
        Query { is_extension: true, ..query }
    }

    /// The type of the series table's times.
    fn type_of_times(&self) -> Type {
        self.schema.table("a").columns[0].ty
    }

    /// A width of buckets, and the first and the last moment of a few days.
    fn width_and_range(&mut self) -> (&'static str, &'static str, &'static str) {
        match self.type_of_times() {
            Int => (self.choice.of(&["3600", "21600", "86400"]), "0", "345600"),
            // Without the name of a type: where queries are prepared, a constant of the function must stay one.
            _ => {
                let width = self.choice.of(&["'1 hour'", "'6 hours'", "'1 day'", "'90 minutes'"]);
                (width, "'2024-02-27 00:00:00'", "'2024-03-02 00:00:00'")
            }
        }
    }

    fn bucketed(&mut self, scope: &Scope) -> Query {
        let (width, ..) = self.width_and_range();
        let bucket = format!("time_bucket({width}, l.at)");
        let aggregates = [self.aggregate(scope), self.aggregate(scope)];
        let items = [bucket.clone(), "l.k".to_owned(), aggregates[0].0.clone(), aggregates[1].0.clone()];
        let types = vec![self.type_of_times(), Int, aggregates[0].1, aggregates[1].1];
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(scope, 2)) } else { String::new() };
        Query::new(format!("SELECT {} FROM a AS l{filter} GROUP BY {bucket}, l.k", named(&items)), types)
    }

    fn gap_filled(&mut self, scope: &Scope) -> Query {
        let (width, start, finish) = self.width_and_range();
        let bucket = format!("time_bucket_gapfill({width}, l.at, {start}, {finish})");
        let value = self.expression(scope, Int, 1);
        let series = self.of(&["l.k", "l.m", "l.k % 3"]);
        let items = [
            bucket.clone(),
            series.to_owned(),
            "count(*)".to_owned(),
            format!("locf({}({value}))", self.of(&["max", "min", "sum"])),
            format!("interpolate(avg({value}))"),
        ];
        let types = vec![self.type_of_times(), if series == "l.m" { Text } else { Int }, Int, Int, Float];
        let more = if self.percent(50) { format!(" AND {}", self.condition(scope, 1)) } else { String::new() };
        let sql = format!(
            "SELECT {} FROM a AS l WHERE l.at >= {start} AND l.at < {finish}{more} GROUP BY {bucket}, {series}",
            named(&items)
        );
        Query::new(sql, types)
    }

    /// Joins each row with the nearest one of the same key. No two rows of the right side have the same key and time.
    fn nearest(&mut self, scope: &Scope) -> Query {
        let join = self.of(&["ASOF JOIN", "ASOF LEFT JOIN"]);
        let operator = self.of(&[">", ">=", "<", "<="]);
        let right = "(SELECT k AS rk, at AS time, count(*) AS n, max(s) AS text FROM a GROUP BY k, at) AS r";
        let items = ["l.k", "l.at", "r.time", "r.n", "r.text"].map(str::to_owned);
        let time = self.type_of_times();
        let filter = if self.percent(50) { format!(" WHERE {}", self.condition(scope, 1)) } else { String::new() };
        let on = format!("l.k = r.rk AND l.at {operator} r.time");
        let sql = format!("SELECT {} FROM a AS l {join} {right} ON {on}{filter}", named(&items));
        Query::new(sql, vec![Int, time, time, Int, Text])
    }

    /// Queries `first` and `last`. Of several rows at the first or last moment, any may be meant: the values are the
    /// moments themselves.
    fn first_and_last(&mut self, scope: &Scope) -> Query {
        let key = self.of(&["l.k", "l.m", "l.s"]);
        let time = self.type_of_times();
        let items = [key.to_owned(), "first(l.at, l.at)".to_owned(), "last(l.at, l.at)".to_owned()];
        let filter = if self.percent(70) { format!(" WHERE {}", self.condition(scope, 2)) } else { String::new() };
        let types = vec![if key == "l.k" { Int } else { Text }, time, time];
        Query::new(format!("SELECT {} FROM a AS l{filter} GROUP BY {key}", named(&items)), types)
    }
}
