//! Inserting many rows with few statements.

use crate::connection::{Connection, Value, statement_bytes};
use crate::error::Attempt;

/// Inserts rows, whose values are concatenated. The number of rows in each statement is a power of two, so that few
/// different statements are prepared. It is smaller if the server would not accept so many bytes at once.
pub(crate) fn rows(
    connection: &mut dyn Connection,
    table_and_columns: &str,
    values: &[Value<'_>],
    rows_max: usize,
) -> Attempt<()> {
    let column_count = table_and_columns.matches(',').count() + 1;
    let mut rest = values;
    while !rest.is_empty() {
        let mut row_count = 1 << (rest.len() / column_count).min(rows_max).max(1).ilog2();
        let mut sql = text(table_and_columns, column_count, row_count);
        while row_count > 1
            && statement_bytes(&sql, &rest[..row_count * column_count]) > connection.statement_bytes_max()
        {
            row_count /= 2;
            sql = text(table_and_columns, column_count, row_count);
        }
        let (group, after) = rest.split_at(row_count * column_count);
        connection.execute(&sql, group)?;
        rest = after;
    }
    Ok(())
}

fn text(table_and_columns: &str, column_count: usize, row_count: usize) -> String {
    let mut sql = format!("INSERT INTO {table_and_columns} VALUES ");
    for row in 0..row_count {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..column_count {
            let comma = if column == 0 { "" } else { ", " };
            sql.push_str(&format!("{comma}${}", row * column_count + column + 1));
        }
        sql.push(')');
    }
    sql
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_numbered_through() {
        assert_eq!(super::text("t (a, b)", 2, 2), "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)");
    }
}
