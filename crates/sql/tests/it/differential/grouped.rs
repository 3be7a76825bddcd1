//! Queries with groups.

use super::generator::{Generator, Scope};
use super::queries::named;
use super::query::Query;
use super::types::Type;
use Type::{Bool, Bytea, Float, Int, Numeric, Text, Uuid};

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
        let sets = if !keys.is_empty() && self.is_for_postgres() && self.percent(18) {
            self.of(&["ROLLUP", "CUBE", "GROUPING SETS"])
        } else {
            ""
        };
        let (mut items, mut types): (Vec<String>, Vec<Type>) = keys.iter().cloned().unzip();
        items.extend(aggregates.iter().map(|(sql, _)| sql.clone()));
        types.extend(aggregates.iter().map(|(_, ty)| *ty));
        if !sets.is_empty() && self.percent(40) {
            items.push(format!("grouping({})", keys[0].0));
            types.push(Int);
        }
        let filter = if self.percent(60) { format!(" WHERE {}", self.condition(&scope, 2)) } else { String::new() };
        let mut sql = format!("SELECT {} FROM {from}{filter}", named(&items));
        if !keys.is_empty() {
            let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
            let all = names.join(", ");
            sql.push_str(&match sets {
                "" if self.is_for_postgres() && self.percent(30) => {
                    let numbers: Vec<String> = (1..=names.len()).map(|number| number.to_string()).collect();
                    format!(" GROUP BY {}", numbers.join(", "))
                }
                "" => format!(" GROUP BY {all}"),
                "GROUPING SETS" => format!(" GROUP BY GROUPING SETS (({all}), ({}), ())", names[names.len() - 1]),
                sets => format!(" GROUP BY {sets} ({all})"),
            });
        }
        if (!keys.is_empty() || self.is_for_postgres()) && self.percent(30) {
            let (aggregate, ty) = self.aggregate(&scope);
            sql.push_str(&format!(" HAVING {aggregate} {} {}", self.of(&[">", "<=", "<>"]), self.literal(ty)));
        }
        Query { is_single: keys.is_empty(), ..Query::new(sql, types) }
    }

    pub(crate) fn aggregate(&mut self, scope: &Scope) -> (String, Type) {
        let ty = self.any_type();
        let argument = self.expression(scope, ty, 1);
        let is_number = matches!(ty, Int | Float | Numeric);
        let (sql, result) = match self.below(if self.is_for_postgres() { 19 } else { 7 }) {
            0 => ("count(*)".to_owned(), Int),
            1 => (format!("count({argument})"), Int),
            2 => (format!("count(DISTINCT {argument})"), Int),
            3 if !matches!(ty, Bool | Bytea | Uuid) => (format!("min({argument})"), ty),
            4 if !matches!(ty, Bool | Bytea | Uuid) => (format!("max({argument})"), ty),
            5 if is_number => (format!("avg({argument})"), if ty == Numeric { Numeric } else { Float }),
            6 if is_number => (format!("sum(CASE WHEN {} THEN {argument} END)", self.condition(scope, 1)), ty),
            7 if is_number => (format!("sum(DISTINCT {argument})"), ty),
            8 if ty == Bool => (format!("{}({argument})", self.of(&["bool_and", "bool_or", "every"])), Bool),
            9 if ty == Text => (format!("string_agg({argument}, ',' ORDER BY {argument})"), Text),
            10 if matches!(ty, Int | Float) => {
                let function = self.of(&["stddev", "var_pop", "var_samp", "stddev_pop", "variance", "stddev_samp"]);
                (format!("{function}({argument})"), Float)
            }
            11 if ty == Int => (format!("{}({argument})", self.of(&["bit_and", "bit_or"])), Int),
            12 if matches!(ty, Int | Float) => {
                (format!("percentile_cont(0.5) WITHIN GROUP (ORDER BY {argument})"), Float)
            }
            // PostgreSQL gives a literal in the order another type than the argument.
            13 if ty == Text && scope.is_in(&argument) => {
                (format!("string_agg(DISTINCT {argument}, ',' ORDER BY {argument})"), Text)
            }
            14 if ty == Int => (format!("percentile_disc(0.5) WITHIN GROUP (ORDER BY {argument})"), Int),
            15 if matches!(ty, Int | Float) => (format!("regr_count({argument}, {argument})"), Int),
            16 if ty == Int => (format!("array_agg({argument} ORDER BY {argument})"), Text),
            _ if is_number => (format!("sum({argument})"), ty),
            _ => ("count(*)".to_owned(), Int),
        };
        let is_array = sql.starts_with("array_agg");
        let sql = match self.is_for_postgres() && self.percent(20) {
            true => format!("{sql} FILTER (WHERE {})", self.condition(scope, 1)),
            false => sql,
        };
        match result {
            _ if is_array => (format!("CAST({sql} AS TEXT)"), Text),
            Int if self.is_for_postgres() && self.percent(10) => {
                (format!("({sql} {} count(*))", self.of(&["+", "-"])), Int)
            }
            _ => (sql, result),
        }
    }
}
