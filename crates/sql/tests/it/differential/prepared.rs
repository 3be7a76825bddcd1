//! Queries with parameters, executed with several values each. Some values are out of the range of their types, or are
//! no values of them. For PostgreSQL only.

use super::generator::Generator;
use super::queries::named;
use super::query::Query;
use super::types::{Type, value};
use Type::{Bool, Date, Float, Int, Mood, Text, Timestamp, TimestampTz, Uuid};

/// The number of executions of a query.
const EXECUTIONS: usize = 3;

/// A parameter: its place in the condition, where `$` is the parameter, and the type that its values have.
struct Parameter {
    place: String,
    ty: Type,
    is_array: bool,
}

impl Generator {
    /// Executions of a query of one table whose condition compares columns with parameters.
    pub(crate) fn prepared(&mut self) -> Vec<Query> {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let fits = |ty| matches!(ty, Int | Float | Text | Date | Timestamp | TimestampTz | Uuid | Mood | Bool);
        let columns: Vec<(String, Type)> = scope.0.iter().filter(|(_, ty)| fits(*ty)).cloned().collect();
        let count = 1 + self.below(2);
        let parameters: Vec<Parameter> = (0..count)
            .map(|_| {
                let (column, ty) = columns[self.below(columns.len())].clone();
                self.parameter(column, ty)
            })
            .collect();
        let filter: Vec<String> =
            (1..).zip(&parameters).map(|(number, of)| of.place.replace('$', &format!("${number}"))).collect();
        let (aggregate, result) = self.aggregate(&scope);
        let items = ["count(*)".to_owned(), aggregate];
        let sql = format!("SELECT {} FROM {table} AS l WHERE {}", named(&items), filter.join(" AND "));
        let execution = |_| {
            let parameters = parameters.iter().map(|of| self.value_of(of)).collect();
            Query { parameters, is_single: true, ..Query::new(sql.clone(), vec![Int, result]) }
        };
        (0..EXECUTIONS).map(execution).collect()
    }

    fn parameter(&mut self, column: String, ty: Type) -> Parameter {
        let is_array = matches!(ty, Int | Float | Text | Date) && self.percent(30);
        let place = match ty {
            _ if is_array => format!("{column} {} ($)", self.of(&["= ANY", "<> ALL", "> ANY", "<= ALL"])),
            Timestamp | TimestampTz if self.percent(30) => {
                let place = format!("{column} + CAST($ AS INTERVAL) {} {}", self.of(&["<", ">="]), self.literal(ty));
                return Parameter { place, ty: Type::Interval, is_array };
            }
            _ => format!("{column} {} $", self.of(&["=", "<>", "<", "<=", ">", ">="])),
        };
        Parameter { place, ty, is_array }
    }

    /// The text of a value.
    fn value_of(&mut self, parameter: &Parameter) -> String {
        if !parameter.is_array {
            return self.element(parameter.ty);
        }
        let count = 1 + self.below(3);
        let elements: Vec<String> = (0..count).map(|_| format!("\"{}\"", self.element(parameter.ty))).collect();
        format!("{{{}}}", elements.join(","))
    }

    fn element(&mut self, ty: Type) -> String {
        if self.percent(20) {
            return self.odd_value(ty).to_owned();
        }
        // The text of a literal, without the name of its type.
        let literal = value(&mut self.choice, ty);
        let quotes = literal.find('\'').zip(literal.rfind('\''));
        quotes.map(|(from, to)| literal[from + 1..to].replace("''", "'")).unwrap_or(literal)
    }

    /// A value that may be out of range, or none of the type.
    fn odd_value(&mut self, ty: Type) -> &'static str {
        match ty {
            Int => {
                self.of(&["70000", "-32769", "3000000000", "9223372036854775807", "9223372036854775808", "1.5", "x"])
            }
            Float => self.of(&["1e39", "-1e309", "NaN", "Infinity", "1e-400", "x"]),
            Date => self.of(&["2024-02-30", "2023-02-29", "2024-13-01", "x"]),
            Timestamp | TimestampTz => self.of(&["2024-02-30 00:00:00", "2024-02-29 25:00:00", "x"]),
            Type::Interval => self.of(&["1 x", "two days", "1 day 25:00:00"]),
            Uuid => self.of(&["a0eebc99", "x"]),
            Mood => self.of(&["furious", "OK", "ok "]),
            Bool => self.of(&["maybe", "2", " t "]),
            _ => "x",
        }
    }
}
