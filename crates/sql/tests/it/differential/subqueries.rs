//! Queries whose subqueries mention outer columns, and queries that keep the first rows of something. For PostgreSQL
//! only. Where rows are cut off, the order includes every column of the table, so that rows that are cut off at random
//! are equal to those that stay.

use super::generator::{Generator, Scope};
use super::queries::named;
use super::query::Query;
use super::types::Type;
use Type::{Int, Text};

impl Generator {
    /// A scalar subquery of a type, for each row of `scope`; `None` if there is none for the type.
    pub(crate) fn correlated(&mut self, scope: &Scope, ty: Type) -> Option<String> {
        let outer = self.column(scope, Int)?;
        let inner = self.scope("b", "sub");
        let value = match ty {
            Int => match self.below(5) {
                0 => "coalesce(sum(sub.k), -1)".to_owned(),
                1 => format!("count(*) FILTER (WHERE {})", self.condition(&inner, 1)),
                2 => format!("max({})", self.expression(&inner, Int, 1)),
                3 => "min(sub.k) + 1".to_owned(),
                _ => format!("count(DISTINCT {})", self.expression(&inner, Text, 1)),
            },
            Text => match self.below(3) {
                0 => "string_agg(sub.s, ',' ORDER BY sub.s)".to_owned(),
                1 => format!("max({})", self.expression(&inner, Text, 1)),
                _ => format!("coalesce(min(sub.s), {})", self.literal(Text)),
            },
            _ => return None,
        };
        let operator = self.of(&["=", "=", "<", ">", "<>"]);
        let more = if self.percent(40) { format!(" AND {}", self.condition(&inner, 1)) } else { String::new() };
        Some(format!("(SELECT {value} FROM b AS sub WHERE sub.k {operator} {outer}{more})"))
    }

    /// `IN` with a subquery that mentions outer columns.
    pub(crate) fn correlated_member(&mut self, scope: &Scope) -> Option<String> {
        let (outer, other) = (self.column(scope, Int)?, self.column(scope, Text)?);
        let not = self.of(&["", "NOT "]);
        let condition = match self.below(3) {
            0 => format!("sub.s = {other}"),
            1 => format!("sub.s <> {other}"),
            _ => format!("sub.k < {outer}"),
        };
        let value = self.of(&["sub.k", "sub.k % 3", "nullif(sub.k, 2)"]);
        Some(format!("{outer} {not}IN (SELECT {value} FROM b AS sub WHERE {condition})"))
    }

    /// A table joined with a subquery that mentions its columns.
    pub(crate) fn lateral(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let left = self.scope(table, "l");
        let inner = self.scope("b", "sub");
        let more = if self.percent(50) { format!(" AND {}", self.condition(&inner, 1)) } else { String::new() };
        let (join, columns, types, rest) = match self.below(3) {
            0 => {
                let ty = self.any_type();
                let value = self.expression(&inner, ty, 1);
                let order = self.total_order(&inner);
                let rest = format!(" ORDER BY {order} LIMIT {}", 1 + self.below(3));
                ("CROSS JOIN LATERAL", vec!["sub.k".to_owned(), value], vec![Int, ty], rest)
            }
            1 => {
                let value = self.expression(&inner, Text, 1);
                let columns = vec!["count(*)".to_owned(), format!("max({value})")];
                ("LEFT JOIN LATERAL", columns, vec![Int, Text], String::new())
            }
            _ => {
                let ty = self.any_type();
                let value = self.expression(&left.and(&inner), ty, 2);
                ("CROSS JOIN LATERAL", vec!["sub.k".to_owned(), value], vec![Int, ty], String::new())
            }
        };
        let operator = self.of(&["=", "=", "<"]);
        let on = if join.starts_with("LEFT") { " ON true" } else { "" };
        let from = format!(
            "{table} AS l {join} (SELECT {} FROM b AS sub WHERE sub.k {operator} l.k{more}{rest}) AS d{on}",
            named(&columns)
        );
        let items = ["l.k".to_owned(), "l.s".to_owned(), "d.c0".to_owned(), "d.c1".to_owned()];
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&left, 2)) } else { String::new() };
        Query::new(format!("SELECT {} FROM {from}{filter}", named(&items)), [vec![Int, Text], types].concat())
    }

    /// The first row of each group by `DISTINCT ON`.
    pub(crate) fn distinct_on(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let ty = self.any_type();
        let key = Some(self.expression(&scope, ty, 1)).filter(|key| scope.is_in(key)).unwrap_or("l.k".to_owned());
        let ty = if key == "l.k" { Int } else { ty };
        let other = self.any_type();
        let items = [key.clone(), self.expression(&scope, other, 1), "l.s".to_owned()];
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let order = format!("{}, {}", self.sort_key(&key), self.total_order(&scope));
        let sql = format!("SELECT DISTINCT ON ({key}) {} FROM {table} AS l{filter} ORDER BY {order}", named(&items));
        Query::new(sql, vec![ty, other, Text])
    }

    /// The first rows of each partition by their number.
    pub(crate) fn first_of_partition(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let ty = self.any_type();
        let items = ["l.k".to_owned(), "l.s".to_owned(), self.expression(&scope, ty, 1)];
        let partition = self.of(&["", "PARTITION BY l.k ", "PARTITION BY l.s ", "PARTITION BY l.k % 3 "]);
        let order = self.total_order(&scope);
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let limit = self.of(&["= 1", "<= 2", "< 4", "= 2"]);
        let sql = format!(
            "SELECT d.c0, d.c1, d.c2 FROM (SELECT {}, row_number() OVER ({partition}ORDER BY {order}) AS place \
             FROM {table} AS l{filter}) AS d WHERE d.place {limit}",
            named(&items)
        );
        Query::new(sql, vec![Int, Text, ty])
    }

    /// A recursive query that is joined with a table, or two queries in `WITH` of which one reads the other.
    pub(crate) fn several_with(&mut self, inner: &Query) -> Query {
        if inner.is_single || self.percent(30) {
            let table = self.of(&["a", "b"]);
            let scope = self.scope(table, "l");
            let value = self.expression(&scope, Text, 1);
            let (union, step) = (self.of(&["UNION", "UNION ALL"]), 1 + self.below(2));
            let sql = format!(
                "WITH RECURSIVE r AS (SELECT 0 AS n {union} SELECT n + {step} FROM r WHERE n < {}) \
                 SELECT r.n AS c0, count(l.k) AS c1, max({value}) AS c2 FROM r LEFT JOIN {table} AS l ON l.k = r.n \
                 GROUP BY r.n",
                3 + self.below(6)
            );
            return Query::new(sql, vec![Int, Int, Text]);
        }
        let kept = self.of(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
        let join = self.of(&["JOIN", "LEFT JOIN"]);
        let more = self.of(&["", " WHERE v.c1 > 1", " AND v.c1 < 4"]);
        let sql = format!(
            "WITH w AS {kept}({}), v AS (SELECT w.c0 AS c0, count(*) AS c1 FROM w GROUP BY w.c0) \
             SELECT w.c0 AS c0, v.c1 AS c1 FROM w {join} v ON w.c0 = v.c0{more}",
            inner.sql
        );
        Query::new(sql, vec![inner.types[0], Int])
    }

    /// An order by every column in scope.
    pub(crate) fn total_order(&mut self, scope: &Scope) -> String {
        let names: Vec<String> = scope.0.iter().map(|(name, _)| name.clone()).collect();
        let keys: Vec<String> = names.iter().map(|name| self.sort_key(name)).collect();
        keys.join(", ")
    }
}
