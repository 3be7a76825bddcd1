//! Statements that change rows. The values that they set are small, so that nothing overflows however often they run.

use super::generator::Generator;
use super::schema::Column;
use super::types::{Type, value};
use Type::{Int, Text};

impl Generator {
    /// `INSERT`, `UPDATE` or `DELETE`.
    pub(crate) fn change(&mut self) -> String {
        match self.below(6) {
            0 | 1 => self.insert(),
            2 => self.delete(),
            _ => self.update(),
        }
    }

    fn insert(&mut self) -> String {
        let table = self.schema.table(self.choice.of(&["a", "b"])).clone();
        let count = 1 + self.below(4);
        let cell = |choice: &mut _, column: &Column| match column.name.as_str() {
            "m" => "'red'".to_owned(),
            _ => match value(choice, column.ty) {
                // Both databases accept this form in a list of values.
                bytes if column.ty == Type::Bytea => format!("decode('{}, 'hex')", bytes.trim_start_matches("'\\x")),
                value => value,
            },
        };
        let rows: Vec<Vec<String>> =
            (0..count).map(|_| table.columns.iter().map(|column| cell(&mut self.choice, column)).collect()).collect();
        table.insert(&rows)
    }

    /// Deletes few rows, so that the tables last for a run.
    fn delete(&mut self) -> String {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let few = format!("l.k = {}", self.below(8));
        match self.below(3) {
            0 => format!("DELETE FROM {table} AS l WHERE {few}"),
            1 => format!("DELETE FROM {table} AS l WHERE {few} AND {}", self.condition(&scope, 2)),
            _ => format!("DELETE FROM {table} AS l WHERE {few} AND l.k IN (SELECT k FROM c)"),
        }
    }

    fn update(&mut self) -> String {
        let table = self.of(&["a", "b"]);
        let scope = self.scope(table, "l");
        let columns: Vec<Column> =
            self.schema.table(table).columns.iter().filter(|column| column.name != "at").cloned().collect();
        let column = &columns[self.below(columns.len())];
        let new = match (column.ty, column.name.as_str()) {
            (Int, "k") => self.below(8).to_string(),
            (Int, _) if self.percent(20) => "(SELECT count(*) FROM c WHERE c.k = l.k)".to_owned(),
            (Int, _) => format!("({}) % 100", self.expression(&scope, Int, 2)),
            (Text, "m") => self.of(&["'red'", "'blue'", "l.m", "NULL"]).to_owned(),
            (Text, _) => format!("substr({}, 1, 8)", self.expression(&scope, Text, 1)),
            (ty, name) => match self.percent(50) {
                true => self.literal(ty),
                false => {
                    let condition = self.condition(&scope, 1);
                    format!("CASE WHEN {condition} THEN {} ELSE l.{name} END", self.literal(ty))
                }
            },
        };
        let mut set = format!("{} = {new}", column.name);
        if table == "a" && self.percent(25) {
            match self.schema.table("a").columns[0].ty {
                Int => set.push_str(&format!(", at = {}", self.of(&["l.at + 3600", "86400", "abs(l.at - 50000)"]))),
                ty => {
                    let plain = self.literal(ty);
                    let moved = self.of(&["l.at + INTERVAL '1 hour'", "l.at - INTERVAL '1 day'"]);
                    set.push_str(&format!(", at = {}", if plain.contains("NULL") { moved.to_owned() } else { plain }));
                }
            }
        }
        match self.below(4) {
            0 => format!("UPDATE {table} AS l SET {set}"),
            1 if !set.contains("SELECT") => {
                let groups = "(SELECT k AS rk, count(*) AS n FROM b GROUP BY k) AS r";
                format!("UPDATE {table} AS l SET {set} FROM {groups} WHERE r.rk = l.k AND r.n > {}", self.below(5))
            }
            _ => format!("UPDATE {table} AS l SET {set} WHERE {}", self.condition(&scope, 2)),
        }
    }
}
