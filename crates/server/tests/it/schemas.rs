//! Schemas over PostgreSQL's protocol: the search path, and what clients are told.

use crate::support::Served;

fn check(script: &str, expected: &str) {
    let served = Served::with_tables();
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert_eq!(found.trim(), expected.trim(), "{script}");
}

#[test]
fn a_search_path_holds_until_it_is_changed() {
    check(
        "CREATE SCHEMA s; CREATE TABLE s.sensors (id INT, place TEXT); INSERT INTO s.sensors VALUES (7, 'roof');\n\
         SHOW search_path;\n\
         SET search_path TO s, public;\n\
         SHOW search_path;\n\
         SELECT current_schema(), current_schemas(false), current_schema;\n\
         SELECT * FROM sensors;\n\
         SELECT count(*) FROM readings;\n\
         RESET search_path;\n\
         SELECT count(*) FROM sensors;\n\
         BEGIN; SET LOCAL search_path = s; SELECT place FROM sensors; COMMIT; SHOW search_path;\n\
         BEGIN; SET search_path = s; SELECT place FROM sensors; ROLLBACK; SHOW search_path;\n\
         SELECT set_config('search_path', 's', false); SELECT place FROM sensors;",
        "\"$user\", public\ns, public\ns|{s,public}|s\n7|roof\n3\n2\nroof\n\"$user\", public\nroof\n\"$user\", public\ns\nroof",
    );
}

#[test]
fn a_rollback_to_a_savepoint_restores_the_settings() {
    check(
        "CREATE SCHEMA s; CREATE TABLE s.t (n INT); INSERT INTO s.t VALUES (1); CREATE TABLE t (n INT);\n\
         INSERT INTO t VALUES (2);\n\
         BEGIN; SET search_path TO s; SAVEPOINT one; SET search_path TO public; SET application_name TO 'other';\n\
         SAVEPOINT two; SET LOCAL search_path TO s; SELECT n FROM t; ROLLBACK TO two; SELECT n FROM t;\n\
         SHOW application_name; ROLLBACK TO SAVEPOINT one; SELECT n FROM t; SHOW search_path; SHOW application_name;\n\
         COMMIT; SELECT n FROM t; SHOW search_path;\n\
         BEGIN; SAVEPOINT one; SET search_path TO public; RELEASE one; COMMIT; SELECT n FROM t;",
        "1\n2\nother\n1\ns\npsql\n1\ns\n2",
    );
}

#[test]
fn the_catalogue_has_the_schemas() {
    check(
        "CREATE SCHEMA s; CREATE SCHEMA bare; CREATE TABLE s.sensors (id INT PRIMARY KEY); CREATE TABLE s.other (a INT);\n\
         SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1;\n\
         SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('s', 'bare', 'public') ORDER BY 1;\n\
         SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class c JOIN pg_namespace n \
         ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname IN ('s', 'public') ORDER BY 1, 2;\n\
         SELECT 's.sensors'::regclass, 'sensors'::regclass, 's.other'::regclass;\n\
         SELECT schemaname, tablename FROM pg_tables WHERE tablename IN ('sensors', 'other') ORDER BY 1, 2;\n\
         SELECT table_schema, column_name FROM information_schema.columns WHERE table_name = 'sensors' AND \
         column_name = 'id' ORDER BY 1;\n\
         SELECT to_regclass('other'), to_regclass('s.other'), to_regclass('public.sensors');\n\
         SET search_path = s;\n\
         SELECT 's.sensors'::regclass, 'public.sensors'::regclass;\n\
         SELECT indexdef FROM pg_indexes WHERE schemaname = 's';",
        "bare\npublic\ns\n\
         bare\npublic\ns\n\
         public|readings|t\npublic|sensors|t\ns|other|f\ns|sensors|f\n\
         s.sensors|sensors|s.other\n\
         public|sensors\ns|other\ns|sensors\n\
         public|id\ns|id\n\
         |s.other|sensors\n\
         sensors|public.sensors\n\
         CREATE UNIQUE INDEX sensors_pkey ON s.sensors USING btree (id)",
    );
}

#[test]
fn the_catalogue_has_the_sequences() {
    check(
        "CREATE SCHEMA s; CREATE SEQUENCE s.up AS SMALLINT START 5 INCREMENT 2; CREATE SEQUENCE down INCREMENT -1;\n\
         CREATE TABLE numbered (id INT GENERATED ALWAYS AS IDENTITY, v INT);\n\
         SELECT sequence_schema, sequence_name, data_type, numeric_precision, start_value, minimum_value, \
         maximum_value, increment, cycle_option FROM information_schema.sequences ORDER BY 2;\n\
         SELECT c.relname, format_type(q.seqtypid, NULL), q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcycle \
         FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid ORDER BY 1;",
        "public|down|bigint|64|-1|-9223372036854775808|-1|-1|NO\n\
         s|up|smallint|16|5|1|32767|2|NO\n\
         down|bigint|-1|-1|-9223372036854775808|-1|f\n\
         numbered_id_seq|integer|1|1|1|2147483647|f\n\
         up|smallint|5|2|1|32767|f",
    );
}

#[test]
fn the_catalogue_has_the_sequences_of_identity_columns() {
    check(
        "CREATE SEQUENCE up;\n\
         CREATE TABLE numbered (id INT GENERATED ALWAYS AS IDENTITY (START WITH 5), v INT);\n\
         SELECT (SELECT json_build_object('always', a.attidentity = 'a', 'start', s.seqstart, 'none', NULL) FROM \
         pg_sequence s WHERE s.seqrelid = pg_get_serial_sequence('numbered', 'id')::regclass::oid) \
         FROM pg_attribute a WHERE attrelid = 'numbered'::regclass AND attnum = 1;\n\
         SELECT relname, relkind, relam FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S' \
         ORDER BY 1;\n\
         SELECT deptype, refobjid::regclass, refobjsubid FROM pg_depend WHERE objid = 'numbered_id_seq'::regclass \
         AND deptype = 'i';\n\
         INSERT INTO numbered (v) VALUES (1);\n\
         SELECT last_value, is_called FROM numbered_id_seq;\n\
         SELECT attname FROM pg_attribute WHERE attrelid = 'up'::regclass AND attnum > 0 ORDER BY attnum;\n\
         SELECT quote_ident('order'), quote_ident('time'), quote_ident('action');",
        "{\"always\" : true, \"start\" : 5, \"none\" : null}\n\
         numbered_id_seq|S|0\n\
         up|S|0\n\
         i|numbered|1\n\
         5|t\n\
         last_value\nlog_cnt\nis_called\n\
         \"order\"|\"time\"|action",
    );
}

#[test]
fn sequences_are_named_as_by_pg_dump() {
    check(
        "CREATE SEQUENCE up; CREATE TABLE numbered (id INT GENERATED BY DEFAULT AS IDENTITY, v INT);\n\
         SELECT nextval('up'::regclass), currval('up'::regclass);\n\
         SELECT pg_catalog.setval('public.up', 4, true);\n\
         SELECT setval(CAST('public.up' AS regclass), 7), version() IS NOT NULL;\n\
         SELECT setval(pg_get_serial_sequence('numbered', 'id')::regclass, 20);\n\
         INSERT INTO numbered (v) VALUES (nextval('up'::regclass));\n\
         SELECT * FROM numbered;\n\
         SELECT 'numbered'::regclass;",
        "1|1\n4\n7|t\n20\n21|8\nnumbered",
    );
}

#[test]
fn a_session_forgets_the_numbers_that_it_has_drawn() {
    let served = Served::new();
    let script = "CREATE SEQUENCE up; SELECT nextval('up'); SELECT currval('up');\n\
                  DISCARD SEQUENCES; SELECT currval('up'); SELECT lastval();\n\
                  SELECT nextval('up') > 1; DISCARD PLANS; SELECT lastval() > 1; DISCARD ALL; SELECT lastval();";
    let Some(found) = served.psql(&["-t", "-v", "VERBOSITY=sqlstate"], script) else { return };
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines, ["1", "1", "t", "t", "ERROR:  55000", "ERROR:  55000", "ERROR:  55000"], "{found}");
}

#[test]
fn a_schema_that_another_session_has_created_is_called_a_schema() {
    let served = Served::new();
    let place = format!("host=127.0.0.1 port={} user=me dbname=air", served.pg().port());
    let connect = || postgres::Client::connect(&place, postgres::NoTls).unwrap();
    let (mut client, mut other) = (connect(), connect());
    client.batch_execute("BEGIN; CREATE SCHEMA s").unwrap();
    other.batch_execute("CREATE SCHEMA s").unwrap();
    let error = client.batch_execute("COMMIT").unwrap_err();
    let error = error.as_db_error().unwrap();
    assert!(error.message().ends_with("the schema s already exists"), "{error}");
    assert_eq!(error.code().code(), "42P06");
}

#[test]
fn psql_lists_the_schemas_and_their_tables() {
    let served = Served::with_tables();
    let script = "CREATE SCHEMA s; CREATE TABLE s.t (a INT);\n\\dt s.*\n\\dt\n\\dn s";
    let Some(found) = served.psql(&["-t"], script) else { return };
    let lines: Vec<&str> = found.trim().lines().collect();
    let begin = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        (begin("s|t|table"), begin("public|readings|table"), begin("public|sensors|table")),
        (1, 1, 1),
        "{found}"
    );
    assert!(lines.last().unwrap().starts_with("s|"), "{found}");
}

#[test]
fn rows_are_copied_to_a_table_in_a_schema() {
    check(
        "CREATE SCHEMA s; CREATE TABLE s.sensors (id INT, place TEXT);\n\
         COPY s.sensors FROM STDIN WITH (FORMAT csv);\n1,roof\n2,cellar\n\\.\n\
         SELECT * FROM s.sensors ORDER BY id;\n\
         SET search_path = s;\n\
         COPY sensors (id) FROM STDIN;\n3\n\\.\n\
         COPY (SELECT * FROM sensors ORDER BY id) TO STDOUT;\n\
         SELECT count(*) FROM public.sensors;",
        "1|roof\n2|cellar\n1\troof\n2\tcellar\n3\t\\N\n2",
    );
}

#[test]
fn errors_have_their_codes() {
    let served = Served::with_tables();
    for (statement, code) in [
        ("CREATE TABLE nowhere.t (a INT)", "3F000"),
        ("DROP SCHEMA nowhere", "3F000"),
        ("CREATE SCHEMA public", "42P06"),
        ("CREATE SCHEMA pg_own", "42939"),
        ("SELECT * FROM nowhere.t", "42P01"),
        ("CREATE SCHEMA s; CREATE TABLE s.t (a INT); DROP SCHEMA s", "2BP01"),
    ] {
        let Some(found) = served.psql(&["-v", "VERBOSITY=sqlstate"], statement) else { return };
        assert!(found.contains(code), "{statement}: {found}");
    }
}

#[test]
fn an_error_undoes_the_settings_of_its_message() {
    let served = Served::with_tables();
    let script = "CREATE SCHEMA s;\n\
         SET search_path TO s\\; SET application_name TO 'other'\\; SELECT 1 / 0;\n\
         SHOW search_path; SHOW application_name;\n\
         SET search_path TO s\\; SELECT 1;\n\
         SHOW search_path;\n\
         RESET ALL\\; SELECT 1 / 0;\n\
         SHOW search_path;\n\
         SELECT set_config('search_path', 'public', false)\\; SELECT 1 / 0;\n\
         SHOW search_path;";
    let Some(found) = served.psql(&["-t", "-v", "VERBOSITY=sqlstate"], script) else { return };
    let lines: Vec<&str> = found.lines().filter(|line| !line.contains("ERROR")).collect();
    assert_eq!(lines, ["\"$user\", public", "psql", "1", "s", "s", "public", "s"], "{found}");
}

#[test]
fn sequences_are_listed_with_their_last_number() {
    check(
        "CREATE SCHEMA s; CREATE SEQUENCE up START WITH 5; CREATE SEQUENCE s.down AS INT INCREMENT BY -2;\n\
         SELECT nextval('up');\n\
         SELECT schemaname, sequencename, data_type, start_value, min_value, increment_by, last_value \
         FROM pg_sequences ORDER BY 2;",
        "5\ns|down|integer|-1|-2147483648|-2|\npublic|up|bigint|5|1|1|5",
    );
}

#[test]
fn the_catalogue_has_the_bounds_of_columns_that_number_the_rows() {
    check(
        "CREATE TABLE numbered (id INT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 3), v INT);\n\
         SELECT column_name, is_identity, identity_start, identity_increment, identity_maximum, identity_minimum, \
         identity_cycle FROM information_schema.columns WHERE table_name = 'numbered' ORDER BY 1;",
        "id|YES|5|3|2147483647|1|NO\nv|NO|||||NO",
    );
}
