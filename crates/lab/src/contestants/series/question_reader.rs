//! Reads questions: `SELECT` of columns, or of aggregates by groups, of one table, with conditions joined by `AND`.

use super::catalogue::SeriesTable;
use super::question::{Aggregate, Bound, GroupKey, Item, Limit, Question};
use crate::contestants::line_protocol::Role;
use crate::contestants::sql_tokens::{Token, tokens};
use crate::failure::Failure;

/// The text of a question, before its names are looked up.
struct QuestionText {
    table: String,
    /// `None` for all columns.
    items: Option<Vec<ItemText>>,
    last_of: Option<String>,
    conditions: Vec<Condition>,
    groups: Vec<ItemText>,
    order: Option<(ItemText, bool)>,
    limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
enum ItemText {
    Column(String),
    /// A column of times, cut to this many seconds.
    Cut(String, i64),
    Aggregate(Aggregate, Option<String>),
}

enum Condition {
    OneOf(String, Vec<String>),
    /// A comparison with a number: at least, at most, above or below.
    Compared(String, Comparison, String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    From,
    Before,
    Above,
}

impl Question {
    /// Reads a question in the SQL of [`Dialect::Series`](crate::contestant::Dialect::Series). `table` finds a table.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if it is not of this form, or the table has no such columns.
    pub(crate) fn read<'a>(
        sql: &str,
        table: impl FnOnce(&str) -> Result<&'a SeriesTable, Failure>,
    ) -> Result<(Self, &'a SeriesTable), Failure> {
        let text = question_text(sql)?;
        let table = table(&text.table)?;
        Ok((text.on(table)?, table))
    }
}

fn question_text(sql: &str) -> Result<QuestionText, Failure> {
    let tokens = tokens(sql)?;
    let mut reader = Reader { tokens: &tokens, position: 0 };
    let text = reader.question().filter(|_| reader.position == tokens.len());
    text.ok_or_else(|| Failure::cannot("has no SQL, and this question has no form that it knows"))
}

struct Reader<'a> {
    tokens: &'a [Token],
    position: usize,
}

impl Reader<'_> {
    fn question(&mut self) -> Option<QuestionText> {
        self.word("SELECT")?;
        let last_of = match self.word("DISTINCT") {
            Some(()) => {
                self.word("ON")?;
                Some(self.in_parentheses(Self::name)?)
            }
            None => None,
        };
        let items = match self.sign('*') {
            Some(()) => None,
            None => Some(self.list(Self::named_item)?),
        };
        self.word("FROM")?;
        let table = self.name()?;
        let mut conditions = Vec::new();
        if self.word("WHERE").is_some() {
            conditions.push(self.condition()?);
            while self.word("AND").is_some() {
                conditions.push(self.condition()?);
            }
        }
        let groups = match self.words(["GROUP", "BY"]) {
            Some(()) => self.list(Self::item)?,
            None => Vec::new(),
        };
        let order = match self.words(["ORDER", "BY"]) {
            Some(()) => self.list(Self::ordered)?,
            None => Vec::new(),
        };
        let limit = match self.word("LIMIT") {
            Some(()) => Some(self.number()?.parse().ok()?),
            None => None,
        };
        // The last rows of each tag are the first ones in the order by the tag and the time, latest first.
        let mut order = order.into_iter();
        if last_of.is_some() && order.next()?.0 != ItemText::Column(last_of.clone()?) {
            return None;
        }
        Some(QuestionText { table, items, last_of, conditions, groups, order: order.next(), limit })
    }

    fn named_item(&mut self) -> Option<ItemText> {
        let item = self.item()?;
        if self.word("AS").is_some() {
            self.name()?;
        }
        Some(item)
    }

    fn item(&mut self) -> Option<ItemText> {
        let name = self.name()?;
        if self.sign('(').is_none() {
            return Some(ItemText::Column(name));
        }
        let item = match name.as_str() {
            "date_trunc" => {
                let seconds = match self.text()?.as_str() {
                    "minute" => 60,
                    "hour" => 3_600,
                    _ => return None,
                };
                self.sign(',')?;
                ItemText::Cut(self.name()?, seconds)
            }
            "count" => {
                self.sign('*')?;
                ItemText::Aggregate(Aggregate::Count, None)
            }
            function => {
                let aggregate = match function {
                    "sum" => Aggregate::Sum,
                    "min" => Aggregate::Min,
                    "max" => Aggregate::Max,
                    "avg" => Aggregate::Mean,
                    _ => return None,
                };
                ItemText::Aggregate(aggregate, Some(self.name()?))
            }
        };
        self.sign(')')?;
        Some(item)
    }

    /// An item, and whether it is in descending order.
    fn ordered(&mut self) -> Option<(ItemText, bool)> {
        Some((self.item()?, self.word("DESC").is_some()))
    }

    fn condition(&mut self) -> Option<Condition> {
        let name = self.name()?;
        if self.word("IN").is_some() {
            return Some(Condition::OneOf(name, self.in_parentheses(|reader| reader.list(Self::text))?));
        }
        if self.sign('=').is_some() {
            return Some(Condition::OneOf(name, vec![self.text()?]));
        }
        let comparison = match (self.sign('<'), self.sign('>'), self.sign('=')) {
            (Some(()), None, None) => Comparison::Before,
            (None, Some(()), Some(())) => Comparison::From,
            (None, Some(()), None) => Comparison::Above,
            _ => return None,
        };
        let sign = if self.sign('-').is_some() { "-" } else { "" };
        Some(Condition::Compared(name, comparison, format!("{sign}{}", self.number()?)))
    }

    fn in_parentheses<T>(&mut self, inner: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.sign('(')?;
        let inner = inner(self)?;
        self.sign(')')?;
        Some(inner)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.sign(',').is_some() {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn words(&mut self, words: [&str; 2]) -> Option<()> {
        self.word(words[0])?;
        self.word(words[1])
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.take(|token| matches!(token, Token::Word(next) if next.eq_ignore_ascii_case(word))).map(drop)
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        self.take(|token| *token == Token::Sign(sign)).map(drop)
    }

    fn name(&mut self) -> Option<String> {
        self.take(|token| matches!(token, Token::Word(_)))
    }

    fn text(&mut self) -> Option<String> {
        self.take(|token| matches!(token, Token::Text(_)))
    }

    fn number(&mut self) -> Option<String> {
        self.take(|token| matches!(token, Token::Number(_)))
    }

    /// Takes the text of the next token, if `is_wanted` accepts the token.
    fn take(&mut self, is_wanted: impl FnOnce(&Token) -> bool) -> Option<String> {
        let token = self.tokens.get(self.position).filter(|token| is_wanted(token))?;
        self.position += 1;
        Some(match token {
            Token::Word(text) | Token::Number(text) | Token::Text(text) => text.clone(),
            Token::Sign(sign) => sign.to_string(),
        })
    }
}

impl QuestionText {
    /// The question about this table.
    pub(super) fn on(self, table: &SeriesTable) -> Result<Question, Failure> {
        let items = match self.items {
            Some(items) => items.into_iter().map(|item| item.on(table)).collect::<Result<_, _>>()?,
            None => table.columns.iter().map(|column| Item::Column(column.name.clone())).collect(),
        };
        let groups = self.groups.into_iter().map(|key| key.key_of(table)).collect::<Result<Vec<_>, _>>()?;
        let mut question = Question {
            items,
            last_of: self.last_of,
            tags: Vec::new(),
            times: (None, None),
            above: Vec::new(),
            groups,
            limit: None,
        };
        if let Some(tag) = &question.last_of {
            is_tag(table, tag)?;
        }
        let order =
            self.order.map(|(item, descending)| Ok::<_, Failure>((item.is_time(table)?, descending))).transpose()?;
        question.limit = match (self.limit, order) {
            (None, Some((true, true))) => None,
            // The order of an answer of which nothing is left out does not matter.
            (None, _) if question.last_of.is_none() => None,
            (Some(rows), Some((true, latest))) if question.group_tags().next().is_none() => {
                Some(Limit { rows, latest })
            }
            _ => return Err(Failure::cannot("has answers in the order of time alone")),
        };
        self.conditions.into_iter().try_for_each(|condition| question.restrict(table, condition))?;
        question.checked()
    }
}

impl ItemText {
    fn on(self, table: &SeriesTable) -> Result<Item, Failure> {
        Ok(match self {
            Self::Column(name) => {
                table.role(&name)?;
                Item::Column(name)
            }
            Self::Cut(..) => {
                self.key_of(table)?;
                Item::Bucket
            }
            Self::Aggregate(aggregate, None) => Item::Aggregate(aggregate, None),
            Self::Aggregate(aggregate, Some(name)) => match table.role(&name)? {
                Role::Integer | Role::Float => Item::Aggregate(aggregate, Some(name)),
                _ => return Err(Failure::cannot(format!("has aggregates of numbers, and {name} has none"))),
            },
        })
    }

    fn key_of(self, table: &SeriesTable) -> Result<GroupKey, Failure> {
        match self {
            Self::Column(name) => is_tag(table, &name).map(|()| GroupKey::Tag(name)),
            Self::Cut(name, seconds) if table.role(&name)? == Role::Time => Ok(GroupKey::Seconds(seconds)),
            _ => Err(Failure::cannot("has groups by tags and times alone")),
        }
    }

    /// Returns whether it is the time, or the start of a bucket of times.
    fn is_time(&self, table: &SeriesTable) -> Result<bool, Failure> {
        match self {
            Self::Column(name) | Self::Cut(name, _) => Ok(table.role(name)? == Role::Time),
            Self::Aggregate(..) => Ok(false),
        }
    }
}

fn is_tag(table: &SeriesTable, name: &str) -> Result<(), Failure> {
    match table.role(name)? {
        Role::Tag => Ok(()),
        _ => Err(Failure::cannot(format!("has groups by tags and times alone, and {name} is a field"))),
    }
}

impl Question {
    fn restrict(&mut self, table: &SeriesTable, condition: Condition) -> Result<(), Failure> {
        match condition {
            Condition::OneOf(name, values) => {
                is_tag(table, &name)?;
                self.tags.push((name, values));
            }
            Condition::Compared(name, comparison, number) => match (table.role(&name)?, comparison) {
                (Role::Time, Comparison::From) => self.times.0 = Some(units(table, &number)?),
                (Role::Time, Comparison::Before) => self.times.1 = Some(units(table, &number)?),
                (Role::Integer | Role::Float, Comparison::Above) => {
                    self.above.push(Bound { field: name, number: number.parse().map_err(Failure::broken)? });
                }
                _ => return Err(Failure::cannot(format!("has no such condition of {name}"))),
            },
        }
        Ok(())
    }

    /// Checks that the question is for single rows, or for groups.
    fn checked(self) -> Result<Self, Failure> {
        let is_of_groups = |item: &Item| match item {
            Item::Column(name) => self.group_tags().any(|tag| tag == name),
            Item::Bucket => self.bucket_seconds().is_some(),
            Item::Aggregate(..) => true,
        };
        let is_of_rows = |item: &Item| matches!(item, Item::Column(_));
        let is_right = match self.is_aggregate() || !self.groups.is_empty() {
            true => self.is_aggregate() && self.last_of.is_none() && self.items.iter().all(is_of_groups),
            false => self.items.iter().all(is_of_rows),
        };
        if is_right { Ok(self) } else { Err(Failure::cannot("has no question of this form")) }
    }
}

/// A time in seconds, maybe with a fraction, in units of the table.
fn units(table: &SeriesTable, seconds: &str) -> Result<i64, Failure> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let number = |text: &str| text.parse::<i64>().map_err(Failure::broken);
    let (whole, nanoseconds) = (number(whole)?, number(&format!("{fraction:0<9}"))?);
    let sign = if seconds.starts_with('-') { -1 } else { 1 };
    Ok(whole * table.per_second + sign * nanoseconds / (1_000_000_000 / table.per_second))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::SeriesColumn;
    use super::*;

    fn cpu() -> SeriesTable {
        let column = |(name, role): (&str, Role)| SeriesColumn { name: name.to_owned(), role, nullable: false };
        let columns = [("time", Role::Time), ("host", Role::Tag), ("os", Role::Tag), ("load", Role::Float)];
        SeriesTable {
            name: "cpu".to_owned(),
            columns: columns.map(column).to_vec(),
            per_second: 1_000,
            key: vec!["host".to_owned()],
            rows: 0,
            times: None,
        }
    }

    fn question(sql: &str) -> Result<Question, Failure> {
        let cpu = cpu();
        Question::read(sql, |name| if name == "cpu" { Ok(&cpu) } else { Err(Failure::cannot("no table")) })
            .map(|(question, _)| question)
    }

    fn nothing() -> Question {
        let (items, tags, above, groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Question { items, last_of: None, tags, times: (None, None), above, groups, limit: None }
    }

    #[test]
    fn groups_and_conditions_are_read() {
        let sql = "SELECT date_trunc('hour', time) AS hour, host, avg(load), count(*) FROM cpu WHERE time >= 1.5 AND time < 7 \
                   AND host IN ('a', 'b') AND load > 90 GROUP BY date_trunc('hour', time), host ORDER BY host";
        let expected = Question {
            items: vec![
                Item::Bucket,
                Item::Column("host".to_owned()),
                Item::Aggregate(Aggregate::Mean, Some("load".to_owned())),
                Item::Aggregate(Aggregate::Count, None),
            ],
            tags: vec![("host".to_owned(), vec!["a".to_owned(), "b".to_owned()])],
            times: (Some(1_500), Some(7_000)),
            above: vec![Bound { field: "load".to_owned(), number: 90.0 }],
            groups: vec![GroupKey::Seconds(3_600), GroupKey::Tag("host".to_owned())],
            ..nothing()
        };
        assert_eq!(question(sql).expect("a question"), expected);
    }

    #[test]
    fn rows_are_read_with_their_limit_or_the_last_of_each() {
        let all = ["time", "host", "os", "load"].map(|name| Item::Column(name.to_owned())).to_vec();
        let last = question("SELECT DISTINCT ON (host) * FROM cpu ORDER BY host, time DESC").expect("a question");
        assert_eq!(last, Question { items: all.clone(), last_of: Some("host".to_owned()), ..nothing() });
        let latest =
            question("SELECT * FROM \"cpu\" WHERE os = 'it''s' ORDER BY time DESC LIMIT 10").expect("a question");
        let (tags, limit) = (vec![("os".to_owned(), vec!["it's".to_owned()])], Some(Limit { rows: 10, latest: true }));
        assert_eq!(latest, Question { items: all, tags, limit, ..nothing() });
    }

    #[test]
    fn what_has_another_meaning_is_refused() {
        for sql in [
            "SELECT host FROM cpu LIMIT 3",
            "SELECT host, count(*) FROM cpu",
            "SELECT host FROM cpu GROUP BY host",
            "SELECT load, count(*) FROM cpu GROUP BY load",
            "SELECT host, max(load) FROM cpu GROUP BY host ORDER BY host LIMIT 3",
            "SELECT DISTINCT ON (host) * FROM cpu ORDER BY host",
            "SELECT DISTINCT ON (host) * FROM cpu ORDER BY time DESC",
            "SELECT max(os) FROM cpu",
            "SELECT count(*) FROM cpu WHERE load = 'x'",
            "SELECT count(*) FROM cpu WHERE load < 5",
            "SELECT count(*) FROM cpu WHERE host = 'a' OR host = 'b'",
            "SELECT count(*) FROM cpu a JOIN cpu b ON a.time = b.time",
            "SELECT median(load) FROM cpu",
            "SELECT count(*) FROM mem",
            "UPDATE cpu SET load = load + 1",
        ] {
            assert!(matches!(question(sql), Err(Failure::Cannot(_))), "{sql}");
        }
    }
}
