//! Conditions.

use super::generator::{Generator, Scope};
use super::types::{Type, boolean_text};
use Type::{Bool, Bytea, Date, Float, Int, Interval, Text, Timestamp, TimestampTz, Uuid};

impl Generator {
    /// A condition over the columns in scope.
    pub(crate) fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        if depth > 0 && self.percent(40) {
            let left = self.condition(scope, depth - 1);
            return match self.below(5) {
                0 | 1 => format!("({left} AND {})", self.condition(scope, depth - 1)),
                2 | 3 => format!("({left} OR {})", self.condition(scope, depth - 1)),
                _ => format!("NOT ({left})"),
            };
        }
        // Conditions by which chunks can be pruned: a column and a literal.
        if self.percent(25) && !scope.0.is_empty() {
            let (column, ty) = scope.0[self.below(scope.0.len())].clone();
            return self.predicate(scope, &column, ty, 0);
        }
        let mut ty = self.any_type();
        if self.is_for_postgres() && self.percent(8) {
            ty = Interval;
        }
        let depth = depth.saturating_sub(1);
        let left = self.expression(scope, ty, depth);
        self.predicate(scope, &left, ty, depth)
    }

    /// A literal in `IN` or `BETWEEN`: beside a BOOLEAN also a text.
    fn member(&mut self, ty: Type) -> String {
        match ty {
            Bool if self.percent(40) => boolean_text(&mut self.choice),
            _ => self.literal(ty),
        }
    }

    fn predicate(&mut self, scope: &Scope, left: &str, ty: Type, depth: usize) -> String {
        let not = if self.percent(30) { "NOT " } else { "" };
        match self.below(if self.is_for_postgres() { 15 } else { 9 }) {
            0 => format!("{left} {not}BETWEEN {} AND {}", self.member(ty), self.member(ty)),
            1 => {
                let count = 1 + self.below(5);
                let mut items: Vec<String> = (0..count).map(|_| self.member(ty)).collect();
                if self.percent(15) {
                    items.push("NULL".to_owned());
                }
                format!("{left} {not}IN ({})", items.join(", "))
            }
            2 => format!("{left} IS {not}NULL"),
            3 if ty == Text => {
                let pattern = self.of(&["a%", "%b", "%i_c%", "_", "%", "", "k%n", "A%", "日%"]);
                format!("{left} {not}LIKE '{pattern}'")
            }
            4 => format!("{left} IS {not}DISTINCT FROM {}", self.expression(scope, ty, depth)),
            9 if ty == Bool => format!("{left} IS {not}{}", self.of(&["TRUE", "FALSE", "UNKNOWN"])),
            10 if ty == Bool => left.to_owned(),
            9 if ty == Text => {
                let pattern = self.of(&["A%", "%B", "k_T%", "o''%"]);
                format!("{left} {not}ILIKE '{pattern}'")
            }
            10 if ty == Text => {
                format!("{left} {} {}", self.of(&["~", "!~", "~*"]), self.of(&["'^a'", "'b$'", "'[a-c]'"]))
            }
            11 if ty == Text => format!("starts_with({left}, {})", self.of(&["'a'", "''", "'ki'"])),
            9 | 10 if matches!(ty, Timestamp | TimestampTz | Date) => {
                let other = [Timestamp, TimestampTz, Date][self.below(3)];
                format!("{left} {} {}", self.of(&["<", ">=", "="]), self.expression(scope, other, depth))
            }
            11 if ty == Int => {
                format!("{left} {} {}", self.of(&["<", ">=", "="]), self.expression(scope, Float, depth))
            }
            13 if !matches!(ty, Interval | Bytea | Bool) => {
                format!("{left} {not}BETWEEN SYMMETRIC {} AND {}", self.literal(ty), self.literal(ty))
            }
            14 if matches!(ty, Int | Float | Text | Date | Timestamp | Uuid) => {
                let array = self.array(scope, ty, 0);
                match self.below(4) {
                    // The elements must have one type: numbers have several.
                    0 if !matches!(ty, Int | Float) => {
                        format!("{array} {} ARRAY[{left}]", self.of(&["@>", "<@", "&&", "="]))
                    }
                    _ => format!("{left} {} ({array})", self.of(&["= ANY", "<> ALL", "= ALL", "< ANY", ">= ALL"])),
                }
            }
            12 if !matches!(ty, Interval | Bytea) && self.percent(3) => {
                let (int, text) = (self.expression(scope, Int, 0), self.expression(scope, Text, 0));
                format!(
                    "{left} = {} AND ({int}, {text}) {} ({}, {})",
                    self.literal(ty),
                    self.of(&["=", "<>"]),
                    self.literal(Int),
                    self.literal(Text)
                )
            }
            _ => {
                let operator = self.of(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{left} {operator} {}", self.expression(scope, ty, depth))
            }
        }
    }
}
