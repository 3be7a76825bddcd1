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
         SELECT to_regclass('other'), to_regclass('s.other') IS NOT NULL;\n\
         SET search_path = s;\n\
         SELECT 's.sensors'::regclass, 'public.sensors'::regclass;\n\
         SELECT indexdef FROM pg_indexes WHERE schemaname = 's';",
        "bare\npublic\ns\n\
         bare\npublic\ns\n\
         public|readings|t\npublic|sensors|t\ns|other|f\ns|sensors|f\n\
         s.sensors|sensors|s.other\n\
         public|sensors\ns|other\ns|sensors\n\
         public|id\ns|id\n\
         |t\n\
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
         up|smallint|5|2|1|32767|f",
    );
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
