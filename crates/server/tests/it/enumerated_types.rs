//! Enumerated types as clients see them: their numbers in answers, `pg_type`, `pg_enum`, parameters and errors.

use crate::support::Served;
use postgres::types::Kind;
use postgres::{Client, NoTls};

fn connect(served: &Served) -> Client {
    let port = served.pg().port();
    Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap()
}

fn with_type() -> (Served, Client) {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')").unwrap();
    client.batch_execute("CREATE TABLE people (id INT PRIMARY KEY, feels mood DEFAULT 'ok')").unwrap();
    client.batch_execute("INSERT INTO people VALUES (1, 'happy'), (2, 'sad'), (3, NULL)").unwrap();
    (served, client)
}

#[test]
fn a_client_learns_the_labels_of_a_type_from_an_answer() {
    let (_served, mut client) = with_type();
    let text = "SELECT feels, max(feels) AS most, coalesce(feels, 'ok') AS some, 'sad'::mood AS own FROM people \
                GROUP BY feels ORDER BY feels";
    let statement = client.prepare(text).unwrap();
    for column in statement.columns() {
        assert_eq!((column.type_().name(), column.type_().schema()), ("mood", "public"), "{}", column.name());
        assert_eq!(*column.type_().kind(), Kind::Enum(["sad", "ok", "happy"].map(str::to_owned).to_vec()));
    }
}

#[test]
fn labels_are_parameters_and_wrong_ones_have_the_code_of_postgresql() {
    let (_served, mut client) = with_type();
    let rows = client.query("SELECT id FROM people WHERE feels > $1::text::mood", &[&"sad"]).unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(), [1]);
    for (text, code) in [
        ("INSERT INTO people VALUES (4, 'angry')", "22P02"),
        ("SELECT 'angry'::mood", "22P02"),
        ("SELECT * FROM people WHERE feels = 'angry'", "22P02"),
        ("SELECT * FROM people WHERE feels = id::text", "42883"),
        ("SELECT lower(feels) FROM people", "42883"),
        ("SELECT feels::int FROM people", "42846"),
        ("CREATE TYPE mood AS ENUM ('a')", "42710"),
        ("CREATE TABLE mood (a INT)", "42710"),
        ("ALTER TYPE mood ADD VALUE 'ok'", "42710"),
        ("ALTER TYPE mood ADD VALUE 'a' BEFORE 'b'", "22023"),
        ("DROP TYPE mood", "2BP01"),
        ("DROP TYPE missing", "42704"),
    ] {
        let error = client.batch_execute(text).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some(code), "{text}: {error}");
    }
}

#[test]
fn the_catalogue_lists_types_and_labels() {
    let (_served, mut client) = with_type();
    let mut rows = |text: &str| -> Vec<Vec<String>> {
        let messages = client.simple_query(text).unwrap();
        let rows = messages.iter().filter_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        rows.map(|row| (0..row.len()).map(|at| row.get(at).unwrap_or("NULL").to_owned()).collect()).collect()
    };
    let labels = "SELECT t.typname, e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid \
                  ORDER BY e.enumsortorder";
    assert_eq!(rows(labels), [["mood", "sad"], ["mood", "ok"], ["mood", "happy"]]);
    let kinds = "SELECT typname, typtype, typcategory, typlen FROM pg_type WHERE typtype = 'e'";
    assert_eq!(rows(kinds), [["mood", "e", "E", "4"]]);
    let columns = "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a \
                   JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = 'people' AND a.attnum > 0 ORDER BY a.attnum";
    assert_eq!(rows(columns), [["id", "integer"], ["feels", "mood"]]);
    let standard = "SELECT data_type, udt_schema, udt_name, column_default FROM information_schema.columns \
                    WHERE table_name = 'people' AND column_name = 'feels'";
    assert_eq!(rows(standard), [["USER-DEFINED", "public", "mood", "'ok'::mood"]]);
    let named = "SELECT 'mood'::regtype, to_regtype('mood'), to_regtype('missing'), oid::regtype FROM pg_type \
                 WHERE typname = '_mood'";
    assert_eq!(rows(named), [["mood", "mood", "NULL", "mood[]"]]);
    // As a dump asks: names have their schemas.
    rows("SET search_path = ''");
    let shown = "SELECT format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d \
                 JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE a.attname = 'feels'";
    assert_eq!(rows(shown), [["public.mood", "'ok'::public.mood"]]);
}

#[test]
fn the_number_of_a_type_stays_while_labels_are_added() {
    let (_served, mut client) = with_type();
    let mut number = || client.prepare("SELECT feels FROM people").unwrap().columns()[0].type_().oid();
    let before = number();
    client.batch_execute("ALTER TYPE mood ADD VALUE 'angry' BEFORE 'sad'").unwrap();
    let mut number = || client.prepare("SELECT feels FROM people").unwrap().columns()[0].type_().oid();
    assert_eq!(number(), before);
}
