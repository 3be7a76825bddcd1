//! Queries with window functions, over rows and over groups.

use super::generator::{Generator, Scope};
use super::queries::named;
use super::query::Query;
use super::types::Type;
use Type::{Float, Int, Text};

impl Generator {
    /// One or two window functions with a total order, by every column of the table.
    pub(crate) fn windowed(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let (mut items, mut types) = (vec!["l.k".to_owned(), "l.s".to_owned()], vec![Int, Text]);
        for _ in 0..1 + usize::from(self.is_for_postgres() && self.percent(40)) {
            let (function, ty) = self.window_function(&scope);
            items.push(function);
            types.push(ty);
        }
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        Query::new(format!("SELECT {} FROM {table} AS l{filter}", named(&items)), types)
    }

    /// Window functions over the groups of a table.
    pub(crate) fn windowed_groups(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let (key, ty) = if self.percent(50) { ("l.k", Int) } else { ("l.s", Text) };
        let value = self.expression(&scope, Int, 1);
        let by_key = self.sort_key(key);
        let (function, result) = match self.below(5) {
            0 => (format!("rank() OVER (ORDER BY {})", self.sort_key(&format!("sum({value})"))), Int),
            1 => ("sum(count(*)) OVER ()".to_owned(), Int),
            2 => (format!("sum(sum({value})) OVER (ORDER BY {by_key})"), Int),
            3 => (format!("lag(max({value})) OVER (ORDER BY {}, {by_key})", self.sort_key("count(*)")), Int),
            _ => (format!("first_value({key}) OVER (ORDER BY {}, {by_key})", self.sort_key("count(*)")), ty),
        };
        let (aggregate, of) = self.aggregate(&scope);
        let items = [key.to_owned(), aggregate, function];
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let sql = format!("SELECT {} FROM {table} AS l{filter} GROUP BY {key}", named(&items));
        Query::new(sql, vec![ty, of, result])
    }

    fn window_function(&mut self, scope: &Scope) -> (String, Type) {
        let order = self.total_order(scope);
        let partition = self.of(&["", "PARTITION BY l.k ", "PARTITION BY l.s ", "PARTITION BY l.k % 3 "]);
        let window = format!("{partition}ORDER BY {order}");
        let value = self.expression(scope, Int, 1);
        let peers = format!("{partition}ORDER BY {}", self.sort_key("l.k"));
        match self.below(if self.is_for_postgres() { 19 } else { 7 }) {
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
                let (function, frame) = (self.of(&["sum", "min", "max", "count", "last_value"]), self.frame());
                (format!("{function}({value}) OVER ({window} {frame})"), Int)
            }
            13 => {
                let frame = self
                    .of(&["GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING"]);
                (format!("{}({value}) OVER ({partition}ORDER BY l.k {frame})", self.of(&["sum", "min", "count"])), Int)
            }
            14 => (format!("nth_value({value}, 2) OVER ({window})"), Int),
            15 => (format!("count(*) FILTER (WHERE {}) OVER ({peers})", self.condition(scope, 1)), Int),
            16 => (format!("lag({value}, 1, -1) OVER ({window})"), Int),
            17 => {
                let (text, frame) = (self.expression(scope, Text, 1), self.frame());
                (format!("{}({text}) OVER ({window} {frame})", self.of(&["min", "max", "last_value"])), Text)
            }
            _ => {
                let (condition, frame) = (self.condition(scope, 1), self.frame());
                (format!("sum({value}) FILTER (WHERE {condition}) OVER ({window} {frame})"), Int)
            }
        }
    }

    fn frame(&mut self) -> &'static str {
        self.choice.of(&[
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
            "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
        ])
    }
}
