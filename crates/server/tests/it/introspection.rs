//! Queries of clients about the catalogue, answered by atsdb and by a PostgreSQL with the same tables: the columns,
//! types and rows must be the same. Intended differences are listed in one place, with their reasons.

use crate::support::Served;
use atsdb_server::Role;
use atsdb_testkit::server::{PASSWORD, ServerKind, TestServer, USER, shared};
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

/// The variable that names a file with statements of drivers, captured as they connect and look around: a JSON list of
/// objects with the statement as `sql`. They are the drivers' texts, so the project has none of them.
const STATEMENTS: &str = "ATSDB_CLIENT_STATEMENTS";

/// The statements that are compared, by the beginning of their hash, with values for their parameters.
const VALUES: &str = include_str!("../clients/introspection_values.txt");

/// The number of a table in the captured statements.
const CAPTURED_TABLE: &str = "16385";

/// The tables of [`Served::create_tables`] in PostgreSQL's dialect.
const SCHEMA: &str = "CREATE TABLE readings (time TIMESTAMPTZ(3) NOT NULL, sensor TEXT, status TEXT DEFAULT 'ok', \
     value DOUBLE PRECISION, count BIGINT);
     CREATE TABLE sensors (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, height REAL);
     CREATE INDEX readings_count ON readings (count);
     CREATE VIEW high AS SELECT sensor, value FROM readings WHERE value > 1";

/// The intended differences: a part of the statement, the kind of difference, the reason.
const DIFFERENCES: [(&str, Difference, &str); 18] = [
    ("version()", Difference::Values("version"), "it is another program"),
    ("SHOW server_version_num", Difference::Values("server_version_num"), "atsdb follows 15, not its patches"),
    ("show transaction isolation level", Difference::Values("transaction_isolation"), "transactions are snapshots"),
    ("name='default_transaction_isolation'", Difference::Values("setting"), "transactions are snapshots"),
    ("current_setting('jit')", Difference::Values("cur"), "there is no such compiler to switch off"),
    ("NOT pg_catalog.pg_opclass.opcdefault", Difference::FewerRows, "each type is sorted in one way"),
    ("ORDER BY\n\t    attrelid, attnum", Difference::UsersRows, "the catalogue has other views"),
    ("ORDER BY\n\t    attrelid, attnum", Difference::FewerRows, "tables have no system columns"),
    ("typreceive::TEXT != 'array_recv'", Difference::FewerRows, "atsdb has fewer types"),
    ("SELECT t.typname,t.oid", Difference::FewerRows, "atsdb has fewer types"),
    ("typinput='pg_catalog.array_in'", Difference::FewerRows, "atsdb has fewer types"),
    ("SELECT datname FROM", Difference::FewerRows, "there are no templates"),
    ("SELECT datname AS \"TABLE_CAT\"", Difference::FewerRows, "there are no templates"),
    ("AS kind, e.typname AS element", Difference::FewerRows, "atsdb has fewer types"),
    ("SELECT typname, typinput, typoutput", Difference::FewerRows, "atsdb has fewer types"),
    ("tmp.CARDINALITY", Difference::Values("CARDINALITY"), "indexes do not count rows"),
    ("tmp.CARDINALITY", Difference::Values("PAGES"), "indexes are in the pages of their tables"),
    ("typeinfo_tree", Difference::Order, "rows of the same depth come in any order"),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Difference {
    /// Every row of atsdb is also one of PostgreSQL's, which has more.
    FewerRows,
    /// Rows that are not about the user's tables.
    UsersRows,
    /// The order of the rows.
    Order,
    /// The values of this column.
    Values(&'static str),
}

/// A connection, and the names by which object numbers are compared.
struct CatalogueClient {
    client: Client,
    names: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Answer {
    parameters: Vec<u32>,
    columns: Vec<(String, u32)>,
    rows: Vec<Vec<Option<String>>>,
}

impl CatalogueClient {
    fn connect(config: &Config) -> Self {
        let mut client = config.connect(NoTls).unwrap();
        let mut names = BTreeMap::new();
        let numbers = "SELECT oid, 'relation ' || relname FROM pg_class UNION ALL SELECT oid, 'type ' || typname FROM \
                       pg_type UNION ALL SELECT oid, 'constraint ' || conname FROM pg_constraint";
        for message in client.simple_query(numbers).unwrap() {
            if let SimpleQueryMessage::Row(row) = message
                && row.get(0).unwrap().parse::<u32>().unwrap() >= 16_384
            {
                names.insert(row.get(0).unwrap().to_owned(), row.get(1).unwrap().to_owned());
            }
        }
        Self { client, names }
    }

    fn number_of(&self, table: &str) -> String {
        let name = format!("relation {table}");
        self.names.iter().find(|(_, found)| **found == name).unwrap().0.clone()
    }

    fn ask(&mut self, statement: &Captured) -> Result<Answer, String> {
        let with_numbers = |text: &str| {
            ["readings", "sensors"]
                .iter()
                .fold(text.to_owned(), |text, table| text.replace(&format!(":{table}:"), &self.number_of(table)))
        };
        let text = with_numbers(&statement.text);
        let values: Vec<String> = statement.parameters.iter().map(|value| with_numbers(value)).collect();
        let described = self.client.prepare(&text).map_err(|error| format!("describe: {error:?}"))?;
        // From the highest down, because $10 begins with $1.
        let substituted = values
            .iter()
            .enumerate()
            .rev()
            .fold(text, |text, (at, value)| text.replace(&format!("${}", at + 1), value));
        let found = self.client.simple_query(&substituted).map_err(|error| format!("execute: {error:?}"))?;
        let mut rows = Vec::new();
        for message in found {
            if let SimpleQueryMessage::Row(row) = message {
                let shown = |at| row.get(at).map(|text: &str| self.names.get(text).cloned().unwrap_or(text.to_owned()));
                rows.push((0..row.len()).map(shown).collect());
            }
        }
        Ok(Answer {
            parameters: described.params().iter().map(postgres::types::Type::oid).collect(),
            columns: described
                .columns()
                .iter()
                .map(|column| (column.name().to_owned(), column.type_().oid()))
                .collect(),
            rows,
        })
    }
}

struct Captured {
    text: String,
    parameters: Vec<String>,
}

/// The statements of drivers; nothing where there is no file of them.
fn captured() -> Option<Vec<Captured>> {
    let Some(path) = std::env::var_os(STATEMENTS) else {
        eprintln!("skipped: {STATEMENTS} names no file with statements of drivers");
        return None;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let all: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut all: BTreeMap<String, &str> = all
        .iter()
        .map(|statement| statement["sql"].as_str().unwrap().trim_end_matches([';', ' ', '\n']))
        .map(|text| (fingerprint(text), text))
        .collect();
    let known = VALUES.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.split('\t');
        let text = all.remove(parts.next().unwrap()).unwrap_or_else(|| panic!("no statement for {line}"));
        let text = text.replace(CAPTURED_TABLE, ":readings:");
        Captured { text, parameters: parts.map(str::to_owned).collect() }
    });
    Some(known.collect())
}

fn fingerprint(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let hash = Sha256::digest(words.join(" ").as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a PostgreSQL and an atsdb with the same tables, database and user, or `None` if PostgreSQL is not installed.
fn both() -> Option<(Config, Config, Served)> {
    let url = shared(ServerKind::Postgres)?.database();
    let theirs: Config = url.parse().unwrap();
    theirs.connect(NoTls).unwrap().batch_execute(SCHEMA).unwrap();
    let served = Served::with_tables();
    let mut ours = Config::new();
    ours.host("127.0.0.1").port(served.pg().port()).user(USER).dbname(theirs.get_dbname().unwrap());
    Some((theirs, ours, served))
}

/// Returns the unexpected differences between two answers.
fn differences(text: &str, expected: &Answer, found: &Answer, used: &mut BTreeSet<usize>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut is_meant = |difference: Difference| {
        let known = DIFFERENCES.iter().enumerate().filter(|(_, known)| text.contains(known.0) && known.1 == difference);
        let known: Vec<usize> = known.map(|(at, _)| at).collect();
        used.extend(&known);
        !known.is_empty()
    };
    if expected.parameters != found.parameters {
        wrong.push(format!("parameters {:?}, expected {:?}", found.parameters, expected.parameters));
    }
    let names = |answer: &Answer| answer.columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if names(expected) != names(found) {
        wrong.push(format!("columns {:?}, expected {:?}", names(found), names(expected)));
        return wrong;
    }
    let mut compared = Vec::new();
    for (at, ((name, expected_type), (_, found_type))) in expected.columns.iter().zip(&found.columns).enumerate() {
        if expected_type != found_type {
            wrong.push(format!("column {name} has type {found_type}, expected {expected_type}"));
        }
        let differs = expected.rows.iter().map(|row| &row[at]).ne(found.rows.iter().map(|row| &row[at]));
        let column = DIFFERENCES.iter().find_map(|(_, difference, _)| match difference {
            Difference::Values(column) if name == column => Some(*column),
            _ => None,
        });
        if !(differs && column.is_some_and(|column| is_meant(Difference::Values(column)))) {
            compared.push(at);
        }
    }
    let rows = |answer: &Answer, only_users: bool| {
        let is_users = |row: &&Vec<Option<String>>| {
            let names = ["relation ", "type ", "constraint "];
            row.iter().flatten().any(|cell| names.iter().any(|name| cell.starts_with(name)))
        };
        let of_row = |row: &Vec<Option<String>>| compared.iter().map(|at| row[*at].clone()).collect::<Vec<_>>();
        answer.rows.iter().filter(|row| !only_users || is_users(row)).map(of_row).collect::<Vec<_>>()
    };
    let (mut theirs, mut ours) = (rows(expected, false), rows(found, false));
    if ours != theirs && is_meant(Difference::UsersRows) {
        (theirs, ours) = (rows(expected, true), rows(found, true));
    }
    if ours != theirs && (!is_ordered(text) || is_meant(Difference::Order)) {
        theirs.sort();
        ours.sort();
    }
    let is_part = || ours.iter().all(|row| theirs.contains(row));
    if ours != theirs && !(is_part() && is_meant(Difference::FewerRows)) {
        let missing: Vec<_> = theirs.iter().filter(|row| !ours.contains(row)).take(5).collect();
        let added: Vec<_> = ours.iter().filter(|row| !theirs.contains(row)).take(5).collect();
        wrong.push(format!("missing {missing:?}\n  added {added:?}"));
    }
    wrong
}

/// Returns whether the whole answer is sorted, and not only a part in parentheses.
fn is_ordered(text: &str) -> bool {
    let text = text.to_lowercase();
    text.rfind("order by").is_some_and(|at| text[at..].matches('(').count() >= text[at..].matches(')').count())
}

#[test]
fn statements_of_drivers_are_answered_as_by_postgresql() {
    let Some((theirs, ours, _served)) = both() else { return };
    let (mut theirs, mut ours) = (CatalogueClient::connect(&theirs), CatalogueClient::connect(&ours));
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    let (captured, modelled) =
        (captured(), MODELLED.map(|text| Captured { text: text.to_owned(), parameters: Vec::new() }));
    let has_captured = captured.is_some();
    for statement in captured.into_iter().flatten().chain(modelled) {
        let expected = theirs.ask(&statement).unwrap_or_else(|error| panic!("{}: {error}", statement.text));
        let found = match ours.ask(&statement) {
            Ok(found) => differences(&statement.text, &expected, &found, &mut used),
            Err(error) => vec![error],
        };
        if !found.is_empty() {
            wrong.push(format!("{}\n  {}", statement.text, found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{} statements are answered otherwise:\n\n{}", wrong.len(), wrong.join("\n\n"));
    if !has_captured {
        return;
    }
    let unused = DIFFERENCES.iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, known)| known);
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, Difference, &str)>::new(), "nothing differs any more");
}

/// Queries that programs send and that are not in the captures: kinds of types by their input functions, the tables on
/// the search path, a table with all of its properties.
const MODELLED: [&str; 8] = [
    "SELECT t.typname, CASE WHEN p.proname = 'array_recv' THEN 'a' ELSE t.typtype END AS kind, e.typname AS element FROM \
     pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_proc p ON p.oid = t.typreceive LEFT JOIN \
     pg_type e ON e.oid = t.typelem AND p.proname = 'array_recv' WHERE n.nspname IN ('pg_catalog', 'public') ORDER BY 1",
    "SELECT typname, typinput, typoutput, typreceive, typsend, typinput::oid::int8 AS number FROM pg_type ORDER BY typname",
    "SELECT quote_ident(table_name) FROM information_schema.tables WHERE quote_ident(table_schema) IN (SELECT CASE WHEN \
     trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(\
     current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS \
     i, string_to_array(current_setting('search_path'), ',') AS s) ORDER BY 1",
    "SELECT column_name, data_type, udt_name, is_nullable, column_default FROM information_schema.columns WHERE \
     table_name IN ('readings', 'sensors', 'high') ORDER BY table_name, ordinal_position",
    "SELECT c.relname, c.relkind, c.relnatts, d.description, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_class c \
     LEFT JOIN pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE \
     c.relnamespace = 'public'::regnamespace ORDER BY c.relname",
    "SELECT i.indexrelid::regclass, i.indrelid::regclass, i.indnatts, i.indisunique, i.indisprimary, i.indkey, i.indclass, \
     i.indoption, i.indkey[0] AS first, array_lower(i.indkey, 1) AS lower FROM pg_index i WHERE i.indrelid IN \
     ('sensors'::regclass, 'readings'::regclass) ORDER BY i.indexrelid::regclass::text",
    "SELECT conname, contype, conkey, condeferrable, conrelid, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid \
     = 'sensors'::regclass ORDER BY 1",
    "SELECT attname, atttypid::regtype, attlen, attnum, atttypmod, attnotnull, atthasdef, attidentity, attisdropped FROM \
     pg_attribute WHERE attrelid = 'readings'::regclass AND attnum > 0 ORDER BY attnum",
];

#[test]
fn tables_of_the_catalogue_have_the_columns_that_postgresql_gives_them() {
    let Some((theirs, ours, _served)) = both() else { return };
    let columns = "SELECT c.relname || '.' || a.attname || ' ' || a.atttypid::regtype FROM pg_attribute a JOIN pg_class c ON \
                   c.oid = a.attrelid WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.attnum > 0 AND NOT \
                   a.attisdropped AND c.relkind IN ('r', 'v') ORDER BY c.relname, a.attnum";
    let of = |config: &Config| -> Vec<String> {
        let found = config.connect(NoTls).unwrap().simple_query(columns).unwrap().into_iter();
        found
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect()
    };
    let table = |column: &String| column.split('.').next().unwrap().to_owned();
    let found = of(&ours);
    let tables: BTreeSet<String> = found.iter().map(table).collect();
    assert!(tables.len() > 50, "{tables:?}");
    let expected: Vec<String> = of(&theirs).into_iter().filter(|column| tables.contains(&table(column))).collect();
    // `pg_lsn`, a position in PostgreSQL's log, does not exist here.
    let expected: Vec<String> = expected.into_iter().map(|column| column.replace(" pg_lsn", " text")).collect();
    assert_eq!(found, expected);
}

/// Returns psql's output for a command, connected as a user. Sizes are left out.
fn psql(config: &Config, (user, password): (&str, &str), command: &str) -> Option<String> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-A", "-v", "VERBOSITY=sqlstate", "-h", "127.0.0.1", "-U", user, "-c", command, "-d"]);
    psql.arg(config.get_dbname().unwrap()).arg("-p").arg(config.get_ports()[0].to_string());
    let Ok(output) = psql.env("PGPASSWORD", password).stdin(Stdio::null()).output() else {
        eprintln!("skipped: there is no psql here");
        return None;
    };
    let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let is_size = |cell: &str| cell.ends_with(" bytes") || cell.ends_with(" kB");
    let cells = |line: &str| {
        line.split('|').map(|cell| if is_size(cell) { "size" } else { cell }).collect::<Vec<_>>().join("|")
    };
    Some(shown.lines().map(cells).collect::<Vec<_>>().join("\n"))
}

/// Intended differences in psql's output: the command, PostgreSQL's text, atsdb's text, the reason.
const SHOWN: [(&str, &str, &str, &str); 8] = [
    ("\\d+ high", VIEW, "SELECT sensor, value FROM readings WHERE value > 1;", "a view is kept as it was written"),
    ("\\sv high", VIEW_SHOWN, "SELECT sensor, value FROM readings WHERE value > 1", "a view is kept as it was written"),
    ("\\du", SUPERUSER, "tester|Superuser|{}", "without users, everybody may do everything"),
    ("\\du+", SUPERUSER_PLUS, "tester|Superuser|{}|", "without users, everybody may do everything"),
    ("\\l d*", "|C|C|", "|C.UTF-8|C.UTF-8|", "text is UTF-8, sorted by its bytes"),
    ("\\dx", "plpgsql|1.0|pg_catalog|PL/pgSQL procedural language\n(1 row)", "(0 rows)", "there are no languages"),
    (
        "\\db",
        "pg_default|postgres|\npg_global|postgres|\n(2 rows)",
        "pg_default|tester|\npg_global|tester|\n(2 rows)",
        "without users, everything belongs to everybody",
    ),
    ("\\dL", "plpgsql|postgres|t|PL/pgSQL procedural language\n(1 row)", "(0 rows)", "there are no languages"),
];

const VIEW: &str =
    "SELECT readings.sensor,\n    readings.value\n   FROM readings\n  WHERE readings.value > 1::double precision;";
const VIEW_SHOWN: &str = VIEW.split_at(VIEW.len() - 1).0;
const SUPERUSER: &str = "postgres|Superuser, Create role, Create DB, Replication, Bypass RLS|{}\ntester||{}";
const SUPERUSER_PLUS: &str = "postgres|Superuser, Create role, Create DB, Replication, Bypass RLS|{}|\ntester||{}|";

#[test]
fn commands_of_psql_show_what_they_show_of_postgresql() {
    let Some((theirs, ours, _served)) = both() else { return };
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    let own = format!("\\l {}", theirs.get_dbname().unwrap());
    for command in [
        "\\d",
        "\\d+",
        "\\d readings",
        "\\d+ readings",
        "\\d sensors",
        "\\d+ sensors",
        "\\d high",
        "\\d+ high",
        "\\d readings_count",
        "\\d+ sensors_pkey",
        "\\d nowhere",
        "\\dt",
        "\\dt+",
        "\\dt s*",
        "\\di",
        "\\di+",
        "\\dv",
        "\\dv+",
        "\\dm",
        "\\ds",
        "\\dE",
        "\\du",
        "\\du+",
        &own,
        "\\dn",
        "\\dn+",
        "\\df",
        "\\df+",
        "\\dx",
        "\\dp",
        "\\ddp",
        "\\db",
        "\\dT",
        "\\dD",
        "\\dC nothing",
        "\\do nothing",
        "\\da nothing",
        "\\dF nothing",
        "\\dy",
        "\\des",
        "\\det",
        "\\dRp",
        "\\dRs",
        "\\dL",
        "\\dconfig search_path",
        "\\drds",
        "\\dP",
        "\\dd",
        "\\sv high",
    ] {
        let user = (USER, PASSWORD);
        let (Some(mut expected), Some(found)) = (psql(&theirs, user, command), psql(&ours, user, command)) else {
            return;
        };
        for (at, (of, theirs, ours, _)) in SHOWN.iter().enumerate() {
            if (command == *of || command == own && *of == "\\l d*") && expected.contains(theirs) {
                expected = expected.replace(theirs, ours);
                used.insert(at);
            }
        }
        if expected != found {
            wrong.push(format!("{command}\n--- expected\n{expected}\n--- found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{} commands show something else:\n\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(used.len(), SHOWN.len(), "nothing differs any more in one of {SHOWN:?}");
}

#[test]
fn users_are_the_roles_of_postgresql() {
    let Some(postgres) = TestServer::start(ServerKind::Postgres) else { return };
    let theirs: Config = postgres.database().parse().unwrap();
    postgres.administer("CREATE ROLE boss SUPERUSER LOGIN PASSWORD 'b'");
    postgres.administer("CREATE ROLE reader LOGIN PASSWORD 'r' IN ROLE pg_read_all_data");
    postgres.administer("CREATE ROLE writer LOGIN PASSWORD 'w' IN ROLE pg_read_all_data, pg_write_all_data");
    let mut boss = theirs.clone();
    boss.user("boss").password("b").connect(NoTls).unwrap().batch_execute(SCHEMA).unwrap();
    let users = [("boss", Role::Admin, "b"), ("reader", Role::Read, "r"), ("writer", Role::Write, "w")];
    let served = Served::with_users(&users, None);
    served.create_tables();
    let mut ours = Config::new();
    ours.port(served.pg().port()).dbname(theirs.get_dbname().unwrap());
    for (user, _, password) in users {
        for command in [
            "\\du [brw]*",
            "SELECT rolname, rolsuper, rolcanlogin FROM pg_roles WHERE rolname IN ('boss', 'reader', 'writer') ORDER BY 1",
            "SELECT usename, usesuper FROM pg_user WHERE usesysid <> 10 AND usename <> 'tester' ORDER BY 1",
            "SELECT current_user, session_user, pg_get_userbyid((SELECT oid FROM pg_roles WHERE rolname = 'writer'))",
            "SELECT has_table_privilege('sensors', 'SELECT'), has_table_privilege('public.sensors', 'INSERT'), \
             has_table_privilege('sensors', 'UPDATE'), has_table_privilege('sensors'::regclass, 'delete'), \
             has_table_privilege('sensors', 'TRIGGER'), has_table_privilege('sensors', 'SELECT, INSERT'), \
             has_table_privilege('sensors', 'SELECT WITH GRANT OPTION'), has_table_privilege('sensors', NULL)",
            "SELECT has_column_privilege('sensors', 'id', 'UPDATE'), has_any_column_privilege('sensors', 'INSERT'), \
             has_schema_privilege('public', 'USAGE'), has_schema_privilege('public', 'CREATE'), \
             has_database_privilege(current_database(), 'CONNECT'), has_database_privilege(current_database(), 'CREATE')",
            "SELECT pg_has_role('pg_read_all_data', 'MEMBER'), pg_has_role('pg_write_all_data', 'USAGE'), \
             pg_has_role('writer', 'MEMBER'), has_table_privilege('writer', 'sensors', 'INSERT'), \
             has_table_privilege('reader', 'sensors', 'INSERT'), has_table_privilege('public', 'sensors', 'SELECT')",
            "SELECT c.relname, has_table_privilege(c.oid, 'UPDATE') FROM pg_class c WHERE c.relnamespace = \
             'public'::regnamespace AND c.relkind = 'r' ORDER BY 1",
            "SELECT has_table_privilege('nowhere', 'SELECT')",
            "SELECT has_table_privilege(1::oid, 'SELECT')",
            "SELECT has_table_privilege('nobody', 'sensors', 'SELECT')",
            "SELECT has_table_privilege('sensors', 'FLY')",
            "SELECT has_schema_privilege('nowhere', 'USAGE')",
            "SELECT has_database_privilege('nowhere', 'CONNECT')",
        ] {
            let asked = (user, password);
            let (Some(expected), Some(found)) = (psql(&theirs, asked, command), psql(&ours, asked, command)) else {
                return;
            };
            assert_eq!(found, expected, "{command} as {user}");
        }
        // A role that no user has owns everything.
        let owner = psql(&ours, (user, password), "SELECT DISTINCT tableowner FROM pg_tables").unwrap();
        assert_eq!(owner, "tableowner\natsdb\n(1 row)");
    }
}
