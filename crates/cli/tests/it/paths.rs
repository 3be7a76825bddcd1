//! The same rows, whichever way they enter a table: INSERT, COPY in each format, files, Arrow batches, records, lines.
//! The tables are compared by their content hashes.

use crate::support::Case;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use atsdb::record::{ColumnSpec, Field, RowReader, RowWriter};
use atsdb::{Database, Error, Record, Result, ScanRequest};
use atsdb_testkit::sample::Random;

/// The number of schemas that are tried.
const SCHEMAS: u64 = 8;
const ROWS: usize = 40;

/// A type as it is declared, the values that its columns get, and whether a field of a record can have it.
struct Type {
    declared: &'static str,
    values: &'static [&'static str],
    is_of_records: bool,
}

const fn of_records(declared: &'static str, values: &'static [&'static str]) -> Type {
    Type { declared, values, is_of_records: true }
}

const fn other(declared: &'static str, values: &'static [&'static str]) -> Type {
    Type { declared, values, is_of_records: false }
}

static TYPES: [Type; 27] = [
    of_records("BOOLEAN", &["true", "false"]),
    of_records("TINYINT", &["-128", "127", "0"]),
    of_records("SMALLINT", &["-32768", "32767", "0"]),
    of_records("INT", &["-2147483648", "2147483647", "7"]),
    of_records("BIGINT", &["CAST('-9223372036854775808' AS BIGINT)", "9223372036854775807", "0"]),
    of_records("TINYINT UNSIGNED", &["0", "255"]),
    of_records("SMALLINT UNSIGNED", &["0", "65535"]),
    of_records("INT UNSIGNED", &["0", "4294967295"]),
    of_records("BIGINT UNSIGNED", &["0", "18446744073709551615"]),
    of_records(
        "REAL",
        &["CAST('NaN' AS REAL)", "CAST('-Infinity' AS REAL)", "CAST('3.4028235e38' AS REAL)", "CAST('1e-45' AS REAL)"],
    ),
    of_records(
        "DOUBLE",
        &["CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST('-0' AS DOUBLE)", "CAST('5e-324' AS DOUBLE)"],
    ),
    of_records("TEXT", &TEXTS),
    of_records("BLOB", &["X''", "X'00'", "X'5c'", "X'00ff5c0a'", "X'2e'"]),
    of_records("TIMESTAMP(0)", &["'2024-01-01 00:00:01'", "'1969-12-31 23:59:59'"]),
    of_records("TIMESTAMP(3)", &["'2024-01-01 00:00:01.123'", "'1969-12-31 23:59:59.999'"]),
    of_records("TIMESTAMP", &["'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"]),
    of_records("TIMESTAMP(9)", &["'2024-01-01 00:00:01.123456'", "'1969-12-31 23:59:59.999999'"]),
    of_records("DATE", &["'0001-01-01'", "'2024-02-29'", "'9999-12-31'"]),
    other("DECIMAL(12, 2)", &["9999999999.99", "-0.01", "0"]),
    other("DECIMAL(38, 9)", &["12345678901234567890123456789.123456789", "-0.000000001"]),
    other("TIME", &["'00:00'", "'23:59:59.999999'"]),
    other("UUID", &["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'"]),
    other("JSON", &[r#"'{"a": [1, "x\n,\""]}'"#, "'null'", r#"'"\\"'"#, "'[1 , 2]'"]),
    other("INTERVAL", &["'1 month -2 days 03:04:05.5'", "'-1 year'", "'00:00:00.000001'", "'0'"]),
    other("TEXT[]", &["CAST(ARRAY[] AS TEXT[])", "ARRAY['a', NULL, 'b,\"c']", "ARRAY['{}', '\\N', 'NULL', '', ' x']"]),
    other("INT[]", &["CAST(ARRAY[] AS INT[])", "ARRAY[-1, NULL, 2147483647]"]),
    other("DECIMAL(20, 3)[]", &["CAST(ARRAY[-1.001, NULL, 12345.5] AS DECIMAL(20, 3)[])"]),
];

/// Texts that formats of text write in a special way.
const TEXTS: [&str; 20] = [
    "''", "'a'", "'\\N'", "'\\.'", "'a\tb'", "'l\nm'", "'r\rs'", "'q\"q'", "'c,d'", "' lead'", "'trail '", "'日本'",
    "'o''k'", "'\\'", "'NULL'", "'null'", "'{}'", "'\\x41'", "'\u{1}'", "'true'",
];

/// A table of random columns.
struct Schema {
    columns: Vec<&'static Type>,
    /// Whether the table has a column of times before these columns.
    is_series: bool,
}

impl Schema {
    fn new(random: &mut Random) -> Self {
        let count = 2 + random.below(7);
        let columns = (0..count).map(|_| &TYPES[random.below(TYPES.len() as u64) as usize]).collect();
        Self { columns, is_series: random.below(2) == 0 }
    }

    /// The schema without the columns that a record cannot have.
    fn of_records(&self) -> Self {
        let columns = self.columns.iter().copied().filter(|column| column.is_of_records).collect();
        Self { columns, is_series: self.is_series }
    }

    fn create(&self, table: &str) -> String {
        let column = |(at, column): (usize, &&Type)| format!("c{at} {}", column.declared);
        let mut columns: Vec<String> = self.columns.iter().enumerate().map(column).collect();
        let mut options = vec!["time = 'none'".to_owned()];
        if self.is_series {
            columns.insert(0, "at TIMESTAMP NOT NULL".to_owned());
            options[0] = "time = 'at'".to_owned();
        }
        if let Some(at) = self.columns.iter().position(|column| column.declared == "TEXT") {
            options.push(format!("map = 'c{at}:u16'"));
        }
        format!("CREATE TABLE {table} ({}) WITH ({});\n", columns.join(", "), options.join(", "))
    }

    /// A row, as values of an INSERT.
    fn row(&self, random: &mut Random, number: usize) -> String {
        let mut cells: Vec<&str> = self.columns.iter().map(|column| cell(random, column)).collect();
        let time = format!("'2024-0{}-01 00:00:{number:02}.0000{number:02}'", 1 + number % 3);
        if self.is_series {
            cells.insert(0, &time);
        }
        format!("({})", cells.join(", "))
    }

    /// The columns that a table of records takes from a table of this schema.
    fn names_of_records(&self) -> String {
        let time = self.is_series.then(|| "at".to_owned());
        let columns = self.columns.iter().enumerate().filter(|(_, column)| column.is_of_records);
        time.into_iter().chain(columns.map(|(at, _)| format!("c{at}"))).collect::<Vec<_>>().join(", ")
    }
}

fn cell(random: &mut Random, column: &Type) -> &'static str {
    match random.below(7) {
        0 => "NULL",
        _ => column.values[random.below(column.values.len() as u64) as usize],
    }
}

/// A row of columns in their logical types, without the time, as a record.
struct RowOf<'a>(&'a [ArrayRef], usize);

impl Record for RowOf<'_> {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        for (position, array) in self.0.iter().enumerate() {
            match array.is_null(self.1) {
                true => row.put_null(position),
                false => write(row, position, array, self.1),
            }
        }
    }

    fn read(_: &RowReader<'_>) -> Result<Self> {
        Err(Error::internal("rows are only written here"))
    }
}

fn write(row: &mut RowWriter<'_>, position: usize, array: &ArrayRef, number: usize) {
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(number).write(row, position),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(number).write(row, position),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(number).write(row, position),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(number).write(row, position),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(number).write(row, position),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(number).write(row, position),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(number).write(row, position),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(number).write(row, position),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(number).write(row, position),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(number).write(row, position),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(number).write(row, position),
        DataType::Date32 => array.as_primitive::<Date32Type>().value(number).write(row, position),
        DataType::Binary => row.put_binary(position, array.as_binary::<i32>().value(number)),
        _ => row.put_text(position, array.as_string::<i32>().value(number)),
    }
}

/// The columns as the fields of a record have them: times as counts, mapped strings as text.
fn fields(rows: &RecordBatch) -> Vec<ArrayRef> {
    let field = |array: &ArrayRef| match array.data_type() {
        DataType::Timestamp(..) => cast(array, &DataType::Int64).expect("a time is a number"),
        DataType::Dictionary(..) => cast(array, &DataType::Utf8).expect("text"),
        _ => ArrayRef::clone(array),
    };
    rows.columns().iter().map(field).collect()
}

fn read(db: &Database, table: &str) -> Vec<RecordBatch> {
    let snapshot = db.snapshot().expect("a snapshot");
    let table = snapshot.table(table).expect("a table");
    let scan = snapshot.scan(table, &ScanRequest::all(table)).expect("a scan");
    scan.batches().collect::<Result<_>>().expect("rows")
}

/// Appends the rows of a table to another one, as Arrow batches.
fn append_batches(db: &Database, from: &str, to: &str) {
    let table = db.engine().table(to).expect("a table");
    let mut batch = db.batch(None);
    for rows in read(db, from) {
        batch.append(&table, &rows).expect("rows");
    }
    batch.commit().expect("a commit");
}

/// Appends the rows of a table to another one, as records.
fn append_records(db: &Database, from: &str, to: &str, is_series: bool) {
    let mut appender = db.appender(to).expect("an appender");
    for rows in read(db, from) {
        let columns = fields(&rows);
        for number in 0..rows.num_rows() {
            match is_series {
                true => {
                    let time = columns[0].as_primitive::<Int64Type>().value(number);
                    appender.push(time, &RowOf(&columns[1..], number)).expect("a row");
                }
                false => appender.push_plain(&RowOf(&columns, number)).expect("a row"),
            }
        }
    }
    appender.flush().expect("a flush");
}

/// Requires that tables have the same columns and rows.
#[track_caller]
fn hold_the_same(db: &Database, tables: &[&str], row_count: usize, what: &str) {
    let hashes = db.engine().content_hashes(None).expect("hashes");
    let of_table = |name: &str| hashes.iter().find(|hash| hash.table == name).expect("a table");
    let first = of_table(tables[0]);
    assert_eq!(first.rows, row_count as u64, "{what}");
    for name in &tables[1..] {
        let other = of_table(name);
        assert_eq!((other.rows, other.hash), (first.rows, first.hash), "{name} instead of {}: {what}", tables[0]);
    }
}

#[track_caller]
fn succeed(case: &Case, arguments: &[&str]) {
    let run = case.run(arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
}

fn every_path_stores_the_same(seed: u64) {
    let mut random = Random::new(seed);
    let schema = Schema::new(&mut random);
    let records = schema.of_records();
    let mut script = format!("{}BEGIN;\n", schema.create("inserted"));
    for number in 0..ROWS {
        script.push_str(&format!("INSERT INTO inserted VALUES {};\n", schema.row(&mut random, number)));
    }
    script.push_str("COMMIT;\n");
    let ways = ["selected", "text", "csv", "binary", "from_csv", "from_parquet", "from_arrow", "batches"];
    for way in ways {
        script.push_str(&schema.create(way));
    }
    script.push_str("INSERT INTO selected SELECT * FROM inserted;\n");
    for format in ["text", "csv", "binary"] {
        script.push_str(&format!("COPY inserted TO 'copied.{format}' (FORMAT {format});\n"));
        script.push_str(&format!("COPY \"{format}\" FROM 'copied.{format}' (FORMAT {format});\n"));
    }
    let has_records = !records.columns.is_empty();
    if has_records {
        script.push_str(&records.create("narrow"));
        script.push_str(&records.create("records"));
        script.push_str(&format!("INSERT INTO narrow SELECT {} FROM inserted;\n", schema.names_of_records()));
    }
    let case = Case::new();
    case.write("script.sql", &script);
    let what = format!("the schema of seed {seed}:\n{script}");
    let run = case.run(&["sql", "a.db", "-f", "script.sql"]);
    assert_eq!(run.code, 0, "{}\n{what}", run.stderr);
    for ending in ["csv", "parquet", "arrow"] {
        let (file, table) = (format!("rows.{ending}"), format!("from_{ending}"));
        succeed(&case, &["export", "a.db", "inserted", "-o", &file]);
        // No text of a file stands for NULL.
        let null: &[&str] = if ending == "csv" { &["--null", "@none@"] } else { &[] };
        succeed(&case, &[&["import", "a.db", &table, &file][..], null].concat());
    }
    let db = atsdb::open(case.path("a.db").to_str().expect("a path")).expect("a store");
    append_batches(&db, "inserted", "batches");
    let tables = [&["inserted"][..], &ways[..]].concat();
    hold_the_same(&db, &tables, ROWS, &what);
    if has_records {
        append_records(&db, "narrow", "records", records.is_series);
        hold_the_same(&db, &["narrow", "records"], ROWS, &what);
    }
    // Sealing changes no value either.
    db.engine().recompress(None).expect("sealed");
    hold_the_same(&db, &tables, ROWS, &what);
}

#[test]
fn rows_are_the_same_whichever_way_they_come() {
    let first = atsdb_testkit::seed() << 32;
    for seed in first..first + SCHEMAS {
        every_path_stores_the_same(seed);
    }
}

#[test]
fn every_type_is_the_same_whichever_way_its_rows_come() {
    // One value after the other, with each type in one of few tables.
    let case = Case::new();
    for (number, types) in TYPES.chunks(9).enumerate() {
        let schema = Schema { columns: types.iter().collect(), is_series: number == 1 };
        let mut script = schema.create(&format!("inserted_{number}"));
        let row_count = types.iter().map(|column| column.values.len()).max().unwrap_or(0);
        for row in 0..row_count {
            let time = schema.is_series.then(|| format!("'2024-01-01 00:00:{row:02}'"));
            let cells = types.iter().map(|column| column.values[row % column.values.len()].to_owned());
            let cells: Vec<String> = time.into_iter().chain(cells).collect();
            script.push_str(&format!("INSERT INTO inserted_{number} VALUES ({});\n", cells.join(", ")));
        }
        for format in ["text", "csv", "binary"] {
            let (table, file) = (format!("{format}_{number}"), format!("copied_{number}.{format}"));
            script.push_str(&schema.create(&table));
            script.push_str(&format!("COPY inserted_{number} TO '{file}' (FORMAT {format});\n"));
            script.push_str(&format!("COPY {table} FROM '{file}' (FORMAT {format});\n"));
        }
        case.write("script.sql", &script);
        let run = case.run(&["sql", "a.db", "-f", "script.sql"]);
        assert_eq!(run.code, 0, "{}\n{script}", run.stderr);
        let db = atsdb::open(case.path("a.db").to_str().expect("a path")).expect("a store");
        let tables = ["inserted", "text", "csv", "binary"].map(|name| format!("{name}_{number}"));
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        hold_the_same(&db, &tables, row_count, &script);
    }
}

#[test]
fn lines_are_the_rows_that_they_say() {
    let columns =
        "(time TIMESTAMP(9) NOT NULL, station TEXT, f DOUBLE, i BIGINT, u BIGINT UNSIGNED, b BOOLEAN, t TEXT)";
    let options = "WITH (time = 'time', map = 'station:u16')";
    let create = |table: &str| format!("CREATE TABLE {table} {columns} {options};\n");
    let rows = [
        r#"('2024-01-01 00:00:00.000000001', 'a b', 1.5, -3, 18446744073709551615, true, 'x "y" \z')"#,
        "('2024-01-01 00:00:00.000000002', NULL, NULL, 4, NULL, false, '')",
        "('2024-01-02 00:00:00', 'c=d,e', -0.25, 9223372036854775807, 0, NULL, NULL)",
    ];
    let inserts: String = rows.iter().map(|row| format!("INSERT INTO inserted VALUES {row};\n")).collect();
    let case = Case::new();
    case.write("script.sql", format!("{}{}{inserts}", create("inserted"), create("lines")));
    let lines = [
        r#"lines,station=a\ b f=1.5,i=-3i,u=18446744073709551615u,b=true,t="x \"y\" \\z" 1704067200000000001"#,
        r#"lines i=4i,b=f,t="" 1704067200000000002"#,
        r"lines,station=c\=d\,e f=-0.25,i=9223372036854775807i,u=0u 1704153600000000000",
    ];
    case.write("rows.lp", lines.join("\n"));
    succeed(&case, &["sql", "a.db", "-f", "script.sql"]);
    succeed(&case, &["import", "a.db", "lines", "rows.lp", "--format", "line", "--time-unit", "ns"]);
    let db = atsdb::open(case.path("a.db").to_str().expect("a path")).expect("a store");
    hold_the_same(&db, &["inserted", "lines"], rows.len(), "lines");
}
