//! Queries that differ only in constants, one after the other. The first ones are planned, and later ones may be read
//! directly, or use a plan that was kept. For PostgreSQL only.

use super::generator::Generator;
use super::queries::named;
use super::query::Query;
use super::types::{Type, value};
use Type::{Date, Float, Int, Mood, Numeric, Text, Timestamp, TimestampTz};

/// The number of queries of one text.
const QUERIES: usize = 4;

impl Generator {
    /// Queries of one table whose conditions compare columns with constants.
    pub(crate) fn template(&mut self) -> Vec<Query> {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let compared: Vec<(String, Type)> = scope
            .0
            .iter()
            .filter(|(_, ty)| matches!(ty, Int | Float | Numeric | Text | Date | Timestamp | TimestampTz | Mood))
            .cloned()
            .collect();
        let count = 1 + self.below(2);
        let conditions: Vec<(String, Type, usize, &str)> = (0..count)
            .map(|_| {
                let (column, ty) = compared[self.below(compared.len())].clone();
                (column, ty, self.below(4), self.of(&["=", "<", ">", "<=", ">=", "<>"]))
            })
            .collect();
        let (ty, key) = (self.any_type(), self.of(&["l.k", "l.s", "l.k % 3", "upper(l.s)"]));
        let item = self.expression(&scope, ty, 1);
        let aggregates = [self.aggregate(&scope), self.aggregate(&scope)];
        let (form, order) = (self.below(3), self.total_order(&scope));
        let key_type = if key.contains('s') { Text } else { Int };
        let query = |_| {
            let filter: Vec<String> = conditions.iter().map(|condition| self.compared(condition)).collect();
            let filter = filter.join(" AND ");
            match form {
                0 => {
                    let items = ["l.k".to_owned(), item.clone()];
                    let limit = if self.percent(50) { format!(" LIMIT {}", self.below(9)) } else { String::new() };
                    let sql =
                        format!("SELECT {} FROM {table} AS l WHERE {filter} ORDER BY {order}{limit}", named(&items));
                    Query::new(sql, vec![Int, ty])
                }
                1 => {
                    let items = [key.to_owned(), aggregates[0].0.clone(), aggregates[1].0.clone()];
                    let having = self.below(4);
                    let sql = format!(
                        "SELECT {} FROM {table} AS l WHERE {filter} GROUP BY {key} HAVING count(*) > {having}",
                        named(&items)
                    );
                    Query::new(sql, vec![key_type, aggregates[0].1, aggregates[1].1])
                }
                _ => {
                    let items = [aggregates[0].0.clone(), aggregates[1].0.clone()];
                    let sql = format!("SELECT {} FROM {table} AS l WHERE {filter}", named(&items));
                    Query { is_single: true, ..Query::new(sql, vec![aggregates[0].1, aggregates[1].1]) }
                }
            }
        };
        (0..QUERIES).map(query).collect()
    }

    /// The comparison of a column, with constants of its own.
    fn compared(&mut self, (column, ty, form, operator): &(String, Type, usize, &str)) -> String {
        match form {
            0 => format!("{column} BETWEEN {} AND {}", self.constant(*ty), self.constant(*ty)),
            1 => format!("{column} IN ({}, {})", self.constant(*ty), self.constant(*ty)),
            _ => format!("{column} {operator} {}", self.constant(*ty)),
        }
    }

    /// A constant that is compared with a column: of another type, out of range, or without the name of its type.
    fn constant(&mut self, ty: Type) -> String {
        match ty {
            Int if self.percent(30) => self.of(&["2.5", "70000", "3000000000", "-1", "0.0", "7.0"]).to_owned(),
            // A text has the type of the column. It is within its range: PostgreSQL refuses others even if no row is
            // compared with them.
            Float if self.is_for_postgres() && self.percent(15) => {
                self.of(&["'1.5'", "'-2'", "'1e3'", "'NaN'", "'-Infinity'"]).to_owned()
            }
            Float | Numeric if self.percent(30) => self.of(&["0", "1", "-3", "0.1", "1e3", "1000000"]).to_owned(),
            // The name of a type is left out: the column determines it.
            Date | Timestamp | TimestampTz if self.percent(70) => {
                let typed = value(&mut self.choice, ty);
                typed.split_once(' ').map_or(typed.clone(), |(_, text)| text.to_owned())
            }
            _ => value(&mut self.choice, ty),
        }
    }
}
