//! The statements that the generator can make. A new kind of query is another arm of [`Generator::query`].

use super::generator::{Generator, Scope};
use super::query::{Query, RunStep};
use super::types::{Type, name_of};
use Type::{Date, Float, Int, Text, Timestamp};

impl Generator {
    pub(crate) fn next_step(&mut self) -> RunStep {
        if let Some(query) = self.pending.pop() {
            return RunStep::Query(query);
        }
        if self.is_for_postgres() && self.percent(4) {
            self.pending = self.template();
        } else if self.is_for_postgres() && self.percent(2) {
            self.pending = self.prepared();
        }
        if self.percent(12) {
            let statements = match self.below(3) {
                0 => vec![self.change()],
                1 => vec![self.keyed_insert()],
                _ => self.transaction(),
            };
            return RunStep::Changes(statements);
        }
        if self.is_for_postgres() && self.percent(4) {
            return RunStep::Query(self.failing());
        }
        if self.is_for_postgres() && self.percent(5) {
            return RunStep::Query(self.extension());
        }
        let query = self.query(1);
        if self.percent(33) || query.partition.is_some() && self.percent(50) {
            return RunStep::Query(query);
        }
        let order: Vec<String> = (0..query.types.len()).map(|column| self.sort_key(&format!("c{column}"))).collect();
        let mut sql = format!("SELECT * FROM ({}) AS d ORDER BY {}", query.sql, order.join(", "));
        if self.percent(50) {
            sql.push_str(&format!(" LIMIT {}", self.below(12)));
            if self.percent(50) {
                sql.push_str(&format!(" OFFSET {}", self.below(8)));
            }
        }
        RunStep::Query(Query { is_ordered: true, ..Query::new(sql, query.types) })
    }

    pub(crate) fn sort_key(&mut self, column: &str) -> String {
        format!("{column} {} NULLS {}", self.of(&["ASC", "DESC"]), self.of(&["FIRST", "LAST"]))
    }

    fn query(&mut self, depth: usize) -> Query {
        match self.below(if self.is_for_postgres() { 18 } else { 12 }) {
            0..=3 => self.plain(depth),
            4..=6 => self.grouped(depth),
            7 => self.windowed(),
            8 | 9 => self.set_operation(),
            10 if depth > 0 => self.with(depth),
            12 => self.windowed_groups(),
            13 => self.lateral(),
            14 => self.distinct_on(),
            15 => self.first_of_partition(),
            17 => self.constants_beside(),
            16 if depth > 0 => {
                let inner = self.query(depth - 1);
                self.several_with(&inner)
            }
            _ => self.plain(0),
        }
    }

    fn plain(&mut self, depth: usize) -> Query {
        let (from, scope) = self.source(depth);
        let count = 1 + self.below(4);
        let types: Vec<Type> = (0..count).map(|_| self.any_type()).collect();
        let items: Vec<String> = types.iter().map(|ty| self.item(&scope, *ty)).collect();
        let distinct = if self.percent(25) { "DISTINCT " } else { "" };
        let sql = format!("SELECT {distinct}{} FROM {from}", named(&items));
        match self.filter(&scope) {
            Some(condition) => {
                let partition = distinct.is_empty().then(|| (sql.clone(), condition.clone()));
                Query { partition, ..Query::new(format!("{sql} WHERE {condition}"), types) }
            }
            None => Query::new(sql, types),
        }
    }

    /// A column of the answer, sometimes a scalar subquery.
    fn item(&mut self, scope: &Scope, ty: Type) -> String {
        if self.is_for_postgres()
            && self.percent(8)
            && let Some(subquery) = self.correlated(scope, ty)
        {
            return subquery;
        }
        if ty != Int || self.percent(90) {
            return self.expression(scope, ty, 2);
        }
        let inner = self.scope("b", "sub");
        let outer = self.expression(scope, Int, 0);
        let inner_column = self.column(&inner, Int).unwrap_or("sub.k".to_owned());
        let aggregate = self.of(&["max", "min", "sum", "count"]);
        match self.percent(50) && outer.contains('.') {
            true => format!("(SELECT {aggregate}({inner_column}) FROM b AS sub WHERE sub.k = {outer})"),
            false => format!("(SELECT {aggregate}({inner_column}) FROM b AS sub WHERE {})", self.condition(&inner, 1)),
        }
    }

    /// A WHERE clause, or nothing.
    fn filter(&mut self, scope: &Scope) -> Option<String> {
        if self.percent(15) {
            return None;
        }
        let plain = self.condition(scope, 3);
        if self.percent(75) {
            return Some(plain);
        }
        if self.is_for_postgres()
            && self.percent(20)
            && let Some(member) = self.correlated_member(scope)
        {
            return Some(format!("{plain} {} {member}", self.of(&["AND", "AND", "AND", "OR"])));
        }
        let inner = self.scope("b", "sub");
        let not = self.of(&["", "NOT "]);
        let outer = self.expression(scope, Int, 0);
        let condition = self.condition(&inner, 1);
        let subquery = match self.below(if self.is_for_postgres() { 5 } else { 2 }) {
            0 => format!("{outer} {not}IN (SELECT sub.k FROM b AS sub WHERE {condition})"),
            1 => format!("{not}EXISTS (SELECT 1 FROM b AS sub WHERE sub.k = {outer} AND {condition})"),
            2 => format!(
                "{outer} {} ALL (SELECT sub.k FROM b AS sub WHERE {condition})",
                self.of(&["=", ">", "<=", "<>"])
            ),
            3 => format!("{outer} {} ANY (SELECT sub.k FROM b AS sub WHERE {condition})", self.of(&["=", "<", ">="])),
            _ => format!(
                "{outer} > (SELECT {}(sub.k) FROM b AS sub WHERE {condition})",
                self.of(&["min", "avg", "count"])
            ),
        };
        Some(format!("{plain} {} {subquery}", self.of(&["AND", "AND", "AND", "OR"])))
    }

    /// A FROM clause and its columns.
    pub(crate) fn source(&mut self, depth: usize) -> (String, Scope) {
        let table = self.of(&["a", "b"]);
        let left = self.scope(table, "l");
        match self.below(8) {
            0..=2 => (format!("{table} AS l"), left),
            3 | 4 => self.joined(table, &left),
            5 => {
                let right = self.scope("c", "r");
                (format!("{table} AS l CROSS JOIN c AS r"), left.and(&right))
            }
            6 if depth > 0 => {
                let inner = self.query(depth - 1);
                match inner.is_single {
                    true => (format!("{table} AS l"), left),
                    false => (format!("({}) AS d", inner.sql), derived(&inner, "d")),
                }
            }
            _ => (format!("{table} AS l"), left),
        }
    }

    fn joined(&mut self, table: &str, left: &Scope) -> (String, Scope) {
        let other = self.of(&["b", "c"]);
        let right = self.scope(other, "r");
        let both = left.and(&right);
        if !self.is_for_postgres() {
            let join = self.of(&["JOIN", "LEFT JOIN"]);
            let more = if self.percent(30) { format!(" AND {}", self.condition(&both, 1)) } else { String::new() };
            let on = self.of(&["l.k = r.k", "l.s = r.s", "l.k = r.k AND l.s = r.s", "l.k + 1 = r.k"]);
            return (format!("{table} AS l {join} {other} AS r ON {on}{more}"), both);
        }
        let join = self.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        if self.percent(30) {
            // The merged column replaces both.
            let (using, merged) = match self.percent(50) {
                true => ("k", vec![("k".to_owned(), Int)]),
                false => ("k, s", vec![("k".to_owned(), Int), ("s".to_owned(), Text)]),
            };
            let own = |(name, _): &&(String, Type)| !matches!(name.as_str(), "l.k" | "r.k" | "l.s" | "r.s");
            let scope = Scope(both.0.iter().filter(own).cloned().chain(merged).collect());
            return (format!("{table} AS l {join} {other} AS r USING ({using})"), scope);
        }
        // PostgreSQL supports FULL JOIN with equalities only.
        let more = match join {
            "FULL JOIN" => String::new(),
            _ if self.percent(40) => format!(" AND {}", self.condition(&both, 1)),
            _ => String::new(),
        };
        let on = self.of(&["l.k = r.k", "l.s = r.s", "l.k = r.k AND l.s = r.s", "l.k + 1 = r.k"]);
        (format!("{table} AS l {join} {other} AS r ON {on}{more}"), both)
    }

    /// An outer join whose optional side has constants, which are NULL in rows without a match. Its order begins with
    /// them, and includes every column of the other side, so that rows of the same place are equal.
    fn constants_beside(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let (ty, other) = (self.any_type(), self.any_type());
        let rows = self.of(&["b", "c"]);
        let constants = named(&[self.literal(ty), self.literal(other)]);
        let side = format!("(SELECT k AS rk, {constants} FROM {rows} GROUP BY k) AS r");
        let on = format!("l.k = r.rk{}", self.of(&["", "", " AND l.k > 2", " AND l.s <> 'a'"]));
        let from = match self.percent(70) {
            true => format!("{table} AS l LEFT JOIN {side} ON {on}"),
            false => format!("{side} RIGHT JOIN {table} AS l ON {on}"),
        };
        let filter = if self.percent(40) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let (first, second) = (self.sort_key("r.c0"), self.sort_key("r.c1"));
        let order = format!("{first}, {second}, {}", self.total_order(&scope));
        let items = ["r.c0", "r.c1", "l.k", "l.s"].map(str::to_owned);
        let sql = format!("SELECT {} FROM {from}{filter} ORDER BY {order} LIMIT {}", named(&items), 1 + self.below(20));
        Query { is_ordered: true, ..Query::new(sql, vec![ty, other, Int, Text]) }
    }

    fn set_operation(&mut self) -> Query {
        let count = 1 + self.below(3);
        let types: Vec<Type> = (0..count).map(|_| self.any_type()).collect();
        let (left, right) = (self.operand(&types), self.operand(&types));
        let operation = match self.is_for_postgres() {
            true => self.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"]),
            false => self.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]),
        };
        if self.is_for_postgres() && self.percent(15) {
            let third = self.operand(&types);
            let second = self.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            return Query::new(format!("{left} {operation} {right} {second} {third}"), types);
        }
        Query::new(format!("{left} {operation} {right}"), types)
    }

    fn operand(&mut self, types: &[Type]) -> String {
        let (from, scope) = self.source(0);
        let items: Vec<String> = types.iter().map(|ty| self.expression(&scope, *ty, 1)).collect();
        let filter = self.filter(&scope).map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
        format!("SELECT {} FROM {from}{filter}", named(&items))
    }

    /// A query with a WITH clause, which is read once or joined with itself.
    fn with(&mut self, depth: usize) -> Query {
        let inner = self.query(depth - 1);
        if inner.is_single {
            return inner;
        }
        let left = derived(&inner, "w");
        let types: Vec<Type> = inner.types.iter().take(3).copied().collect();
        let items: Vec<String> = types.iter().map(|ty| self.expression(&left, *ty, 1)).collect();
        let with = format!("WITH w AS ({})", inner.sql);
        if self.percent(40) {
            let join = self.of(&["JOIN", "LEFT JOIN"]);
            let from = format!("w {join} w AS other ON w.c0 = other.c0");
            let condition = self.condition(&left.and(&derived(&inner, "other")), 1);
            return Query::new(format!("{with} SELECT count(*) AS c0 FROM {from} WHERE {condition}"), vec![Int]);
        }
        let sql = format!("{with} SELECT {} FROM w", named(&items));
        let condition = self.condition(&left, 2);
        Query {
            partition: Some((sql.clone(), condition.clone())),
            ..Query::new(format!("{sql} WHERE {condition}"), types)
        }
    }

    /// A query that may fail because of a value, on every side and for the same rows.
    fn failing(&mut self) -> Query {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let column = |generator: &mut Self, ty| {
            // Not a literal: PostgreSQL computes these even if there is no row.
            generator.column(&scope, ty).unwrap_or_else(|| format!("CAST(l.k AS {})", name_of(ty)))
        };
        let (int, other) = (column(self, Int), column(self, Int));
        let (sql, ty) = match self.below(10) {
            0 => (format!("{int} / {other}"), Int),
            1 => (format!("{int} % {other}"), Int),
            2 => (format!("CAST({} AS INT)", column(self, Text)), Int),
            3 => (format!("CAST({int} * 1000 AS SMALLINT)"), Int),
            4 => (format!("CAST({} * 1e10 AS INT)", column(self, Float)), Int),
            5 => (format!("CAST({} * 100000 AS INT)", column(self, Float)), Int),
            6 => (format!("CAST({} AS TIMESTAMP)", column(self, Text)), Timestamp),
            // Refused even if there is no row.
            7 => (format!("CAST({} AS SMALLINT)", self.of(&["70000", "-32769"])), Int),
            8 => (format!("CAST({} AS INT)", self.of(&["3000000000", "1e10"])), Int),
            _ => (format!("CAST({} AS DATE)", column(self, Text)), Date),
        };
        let key = self.column(&scope, Int).unwrap_or("l.k".to_owned());
        let sql = format!("SELECT {sql} AS c0 FROM {table} AS l WHERE {key} > {}", self.below(20));
        Query::new(sql, vec![ty])
    }
}

fn derived(inner: &Query, name: &str) -> Scope {
    let columns = inner.types.iter().enumerate().map(|(position, ty)| (format!("{name}.c{position}"), *ty));
    Scope(columns.collect())
}

pub(crate) fn named(items: &[String]) -> String {
    items.iter().enumerate().map(|(position, item)| format!("{item} AS c{position}")).collect::<Vec<_>>().join(", ")
}
