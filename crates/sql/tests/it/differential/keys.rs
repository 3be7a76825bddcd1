//! Statements over a table with a key, `k`, and transactions, some of which are rolled back as a whole or in part.

use super::changes::change;
use super::choice::Choice;

/// The table, as both sides declare it.
pub(crate) const DECLARATION: &str = "CREATE TABLE k (id BIGINT, part TEXT, n BIGINT, PRIMARY KEY (id, part))";

/// What shows whether both sides hold the same.
pub(crate) const WHOLE: &str = "SELECT id, part, n FROM k";

const PARTS: [&str; 3] = ["'a'", "'b'", "''"];

/// An `INSERT` that says what becomes of rows whose key is there: none fails.
pub(crate) fn insert(choice: &mut Choice) -> String {
    let (word, clause) = match choice.below(8) {
        0 => ("INSERT OR IGNORE", String::new()),
        1 => (choice.of(&["INSERT OR REPLACE", "REPLACE"]), String::new()),
        2 => ("INSERT", " ON CONFLICT (id, part) DO NOTHING".to_owned()),
        3 => ("INSERT", " ON CONFLICT (part, id) DO UPDATE SET n = excluded.n".to_owned()),
        _ => ("INSERT", update(choice)),
    };
    format!("{word} INTO k {}{clause}", rows(choice))
}

fn rows(choice: &mut Choice) -> String {
    if choice.percent(25) {
        // Rows count one after the other: their order matters.
        return "SELECT k, s, y % 50 FROM b WHERE k IS NOT NULL AND s IS NOT NULL ORDER BY k, s, y NULLS FIRST"
            .to_owned();
    }
    let row = |choice: &mut Choice| {
        let n = if choice.percent(15) { "NULL".to_owned() } else { choice.below(50).to_string() };
        format!("({}, {}, {n})", choice.below(4), choice.of(&PARTS))
    };
    let rows: Vec<String> = (0..1 + choice.below(6)).map(|_| row(choice)).collect();
    format!("VALUES {}", rows.join(", "))
}

fn update(choice: &mut Choice) -> String {
    let value = choice.of(&[
        "k.n + excluded.n",
        "(n * 3 - excluded.id) % 100",
        "coalesce(k.n, 0) + length(excluded.part)",
        "CASE WHEN excluded.n > k.n THEN excluded.n ELSE k.n END",
        "(SELECT count(*) FROM c WHERE c.k = excluded.id) + n",
        "NULL",
    ]);
    let condition = choice.of(&["", "", " WHERE k.n < excluded.n", " WHERE excluded.part <> '' OR k.id = 2"]);
    format!(" ON CONFLICT (id, part) DO UPDATE SET n = {value}{condition}")
}

/// Several changes that are committed or taken back.
pub(crate) fn transaction(choice: &mut Choice) -> Vec<String> {
    let mut statements = vec![choice.of(&["BEGIN", "BEGIN IMMEDIATE TRANSACTION"]).to_owned()];
    let one = |choice: &mut Choice| if choice.percent(60) { insert(choice) } else { change(choice) };
    statements.push(one(choice));
    if choice.percent(60) {
        statements.push("SAVEPOINT one".to_owned());
        (0..1 + choice.below(3)).for_each(|_| statements.push(one(choice)));
        match choice.below(3) {
            0 => statements.push("RELEASE one".to_owned()),
            1 => {
                statements.push("SAVEPOINT two".to_owned());
                statements.push(one(choice));
                statements.push(choice.of(&["ROLLBACK TO one", "ROLLBACK TO two"]).to_owned());
            }
            _ => statements.push("ROLLBACK TO SAVEPOINT one".to_owned()),
        }
        statements.push(one(choice));
    }
    statements.push(choice.of(&["COMMIT", "COMMIT", "ROLLBACK"]).to_owned());
    statements
}
