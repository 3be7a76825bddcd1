//! `atsdb doctor`: finds what is slow, large or risky in a store, and suggests the statement or command that fixes it.
//! Owned here: the rules. Not owned: the figures, which come from the catalogue.

use super::recompress::fresh_rows;
use super::report;
use super::schema::statement;
use crate::args::{DoctorArgs, ReportFormat};
use crate::console::interrupt::Watch;
use crate::console::quantity::{show_count, show_many, show_rows};
use crate::session::settings::{self, Access};
use atsdb::name::same_name;
use atsdb::sql::{Answer, Session, exact_name, qualified, quoted};
use atsdb::{
    Column, ColumnId, Database, Error, MapWidth, Result, SliceWidth, StoreWarning, Table, TableDefinition, TableStats,
};
use serde::Serialize;
use std::slice;

/// The minimum number of rows per slice. If many slices have fewer rows, opening them costs more than reading them.
const ROWS_PER_SLICE_MIN: u64 = 20_000;

/// The number of slices below which a table never has too many.
const SLICES_MIN: u64 = 100;

/// The target number of rows in a slice.
const ROWS_PER_SLICE_WANTED: u64 = 400_000;

/// The maximum number of rows per slice. Larger slices are rewritten as a whole when late rows arrive, and retention
/// drops them only as a whole.
const ROWS_PER_SLICE_MAX: u64 = 100_000_000;

/// The number of unsealed chunks that is normal while rows arrive.
const FRESH_CHUNKS_MAX: u64 = 200;

/// The number of unsealed rows from which on the store is larger than it need be, if they are most of the table's.
const FRESH_ROWS_MIN: u64 = 100_000;

/// The number of values that are sampled to count the distinct values of a column.
const SAMPLE_ROWS: usize = 100_000;

/// A column whose texts occur at least this often on average should be mapped.
const REPEATS_MIN: u64 = 50;

/// The fraction of a dictionary that may be used without a warning.
const DICTIONARY_PERCENT_MAX: u64 = 80;

/// A finding, and its fix.
#[derive(Debug, Serialize)]
struct Advice {
    kind: &'static str,
    table: Option<String>,
    finding: String,
    fix: String,
}

/// Examines the store, and prints the findings.
pub(super) fn run(args: &DoctorArgs) -> Result<()> {
    let DoctorArgs { report: args, backup, query_limits } = args;
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let session = settings::session(&database, Access::Read, &args.store, query_limits)?;
    let handle = session.interrupt_handle();
    let _watch = Watch::new(move || handle.interrupt());
    let mut found: Vec<Advice> = database.warnings().iter().map(of_warning).collect();
    for table in report::tables_of(database.engine(), args)? {
        let definition = &table.definition;
        let is_computed = definition.view.is_some() || definition.rollup.is_some() || definition.materialized.is_some();
        if is_computed || definition.is_in_memory() {
            continue;
        }
        look_at(&database, &session, &shell_word(&args.url), &table, &mut found)?;
    }
    if args.table.is_none() {
        found.extend(of_backups(&database, &args.url, backup.as_deref())?);
    }
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&found)?),
        ReportFormat::Table if found.is_empty() => report::write_text("nothing to advise\n"),
        ReportFormat::Table => report::write_text(&found.iter().map(in_words).collect::<Vec<_>>().join("\n")),
    }
}

fn in_words(advice: &Advice) -> String {
    let table = advice.table.as_ref().map_or(String::new(), |table| format!(" table {table}:"));
    let fix: String = advice.fix.lines().map(|line| format!("  {line}\n")).collect();
    format!("{}:{table} {}\n{fix}", advice.kind, advice.finding)
}

fn of_warning(warning: &StoreWarning) -> Advice {
    let fix = match &warning.fix {
        Some(statements) => format!("-- in the server's own client, as its administrator\n{statements}"),
        None => "-- change the configuration of the server, or the URL: no statement does".to_owned(),
    };
    Advice { kind: "risky", table: None, finding: warning.message.clone(), fix }
}

fn of_backups(database: &Database, url: &str, backup: Option<&str>) -> Result<Option<Advice>> {
    let advice = |finding: String, fix: String| Some(Advice { kind: "risky", table: None, finding, fix });
    if url.starts_with("memory:") {
        return Ok(None);
    }
    let command = |target: &str| format!("atsdb backup {} {}", shell_word(url), shell_word(target));
    let Some(folder) = backup else {
        let finding = "backups were not checked: pass their folder or bucket with --backup".to_owned();
        return Ok(advice(finding, command("backups/")));
    };
    let archive = atsdb::Archive::open(folder)?;
    let source = format!("{:032x}", u128::from_be_bytes(database.engine().store().uid()));
    let has_backup = match archive.require() {
        Ok(()) => archive.backups()?.whole.iter().any(|backup| backup.whole && backup.source == source),
        Err(error) if error.kind() == atsdb::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(match has_backup {
        true => None,
        false => advice(format!("there is no whole backup of this store in {folder}"), command(folder)),
    })
}

/// A text as one word of a command.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Adds the advice about a table. `url` is the store's, quoted as a word of a command.
fn look_at(database: &Database, session: &Session, url: &str, table: &Table, found: &mut Vec<Advice>) -> Result<()> {
    let name = &table.definition.name;
    let stats = database.engine().stats(Some(table))?;
    let Some(stats) = stats.first() else { return Ok(()) };
    let mut advise = |kind: &'static str, finding: String, fix: String| {
        found.push(Advice { kind, table: Some(name.clone()), finding, fix });
    };
    // The table as it is when all advice is followed.
    let mut wanted = database.engine().continued(table.clone())?.definition;
    if table.definition.time.is_some()
        && let Some((finding, width)) = slice_advice(table.definition.slice, stats)
    {
        let set = format!("ALTER TABLE {} SET (slice = '{}');", qualified(&table.definition), width.name());
        advise("slow", finding, format!("{set}\natsdb recompress {url} {}", shell_word(name)));
        wanted.slice = width;
    }
    if stats.fresh_chunks > FRESH_CHUNKS_MAX {
        let finding = format!("{} are not sealed", show_many(stats.fresh_chunks, "chunk"));
        advise("slow", finding, format!("atsdb recompress {url} {}", shell_word(name)));
    } else if let Some(finding) = fresh_advice(stats.rows, fresh_rows(database.engine(), slice::from_ref(table))?) {
        advise("large", finding, format!("atsdb recompress {url} {}", shell_word(name)));
    }
    let mut unmapped = Vec::new();
    for (position, column) in table.definition.columns.iter().enumerate() {
        match column.map {
            None if column.column_type == atsdb::ColumnType::Text => {
                let (count, distinct) = sample(session, table, &column.name)?;
                if let Some(width) = map_advice(count, distinct) {
                    let finding = format!(
                        "column {} is text of {} among {}, without a dictionary",
                        column.name,
                        show_many(distinct, "value"),
                        show_rows(count)
                    );
                    unmapped.push((finding, column));
                    wanted.columns[position].map = Some(width);
                }
            }
            None => {}
            Some(width) => {
                let used = dictionary_size(session, name, &column.name)?;
                if let Some((finding, wider)) = dictionary_advice(&column.name, width, used) {
                    let (table, map) = (qualified(&table.definition), map_option(&column.name, wider));
                    advise("risky", finding, format!("ALTER TABLE {table} SET ({map});"));
                    wanted.columns[position].map = Some(wider);
                }
            }
        }
    }
    for (finding, fix) in map_fixes(database, table, &wanted, unmapped)? {
        advise("large", finding, fix);
    }
    Ok(())
}

/// The findings about text columns with the statements that map them. A column that may be dropped is replaced in its
/// table. If keys, indexes or the like hold one, the table is made anew, as `wanted`; a rollup forbids both.
fn map_fixes(
    database: &Database,
    table: &Table,
    wanted: &TableDefinition,
    unmapped: Vec<(String, &Column)>,
) -> Result<Vec<(String, String)>> {
    let tables = if unmapped.is_empty() { Vec::new() } else { database.engine().tables()? };
    let rollups = tables.iter().filter_map(|other| other.definition.rollup.as_ref());
    let queries: Vec<&str> =
        rollups.filter(|rollup| rollup.source == table.id).map(|rollup| rollup.query.as_str()).collect();
    let name = qualified(&table.definition);
    let in_place = |column: &Column| {
        let width = wanted.column(&column.name).ok()?.map?;
        Some(map_fix(&name, &column.name, width))
    };
    let has_held = unmapped.iter().any(|(_, column)| is_held(&table.definition, column));
    if has_held && queries.is_empty() {
        let findings: Vec<String> = unmapped.into_iter().map(|(finding, _)| finding).collect();
        return Ok(vec![(findings.join("; "), rebuild_fix(wanted))]);
    }
    let is_read = |column: &Column| queries.iter().any(|query| may_name(query, &column.name));
    let may_go = |column: &Column| !is_held(&table.definition, column) && !is_read(column);
    let fixes = unmapped.into_iter().filter(|(_, column)| may_go(column));
    Ok(fixes.filter_map(|(finding, column)| Some((finding, in_place(column)?))).collect())
}

/// Returns whether a column that takes its place would lack something: a key, an index, NOT NULL or a default.
fn is_held(definition: &TableDefinition, column: &Column) -> bool {
    let mut held = definition.key.iter();
    let mut unique = definition.unique.iter().flat_map(|unique| &unique.columns);
    let mut indexed = definition.indexes.iter().flat_map(|index| &index.columns);
    let is_own = |id: &ColumnId| *id == column.id;
    let has_default = column.default.is_some() || column.default_function.is_some();
    !column.nullable || has_default || held.any(is_own) || unique.any(is_own) || indexed.any(is_own)
}

/// Returns whether a query may name a column: one of its words is the name, or it has a name that is no word.
fn may_name(query: &str, column: &str) -> bool {
    let is_apart = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let mut words = query.split(is_apart);
    if column.contains(is_apart) { query.contains(column) } else { words.any(|word| same_name(word, column)) }
}

/// The statements that make a table anew with other columns' dictionaries, and keep its rows.
fn rebuild_fix(wanted: &TableDefinition) -> String {
    let name = qualified(wanted);
    let old = TableDefinition { name: format!("{}_unmapped", wanted.name), ..wanted.clone() };
    let columns: Vec<String> = wanted.columns.iter().map(|column| quoted(&column.name)).collect();
    let columns = columns.join(", ");
    let is_numbered = wanted.identities().any(|(_, identity)| identity.always);
    let numbers = if is_numbered { " OVERRIDING SYSTEM VALUE" } else { "" };
    format!(
        "ALTER TABLE {name} RENAME TO {};\n\
         {}\
         INSERT INTO {name} ({columns}){numbers} SELECT {columns} FROM {old_name};\n\
         DROP TABLE {old_name};",
        quoted(old.local_name()),
        statement(wanted),
        old_name = qualified(&old),
    )
}

/// Returns the problem with the width of slices, if there is one, and a better width.
fn slice_advice(width: SliceWidth, stats: &TableStats) -> Option<(String, SliceWidth)> {
    let rows = stats.rows / stats.slices.max(1);
    let hours = |width: SliceWidth| match width {
        SliceWidth::Hour => 1,
        SliceWidth::Day => 24,
        SliceWidth::Week => 168,
        SliceWidth::Month => 730,
        SliceWidth::Year => 8_766,
    };
    let rows_of = |other: SliceWidth| rows.saturating_mul(hours(other)) / hours(width);
    let figures = format!("{} of {} on average", show_many(stats.slices, "slice"), show_rows(rows));
    if stats.slices > SLICES_MIN && rows < ROWS_PER_SLICE_MIN {
        let better = SliceWidth::ALL.iter().copied().find(|other| rows_of(*other) >= ROWS_PER_SLICE_WANTED);
        let better = better.unwrap_or(SliceWidth::Year);
        return (hours(better) > hours(width)).then(|| (format!("too many slices: {figures}"), better));
    }
    if rows > ROWS_PER_SLICE_MAX {
        let better = SliceWidth::ALL.iter().copied().find(|other| rows_of(*other) >= ROWS_PER_SLICE_WANTED)?;
        return (hours(better) < hours(width)).then(|| (format!("slices are too wide: {figures}"), better));
    }
    None
}

/// The finding that most rows of a table are not sealed, as after a large import.
fn fresh_advice(rows: u64, fresh_rows: u64) -> Option<String> {
    let is_most = fresh_rows >= FRESH_ROWS_MIN && fresh_rows * 2 > rows;
    is_most.then(|| {
        format!("{} of {} are not sealed: sealed rows take less space", show_count(fresh_rows), show_rows(rows))
    })
}

/// Returns the width of a dictionary, if one would save space.
fn map_advice(count: u64, distinct: u64) -> Option<MapWidth> {
    let pays = distinct > 0 && count >= 1_000 && distinct * REPEATS_MIN <= count;
    pays.then_some(if distinct <= 16 { MapWidth::U8 } else { MapWidth::U16 })
}

/// The statements that replace a column by a mapped one.
fn map_fix(table: &str, column: &str, width: MapWidth) -> String {
    let new = format!("{column}_mapped");
    let (old, fresh, map) = (quoted(column), quoted(&new), map_option(&new, width));
    format!(
        "ALTER TABLE {table} ADD COLUMN {fresh} TEXT, SET ({map});\n\
         UPDATE {table} SET {fresh} = {old};\n\
         ALTER TABLE {table} DROP COLUMN {old};\n\
         ALTER TABLE {table} RENAME COLUMN {fresh} TO {old};"
    )
}

/// The option of a table that maps a column.
fn map_option(column: &str, width: MapWidth) -> String {
    format!("map = '{}:{}'", quoted(column).replace('\'', "''"), width.name())
}

/// Returns advice about a dictionary that is almost full, and the next width; `None` if it is not almost full, or if
/// there is no wider one.
fn dictionary_advice(column: &str, width: MapWidth, used: u64) -> Option<(String, MapWidth)> {
    let (capacity, wider) = match width {
        MapWidth::U8 => (1_u64 << 8, MapWidth::U16),
        MapWidth::U16 => (1 << 16, MapWidth::U32),
        MapWidth::U32 => return None,
    };
    let is_full = used * 100 >= capacity * DICTIONARY_PERCENT_MAX;
    let finding =
        || format!("the dictionary of column {column} holds {} of {} values", show_count(used), show_count(capacity));
    is_full.then(|| (finding(), wider))
}

/// The number of values in a sample that are not NULL, and how many of them are distinct.
fn sample(session: &Session, table: &Table, column: &str) -> Result<(u64, u64)> {
    let (table, column) = (exact_name(table), quoted(column));
    let numbers = numbers(
        session,
        &format!(
            "SELECT count(c), count(DISTINCT c) FROM (SELECT {column} AS c FROM {table} LIMIT {SAMPLE_ROWS}) AS sample"
        ),
    )?;
    match numbers.as_slice() {
        [count, distinct] => Ok((*count, *distinct)),
        _ => Err(Error::internal("two counts are two numbers")),
    }
}

fn dictionary_size(session: &Session, table: &str, column: &str) -> Result<u64> {
    let text = |name: &str| format!("'{}'", name.replace('\'', "''"));
    let query = format!(
        "SELECT count(*) FROM atsdb.mappings WHERE table_name = {} AND column_name = {}",
        text(table),
        text(column)
    );
    numbers(session, &query)?.first().copied().ok_or_else(|| Error::internal("a count is a number"))
}

/// The numbers of a query's only row.
fn numbers(session: &Session, query: &str) -> Result<Vec<u64>> {
    let statement = session.statements(query).next().ok_or_else(|| Error::internal("a query is a statement"))??;
    let Answer::Rows(rows) = session.execute(&statement, &[])? else {
        return Err(Error::internal("a query has rows"));
    };
    let mut numbers = Vec::new();
    for batch in rows {
        for column in batch?.columns() {
            let counts = arrow::compute::cast(column, &arrow::datatypes::DataType::UInt64)?;
            let counts = arrow::array::AsArray::as_primitive::<arrow::datatypes::UInt64Type>(&counts);
            numbers.extend(counts.iter().flatten());
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_are_advised_where_texts_repeat_and_before_they_are_full() {
        assert_eq!((map_advice(100_000, 5), map_advice(100_000, 2_000)), (Some(MapWidth::U8), Some(MapWidth::U16)));
        assert_eq!((map_advice(100_000, 2_001), map_advice(999, 1), map_advice(0, 0)), (None, None, None));
        assert_eq!(dictionary_advice("c", MapWidth::U8, 205).map(|(_, wider)| wider), Some(MapWidth::U16));
        assert!(dictionary_advice("c", MapWidth::U8, 204).is_none());
        assert!(dictionary_advice("c", MapWidth::U32, u64::MAX / 1_000).is_none());
    }

    /// Figures of a table with so many slices, each of so many rows.
    fn stats(slices: u64, rows: u64) -> TableStats {
        TableStats {
            name: "t".to_owned(),
            rows: slices * rows,
            slices,
            chunks: slices,
            fresh_chunks: 0,
            bytes: 0,
            bytes_per_row: 0.0,
            time_min: None,
            time_max: None,
            columns: Vec::new(),
            indexes: Vec::new(),
        }
    }

    #[test]
    fn slices_of_too_few_and_of_too_many_rows_get_another_width() {
        let advice = |width: SliceWidth, slices: u64, rows: u64| slice_advice(width, &stats(slices, rows));
        let too_many = advice(SliceWidth::Day, 101, 19_999);
        let finding = "too many slices: 101 slices of 19,999 rows on average".to_owned();
        assert_eq!(too_many, Some((finding, SliceWidth::Month)));
        let too_wide = advice(SliceWidth::Month, 2, 100_000_001);
        let finding = "slices are too wide: 2 slices of 100,000,001 rows on average".to_owned();
        assert_eq!(too_wide, Some((finding, SliceWidth::Day)));
        for (width, slices, rows) in [
            (SliceWidth::Day, 100, 1),
            (SliceWidth::Day, 1_000, 20_000),
            (SliceWidth::Year, 101, 5),
            (SliceWidth::Month, 2, 100_000_000),
            (SliceWidth::Hour, 2, 200_000_000),
        ] {
            assert_eq!(advice(width, slices, rows), None, "{slices} slices of {rows} rows");
        }
    }

    #[test]
    fn a_table_whose_rows_are_mostly_not_sealed_is_sealed() {
        let finding = "150,000 of 200,000 rows are not sealed: sealed rows take less space";
        assert_eq!(fresh_advice(200_000, 150_000).as_deref(), Some(finding));
        assert_eq!((fresh_advice(99_999, 99_999), fresh_advice(1_000_000, 500_000)), (None, None));
    }

    #[test]
    fn a_warning_of_a_server_has_its_statements_or_none() {
        let warning = StoreWarning::new("fsync = off");
        assert!(of_warning(&warning).fix.starts_with("-- change the configuration"));
        let fix = of_warning(&warning.with_fix("ALTER SYSTEM SET fsync = on;")).fix;
        assert_eq!(fix, "-- in the server's own client, as its administrator\nALTER SYSTEM SET fsync = on;");
    }

    #[test]
    fn a_query_names_columns_by_whole_words() {
        let query = r#"SELECT time_bucket('1 hour', time) AS time, Room, avg("the temp") FROM t"#;
        assert!(may_name(query, "room") && may_name(query, "the temp"));
        assert!(!may_name(query, "roo") && !may_name(query, "bucket"));
    }

    #[test]
    fn commands_may_be_pasted_into_a_shell() {
        for (text, word) in [
            ("air.db", "air.db"),
            ("s3://bucket/air", "s3://bucket/air"),
            ("sqlite:air?split=slice", "'sqlite:air?split=slice'"),
            ("it's.db", r"'it'\''s.db'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
