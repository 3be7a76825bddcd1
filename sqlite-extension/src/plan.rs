//! The parts of a query that SQLite pushes down, as text: SQLite keeps it with a prepared statement and shows it in
//! EXPLAIN QUERY PLAN.
//!
//! The text ends with a part for [`Plan::parse`]: positions of columns, terms and the order. The text before it is for
//! people.

use crate::shape::ColumnShape;
use crate::time_format::BoundSide;
use std::fmt::{self, Write as _};

/// The plan of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Plan {
    /// The columns that the query uses.
    pub(crate) columns: Vec<usize>,
    /// The conditions that the scan can use. SQLite passes their operands in this order; tests for NULL have none.
    pub(crate) terms: Vec<Term>,
    pub(crate) order: Option<ScanOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    /// The column; `None` for the rowid.
    pub(crate) column: Option<usize>,
    pub(crate) operator: Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    In,
    /// Equal, or both NULL.
    Is,
    IsNull,
    IsNotNull,
}

impl Operator {
    /// The comparison with one value that is not NULL; `None` if it is no such comparison.
    pub(crate) fn side(self) -> Option<BoundSide> {
        match self {
            Self::Equal | Self::Is => Some(BoundSide::Equal),
            Self::Greater => Some(BoundSide::Greater),
            Self::GreaterOrEqual => Some(BoundSide::GreaterOrEqual),
            Self::Less => Some(BoundSide::Less),
            Self::LessOrEqual => Some(BoundSide::LessOrEqual),
            Self::In | Self::IsNull | Self::IsNotNull => None,
        }
    }
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanOrder {
    pub(crate) by: OrderBy,
    pub(crate) descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderBy {
    Time,
    Rowid,
}

impl Operator {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Equal, "="),
        (Self::Greater, ">"),
        (Self::GreaterOrEqual, ">="),
        (Self::Less, "<"),
        (Self::LessOrEqual, "<="),
        (Self::In, "IN"),
        (Self::Is, "IS"),
        (Self::IsNull, "ISNULL"),
        (Self::IsNotNull, "NOTNULL"),
    ];

    pub(crate) fn has_operand(self) -> bool {
        !matches!(self, Self::IsNull | Self::IsNotNull)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(operator, _)| *operator == self).map_or("", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(operator, _)| *operator)
    }
}

impl Plan {
    /// The text of the plan.
    pub(crate) fn to_text(&self, shape: &[ColumnShape]) -> String {
        let mut text = String::new();
        for (number, term) in self.terms.iter().enumerate() {
            let name = term.column.and_then(|column| shape.get(column)).map_or("rowid", |column| &column.name);
            let operand = if term.operator.has_operand() { " ?" } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "{}{name} {}{operand} ", if number > 0 { "AND " } else { "" }, term.operator.name());
        }
        if let Some(order) = self.order {
            let by = if order.by == OrderBy::Time { "time" } else { "rowid" };
            let _ = write!(text, "ORDER BY {by}{} ", if order.descending { " DESC" } else { "" });
        }
        // A zero byte would end the text.
        format!("{}#{self}", text.replace('\0', ""))
    }

    /// The plan of a text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplit_once('#')?.1.split(';');
        let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let columns = list(parts.next()?).iter().map(|column| column.parse().ok()).collect::<Option<_>>()?;
        let term = |text: &String| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let column = if digits > 0 { Some(text[..digits].parse().ok()?) } else { None };
            Some(Term { column, operator: Operator::parse(&text[digits..])? })
        };
        let terms = list(parts.next()?).iter().map(term).collect::<Option<_>>()?;
        let order = match parts.next()? {
            "" => None,
            text => {
                let by = if text.starts_with('t') { OrderBy::Time } else { OrderBy::Rowid };
                Some(ScanOrder { by, descending: text.ends_with('-') })
            }
        };
        Some(Self { columns, terms, order })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(usize::to_string).collect();
        let term = |term: &Term| {
            let column = term.column.map_or(String::new(), |column| column.to_string());
            format!("{column}{}", term.operator.name())
        };
        let terms: Vec<String> = self.terms.iter().map(term).collect();
        let order = self.order.map_or(String::new(), |order| {
            let by = if order.by == OrderBy::Time { 't' } else { 'r' };
            format!("{by}{}", if order.descending { '-' } else { '+' })
        });
        write!(f, "{};{};{order}", columns.join(","), terms.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::ColumnType;

    #[test]
    fn a_plan_comes_back_from_its_text_whatever_the_columns_are_called() {
        let shape = |name: &str| ColumnShape { name: name.to_owned(), column_type: ColumnType::Text };
        let shapes = [shape("time"), shape("a#b;1,2")];
        let orders = [
            None,
            Some(ScanOrder { by: OrderBy::Time, descending: true }),
            Some(ScanOrder { by: OrderBy::Rowid, descending: false }),
        ];
        for order in orders {
            for (operator, _) in Operator::ALL {
                let terms = vec![Term { column: Some(1), operator }, Term { column: None, operator }];
                let plan = Plan { columns: vec![0, 1, 12], terms, order };
                assert_eq!(Plan::parse(&plan.to_text(&shapes)), Some(plan));
            }
        }
        assert_eq!(Plan::parse(&Plan::default().to_text(&shapes)), Some(Plan::default()));
        let plan = Plan {
            columns: vec![],
            terms: vec![Term { column: Some(0), operator: Operator::GreaterOrEqual }],
            order: orders[1],
        };
        assert_eq!(plan.to_text(&shapes), "time >= ? ORDER BY time DESC #;0>=;t-");
        assert_eq!(Plan::parse("nonsense"), None);
    }
}
