//! Tables of PostgreSQL, MariaDB and MySQL servers as sources of an import.

use crate::support::{Case, Run};
use atsdb_testkit::server::{PASSWORD, ServerKind, TestServer, USER, shared};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ALL: [ServerKind; 3] = [ServerKind::Postgres, ServerKind::Mariadb, ServerKind::Mysql];

/// The servers that are installed.
fn servers() -> impl Iterator<Item = (ServerKind, &'static TestServer)> {
    ALL.into_iter().filter_map(|kind| Some((kind, shared(kind)?)))
}

/// The URL of a new database in which these statements ran.
fn database(kind: ServerKind, server: &TestServer, sql: &str) -> String {
    let url = server.database();
    server.ask(&url, sql);
    if kind == ServerKind::Postgres {
        server.ask(&url, &format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {USER}"));
    }
    url
}

/// The lines of the CREATE TABLE that the program prints, without commas.
fn columns(run: &Run) -> Vec<String> {
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")).map(|line| line.trim_end_matches(','));
    lines.map(str::to_owned).collect()
}

fn done(run: Run) -> Run {
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

const POSTGRES_COLUMNS: &str = "id INT|\"b`x\" BOOLEAN|i2 SMALLINT|i8 BIGINT|o INT UNSIGNED|f4 REAL|f8 DOUBLE|n DECIMAL(38, 10)|\
    n0 DECIMAL(5, 0)|free DECIMAL(13, 5)|odd DOUBLE|wide DECIMAL(4, 2)|c DECIMAL(12, 2)|t TEXT|v TEXT|\
    ch TEXT|e TEXT|ts TIMESTAMP|ts0 TIMESTAMP(0)|tz TIMESTAMP(3)|d DATE|tm TIME|iv INTERVAL|u UUID|j JSON|\
    jb JSON|by BLOB|p TEXT|a INT[]|ip TEXT|ztm TEXT";

const POSTGRES_ROWS: &str = "\
    2147483647,true,32767,9223372036854775807,4294967295,3.4028235e38,1.7976931348623157e308,\
    9999999999999999999999999999.9999999999,99999,12345678.90000,NaN,1.50,1.25,\"é\t\"\"x\",v,ch,bad,\
    9999-12-31T23:59:59.999999Z,2024-03-01T12:00:00Z,2024-03-01T10:00:00.123Z,9999-12-31,23:59:59.999999,\
    1 mon 2 days 03:04:05.000006,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,\"{\"\"a\"\": 1 }\",\"{\"\"b\"\": [2]}\",\
    \\x00ff,\"(1,2)\",\"{1,NULL}\",10.0.0.1/8,12:00:00+02\n\
    -2147483648,false,-32768,-9223372036854775808,0,-1e-45,-5e-324,-9999999999999999999999999999.9999999999,\
    -99999,-0.00001,1e300,-99.00,-1.00,\"\",\"\",\"\",ok,0001-01-01T00:00:00Z,1970-01-01T00:00:00Z,\
    1969-12-31T23:59:59.999Z,0001-01-01,00:00:00,-1 mons -2 days -03:04:05.000006,\
    00000000-0000-0000-0000-000000000000,\"null\",\"null\",\\x,\"(-1,1e+300)\",{},::1/128,00:00:00+00\n\
    ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,";

#[test]
fn every_type_of_postgresql_keeps_its_values() {
    let Some(server) = shared(ServerKind::Postgres) else { return };
    let url = database(
        ServerKind::Postgres,
        server,
        "CREATE TYPE mood AS ENUM ('ok', 'bad');
         CREATE DOMAIN cents AS numeric(12, 2);
         CREATE DOMAIN price AS cents CHECK (VALUE >= -1);
         CREATE TABLE \"Every \"\"type\" (id int4, \"b`x\" bool, i2 int2, i8 int8, o oid, f4 float4, f8 float8,
             n numeric(38, 10), n0 numeric(5), free numeric, odd numeric, wide numeric(100, 2), c price, t text,
             v varchar(10), ch char(5), e mood, ts timestamp, ts0 timestamp(0), tz timestamptz(3), d date, tm time,
             iv interval, u uuid, j json, jb jsonb, by bytea, p point, a int[], ip inet, ztm timetz);
         INSERT INTO \"Every \"\"type\" VALUES
         (2147483647, true, 32767, 9223372036854775807, 4294967295, 3.4028235e38, 1.7976931348623157e308,
             9999999999999999999999999999.9999999999, 99999, 12345678.90, 'NaN', 1.50, 1.25, E'é\\t\"x', 'v', 'ch',
             'bad', '9999-12-31 23:59:59.999999', '2024-03-01 12:00:00', '2024-03-01 12:00:00.123+02', '9999-12-31',
             '23:59:59.999999', '1 mon 2 days 03:04:05.000006', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
             '{\"a\": 1 }', '{\"b\":  [2]}', '\\x00ff', '(1,2)', '{1,NULL}', '10.0.0.1/8', '12:00+02'),
         (-2147483648, false, -32768, -9223372036854775808, 0, -1e-45, -5e-324,
             -9999999999999999999999999999.9999999999, -99999, -0.00001, 1e300, -99, -1, '', '', '',
             'ok', '0001-01-01', '1970-01-01', '1969-12-31 23:59:59.999+00', '0001-01-01',
             '00:00', '-1 mon -2 days -03:04:05.000006', '00000000-0000-0000-0000-000000000000',
             'null', 'null', '', '(-1,1e300)', '{}', '::1', '00:00+00');
         INSERT INTO \"Every \"\"type\" (id) VALUES (NULL)",
    );
    let case = Case::new();
    let url = format!("{url}#Every \"type");
    let run = done(case.run(&["import", "a.db", "t", &url, "--time", "none"]));
    for remark in [
        "column p, point, is read as text",
        "column ip, inet",
        "column odd, numeric, is read as DOUBLE, because some values are NaN",
    ] {
        assert!(run.stderr.contains(remark), "{remark}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("column e,") && !run.stderr.contains("column v,"), "{}", run.stderr);
    assert_eq!(columns(&run).join("|"), POSTGRES_COLUMNS);
    let rows = case.query("a.db", "SELECT * FROM t ORDER BY id DESC NULLS LAST");
    assert_eq!(rows, POSTGRES_ROWS);
}

#[test]
fn arrays_of_postgresql_are_arrays() {
    let Some(server) = shared(ServerKind::Postgres) else { return };
    let url = database(
        ServerKind::Postgres,
        server,
        "CREATE TYPE mood AS ENUM ('ok', 'bad');
         CREATE DOMAIN tags AS text[];
         CREATE TABLE lists (id int, i8 int8[], d float8[], t tags, ch char(3)[], e mood[], ts timestamptz(3)[],
             n numeric(5, 1)[], free numeric[], u uuid[], matrix int[][], j jsonb[]);
         INSERT INTO lists VALUES
         (1, '{1,NULL,-9223372036854775808}', '{NaN,1.5}', '{\"a,b\",NULL,\"\"}', '{a,bcd}', '{ok,bad}',
             '{\"2024-03-01 12:00:00.123+02\"}', '{1.5,-2}', '{1.25,300}',
             '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', '{{1,2},{3,4}}', ARRAY['{\"a\": 1}'::jsonb]),
         (2, '{}', NULL, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
         CREATE TABLE square (a int[]);
         INSERT INTO square VALUES ('{1}'), ('{{1,2},{3,4}}')",
    );
    let case = Case::new();
    let run = done(case.run(&["import", "a.db", "t", &format!("{url}#lists"), "--time", "none"]));
    for remark in ["column matrix, integer[], is read as text", "column j, jsonb[], is read as text"] {
        assert!(run.stderr.contains(remark), "{remark}: {}", run.stderr);
    }
    assert_eq!(
        columns(&run).join("|"),
        "id INT|i8 BIGINT[]|d DOUBLE[]|t TEXT[]|ch TEXT[]|e TEXT[]|ts TIMESTAMP(3)[]|n DECIMAL(5, 1)[]|\
         free DECIMAL(5, 2)[]|u UUID[]|matrix TEXT|j TEXT"
    );
    let arrays = "i8, d, t, ch, e, n, free, u, matrix, j, cardinality(ts)";
    assert_eq!(
        case.query("a.db", &format!("SELECT {arrays} FROM t ORDER BY id")),
        "\"{1,NULL,-9223372036854775808}\",\"{NaN,1.5}\",\"{\"\"a,b\"\",NULL,\"\"\"\"}\",\"{a,bcd}\",\"{ok,bad}\",\
         \"{1.5,-2.0}\",\"{1.25,300.00}\",{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11},\"{{1,2},{3,4}}\",\
         \"{\"\"{\\\"\"a\\\"\": 1}\"\"}\",1\n{},,{},{},{},{},{},{},{},{},0"
    );
    case.run(&["import", "a.db", "s", &format!("{url}#square"), "--time", "none"])
        .failed(2, &["row 2, column a", "an array of 2 dimensions"]);
}

const MYSQL_COLUMNS: &str = "id INT|b BOOLEAN|t1 TINYINT|i1 TINYINT|u1 TINYINT UNSIGNED|i2 SMALLINT|u2 SMALLINT UNSIGNED|i3 INT|\
    u3 INT UNSIGNED|u4 INT UNSIGNED|i8 BIGINT|u8 BIGINT UNSIGNED|y SMALLINT|b1 BOOLEAN|b64 BIGINT UNSIGNED|\
    f REAL|d DOUBLE|n DECIMAL(38, 10)|wide DECIMAL(38, 30)|dt TIMESTAMP(0)|dt3 TIMESTAMP(3)|dt6 TIMESTAMP|\
    ts TIMESTAMP|da DATE|tm TIME|lng INTERVAL|c TEXT|v TEXT|tx TEXT|e TEXT|s TEXT|bi BLOB|bl BLOB|j JSON|\
    p TEXT";

const MYSQL_ROWS: &str = "\
    2147483647,true,127,127,255,32767,65535,8388607,16777215,4294967295,9223372036854775807,\
    18446744073709551615,2155,true,18446744073709551615,3.40282e38,1.7976931348623157e308,\
    9999999999999999999999999999.9999999999,12345678.500000000000000000000000000000,9999-12-31T23:59:59Z,\
    2024-03-01T12:00:00.123Z,9999-12-31T23:59:59.999999Z,2024-03-01T12:00:00.000001Z,9999-12-31,23:59:59.999999,\
    838:59:59,c,é,\"x\t\"\"y\",bad,\"x,y\",\\x00ff01,\\x00ff,\"{\"\"a\"\": 1}\",POINT(1 2)\n\
    -2147483648,false,-128,-128,0,-32768,0,-8388608,0,0,-9223372036854775808,0,1901,false,0,0.1,-5e-324,\
    -9999999999999999999999999999.9999999999,-0.000000000000000000000000000001,1000-01-01T00:00:00Z,\
    1969-12-31T23:59:59.999Z,1000-01-01T00:00:00Z,1970-01-01T00:00:01Z,1000-01-01,00:00:00,-838:59:59,\"\",\"\",\
    \"\",ok,\"\",\\x000000,\\x,\"null\",POINT(-1 0)\n\
    ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,";

#[test]
fn every_type_of_mariadb_and_mysql_keeps_its_values() {
    for (kind, server) in servers().filter(|(kind, _)| *kind != ServerKind::Postgres) {
        let url = database(
            kind,
            server,
            "SET time_zone = '+00:00';
             CREATE TABLE `every ``type` (id int, b boolean, t1 tinyint(1), i1 tinyint, u1 tinyint unsigned, i2 smallint,
                 u2 smallint unsigned, i3 mediumint, u3 mediumint unsigned, u4 int unsigned, i8 bigint,
                 u8 bigint unsigned, y year, b1 bit(1), b64 bit(64), f float, d double, n decimal(38, 10),
                 wide decimal(65, 30), dt datetime, dt3 datetime(3), dt6 datetime(6), ts timestamp(6) NULL, da date,
                 tm time(6), lng time, c char(5), v varchar(10) CHARACTER SET latin1, tx longtext,
                 e enum('ok', 'bad'), s set('x', 'y'), bi binary(3), bl blob, j json, p point);
             INSERT INTO `every ``type` VALUES
             (2147483647, true, 127, 127, 255, 32767, 65535, 8388607, 16777215, 4294967295, 9223372036854775807,
                 18446744073709551615, 2155, b'1', b'1111111111111111111111111111111111111111111111111111111111111111',
                 3.40282e38, 1.7976931348623157e308, 9999999999999999999999999999.9999999999, 12345678.5,
                 '9999-12-31 23:59:59', '2024-03-01 12:00:00.123', '9999-12-31 23:59:59.999999',
                 '2024-03-01 12:00:00.000001', '9999-12-31', '23:59:59.999999', '838:59:59', 'c', 'é',
                 'x\\t\"y', 'bad', 'x,y', x'00ff01', x'00ff', '{\"a\": 1}', POINT(1, 2)),
             (-2147483648, false, -128, -128, 0, -32768, 0, -8388608, 0, 0, -9223372036854775808, 0, 1901, b'0',
                 b'0', 0.1, -5e-324, -9999999999999999999999999999.9999999999, -0.000000000000000000000000000001,
                 '1000-01-01', '1969-12-31 23:59:59.999', '1000-01-01', '1970-01-01 00:00:01', '1000-01-01',
                 '00:00:00', '-838:59:59', '', '', '', 'ok', '', x'000000', '', 'null', POINT(-1, 0));
             INSERT INTO `every ``type` (id) VALUES (NULL)",
        );
        let case = Case::new();
        let run = done(case.run(&["import", "a.db", "t", &format!("{url}#every `type"), "--time", "none"]));
        for remark in ["column p, point, is read as text", "column lng, TIME, is read as INTERVAL"] {
            assert!(run.stderr.contains(remark), "{remark}: {}", run.stderr);
        }
        assert_eq!(columns(&run).join("|"), MYSQL_COLUMNS);
        let rows = case.query("a.db", "SELECT * FROM t ORDER BY id DESC NULLS LAST");
        assert_eq!(rows, MYSQL_ROWS);
    }
}

const READINGS: &str = "CREATE TABLE readings (at timestamp, sensor varchar(10), v double precision);
    INSERT INTO readings VALUES ('2024-03-01 12:00:00', 'a', 1.5), ('2024-03-01 12:00:10', 'b', NULL);
    CREATE VIEW empty_one AS SELECT * FROM readings WHERE v > 100";

#[test]
fn rows_go_into_new_and_existing_tables_each_time() {
    for (kind, server) in servers() {
        let url = database(kind, server, READINGS);
        let (case, source) = (Case::new(), format!("{url}#readings"));
        let shown = done(case.run(&["import", "a.db", "t", &source, "--dry-run"])).text();
        assert!(shown.contains("CREATE TABLE t (") && shown.contains("2 rows would be stored"), "{shown}");
        assert!(case.names().is_empty(), "{:?}", case.names());
        done(case.run(&["import", "a.db", "t", &source]));
        let rows = "2024-03-01T12:00:00Z,a,1.5\n2024-03-01T12:00:10Z,b,";
        assert_eq!(case.query("a.db", "SELECT * FROM t ORDER BY at"), rows);
        // Nothing remembers them.
        done(case.run(&["import", "a.db", "t", &source]));
        assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "4");
        done(case.run(&["import", "a.db", "one", &source, "--columns", "at,value=v"]));
        assert_eq!(case.query("a.db", "SELECT at, value FROM one WHERE value > 1"), "2024-03-01T12:00:00Z,1.5");
        case.run(&["sql", "a.db", "CREATE TABLE other (at TIMESTAMP, sensor TEXT, v DECIMAL(5, 2), more INT)"]).well();
        done(case.run(&["import", "a.db", "other", &source]));
        assert_eq!(case.query("a.db", "SELECT v, more FROM other WHERE sensor = 'a'"), "1.50,");
        let run = done(case.run(&["import", "a.db", "none", &format!("{url}#empty_one"), "--time", "at"]));
        assert!(run.stderr.contains("there are no rows") || run.text().contains("0 rows"), "{}", run.stderr);
        // A name with its schema or database, and options in the URL, which are no pattern of file names.
        let schema = if kind == ServerKind::Postgres { "public" } else { url.rsplit('/').next().unwrap() };
        done(case.run(&["import", "a.db", "t", &format!("{url}?sslmode=disable#{schema}.readings")]));
        assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "6");
    }
}

/// The view computes a column that fails, and the user may not read another one.
#[test]
fn columns_that_are_left_out_are_not_requested() {
    for (kind, server) in servers() {
        let url = database(
            kind,
            server,
            match kind {
                ServerKind::Postgres => {
                    "CREATE TABLE r (a int, v int); INSERT INTO r VALUES (1, 0), (2, 0);
                    CREATE VIEW part AS SELECT a, 1 / v AS failing, a * 2 AS twice FROM r"
                }
                _ => {
                    "CREATE TABLE r (a int, v datetime); INSERT INTO r VALUES (1, now()), (2, now());
                    CREATE VIEW part AS SELECT a, (SELECT a FROM r) AS failing, a * 2 AS twice FROM r"
                }
            },
        );
        let (case, source) = (Case::new(), format!("{url}#part"));
        assert_eq!(case.run(&["import", "a.db", "t", &source, "--time", "none"]).code, 2);
        done(case.run(&["import", "a.db", "t", &source, "--time", "none", "--columns", "double=twice,A"]));
        assert_eq!(case.query("a.db", "SELECT a, double FROM t ORDER BY a"), "1,2\n2,4");
        done(case.run(&["import", "a.db", "u", &source, "--time", "none", "--omit", "FAILING"]));
        assert_eq!(case.query("a.db", "SELECT a, twice FROM u ORDER BY a"), "1,2\n2,4");
        case.run(&["import", "a.db", "v", &source, "--columns", "twise"])
            .failed(2, &["no column named twise", "twice"]);
        case.run(&["import", "a.db", "v", &source, "--omit", "failing,x"]).failed(2, &["no column named x"]);
    }
}

#[test]
fn what_cannot_be_read_is_explained_without_the_password() {
    for (kind, server) in servers() {
        let url = database(kind, server, READINGS);
        let case = Case::new();
        let import = |url: &str| {
            let run = case.run(&["import", "a.db", "t", url]);
            assert!(!run.stderr.contains("pass%2Fword") && !run.stderr.contains(PASSWORD), "{}", run.stderr);
            assert!(case.names().is_empty(), "{:?}", case.names());
            run
        };
        import(&url).failed(1, &["names no table", "#empty_one; available: empty_one, readings"]);
        import(&format!("{url}#")).failed(1, &["names no table"]);
        import(&format!("{url}#readingz")).failed(2, &["no table named readingz", "did you mean readings?"]);
        import(&format!("{url}#x\"; DROP TABLE readings; --`")).failed(2, &["no table named x\"; DROP"]);
        let database = url.rsplit('/').next().unwrap();
        let wrong = import(&format!("{}#readings", server.url(USER, "wrong%2Fsecret", database)));
        wrong.failed(2, &["refuses the login", "ATSDB_PASSWORD"]);
        let other = url.replace(database, "nowhere");
        assert_ne!(import(&format!("{other}#readings")).code, 0);
        let closed = "@127.0.0.1:1/";
        let closed = format!("{}{closed}{database}#readings", url.split('@').next().unwrap());
        import(&closed).failed(2, &["no connection to", "check that the server runs"]);
        let denied = match kind {
            ServerKind::Postgres => "CREATE TABLE secrets (a int)",
            _ => "CREATE TABLE secrets (a int); CREATE USER IF NOT EXISTS guest@'%' IDENTIFIED BY 'guest';",
        };
        server.ask(&url, denied);
        if kind == ServerKind::Postgres {
            import(&format!("{url}#secrets")).failed(2, &["may not read", "permission denied", "GRANT SELECT ON"]);
        } else {
            server.ask(
                &url,
                &format!(
                    "GRANT SELECT (a) ON {database}.secrets TO guest@'%';
                GRANT SELECT (at) ON {database}.readings TO guest@'%'; ALTER TABLE {database}.readings ADD x int"
                ),
            );
            let guest = server.url("guest", "guest", database);
            // The server shows a user only the columns that the user may read.
            done(case.run(&["import", "memory:", "t", &format!("{guest}#secrets")]));
            import(&format!("{guest}#empty_one")).failed(2, &["no table named empty_one"]);
        }
        assert_eq!(server.ask(&url, "SELECT count(*) FROM readings").trim(), "2");
    }
}

#[test]
fn a_password_comes_from_the_environment() {
    for (kind, server) in servers() {
        let url = database(kind, server, READINGS);
        let (scheme, rest) = url.split_once("://").unwrap();
        let bare = format!("{scheme}://{USER}@{}#readings", rest.split_once('@').unwrap().1);
        let case = Case::new();
        let run = |password: &str| {
            let mut command = case.command(&["import", "a.db", "t", &bare]);
            command.env("ATSDB_PASSWORD", password).stdin(Stdio::null()).output().unwrap()
        };
        let refused = run("not-this");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && !said.contains("not-this"), "{said}");
        assert!(run(PASSWORD).status.success());
        assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "2");
    }
}

#[test]
fn values_that_a_store_has_not_are_refused_with_row_and_column() {
    for (kind, server) in servers() {
        let (sql, said) = match kind {
            ServerKind::Postgres => {
                ("CREATE TABLE t (a int, at timestamp); INSERT INTO t VALUES (1, now()), (2, 'infinity')", "infinity")
            }
            _ => (
                "SET sql_mode = ''; CREATE TABLE t (a int, at datetime); INSERT INTO t VALUES (1, now()), (2, '0000-00-00')",
                "0000-00-00 is not a date",
            ),
        };
        let url = database(kind, server, sql);
        let case = Case::new();
        let run = case.run(&["import", "a.db", "t", &format!("{url}#t")]);
        run.failed(2, &["t, row 2, column at: ", said, "import a view instead"]);
        assert!(case.names().is_empty(), "{:?}", case.names());
    }
}

/// A view of 300,000 rows of two kibibytes each, which the server computes as it sends them.
fn large(kind: ServerKind, server: &TestServer) -> String {
    let text = if kind == ServerKind::Postgres { "(n)::text" } else { "CAST(n AS CHAR)" };
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
        UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let url = database(
        kind,
        server,
        &format!(
            "CREATE TABLE digits (d int); INSERT INTO digits SELECT d FROM {digits} x;
             CREATE VIEW numbers AS SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS n
             FROM digits a, digits b, digits c, digits e, digits f, digits g WHERE g.d < 3;
             CREATE VIEW large AS SELECT n, concat('2024-03-01 00:00:0', n % 10) AS t, repeat(md5({text}), 64) AS body
             FROM numbers"
        ),
    );
    format!("{url}#large")
}

#[test]
fn a_large_table_needs_little_memory() {
    for (kind, server) in servers() {
        let url = large(kind, server);
        let case = Case::new();
        let mut child =
            case.command(&["import", "a.db", "t", &url, "--time", "none"]).stdout(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
            peak = peak.max(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) >> 10);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
        let rows =
            case.query("a.db", "SELECT count(*), count(DISTINCT left(body, 32)), min(length(body)), sum(n) FROM t");
        assert_eq!(rows, "300000,300000,2048,44999850000");
        assert!((1..PEAK_MAX_MIB).contains(&peak), "{kind:?}: {peak} MiB");
    }
}

/// All texts together have 586 MiB; an import itself may use 256 MiB.
const PEAK_MAX_MIB: u64 = 400;

fn interrupted(case: &Case, url: &str, wait: Duration) -> Duration {
    let mut command = case.command_ignoring("", &["import", "a.db", "t", url]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !case.path("a.db").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(wait);
    let started = Instant::now();
    assert_eq!(interrupt(&mut child), Some(130), "{url}");
    assert!(case.names().is_empty(), "{:?}", case.names());
    started.elapsed()
}

fn interrupt(child: &mut Child) -> Option<i32> {
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    child.wait().unwrap().code()
}

#[test]
fn ctrl_c_ends_the_wait_for_a_server_and_leaves_nothing() {
    for (kind, server) in servers() {
        let sleep = if kind == ServerKind::Postgres { "pg_sleep(600)::text" } else { "SLEEP(600)" };
        let url = database(kind, server, &format!("CREATE VIEW slow AS SELECT 1 AS a, {sleep} AS b"));
        let case = Case::new();
        let waited = interrupted(&case, &format!("{url}#slow"), Duration::from_millis(500));
        assert!(waited < Duration::from_secs(300), "{waited:?}");
        interrupted(&case, &large(kind, server), Duration::from_millis(300));
    }
}
