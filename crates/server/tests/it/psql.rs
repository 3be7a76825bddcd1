//! psql: statements, errors, COPY, backslash commands.

use crate::support::Served;

fn check(script: &str, expected: &str) {
    let served = Served::with_tables();
    let Some(found) = served.psql(&[], script) else { return };
    assert_eq!(found.trim(), expected.trim(), "{script}");
}

#[test]
fn rows_come_as_postgresql_writes_them() {
    check(
        "SELECT time, sensor, status, value, count FROM readings ORDER BY time;\n\
         SELECT true AS t, 1.5::real AS r, 1e300::double AS d, CAST('2024-02-03' AS DATE) AS day, NULL AS n;\n\
         -- nothing\n;",
        "time|sensor|status|value|count\n\
         2024-01-01 00:00:00+00|s1|ok|0.5|1\n\
         2024-01-01 00:01:00+00|s2||1.5|2\n\
         2024-01-01 00:02:00+00|s1|bad||3\n\
         (3 rows)\n\
         t|r|d|day|n\n\
         t|1.5|1e+300|2024-02-03|\n\
         (1 row)",
    );
}

#[test]
fn instants_have_the_type_with_a_zone() {
    check(
        "SELECT now() AS a, '2024-01-01 10:00:00+02'::timestamptz AS b, TIMESTAMP '2024-01-01 10:00:00' AS c \\gdesc\n\
         SELECT TIMESTAMPTZ '2024-01-01 10:00:00+02' AS a, to_timestamp(0) AS b;\n",
        "Column|Type\n\
         a|timestamp with time zone\n\
         b|timestamp with time zone\n\
         c|timestamp without time zone\n\
         (3 rows)\n\
         a|b\n\
         2024-01-01 08:00:00+00|1970-01-01 00:00:00+00\n\
         (1 row)",
    );
}

#[test]
fn what_returning_computes_may_be_an_instant() {
    check(
        "CREATE TABLE one (id INT PRIMARY KEY, t TIMESTAMP) WITH (time = 'none');\n\
         INSERT INTO one VALUES (1) RETURNING now(), now() AS n, TIMESTAMP '2024-01-01' AS local, id \\gdesc\n\
         UPDATE one SET id = 2 RETURNING current_timestamp, TIMESTAMPTZ '2024-01-01 10:00:00+02' AS t \\gdesc\n\
         INSERT INTO one VALUES (3) RETURNING TIMESTAMPTZ '2024-01-01 10:00:00+02' AS t, \
         now() > '2024-01-01' AS later;\n",
        "Column|Type\n\
         now|timestamp with time zone\n\
         n|timestamp with time zone\n\
         local|timestamp without time zone\n\
         id|integer\n\
         (4 rows)\n\
         Column|Type\n\
         current_timestamp|timestamp with time zone\n\
         t|timestamp with time zone\n\
         (2 rows)\n\
         t|later\n\
         2024-01-01 08:00:00+00|t\n\
         (1 row)",
    );
}

#[test]
fn types_of_columns_have_their_modifiers() {
    check(
        "CREATE TABLE prices (id INT, p NUMERIC(10, 2), t TIMESTAMP(3) WITH TIME ZONE, a NUMERIC(6, 1)[]);\n\
         SELECT p, p AS q, p * 2 AS r, p::numeric(6, 1) AS s, t, a FROM prices \\gdesc\n\
         SELECT x.* FROM (SELECT p, max(p) OVER () AS m FROM prices) AS x \\gdesc\n\
         SELECT attname, atttypmod FROM pg_attribute WHERE attrelid = 'prices'::regclass AND attnum > 0 \
         ORDER BY attnum;\n",
        "Column|Type\n\
         p|numeric(10,2)\n\
         q|numeric(10,2)\n\
         r|numeric\n\
         s|numeric(6,1)\n\
         t|timestamp(3) with time zone\n\
         a|numeric(6,1)[]\n\
         (6 rows)\n\
         Column|Type\n\
         p|numeric(10,2)\n\
         m|numeric\n\
         (2 rows)\n\
         attname|atttypmod\n\
         id|-1\n\
         p|655366\n\
         t|3\n\
         a|393221\n\
         (4 rows)",
    );
}

#[test]
fn texts_have_their_lengths() {
    check(
        "CREATE TABLE names (v VARCHAR(3) DEFAULT 'a', c CHAR(2) DEFAULT 'b', t TEXT, UNIQUE (v, c));\n\
         SELECT attname, atttypid::regtype, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute \
         WHERE attrelid = 'names'::regclass AND attnum > 0 ORDER BY attnum;\n\
         SELECT data_type, character_maximum_length AS n, character_octet_length AS bytes, udt_name, column_default \
         FROM information_schema.columns WHERE table_name = 'names' ORDER BY ordinal_position;\n\
         SELECT o.opcname FROM pg_index i JOIN pg_opclass o ON o.oid = ANY (i.indclass) \
         WHERE i.indrelid = 'names'::regclass ORDER BY 1;\n",
        "attname|atttypid|atttypmod|format_type\n\
         v|character varying|7|character varying(3)\n\
         c|character|6|character(2)\n\
         t|text|-1|text\n\
         (3 rows)\n\
         data_type|n|bytes|udt_name|column_default\n\
         character varying|3|12|varchar|'a'::character varying\n\
         character|2|8|bpchar|'b'::bpchar\n\
         text||1073741824|text|\n\
         (3 rows)\n\
         opcname\n\
         bpchar_ops\n\
         text_ops\n\
         (2 rows)",
    );
}

#[test]
fn functions_are_listed_by_their_names() {
    check(
        "\\df btrim\n\\da bool_and\n\\df nothing\nSELECT 'sum'::regproc;\nSELECT 'sum(int)'::regprocedure::oid;\n\
         SELECT to_regproc('sum') IS NULL AS ambiguous;\n\\sf bool_and\n\\sf nothing\n",
        "List of functions\n\
         Schema|Name|Result data type|Argument data types|Type\n\
         pg_catalog|btrim|bytea|bytea, bytea|func\n\
         pg_catalog|btrim|text|text|func\n\
         pg_catalog|btrim|text|text, text|func\n\
         (3 rows)\n\
         List of aggregate functions\n\
         Schema|Name|Result data type|Argument data types|Description\n\
         pg_catalog|bool_and|boolean|boolean|\n\
         (1 row)\n\
         List of functions\n\
         Schema|Name|Result data type|Argument data types|Type\n\
         (0 rows)\n\
         oid\n2108\n(1 row)\n\
         ambiguous\nt\n(1 row)\n\
         ERROR:  42725: more than one function named \"sum\"\n\
         ERROR:  \"bool_and\" is an aggregate function\n\
         ERROR:  function \"nothing\" does not exist",
    );
}

#[test]
fn a_table_has_a_size_by_its_name() {
    check(
        "SELECT pg_relation_size('readings') = pg_total_relation_size('public.readings'::regclass) AS same, \
         pg_size_pretty(pg_table_size('readings')) IS NOT NULL AS shown;",
        "same|shown\nt|t\n(1 row)",
    );
}

#[test]
fn errors_have_their_codes() {
    let served = Served::with_tables();
    for (statement, code) in [
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT nothing FROM readings", "42703"),
        ("SELEC 1", "42601"),
        ("SELECT 1/0", "22012"),
        ("INSERT INTO sensors VALUES (1, 'x', 1)", "23505"),
        ("INSERT INTO sensors VALUES (3, NULL, 1)", "23502"),
        ("CREATE UNIQUE INDEX one ON readings (sensor)", "23505"),
        ("ALTER TABLE sensors ADD CONSTRAINT again PRIMARY KEY (name)", "42P16"),
        ("ALTER TABLE sensors ALTER COLUMN height SET NOT NULL", "23502"),
        ("CREATE TABLE sensors (a INT)", "42P07"),
        ("COPY sensors TO '/tmp/x.csv'", "42501"),
        ("COPY sensors FROM '/etc/passwd'", "42501"),
        ("COPY sensors FROM PROGRAM 'id'", "42501"),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE sensors", "42501"),
        ("SELECT * FROM '/etc/passwd'", "42501"),
        ("SELECT * FROM read_csv('/etc/passwd')", "42501"),
        ("INSERT INTO sensors SELECT * FROM '/etc/passwd'", "42501"),
        ("SET nonsense = 1", "42704"),
        ("FETCH 1 FROM nothing", "34000"),
        ("SELECT nothing_at_all(1)", "42883"),
        ("SELECT ln(-1)", "2201E"),
        ("SELECT ln(0)", "2201E"),
        ("SELECT sqrt(-1)", "2201F"),
        ("SELECT power(0::float8, -1)", "2201F"),
        ("SELECT 9223372036854775807 + 1", "22003"),
        ("SELECT (SELECT id FROM sensors)", "21000"),
        ("SELECT 1 FROM sensors, sensors", "42712"),
        ("SELECT name FROM sensors a JOIN sensors b ON a.id = b.id", "42702"),
        ("SELECT sensor, count(*) FROM readings", "42803"),
        ("SELECT CAST('x' AS INT)", "22P02"),
        ("SELECT CAST('soon' AS TIMESTAMP)", "22007"),
        ("INSERT INTO sensors VALUES ('x', 'x', 1)", "22P02"),
        ("INSERT INTO sensors VALUES ('99999999999', 'x', 1)", "22003"),
        ("INSERT INTO readings (time) VALUES ('soon')", "22007"),
        ("INSERT INTO readings (time) VALUES ('2024-02-30')", "22008"),
        ("DROP INDEX nothing", "42704"),
        ("DROP TABLE high", "42809"),
    ] {
        let Some(found) = served.psql(&["-c", statement], "") else { return };
        assert!(found.contains(&format!("ERROR:  {code}")), "{statement}: {found}");
    }
}

#[test]
fn errors_name_the_table_the_column_and_the_constraint() {
    let served = Served::with_tables();
    let has = |statement: &str, parts: &[&str]| {
        let Some(found) = served.psql(&["-c", statement], "") else { return };
        for part in parts {
            assert!(found.contains(part), "{statement}: {part} is not in {found}");
        }
    };
    has(
        "INSERT INTO sensors VALUES (1, 'x', 1)",
        &[
            "23505: duplicate key value violates unique constraint \"sensors_pkey\"",
            "DETAIL:  Key (id)=(1) already exists.",
            "SCHEMA NAME:  public",
            "TABLE NAME:  sensors",
            "CONSTRAINT NAME:  sensors_pkey",
        ],
    );
    has("INSERT INTO sensors VALUES (3, 's1', 1)", &["Key (name)=(s1)", "CONSTRAINT NAME:  sensors_name_key"]);
    has(
        "CREATE UNIQUE INDEX one ON readings (sensor)",
        &["23505: could not create unique index \"one\"", "DETAIL:  Key (sensor)=(s1) is duplicated."],
    );
    has("INSERT INTO sensors VALUES (3, NULL, 1)", &["23502", "TABLE NAME:  sensors", "COLUMN NAME:  name"]);
    has("ALTER TABLE sensors ALTER COLUMN height SET NOT NULL", &["23502", "COLUMN NAME:  height"]);
    served.psql(&[], "CREATE SCHEMA s;\nCREATE TABLE s.t (a INT PRIMARY KEY);\n");
    has(
        "INSERT INTO s.t VALUES (1), (1)",
        &["SCHEMA NAME:  s", "TABLE NAME:  t", "CONSTRAINT NAME:  t_pkey", "Key (a)=(1) already exists."],
    );
    served.psql(&[], "CREATE TABLE short (v VARCHAR(3));\n");
    has(
        "INSERT INTO short VALUES ('abcd')",
        &["22001: value too long for type character varying(3)", "DETAIL:  In table short, column v"],
    );
}

#[test]
fn a_message_may_end_its_transaction_without_begin() {
    let served = Served::with_tables();
    let script = "SET application_name TO 'x'\\; ROLLBACK;\nSHOW application_name;\n\
                  SET application_name TO 'y'\\; COMMIT\\; SELECT 1 / 0;\nSHOW application_name;\n\
                  INSERT INTO sensors VALUES (7, 'x', 1)\\; COMMIT\\; SELECT 1 / 0;\n";
    let Some(found) = served.psql(&["-t", "-v", "VERBOSITY=sqlstate"], script) else { return };
    assert_eq!(found.matches("WARNING:  25P01").count(), 3, "{found}");
    let lines: Vec<&str> = found.lines().filter(|line| !line.contains("ERROR") && !line.contains("WARNING")).collect();
    assert_eq!((lines.as_slice(), served.count("sensors")), (["psql", "y"].as_slice(), 3), "{found}");
}

#[test]
fn transactions_have_their_states() {
    let served = Served::with_tables();
    let script = "BEGIN;\nINSERT INTO sensors VALUES (7, 's7', 1);\nSELECT * FROM nowhere;\nSELECT 1;\nCOMMIT;\n\
                  BEGIN;\nSAVEPOINT a;\nINSERT INTO sensors VALUES (8, 's8', 1);\nSELECT 1/0;\nROLLBACK TO a;\n\
                  INSERT INTO sensors VALUES (9, 's9', 1);\nCOMMIT;\nCOMMIT;\n\\echo :SQLSTATE\n";
    let Some(found) = served.psql(&[], script) else { return };
    assert!(found.contains("25P02") && found.contains("WARNING:  25P01"), "{found}");
    assert_eq!(served.rows("SELECT id FROM sensors WHERE id > 2").matches("| 9 ").count(), 1);
    assert_eq!(served.count("sensors"), 3);
    // Several statements in one message are one transaction.
    let Some(found) = served.psql(&["-c", "INSERT INTO sensors VALUES (20, 'x', 1); SELECT 1/0"], "") else { return };
    assert!(found.contains("22012") && served.count("sensors") == 3, "{found}");
}

#[test]
fn commands_answer_with_the_tags_of_postgresql() {
    check(
        "\\set QUIET off\nCREATE TABLE made (id INT);\nINSERT INTO made VALUES (1), (2);\nTRUNCATE made;\n\
         DROP TABLE made;\nBEGIN;\nCOMMIT;\nSTART TRANSACTION READ ONLY;\nEND;\n",
        "CREATE TABLE\nINSERT 0 2\nTRUNCATE TABLE\nDROP TABLE\nBEGIN\nCOMMIT\nSTART TRANSACTION\nCOMMIT",
    );
}

#[test]
fn only_a_whole_commit_or_rollback_ends_a_transaction() {
    let served = Served::with_tables();
    for (statement, code) in [("COMMIT AND", "42601"), ("COMMIT PREPARED 'x'", "0A000"), ("ROLLBACK TOO a", "42601")] {
        let script = format!("BEGIN;\nINSERT INTO sensors VALUES (30, 'x', 1);\n{statement};\nSELECT 1;\nCOMMIT;\n");
        let Some(found) = served.psql(&[], &script) else { return };
        assert!(found.contains(code) && found.contains("25P02"), "{statement}: {found}");
        assert_eq!(served.count("sensors"), 2, "{statement}");
    }
    let found = served.psql(&[], "BEGIN;\nINSERT INTO sensors VALUES (30, 'x', 1);\nCOMMIT WORK AND NO CHAIN;\n");
    assert_eq!((found.as_deref(), served.count("sensors")), (Some(""), 3));
}

#[test]
fn a_chained_transaction_follows_the_one_that_ends() {
    let served = Served::with_tables();
    let script = "BEGIN;\nINSERT INTO sensors VALUES (40, 'a', 1);\nCOMMIT AND CHAIN;\nINSERT INTO sensors VALUES \
                  (41, 'b', 1);\nROLLBACK AND CHAIN;\nINSERT INTO sensors VALUES (42, 'c', 1);\nCOMMIT;\n\
                  COMMIT AND CHAIN;\nBEGIN READ ONLY;\nROLLBACK AND CHAIN;\nSHOW transaction_read_only;\nCOMMIT;\n\
                  BEGIN;\nSELECT 1/0;\nCOMMIT AND CHAIN;\nSELECT 'next';\nCOMMIT;\nSHOW transaction_read_only;\n";
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert!(found.contains("25P01: COMMIT AND CHAIN can only be used in transaction blocks"), "{found}");
    let answers: Vec<&str> = found.lines().filter(|line| ["on", "next", "off"].contains(line)).collect();
    assert_eq!(answers, ["on", "next", "off"], "{found}");
    let added = served.rows("SELECT id FROM sensors WHERE id >= 40 ORDER BY id");
    assert!(added.contains("40") && !added.contains("41") && added.contains("42"), "{added}");
}

#[test]
fn copy_goes_in_and_out() {
    let served = Served::with_tables();
    let script = "COPY sensors (id, name, height) FROM STDIN;\n10\ta\\tb\t\\N\n11\tc\t2.5\n\\.\n\
                  COPY sensors FROM STDIN WITH (FORMAT csv, HEADER);\nid,name,height\n12,\"x, \"\"y\"\"\",\n\\.\n\
                  COPY (SELECT id, name, height FROM sensors WHERE id >= 10 ORDER BY id) TO STDOUT;\n\
                  COPY (SELECT id, name, height FROM sensors WHERE id >= 10 ORDER BY id) TO STDOUT CSV HEADER;\n";
    let Some(found) = served.psql(&[], script) else { return };
    let expected =
        "10\ta\\tb\t\\N\n11\tc\t2.5\n12\tx, \"y\"\t\\N\nid,name,height\n10,a\tb,\n11,c,2.5\n12,\"x, \"\"y\"\"\",\n";
    assert_eq!(found, expected);
    assert_eq!(served.count("sensors"), 5);
    // COPY stores all rows or none.
    let Some(found) = served.psql(&[], "COPY sensors FROM STDIN;\n30\tx\t1\nabc\ty\t1\n\\.\n") else { return };
    assert!(found.contains("22P02") && found.contains("line 2, column id"), "{found}");
    assert_eq!(served.count("sensors"), 5);
}

#[test]
fn a_cursor_returns_its_rows_in_parts() {
    check(
        "BEGIN;\nDECLARE c CURSOR FOR SELECT id FROM sensors ORDER BY id;\nFETCH 1 FROM c;\nMOVE 1 FROM c;\nFETCH ALL \
         FROM c;\nCLOSE c;\nCOMMIT;\n",
        "id\n1\n(1 row)\nid\n(0 rows)",
    );
}

#[test]
fn backslash_commands_describe_the_store() {
    let served = Served::with_tables();
    let Some(tables) = served.psql(&[], "\\dt\n") else { return };
    assert!(tables.contains("public|readings|table|me") && tables.contains("public|sensors|table|me"), "{tables}");
    let views = served.psql(&[], "\\dv\n").unwrap();
    assert!(views.contains("public|high|view|me") && !views.contains("readings"), "{views}");
    let indexes = served.psql(&[], "\\di\n").unwrap();
    assert!(indexes.contains("sensors_pkey|index|me|sensors") && indexes.contains("readings_count"), "{indexes}");
    let table = served.psql(&[], "\\d sensors\n").unwrap();
    for line in [
        "id|integer||not null|",
        "name|text||not null|",
        "height|real|||",
        "\"sensors_pkey\" PRIMARY KEY, btree (id)",
        "\"sensors_name_key\" UNIQUE CONSTRAINT, btree (name)",
    ] {
        assert!(table.contains(line), "{line} is not in {table}");
    }
    let series = served.psql(&[], "\\d readings\n").unwrap();
    assert!(series.contains("time|timestamp(3) with time zone||not null|"), "{series}");
    assert!(series.contains("status|text|||'ok'::text"), "{series}");
    let view = served.psql(&[], "\\d+ high\n").unwrap();
    assert!(view.contains("sensor|text") && view.contains("value > 1"), "{view}");
    let databases = served.psql(&[], "\\l\n").unwrap();
    assert!(databases.contains("air|me|UTF8"), "{databases}");
    let schemas = served.psql(&[], "\\dn\n").unwrap();
    assert!(schemas.contains("public|pg_database_owner"), "{schemas}");
    let commands = "df du dT ds dm d dp dx db do dC det dconfig db+ dF+ dFd+ dFp dFt+ dP+ dAc+ dAf+ dAo+ dAp+";
    for command in commands.split(' ').chain(["dfn now", "dconfig+ server_version"]) {
        let found = served.psql(&[], &format!("\\{command}\n")).unwrap();
        assert!(!found.contains("ERROR"), "{command}: {found}");
    }
}

#[test]
fn columns_and_keys_are_described_as_by_postgresql() {
    let served = Served::new();
    let script = "CREATE TABLE made (id INT GENERATED BY DEFAULT AS IDENTITY, price NUMERIC(10, 2), tags TEXT[], \
                  a TEXT, UNIQUE NULLS NOT DISTINCT (a, id));\n\
                  CREATE TABLE always (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, u UUID UNIQUE);\n\
                  \\d+ made\n\\d always\n";
    let Some(found) = served.psql(&[], script) else { return };
    let expected = "Table \"public.made\"\n\
                    Column|Type|Collation|Nullable|Default|Storage|Compression|Stats target|Description\n\
                    id|integer||not null|generated by default as identity|plain|||\n\
                    price|numeric(10,2)||||main|||\n\
                    tags|text[]||||extended|||\n\
                    a|text||||extended|||\n\
                    Indexes:\n    \"made_a_id_key\" UNIQUE CONSTRAINT, btree (a, id) NULLS NOT DISTINCT\n\
                    Access method: heap\n\
                    Table \"public.always\"\nColumn|Type|Collation|Nullable|Default\n\
                    id|bigint||not null|generated always as identity\n\
                    u|uuid|||\n\
                    Indexes:\n    \"always_pkey\" PRIMARY KEY, btree (id)\n    \
                    \"always_u_key\" UNIQUE CONSTRAINT, btree (u)\n";
    assert_eq!(found, expected);
    for (query, expected) in [
        (
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indnullsnotdistinct",
            "CREATE UNIQUE INDEX made_a_id_key ON public.made USING btree (a, id) NULLS NOT DISTINCT\n",
        ),
        (
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'made'::regclass",
            "UNIQUE NULLS NOT DISTINCT (a, id)\n",
        ),
        (
            "SELECT a.attname, a.attidentity, a.attstorage, a.attalign, a.attbyval, o.opcname FROM pg_attribute a LEFT \
             JOIN pg_index i ON i.indrelid = a.attrelid AND a.attnum = i.indkey[0] LEFT JOIN pg_opclass o ON o.oid = \
             i.indclass[0] WHERE a.attrelid IN ('made'::regclass, 'always'::regclass) AND a.attnum > 0 ORDER BY 1, 6",
            "a||x|i|f|text_ops\nid|a|p|d|t|int8_ops\nid|d|p|i|t|\nprice||m|i|f|\ntags||x|i|f|\nu||p|c|f|uuid_ops\n",
        ),
        (
            "SELECT typname, typalign, typstorage, typbyval, typispreferred, typcollation, typcategory FROM pg_type \
             WHERE typname IN ('_int8', '_record', '_text', 'name', 'numeric', 'text', 'tid', 'trigger') ORDER BY 1",
            "_int8|d|x|f|f|0|A\n_record|d|x|f|f|0|P\n_text|i|x|f|f|100|A\nname|c|p|f|f|950|S\n\
             numeric|i|m|f|f|0|N\ntext|i|x|f|t|100|S\ntid|s|p|f|f|0|U\ntrigger|i|p|t|f|0|P\n",
        ),
        (
            "SELECT format('%I.%s %L %%', relname, 1, 'it''s'), 'pg_catalog.trigger'::regtype FROM pg_class WHERE \
             relname = 'made'",
            "made.1 'it''s' %|trigger\n",
        ),
        (
            "SELECT constraint_name, nulls_distinct FROM information_schema.table_constraints WHERE constraint_type IN \
             ('UNIQUE', 'PRIMARY KEY') ORDER BY 1",
            "always_pkey|\nalways_u_key|YES\nmade_a_id_key|NO\n",
        ),
    ] {
        assert_eq!(served.psql(&["-t", "-c", query], "").unwrap(), expected, "{query}");
    }
}
