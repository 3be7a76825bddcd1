//! The few statements that files support.

use crate::contestants::sql_tokens::{Token, tokens};
use crate::data::answer::Cell;
use crate::failure::Failure;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// `INSERT INTO table VALUES (...), ...`
    Insert { table: String, rows: Vec<Vec<Cell>> },
    /// `SELECT count(*), sum(column), ... FROM table`
    Aggregate { table: String, aggregates: Vec<Aggregate> },
    /// `UPDATE table SET column = column + number`
    Add { table: String, column: String, number: i64 },
    /// `CREATE TABLE table (column ..., ...)`
    Create { table: String, columns: Vec<String> },
}

/// An aggregate over all rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Aggregate {
    Count,
    Sum(String),
    Min(String),
    Max(String),
}

impl Statement {
    /// Reads a statement.
    pub(super) fn parse(sql: &str) -> Result<Self, Failure> {
        let tokens = tokens(sql)?;
        let mut reader = Reader { tokens: &tokens, position: 0 };
        let statement = reader.statement();
        match statement {
            Some(statement) if reader.is_done() => Ok(statement),
            _ => Err(Failure::cannot(
                "files take INSERT ... VALUES, sums and counts of all rows, and SET column = column + number",
            )),
        }
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    position: usize,
}

impl Reader<'_> {
    fn statement(&mut self) -> Option<Statement> {
        if self.word("INSERT") {
            self.expect("INTO")?;
            let table = self.name()?;
            self.expect("VALUES")?;
            let rows = self.list(|reader| reader.in_parentheses(Self::value))?;
            return Some(Statement::Insert { table, rows });
        }
        if self.word("SELECT") {
            let aggregates = self.list(Self::aggregate)?;
            self.expect("FROM")?;
            return Some(Statement::Aggregate { table: self.name()?, aggregates });
        }
        if self.word("UPDATE") {
            let table = self.name()?;
            self.expect("SET")?;
            let column = self.name()?;
            self.sign('=')?;
            let same = self.name()? == column;
            self.sign('+')?;
            let Cell::Integer(number) = self.value()? else { return None };
            return same.then_some(Statement::Add { table, column, number });
        }
        self.expect("CREATE")?;
        self.expect("TABLE")?;
        let table = self.name()?;
        let columns = self.in_parentheses(|reader| {
            let name = reader.name()?;
            reader.skip_definition();
            Some(name)
        })?;
        Some(Statement::Create { table, columns })
    }

    fn aggregate(&mut self) -> Option<Aggregate> {
        let name = self.name()?.to_ascii_lowercase();
        self.sign('(')?;
        let aggregate = match name.as_str() {
            "count" => self.sign('*').map(|()| Aggregate::Count),
            "sum" => self.name().map(Aggregate::Sum),
            "min" => self.name().map(Aggregate::Min),
            "max" => self.name().map(Aggregate::Max),
            _ => None,
        }?;
        self.sign(')')?;
        if self.word("AS") {
            self.name()?;
        }
        Some(aggregate)
    }

    fn value(&mut self) -> Option<Cell> {
        let is_negative = self.sign('-').is_some();
        let value = match self.tokens.get(self.position)? {
            Token::Number(text) => match text.parse::<i64>() {
                Ok(integer) => Cell::Integer(if is_negative { -integer } else { integer }),
                Err(_) => {
                    text.parse().ok().map(|number: f64| Cell::Float(if is_negative { -number } else { number }))?
                }
            },
            Token::Text(text) if !is_negative => Cell::Text(text.clone()),
            Token::Word(word) if word.eq_ignore_ascii_case("NULL") => Cell::Null,
            _ => return None,
        };
        self.position += 1;
        Some(value)
    }

    /// The types and constraints of a column, which files do not have.
    fn skip_definition(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.position) {
            match token {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') if depth == 0 => return,
                Token::Sign(')') => depth -= 1,
                Token::Sign(',') if depth == 0 => return,
                _ => {}
            }
            self.position += 1;
        }
    }

    fn in_parentheses<T>(&mut self, item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.sign('(')?;
        let items = self.list(item)?;
        self.sign(')')?;
        Some(items)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.sign(',').is_some() {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn word(&mut self, word: &str) -> bool {
        let is_next =
            matches!(self.tokens.get(self.position), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, word: &str) -> Option<()> {
        self.word(word).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Word(name)) = self.tokens.get(self.position) else { return None };
        self.position += 1;
        Some(name.clone())
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        (self.tokens.get(self.position)? == &Token::Sign(sign)).then(|| self.position += 1)
    }

    fn is_done(&mut self) -> bool {
        let _ = self.sign(';');
        self.position == self.tokens.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_of_the_test_are_read() {
        let rows = vec![vec![Cell::Integer(-1), Cell::Text("it's".to_owned())], vec![Cell::Null, Cell::Float(0.5)]];
        let insert = Statement::Insert { table: "t".to_owned(), rows };
        assert_eq!(Statement::parse("INSERT INTO t VALUES (-1, 'it''s'), (NULL, 0.5)").expect("a statement"), insert);
        let aggregates = vec![Aggregate::Count, Aggregate::Sum("i2".to_owned())];
        let select = Statement::Aggregate { table: "t".to_owned(), aggregates };
        assert_eq!(Statement::parse("select count(*), SUM(i2) AS s from t;").expect("a statement"), select);
        let add = Statement::Add { table: "t".to_owned(), column: "i2".to_owned(), number: 2 };
        assert_eq!(Statement::parse("UPDATE t SET i2 = i2 + 2").expect("a statement"), add);
        let create = Statement::Create { table: "t".to_owned(), columns: vec!["i".to_owned(), "i2".to_owned()] };
        assert_eq!(Statement::parse("CREATE TABLE t (i INT NOT NULL, i2 VARCHAR(20))").expect("a statement"), create);
    }

    #[test]
    fn other_statements_are_refused() {
        for sql in
            ["SELECT * FROM t", "UPDATE t SET a = b + 1", "DELETE FROM t", "SELECT sum(a) FROM t WHERE b = 1", "'"]
        {
            assert!(matches!(Statement::parse(sql), Err(Failure::Cannot(_))), "{sql}");
        }
    }
}
