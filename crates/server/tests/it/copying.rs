//! COPY compared with PostgreSQL: the bytes that come out, the rows that go in, and the errors, for each option and for
//! each type.

use crate::hostile::{STARTUP, answer, message};
use crate::support::Served;
use atsdb_testkit::server::{ServerKind, shared};
use postgres::{Client, NoTls};
use std::io::{Read, Write};

/// The columns of the table with every type, as atsdb and as PostgreSQL declare them.
const TYPES: [(&str, &str, &str); 19] = [
    ("n", "INT", "INT"),
    ("b", "BOOLEAN", "BOOLEAN"),
    ("s", "SMALLINT", "SMALLINT"),
    ("l", "BIGINT", "BIGINT"),
    ("r", "REAL", "REAL"),
    ("d", "DOUBLE", "DOUBLE PRECISION"),
    ("t", "TEXT", "TEXT"),
    ("y", "BYTEA", "BYTEA"),
    ("ts", "TIMESTAMP(6)", "TIMESTAMPTZ"),
    ("day", "DATE", "DATE"),
    ("clock", "TIME", "TIME"),
    ("num", "DECIMAL(20, 4)", "DECIMAL(20, 4)"),
    ("u", "UUID", "UUID"),
    ("j", "JSON", "JSON"),
    ("ia", "INT[]", "INT[]"),
    ("ta", "TEXT[]", "TEXT[]"),
    ("da", "DOUBLE[]", "DOUBLE PRECISION[]"),
    ("ba", "BOOLEAN[]", "BOOLEAN[]"),
    ("ua", "UUID[]", "UUID[]"),
];

const ROWS: &str = "INSERT INTO every VALUES \
    (1, true, -32768, 9223372036854775807, 1.5, 0.1, 'plain', '\\x00ff', '2024-01-02 03:04:05.678901+00', '2024-02-29', \
     '23:59:59.5', 12.3400, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": [1, \"x\\ty\"]}', \
     '{1,NULL,-3}', '{x,\"y z\",NULL,\"NULL\",\"\"}', '{0.1,1e300,NaN,-Infinity}', '{t,NULL,f}', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}'), \
    (2, false, 7, -1, -0.25, 1e300, E'tab\\there\\nnew\\rreturn\\\\ \"quote\" ''single'' é,;|', '\\x', \
     '1969-12-31 23:59:59+00', '1900-01-01', '00:00:00', -0.0001, '00000000-0000-0000-0000-000000000000', '[]', \
     '{}', '{}', '{}', '{}', '{}'), \
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2000-01-01 00:00:00+00', NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL), \
    (4, true, 0, 0, 'Infinity'::real, 'NaN'::double precision, '', '\\x5c4e', '2024-06-30 12:00:00.5+00', '2024-12-31', '12:00:00', 0, \
     'ffffffff-ffff-ffff-ffff-ffffffffffff', 'null', \
     '{2147483647,-2147483648}', ARRAY['a,b', E'tab\\there', 'quote\"', 'back\\slash', '{}', E'new\\nline'], '{-0,1e15,123456.789}', '{f}', NULL), \
    (5, true, 1, 1, 1e10, 1e-10, E'\\\\.', '\\x0a', '2024-06-30 12:00:00+00', '2024-12-31', '01:02:03.000004', \
     9999999999999999.9999, '12345678-1234-1234-1234-123456789abc', '\"\\u00e9\"', \
     NULL, ARRAY['é', ' ', 'null'], NULL, NULL, NULL), \
    (6, false, 1, 1, 1, 1, E'\\\\N', NULL, '2024-06-30 12:00:00+00', NULL, NULL, 1, NULL, '1', \
     NULL, NULL, NULL, NULL, NULL), \
    (7, false, 1, 1, 1, 1, 'NULL', NULL, '2024-06-30 12:00:00+00', NULL, NULL, 1, NULL, ' {\"b\" : 2} ', \
     NULL, NULL, NULL, NULL, NULL), \
    (8, false, 1, 1, 1, 1, E'\\b\\f\\x0b\\x01', NULL, '2024-06-30 12:00:00+00', NULL, NULL, 1, NULL, '1', \
     NULL, NULL, NULL, NULL, NULL)";

/// An atsdb and a PostgreSQL with the same tables.
struct Both {
    ours: Client,
    theirs: Client,
    _served: Served,
    /// The differences between both so far: the statement, and both answers.
    wrong: Vec<String>,
}

impl Both {
    fn new() -> Option<Self> {
        let url = shared(ServerKind::Postgres)?.database();
        let mut theirs = Client::connect(&url, NoTls).unwrap();
        let served = Served::new();
        let address = format!("host=127.0.0.1 port={} user=me dbname=air", served.pg().port());
        let mut ours = Client::connect(&address, NoTls).unwrap();
        let columns = |of: fn(&(&'static str, &'static str, &'static str)) -> String| {
            TYPES.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let small = "CREATE TABLE small (a INT, b TEXT, c TEXT); CREATE TABLE one (t TEXT)";
        let mine = columns(|(name, ours, _)| format!("{name} {ours}"));
        let other = columns(|(name, _, theirs)| format!("{name} {theirs}"));
        ours.batch_execute(&format!("CREATE TABLE every ({mine}) WITH (time = 'ts'); {small}")).unwrap();
        theirs.batch_execute("SET timezone = 'UTC'; SET client_min_messages = error").unwrap();
        theirs.batch_execute(&format!("CREATE TABLE every ({other}); {small}")).unwrap();
        Some(Self { ours, theirs, _served: served, wrong: Vec::new() })
    }

    fn run(&mut self, sql: &str) {
        self.ours.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        self.theirs.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Returns the bytes that both send for a COPY ... TO STDOUT, and notes a difference.
    fn same_out(&mut self, sql: &str) -> Vec<u8> {
        let (ours, theirs) = (out(&mut self.ours, sql), out(&mut self.theirs, sql));
        let shown = |answer: &Answer| answer.clone().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if ours != theirs {
            self.wrong.push(format!("{sql}\n{:?}\n{:?}", shown(&ours), shown(&theirs)));
        }
        ours.unwrap_or_default()
    }

    /// Sends the same rows to both. The errors, and the rows in the table, must be equal.
    fn same_in(&mut self, sql: &str, rows: &[u8], table: &str) {
        self.run(&format!("DELETE FROM {table}"));
        let (ours, theirs) = (into(&mut self.ours, sql, rows), into(&mut self.theirs, sql, rows));
        let check = format!("COPY (SELECT * FROM {table} ORDER BY 1) TO STDOUT");
        let stored = (out(&mut self.ours, &check), out(&mut self.theirs, &check));
        if ours != theirs || stored.0 != stored.1 {
            let rows = String::from_utf8_lossy(rows);
            self.wrong.push(format!("{sql}\n{rows}\n{ours:?} {:?}\n{theirs:?} {:?}", stored.0, stored.1));
        }
    }

    /// Checks that nothing differed.
    fn check(self) {
        assert!(
            self.wrong.is_empty(),
            "{} differences, each ours first:\n{}",
            self.wrong.len(),
            self.wrong.join("\n\n")
        );
    }
}

/// The bytes of an answer, or the code, message, hint and place of an error.
type Answer = Result<Vec<u8>, [String; 4]>;

fn out(client: &mut Client, sql: &str) -> Answer {
    let mut bytes = Vec::new();
    let mut reader = client.copy_out(sql).map_err(|error| described(&error))?;
    match reader.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let inner = error.into_inner().and_then(|inner| inner.downcast::<postgres::Error>().ok());
            Err(described(&inner.expect("an error of the server")))
        }
    }
}

/// The number of rows that were stored.
fn into(client: &mut Client, sql: &str, rows: &[u8]) -> Result<u64, [String; 4]> {
    let mut writer = client.copy_in(sql).map_err(|error| described(&error))?;
    // An error in the rows comes at the end.
    let _ = writer.write_all(rows);
    writer.finish().map_err(|error| described(&error))
}

fn described(error: &postgres::Error) -> [String; 4] {
    let Some(error) = error.as_db_error() else {
        return [error.to_string(), String::new(), String::new(), String::new()];
    };
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    [error.code().code().to_owned(), error.message().to_owned(), text(error.hint()), text(error.where_())]
}

#[test]
fn rows_come_out_byte_for_byte() {
    let Some(mut both) = Both::new() else { return };
    both.run(ROWS);
    let all = "(SELECT * FROM every ORDER BY n)";
    for options in [
        "",
        "(FORMAT text)",
        "(FORMAT csv)",
        "(FORMAT binary)",
        "BINARY",
        "CSV",
        "CSV HEADER",
        "WITH CSV HEADER",
        "(HEADER)",
        "(FORMAT csv, HEADER)",
        "(FORMAT csv, HEADER false)",
        "(FORMAT csv, HEADER on)",
        "(FORMAT csv, HEADER 1)",
        "(DELIMITER '|')",
        "(DELIMITER ';', NULL 'NULL')",
        "(DELIMITER E'\\x01')",
        "(NULL '')",
        "(FORMAT csv, DELIMITER ';')",
        "(FORMAT csv, DELIMITER E'\\t')",
        "(FORMAT csv, NULL 'NULL')",
        "(FORMAT csv, NULL '\\N')",
        "(FORMAT csv, QUOTE '''')",
        "(FORMAT csv, QUOTE '''', ESCAPE '\\')",
        "(FORMAT csv, ESCAPE '\\')",
        "(FORMAT csv, FORCE_QUOTE *)",
        "(FORMAT csv, HEADER, FORCE_QUOTE (t, n))",
        "CSV FORCE QUOTE t, n",
        "CSV FORCE QUOTE *",
        "DELIMITER AS '|' NULL AS 'x'",
        "DELIMITER '|' CSV QUOTE AS '''' ESCAPE '\"'",
        "(ENCODING 'UTF8')",
        "ENCODING 'utf-8'",
        "(FREEZE)",
    ] {
        let bytes = both.same_out(&format!("COPY {all} TO STDOUT {options}"));
        assert!(bytes.len() > 100, "{options}");
        // A column alone, where `\.` would end the data.
        both.same_out(&format!(
            "COPY (SELECT t FROM every ORDER BY n) TO STDOUT {}",
            options.replace("(t, n)", "(t)").replace("t, n", "t")
        ));
    }
    for (column, _, _) in TYPES {
        for format in ["text", "csv", "binary"] {
            both.same_out(&format!("COPY (SELECT {column} FROM every ORDER BY n) TO STDOUT (FORMAT {format})"));
        }
    }
    both.run("DELETE FROM every WHERE n > 1");
    both.same_out("COPY every TO STDOUT");
    both.same_out("COPY every (t, n) TO STDOUT CSV HEADER");
    both.same_out("COPY public.every (n) TO STDOUT");
    both.same_out("COPY BINARY every (t, n) TO STDOUT");
    both.same_out("COPY (SELECT '{1,NULL,\"a b\"}' AS x, 1 + 1 AS y, NULL AS z) TO STDOUT CSV HEADER");
    both.same_out("COPY (SELECT 1 AS \"a,b\", 2 AS \"a\"\"b\", 3 AS \"é\ttab\") TO STDOUT CSV HEADER");
    both.same_out("COPY (SELECT 1 AS \"a|b\", 2 AS \"a\\b\") TO STDOUT (HEADER, DELIMITER '|')");
    both.check();
}

#[test]
fn rows_go_in_as_into_postgresql() {
    let Some(mut both) = Both::new() else { return };
    let texts: &[(&str, &str)] = &[
        ("", "1\ta\tb\n2\t\\N\t\n3\t\\t\\n\\\\\t\\101\\x41\\x4\\7\\18\n"),
        ("", "1\ta\\\nb\tc\\\td\n2\tx\ty"),
        ("", "1\ta\tb\r\n2\tc\td\r\n"),
        ("", "1\ta\tb\r2\tc\td\r"),
        ("", "1\ta\tb\n2\tc\td\r\n"),
        ("", "1\ta\tb\r\n2\tc\td\n"),
        ("", "1\ta\tb\r2\tc\td\n3\te\tf\r"),
        ("", "1\ta\tb\n\\.\n2\tc\td\n"),
        ("", "1\ta\tb\r\n\\.\r\nrubbish"),
        ("", "1\ta\tb\n\\.\r\n"),
        ("", "1\ta\tb\n\\."),
        ("", "1\ta\tb\n\\.x\n"),
        ("", "1\ta\tb\\.\n2\tc\td\n"),
        ("", "1\ta\n"),
        ("", "1\ta\tb\tc\n"),
        ("", "\n"),
        ("", ""),
        ("", "x\ta\tb\n"),
        ("", "1\ta\tb\n99999999999\ta\tb\n"),
        ("", "\\N\t\\N\t\\N\n1\t\\\\N\t\\N \n"),
        ("", "1\ta\tb\\"),
        ("", "1\t\\N\\\t\\Nx\n"),
        ("", " 1 \t a \t b \n"),
        ("(HEADER)", "x\ty\tz\n1\ta\tb\n"),
        ("(HEADER match)", "a\tb\tc\n1\ta\tb\n"),
        ("(HEADER match)", "a\tb\n1\ta\tb\n"),
        ("(HEADER match)", "a\tc\tb\n1\ta\tb\n"),
        ("(HEADER match)", "a\t\\N\tb\n1\ta\tb\n"),
        ("(HEADER match)", ""),
        ("(DELIMITER '|')", "1|a\\|b|c\n2|\\N|\t\n"),
        ("(DELIMITER ';', NULL '-')", "1;-;\\-\n2;\\N;--\n"),
        ("(NULL '')", "1\t\t\\N\n\t\t\n"),
        ("(NULL 'NULL', DELIMITER ' ')", "1 NULL x\n"),
        ("(FORMAT csv)", "1,a,b\n2,,\n3,\"\",\"a,\"\"b\"\"\nc\"\n"),
        ("(FORMAT csv)", "1,a \"b\" c,\"d\"e\"f\"\n"),
        ("(FORMAT csv)", "1,a,b\r\n2,\"c\r\nd\",e\r\n"),
        ("(FORMAT csv)", "1,a,b\n2,\"c\r\nd\",e\n"),
        ("(FORMAT csv)", "1,a,b\r2,c,d\r"),
        ("(FORMAT csv)", "1,a,b\n2,c,d\r\n3,e,f\n"),
        ("(FORMAT csv)", "1,a,b\r\n2,c,d\n"),
        ("(FORMAT csv)", "1,a,\"b\n2,c,d\n"),
        ("(FORMAT csv)", "1,\\.,b\n\\.\n2,a,b\n"),
        ("(FORMAT csv)", "1,a,b\n\\.x,b,c\n"),
        ("(FORMAT csv)", "1,a,\"x\ny\nz\"\n2,b\n"),
        ("(FORMAT csv)", "1,a,\"x\ny\nz\"\nq,b,c\n"),
        ("(FORMAT csv)", "1,a\n"),
        ("(FORMAT csv)", "1,a,b,c\n"),
        ("(FORMAT csv)", "\n"),
        ("(FORMAT csv)", "1,\\N,\\t\n"),
        ("(FORMAT csv, HEADER)", "a,\"b\nb\",c\n1,a,b\nx,a,b\n"),
        ("(FORMAT csv, HEADER match)", "a,b,c\n1,a,b\n"),
        ("(FORMAT csv, HEADER match)", "a,,c\n1,a,b\n"),
        ("(FORMAT csv, HEADER match)", "a,b,x\n1,a,b\n"),
        ("(FORMAT csv, NULL 'NULL')", "1,NULL,\"NULL\"\n2,,\"\"\n"),
        ("(FORMAT csv, NULL 'N', FORCE_NULL (b), FORCE_NOT_NULL (c))", "1,\"N\",N\n2,N,\"N\"\n"),
        ("(FORMAT csv, FORCE_NULL (b, c))", "1,\"\",\"x\"\n"),
        ("(FORMAT csv, FORCE_NOT_NULL (b, c))", "1,,\"\"\n"),
        ("CSV FORCE NOT NULL b, c FORCE NULL c", "1,,\"\"\n"),
        ("(FORMAT csv, FORCE_NOT_NULL (a))", ",x,y\n"),
        ("(FORMAT csv, QUOTE '''', ESCAPE '\\')", "1,'a\\'b\\\\c',d'e''f'\n2,'\\x',\\'\n"),
        ("(FORMAT csv, ESCAPE '\\')", "1,\"a\\\"b\",\"c\\\\\"\n2,\"a\"\"b\",c\n"),
        ("(FORMAT csv, DELIMITER E'\\t', QUOTE '''')", "1\t'a\tb'\t\"c\"\n"),
        ("CSV HEADER DELIMITER ';' NULL 'x'", "a;b;c\n1;x;\"x\"\n"),
        ("WHERE a > 1", "1\ta\tb\n2\tc\td\n\\N\te\tf\n3\tg\th\n"),
        ("CSV WHERE b = 'x' OR c IS NULL", "1,x,y\n2,y,\n3,y,y\n"),
        ("WITH (FORMAT csv) WHERE length(b) > a", "1,xx,y\n2,y,\n3,yyyy,y\n"),
        ("(FREEZE false)", "1\ta\tb\n"),
        ("(ENCODING 'UTF8')", "1\té\t\\xc3\\xa9\n"),
        ("", "1\t\\303\tb\n"),
    ];
    for (options, rows) in texts {
        both.same_in(&format!("COPY small FROM STDIN {options}"), rows.as_bytes(), "small");
    }
    both.same_in("COPY small (c, a) FROM STDIN", b"x\t1\n\\N\t2\n", "small");
    both.same_in("COPY small (a) FROM STDIN WHERE c IS NULL", b"1\n2\n", "small");
    both.same_in("COPY one FROM STDIN", b"a\n\n\\N\nb", "one");
    both.same_in("COPY one FROM STDIN CSV", b"a\n\n\"\"\n\\.x\nb", "one");
    both.same_in("COPY small FROM STDIN", b"1\t\xff\tb\n", "small");
    both.same_in("COPY small FROM STDIN", format!("1\t{}\n", "é".repeat(120)).as_bytes(), "small");
    both.check();
}

#[test]
fn values_of_every_type_go_in_as_into_postgresql() {
    let Some(mut both) = Both::new() else { return };
    for (column, values) in [
        ("b", "t|f|true|FALSE|yes|no|on|off|1|0|y|n|tr|2|maybe||o"),
        ("s", "0|-32768|32767|32768|+7| 8 |1.5|x||0x10"),
        ("n", "2147483647|-2147483648|2147483648|1e3|--1"),
        ("l", "9223372036854775807|9223372036854775808|-0|1_000"),
        ("r", "1.5|-0|1e38|1e39|1e-50|NaN|Infinity|-inf|x|.5|5.|1e|"),
        ("d", "1.5|-0|1e308|1e309|1e-400|nan|infinity|+inf|-Infinity|0.1|abc|4.9e-324| 1 "),
        ("t", "|a|  spaces  |é"),
        ("y", "\\\\x00ff|\\\\xZZ|\\\\x0|abc|\\\\\\\\|\\\\101|"),
        ("ts", "2024-01-02 03:04:05+00|2024-01-02T03:04:05.123456Z|2024-01-02|2024-01-02 03:04:05+02:30|yesterdays"),
        ("day", "2024-02-29|1999-01-08|x|"),
        ("clock", "23:59:59.999999|04:05|4:05 PM|25:00|x"),
        ("num", "1.23456|-0.00005|9999999999999999.9999|99999999999999999|1e3|x|| 1 "),
        ("u", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11|{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}|7|"),
        ("j", "{}|[1, 2]|null|\"x\"|1e5|  1  "),
        ("ia", "{}|{1,NULL}| { 1 , null } |{1,x}|{1,}|1|{99999999999}||{1}x|{{1|[1,2]|\\\\{1}"),
        ("ta", "{}|{a,\"b,c\",NULL,\"NULL\"}|{a b , c}|{\"a\\\\\"b\",\\\\{}|{\"a}|{a\"b\"}|{}}|{,}|"),
        ("da", "{1.5,NaN,-inf}|{1e400}|{x}"),
        ("ba", "{t,F,yes,0}|{2}"),
        ("ua", "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}|{7}"),
    ] {
        for value in values.split('|') {
            let row = format!("2024-01-01\t{value}\n");
            match column {
                "ts" => both.same_in("COPY every (ts) FROM STDIN", format!("{value}\n").as_bytes(), "every"),
                _ => both.same_in(&format!("COPY every (ts, {column}) FROM STDIN"), row.as_bytes(), "every"),
            }
        }
    }
    both.check();
}

#[test]
fn binary_goes_in_as_into_postgresql() {
    let Some(mut both) = Both::new() else { return };
    both.run(ROWS);
    let binary = both.same_out("COPY (SELECT * FROM every ORDER BY n) TO STDOUT BINARY");
    both.same_in("COPY every FROM STDIN BINARY", &binary, "every");
    let head = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let row = b"\0\x03\0\0\0\x04\0\0\0\x07\0\0\0\x01a\xff\xff\xff\xff";
    let cases: &[&[&[u8]]] = &[
        &[],
        &[b"PGCOP"],
        &[b"PGCOPY\n\xff\r\n\0"],
        &[b"PGCOPY\n\xff\r\n\0\0\0\0\0"],
        &[b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x05ab"],
        &[b"PGCOPY\n\xff\r\n\0\0\x01\0\0\0\0\0\0"],
        &[b"PGCOPY\n\xff\r\n\0\0\x02\0\0\0\0\0\0"],
        &[b"PGCOPY\n\xff\r\n\0\0\0\0\x01\0\0\0\0", row, b"\xff\xff"],
        &[b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x02xx", row, b"\xff\xff"],
        &[head, row, row, b"\xff\xff"],
        &[head, row],
        &[head, row, b"\xff\xffmore"],
        &[head, row, b"\0"],
        &[head, b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x01a"],
        &[head, row, b"\0\x03\0\0\0\x05\0\0\0\x07\0\xff\xff\xff\xff\xff\xff\xff\xff"],
        &[head, b"\0\x03\xff\xff\xff\xfe"],
        &[head, row, b"\0\x03\0\0\0\x04\0\0"],
    ];
    for case in cases {
        both.same_in("COPY small FROM STDIN BINARY", &case.concat(), "small");
    }
    both.check();
}

#[test]
fn a_copy_that_its_client_gives_up_ends_with_the_reason() {
    let served = Served::with_tables();
    let copy = message(b'Q', b"COPY sensors FROM STDIN\0");
    let messages = [STARTUP, &copy, &message(b'f', b"no more rows\0"), &message(b'Q', b"SELECT 41 + 1\0")].concat();
    let found = String::from_utf8_lossy(&answer(&served, &messages)).into_owned();
    assert!(found.contains("C57014") && found.contains("COPY from stdin failed: no more rows"), "{found}");
    assert!(found.contains("SELECT 1") && served.count("sensors") == 2, "{found}");
}
