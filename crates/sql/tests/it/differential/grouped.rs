//! Queries with groups, and queries with window functions.

use super::generator::{Generator, Scope};
use super::queries::{Query, named};
use super::types::Type;
use Type::{Bool, Bytea, Float, Int, Numeric, Text};

impl Generator {
    pub(crate) fn grouped(&mut self, depth: usize) -> Query {
        let (from, scope) = self.source(depth);
        let mut keys: Vec<(String, Type)> = Vec::new();
        for _ in 0..self.below(3) {
            let ty = self.any_type();
            let key = self.expression(&scope, ty, 1);
            // A literal in GROUP BY would be the number of a column.
            if scope.is_in(&key) {
                keys.push((key, ty));
            }
        }
        let count = 1 + self.below(3);
        let aggregates: Vec<(String, Type)> = (0..count).map(|_| self.aggregate(&scope)).collect();
        let (mut items, mut types): (Vec<String>, Vec<Type>) = keys.iter().cloned().unzip();
        items.extend(aggregates.iter().map(|(sql, _)| sql.clone()));
        types.extend(aggregates.iter().map(|(_, ty)| *ty));
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let mut sql = format!("SELECT {} FROM {from}{filter}", named(&items));
        if !keys.is_empty() {
            let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
            let names = names.join(", ");
            let sets = if self.is_for_postgres() && self.percent(12) { self.of(&["ROLLUP", "CUBE"]) } else { "" };
            sql.push_str(&if sets.is_empty() {
                format!(" GROUP BY {names}")
            } else {
                format!(" GROUP BY {sets} ({names})")
            });
        }
        if (!keys.is_empty() || self.is_for_postgres()) && self.percent(30) {
            let (aggregate, ty) = self.aggregate(&scope);
            sql.push_str(&format!(" HAVING {aggregate} {} {}", self.of(&[">", "<=", "<>"]), self.literal(ty)));
        }
        Query { is_single: keys.is_empty(), ..Query::new(sql, types) }
    }

    fn aggregate(&mut self, scope: &Scope) -> (String, Type) {
        let ty = self.any_type();
        let argument = self.expression(scope, ty, 1);
        let is_number = matches!(ty, Int | Float | Numeric);
        let (sql, result) = match self.below(if self.is_for_postgres() { 15 } else { 7 }) {
            0 => ("count(*)".to_owned(), Int),
            1 => (format!("count({argument})"), Int),
            2 => (format!("count(DISTINCT {argument})"), Int),
            3 if !matches!(ty, Bool | Bytea) => (format!("min({argument})"), ty),
            4 if !matches!(ty, Bool | Bytea) => (format!("max({argument})"), ty),
            5 if is_number => (format!("avg({argument})"), if ty == Numeric { Numeric } else { Float }),
            6 if is_number => (format!("sum(CASE WHEN {} THEN {argument} END)", self.condition(scope, 1)), ty),
            7 if is_number => (format!("sum(DISTINCT {argument})"), ty),
            8 if ty == Bool => (format!("{}({argument})", self.of(&["bool_and", "bool_or"])), Bool),
            9 if ty == Text => (format!("string_agg({argument}, ',' ORDER BY {argument})"), Text),
            10 if matches!(ty, Int | Float) => {
                (format!("{}({argument})", self.of(&["stddev", "var_pop", "var_samp", "stddev_pop"])), Float)
            }
            11 if ty == Int => (format!("{}({argument})", self.of(&["bit_and", "bit_or"])), Int),
            12 if matches!(ty, Int | Float) => {
                (format!("percentile_cont(0.5) WITHIN GROUP (ORDER BY {argument})"), Float)
            }
            _ if is_number => (format!("sum({argument})"), ty),
            _ => ("count(*)".to_owned(), Int),
        };
        match self.is_for_postgres() && self.percent(20) {
            true => (format!("{sql} FILTER (WHERE {})", self.condition(scope, 1)), result),
            false => (sql, result),
        }
    }

    /// Window functions with a total order, by every column of the table.
    pub(crate) fn windowed(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let names: Vec<String> = scope.0.iter().map(|(name, _)| name.clone()).collect();
        let order: Vec<String> = names.iter().map(|name| self.sort_key(name)).collect();
        let partition = self.of(&["", "PARTITION BY l.k ", "PARTITION BY l.s ", "PARTITION BY l.k % 3 "]);
        let window = format!("{partition}ORDER BY {}", order.join(", "));
        let value = self.expression(&scope, Int, 1);
        let peers = format!("{partition}ORDER BY {}", self.sort_key("l.k"));
        let (function, ty) = match self.below(if self.is_for_postgres() { 16 } else { 7 }) {
            0 => (format!("row_number() OVER ({window})"), Int),
            1 => (format!("lag({value}, {}) OVER ({window})", 1 + self.below(3)), Int),
            2 => (format!("lead({value}) OVER ({window})"), Int),
            3 => {
                let frame = format!("ROWS BETWEEN {} PRECEDING AND CURRENT ROW", self.below(4));
                (format!("sum({value}) OVER ({window} {frame})"), Int)
            }
            4 => (format!("count({value}) OVER ({window})"), Int),
            5 => (format!("rank() OVER ({peers})"), Int),
            6 => (format!("first_value(l.s) OVER ({window})"), Text),
            7 => (format!("dense_rank() OVER ({peers})"), Int),
            8 => (format!("{}() OVER ({peers})", self.of(&["percent_rank", "cume_dist"])), Float),
            9 => (format!("ntile({}) OVER ({window})", 1 + self.below(4)), Int),
            10 => (format!("sum({value}) OVER ({peers})"), Int),
            11 => (format!("{}({value}) OVER ({partition})", self.of(&["sum", "min", "max", "count"])), Int),
            12 => {
                let frame = self.of(&[
                    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
                    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
                    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
                    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                ]);
                (
                    format!(
                        "{}({value}) OVER ({window} {frame})",
                        self.of(&["sum", "min", "max", "count", "last_value"])
                    ),
                    Int,
                )
            }
            13 => {
                let frame = self
                    .of(&["GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING"]);
                (format!("{}({value}) OVER ({partition}ORDER BY l.k {frame})", self.of(&["sum", "min", "count"])), Int)
            }
            14 => (format!("nth_value({value}, 2) OVER ({window})"), Int),
            _ => (format!("count(*) FILTER (WHERE {}) OVER ({peers})", self.condition(&scope, 1)), Int),
        };
        let items = ["l.k".to_owned(), "l.s".to_owned(), function];
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        Query::new(format!("SELECT {} FROM {table} AS l{filter}", named(&items)), vec![Int, Text, ty])
    }
}
