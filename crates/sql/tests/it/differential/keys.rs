//! Statements on the table `k`, which has a key, and transactions, some of which are rolled back completely or to a
//! savepoint.

use super::generator::Generator;

/// The table, as it is declared on all sides.
pub(crate) const DECLARATION: &str = "CREATE TABLE k (id BIGINT, part TEXT, n BIGINT, PRIMARY KEY (id, part))";

/// The query by which the contents of all sides are compared.
pub(crate) const WHOLE: &str = "SELECT id, part, n FROM k";

const PARTS: [&str; 3] = ["'a'", "'b'", "''"];

impl Generator {
    /// An `INSERT` with a rule for existing keys, so that none fails.
    pub(crate) fn keyed_insert(&mut self) -> String {
        if self.is_for_postgres() {
            // PostgreSQL refuses to update a row twice in one statement.
            return match self.percent(40) {
                true => format!("INSERT INTO k {} ON CONFLICT (id, part) DO NOTHING", self.keyed_rows(6)),
                false => format!("INSERT INTO k {}{}", self.keyed_rows(1), self.on_conflict()),
            };
        }
        let (word, clause) = match self.below(8) {
            0 => ("INSERT OR IGNORE", String::new()),
            1 => (self.of(&["INSERT OR REPLACE", "REPLACE"]), String::new()),
            2 => ("INSERT", " ON CONFLICT (id, part) DO NOTHING".to_owned()),
            3 => ("INSERT", " ON CONFLICT (part, id) DO UPDATE SET n = excluded.n".to_owned()),
            _ => ("INSERT", self.on_conflict()),
        };
        if self.percent(25) {
            // Rows apply one after the other, so their order matters.
            let query = "SELECT k, s, y % 50 FROM b WHERE k IS NOT NULL AND s IS NOT NULL ORDER BY k, s, y NULLS FIRST";
            return format!("{word} INTO k {query}{clause}");
        }
        format!("{word} INTO k {}{clause}", self.keyed_rows(6))
    }

    fn keyed_rows(&mut self, most: usize) -> String {
        let count = 1 + self.below(most);
        let row = |_| {
            let n = if self.percent(15) { "NULL".to_owned() } else { self.below(50).to_string() };
            format!("({}, {}, {n})", self.below(4), self.of(&PARTS))
        };
        let rows: Vec<String> = (0..count).map(row).collect();
        format!("VALUES {}", rows.join(", "))
    }

    fn on_conflict(&mut self) -> String {
        let value = self.of(&[
            "k.n + excluded.n",
            "(k.n * 3 - excluded.id) % 100",
            "coalesce(k.n, 0) + length(excluded.part)",
            "CASE WHEN excluded.n > k.n THEN excluded.n ELSE k.n END",
            "(SELECT count(*) FROM c WHERE c.k = excluded.id) + k.n",
            "NULL",
        ]);
        let condition = self.of(&["", "", " WHERE k.n < excluded.n", " WHERE excluded.part <> '' OR k.id = 2"]);
        format!(" ON CONFLICT (id, part) DO UPDATE SET n = {value}{condition}")
    }

    /// Several changes that are committed or rolled back.
    pub(crate) fn transaction(&mut self) -> Vec<String> {
        let begin = if self.is_for_postgres() { "BEGIN" } else { "BEGIN IMMEDIATE TRANSACTION" };
        let mut statements = vec![self.of(&["BEGIN", begin]).to_owned()];
        statements.push(self.one());
        if self.percent(60) {
            statements.push("SAVEPOINT one".to_owned());
            for _ in 0..1 + self.below(3) {
                statements.push(self.one());
            }
            match self.below(3) {
                0 => statements.push("RELEASE one".to_owned()),
                1 => {
                    statements.push("SAVEPOINT two".to_owned());
                    statements.push(self.one());
                    statements.push(self.of(&["ROLLBACK TO one", "ROLLBACK TO two"]).to_owned());
                }
                _ => statements.push("ROLLBACK TO SAVEPOINT one".to_owned()),
            }
            statements.push(self.one());
        }
        statements.push(self.of(&["COMMIT", "COMMIT", "ROLLBACK"]).to_owned());
        statements
    }

    fn one(&mut self) -> String {
        if self.percent(60) { self.keyed_insert() } else { self.change() }
    }
}
