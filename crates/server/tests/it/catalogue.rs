//! The catalogue: the queries that clients run first, with PostgreSQL's answers.

use crate::support::Served;

fn asked(served: &Served, query: &str) -> Option<String> {
    served.psql(&["-t", "-c", query], "").map(|found| found.trim().to_owned())
}

#[test]
fn queries_about_the_catalogue_are_answered_as_by_postgresql() {
    let served = Served::with_tables();
    for (query, expected) in [
        (
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, (SELECT pg_get_expr(d.adbin, d.adrelid) \
             FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) FROM pg_attribute a \
             WHERE a.attrelid = 'readings'::regclass AND a.attnum > 0 ORDER BY a.attnum",
            "time|timestamp(3) with time zone|t|\nsensor|text|f|\nstatus|text|f|'ok'::text\nvalue|double precision|f|\n\
             count|bigint|f|",
        ),
        (
            "SELECT c.relname, i.indisprimary, array(SELECT attname FROM pg_attribute WHERE attrelid = i.indrelid AND \
             attnum = ANY(i.indkey)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid ORDER BY 1",
            "readings_count|f|{count}\nsensors_name_key|f|{name}\nsensors_pkey|t|{id}",
        ),
        (
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'public.sensors'::regclass \
             ORDER BY contype DESC",
            "sensors_name_key|UNIQUE (name)\nsensors_pkey|PRIMARY KEY (id)",
        ),
        (
            "SELECT result.x, (result.keys).n FROM (SELECT 1 AS x, information_schema._pg_expandarray(i.indkey) AS keys \
             FROM pg_catalog.pg_index i WHERE i.indrelid = 'sensors'::regclass AND i.indisprimary) result",
            "1|1",
        ),
        (
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
            "high|VIEW\nreadings|BASE TABLE\nsensors|BASE TABLE",
        ),
        (
            "SELECT column_name, data_type, udt_name, is_nullable, datetime_precision FROM information_schema.columns \
             WHERE table_name = 'readings' ORDER BY ordinal_position",
            "time|timestamp with time zone|timestamptz|NO|3\nsensor|text|text|YES|\nstatus|text|text|YES|\n\
             value|double precision|float8|YES|\ncount|bigint|int8|YES|",
        ),
        (
            "SELECT tc.constraint_type, kcu.column_name FROM information_schema.table_constraints tc JOIN \
             information_schema.key_column_usage kcu USING (constraint_name) WHERE tc.table_name = 'sensors' ORDER BY 1",
            "PRIMARY KEY|id\nUNIQUE|name",
        ),
        ("SELECT current_database(), current_user, current_schema()", "air|me|public"),
        (
            "SELECT now()::date = current_date, '2024-03-01 12:30'::date, DATE '2024-03-01' < now(), current_schema()",
            "t|2024-03-01|t|public",
        ),
        (r"SELECT relname FROM pg_class WHERE relname ~ '^\msens' AND relkind = 'r'", "sensors"),
        (
            "SELECT pg_typeof(relname), pg_typeof(oid), pg_typeof(1), pg_typeof('x'), pg_typeof('x'::text) \
             FROM pg_class WHERE relname = 'sensors'",
            "name|oid|integer|unknown|text",
        ),
        (
            "SELECT format_type(1042, -1), format_type(1042, 7), format_type(1042, NULL)",
            "bpchar|character(3)|character",
        ),
        (
            "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relkind OPERATOR(pg_catalog.=) ANY (array['m', 'r']) \
             AND c.relnamespace OPERATOR(pg_catalog.=) 'public'::regnamespace ORDER BY 1",
            "readings\nsensors",
        ),
        ("SELECT relname, n_live_tup FROM pg_stat_user_tables ORDER BY 1", "readings|3\nsensors|2"),
        (
            "SELECT indexrelname FROM pg_stat_user_indexes WHERE relname = 'sensors' ORDER BY 1",
            "sensors_name_key\nsensors_pkey",
        ),
        ("SELECT datname FROM pg_stat_database", "air"),
        ("SELECT catalog_name FROM information_schema.information_schema_catalog_name", "air"),
        ("SELECT role_name FROM information_schema.enabled_roles", "me"),
        ("SELECT pg_postmaster_start_time() IS NOT NULL, pg_blocking_pids(pg_backend_pid())", "t|{}"),
        (
            "SELECT quote_nullable(nspname), quote_nullable(NULL) FROM pg_namespace WHERE nspname = 'public'",
            "'public'|NULL",
        ),
        ("SELECT inet_server_port() IS NULL, pg_last_wal_replay_lsn() IS NULL, to_regrole('nobody') IS NULL", "t|t|t"),
        ("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", "0"),
        ("SELECT current_setting('server_version_num')::int / 10000", "15"),
        (
            "SELECT row_to_json(t) FROM (SELECT relname AS name, relnatts AS n, relnatts = 3 AS is_three, \
             NULL::text AS x FROM pg_class WHERE relname = 'sensors') t",
            "{\"name\":\"sensors\",\"n\":3,\"is_three\":true,\"x\":null}",
        ),
        ("SELECT pg_stat_get_numscans(oid) IS NULL FROM pg_class WHERE relname = 'sensors_pkey'", "t"),
        ("SELECT 1 << 33, 1::bigint << 64, typlen << 34 FROM pg_type WHERE typname = 'int8'", "2|1|32"),
        (
            "SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_namespace WHERE nspname !~ '^pg_'",
            "information_schema,public",
        ),
        ("SELECT oid::regtype, typarray FROM pg_type WHERE oid = to_regtype('int8')", "bigint|1016"),
        (
            "SELECT rngtypid::regtype, rngsubtype::regtype, typtype, rngsubopc FROM pg_range JOIN pg_type t \
             ON t.oid = rngtypid WHERE typname = 'tstzrange'",
            "tstzrange|timestamp with time zone|r|3127",
        ),
        (
            "SELECT relkind, count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace GROUP BY 1 ORDER BY 1",
            "i|3\nr|2\nv|1",
        ),
        ("SELECT 'nowhere'::regclass", "ERROR:  42P01: relation \"nowhere\" does not exist"),
        (
            "WITH RECURSIVE t(n) AS (SELECT oid FROM pg_class WHERE relname = 'sensors' UNION ALL SELECT 0 FROM t WHERE n > 0) \
             SELECT count(*) FROM t",
            "2",
        ),
        ("SELECT n.nspname NOT LIKE 'pg/_%' ESCAPE '/' FROM pg_namespace n ORDER BY n.nspname", "t\nf\nf\nt"),
        ("SELECT unnest(ARRAY[conkey]) FROM pg_constraint WHERE conname = 'sensors_pkey'", "1"),
        (
            "SELECT x.n, x.i FROM pg_class c, generate_series(1, 2) WITH ORDINALITY AS x(n, i) WHERE c.relname = 'high'",
            "1|1\n2|2",
        ),
    ] {
        let Some(found) = asked(&served, query) else { return };
        let found: String =
            found.lines().take_while(|line| !line.starts_with("LOCATION")).collect::<Vec<_>>().join("\n");
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn functions_and_arrays_are_shown_as_by_postgresql() {
    let served = Served::with_tables();
    for (query, expected) in [
        ("SELECT quote_ident('with'), quote_ident('name'), format('%I', 'table')", "\"with\"|name|\"table\""),
        (
            "SELECT pg_size_pretty(10239::bigint), pg_size_pretty(10240::bigint), pg_size_pretty(1000000::bigint), \
             pg_size_pretty(-1000000::bigint), pg_size_pretty(1000000000000000::bigint), \
             pg_size_pretty(-10485248::bigint)",
            "10239 bytes|10 kB|977 kB|-977 kB|909 TB|-10 MB",
        ),
        ("SELECT ARRAY[ARRAY[1, 2], ARRAY[3, 4]], ARRAY[[ARRAY['a b', NULL]]]", "{{1,2},{3,4}}|{{{\"a b\",NULL}}}"),
        ("SELECT array_agg(x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, 4])) v(x)", "{{1,2},{3,4}}"),
        ("SELECT ARRAY[1, 2] || ARRAY[ARRAY[3, 4]], ARRAY[ARRAY[]::int[]]", "{{1,2},{3,4}}|{}"),
    ] {
        match asked(&served, query) {
            Some(found) => assert_eq!(found, expected, "{query}"),
            None => return,
        }
    }
}

#[test]
fn what_a_server_has_besides_tables_is_listed_as_by_postgresql() {
    let served = Served::with_tables();
    for (query, expected) in [
        ("SELECT abbrev, utc_offset, is_dst FROM pg_timezone_names WHERE name = 'America/Phoenix'", "MST|-07:00:00|f"),
        ("SELECT count(*) > 500, count(DISTINCT utc_offset) > 23 FROM pg_timezone_names", "t|t"),
        ("SELECT utc_offset, is_dst FROM pg_timezone_abbrevs WHERE abbrev = 'CEST'", "02:00:00|t"),
        ("SELECT oid, spcname FROM pg_tablespace ORDER BY 1", "1663|pg_default\n1664|pg_global"),
        (
            "SELECT collname, collprovider, collencoding, collcollate FROM pg_collation ORDER BY oid",
            "default|d|-1|\nC|c|-1|C\nPOSIX|c|-1|POSIX\nucs_basic|c|6|C",
        ),
        ("SELECT character_set_name, default_collate_name FROM information_schema.character_sets", "UTF8|ucs_basic"),
        ("SELECT amname, amhandler FROM pg_am ORDER BY oid", "heap|heap_tableam_handler\nbtree|bthandler"),
        ("SELECT nspname FROM pg_namespace WHERE oid = 99", "pg_toast"),
        (
            "SELECT relname, relreplident FROM pg_class WHERE relname IN ('pg_class', 'sensors', 'sensors_pkey', \
             'high') ORDER BY 1",
            "high|n\npg_class|n\nsensors|d\nsensors_pkey|n",
        ),
        (
            "SELECT oprname, oprkind, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode, \
             oprcode::regproc, oprcode::oid FROM pg_operator WHERE oid = 551",
            "+|b|integer|integer|integer|int4pl|int4pl|177",
        ),
        (
            "SELECT o.oprname, c.oprname, n.oprname FROM pg_operator o JOIN pg_operator c ON c.oid = o.oprcom JOIN \
             pg_operator n ON n.oid = o.oprnegate WHERE o.oid = 97",
            "<|>|>=",
        ),
        (
            "SELECT to_regproc('nowhere.now') IS NULL, to_regprocedure('nowhere.abs(numeric)') IS NULL, \
             to_regtype('nowhere.int4') IS NULL, to_regclass('nowhere.sensors') IS NULL, to_regproc('pg_catalog.now')",
            "t|t|t|t|now",
        ),
        (
            "SELECT 'abs(int4)'::regprocedure, regprocedure('pg_catalog.abs(numeric)'), to_regprocedure('now( )'), \
             'now'::regproc",
            "abs(integer)|abs(numeric)|now()|now",
        ),
        (
            "SELECT pg_index_column_has_property('sensors_pkey'::regclass, 1, p), pg_index_has_property(\
             'sensors_pkey'::regclass, p), pg_indexam_has_property(a.oid, p) FROM unnest(ARRAY['asc', 'desc', \
             'index_scan', 'can_order', 'bogus']) WITH ORDINALITY AS u(p, n), pg_am a WHERE amname = 'btree' ORDER BY n",
            "t||\nf||\n|t|\n||t\n||",
        ),
        ("SELECT pg_index_column_has_property('sensors_pkey'::regclass, 9, 'asc') IS NULL", "t"),
        (
            "SELECT regclass('sensors'), regclass('sensors')::oid = 'sensors'::regclass, regtype('int4'), \
             regnamespace('public')",
            "sensors|t|integer|public",
        ),
    ] {
        match asked(&served, query) {
            Some(found) => assert_eq!(found, expected, "{query}"),
            None => return,
        }
    }
}

#[test]
fn check_constraints_are_described_as_by_postgresql() {
    let served = Served::with_tables();
    let create = "CREATE TABLE limits (a int CHECK (a > 0), b int, CONSTRAINT \"In order\" CHECK (a < b))";
    if asked(&served, create).is_none() {
        return;
    }
    for (query, expected) in [
        (
            "SELECT conname, contype, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true), conkey FROM \
             pg_constraint WHERE conrelid = 'limits'::regclass ORDER BY 1",
            "In order|c|CHECK ((a < b))|CHECK (a < b)|{1,2}\nlimits_a_check|c|CHECK ((a > 0))|CHECK (a > 0)|{1}",
        ),
        (
            "SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE check_clause LIKE \
             '((%' ORDER BY 1",
            "In order|((a < b))\nlimits_a_check|((a > 0))",
        ),
        (
            "SELECT t.table_name, t.constraint_type, c.check_clause FROM information_schema.table_constraints t JOIN \
             information_schema.check_constraints c ON c.constraint_name = t.constraint_name WHERE c.constraint_name \
             LIKE '%not_null' ORDER BY 1, 3",
            "readings|CHECK|time IS NOT NULL\nsensors|CHECK|id IS NOT NULL\nsensors|CHECK|name IS NOT NULL",
        ),
        (
            "SELECT constraint_name, column_name FROM information_schema.constraint_column_usage WHERE table_name = \
             'limits' ORDER BY 1, 2",
            "In order|a\nIn order|b\nlimits_a_check|a",
        ),
        (
            "SELECT constraint_name, constraint_type FROM information_schema.table_constraints WHERE table_name = \
             'limits' ORDER BY 1",
            "In order|CHECK\nlimits_a_check|CHECK",
        ),
        (
            "INSERT INTO limits VALUES (0, 1)",
            "ERROR:  23514: new row for relation \"limits\" violates check constraint \"limits_a_check\"\n\
             SCHEMA NAME:  public\nTABLE NAME:  limits\nCONSTRAINT NAME:  limits_a_check",
        ),
        (
            "ALTER TABLE limits ADD CHECK (a > (SELECT 1))",
            "ERROR:  0A000: table limits: cannot use subquery in check constraint\n\
             HINT:  write a condition over the columns of one row",
        ),
    ] {
        let Some(found) = asked(&served, query) else { return };
        let found: String =
            found.lines().take_while(|line| !line.starts_with("LOCATION")).collect::<Vec<_>>().join("\n");
        assert_eq!(found, expected, "{query}");
    }
    let Some(described) = served.psql(&[], "\\d limits\n") else { return };
    let checks = "Check constraints:\n    \"In order\" CHECK (a < b)\n    \"limits_a_check\" CHECK (a > 0)\n";
    assert!(described.contains(checks), "{described}");
}

#[test]
fn a_users_table_keeps_its_name_from_the_catalogue() {
    let served = Served::with_tables();
    served.database.sql("CREATE TABLE pg_notes (version TEXT)").unwrap();
    served.database.sql("INSERT INTO pg_notes VALUES ('mine')").unwrap();
    let Some(found) = asked(&served, "SELECT version FROM pg_notes") else { return };
    assert_eq!(found, "mine");
}

#[test]
fn a_transaction_sees_its_own_declarations() {
    let served = Served::new();
    let script = "BEGIN;\nCREATE TABLE fresh (a INT);\nSELECT count(*) FROM pg_class WHERE relname = 'fresh';\nROLLBACK;\n\
                  SELECT count(*) FROM pg_class WHERE relname = 'fresh';\n";
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert_eq!(found.trim(), "1\n0");
}

#[test]
fn default_functions_are_printed_as_by_postgresql() {
    let served = Served::with_tables();
    let create = "CREATE TABLE stamped (id uuid DEFAULT gen_random_uuid(), at timestamptz DEFAULT now(), made \
                  timestamptz DEFAULT CURRENT_TIMESTAMP, on_day date DEFAULT current_date, here timestamp DEFAULT \
                  LOCALTIMESTAMP, n int)";
    if asked(&served, create).is_none() {
        return;
    }
    let expected = "gen_random_uuid() now() CURRENT_TIMESTAMP CURRENT_DATE LOCALTIMESTAMP";
    for query in [
        "SELECT string_agg(pg_get_expr(adbin, adrelid), ' ' ORDER BY adnum) FROM pg_attrdef WHERE adrelid = \
         'stamped'::regclass",
        "SELECT string_agg(column_default, ' ' ORDER BY ordinal_position) FROM information_schema.columns WHERE \
         table_name = 'stamped'",
    ] {
        assert_eq!(asked(&served, query).as_deref(), Some(expected), "{query}");
    }
}

#[test]
fn what_clients_ask_in_other_forms_is_answered() {
    let served = Served::with_tables();
    for (query, expected) in [
        // Tables in an order in which the first two have nothing in common.
        (
            "SELECT ia.attname, c.relname FROM pg_attribute ta, pg_attribute ia, pg_class c, pg_index i WHERE \
             c.relname = 'sensors' AND c.oid = i.indrelid AND i.indisprimary AND ia.attrelid = i.indexrelid AND \
             ta.attrelid = i.indrelid AND ta.attnum = i.indkey[ia.attnum - 1]",
            "id|sensors",
        ),
        (
            "SELECT * FROM (SELECT relname AS a, oid AS b FROM pg_class) x, (SELECT 7 AS c) y, (SELECT attname AS d, \
             attrelid AS e FROM pg_attribute) z WHERE x.b = z.e AND a = 'sensors' AND d = 'name'",
            "sensors|OID|7|name|OID",
        ),
        ("SELECT '\"public\" . \"sensors\"'::regclass = 'sensors'::regclass", "t"),
        ("SELECT ARRAY(SELECT k FROM generate_subscripts(indkey, 1) k) FROM pg_index LIMIT 1", "{0}"),
        ("SELECT k FROM pg_class, generate_subscripts(ARRAY[7, 8], 1) k WHERE relname = 'sensors'", "1 2"),
        ("SELECT * FROM current_schema()", "public"),
        ("SELECT count(*) FROM pg_shseclabel", "0"),
        ("SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE; SHOW TimeZone", "UTC"),
    ] {
        let Some(found) = asked(&served, query) else { return };
        let oid = asked(&served, "SELECT 'sensors'::regclass::oid").unwrap();
        let lines: Vec<&str> = found.lines().filter(|line| !line.starts_with("NOTICE")).collect();
        assert_eq!(lines.join(" "), expected.replace("OID", &oid), "{query}");
    }
}

#[test]
fn foreign_keys_are_described_as_by_postgresql() {
    let served = Served::with_tables();
    let create = "CREATE TABLE lines (n int, \"In\" int REFERENCES sensors (id) ON DELETE CASCADE, s text REFERENCES \
                  sensors (name) ON UPDATE RESTRICT)";
    if asked(&served, create).is_none() {
        return;
    }
    for (query, expected) in [
        (
            "SELECT conname, contype, confrelid::regclass, conkey, confkey, confupdtype, confdeltype, confmatchtype, \
             pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'lines'::regclass ORDER BY 1",
            "lines_In_fkey|f|sensors|{2}|{1}|a|c|s|FOREIGN KEY (\"In\") REFERENCES sensors(id) ON DELETE CASCADE\n\
             lines_s_fkey|f|sensors|{3}|{2}|r|a|s|FOREIGN KEY (s) REFERENCES sensors(name) ON UPDATE RESTRICT",
        ),
        (
            "SELECT i.relname FROM pg_constraint c JOIN pg_class i ON i.oid = c.conindid WHERE c.contype = 'f' ORDER BY 1",
            "sensors_name_key\nsensors_pkey",
        ),
        ("SELECT relname FROM pg_class WHERE relhastriggers ORDER BY 1", "lines\nsensors"),
        (
            "SELECT constraint_name, unique_constraint_name, match_option, update_rule, delete_rule FROM \
             information_schema.referential_constraints ORDER BY 1",
            "lines_In_fkey|sensors_pkey|NONE|NO ACTION|CASCADE\nlines_s_fkey|sensors_name_key|NONE|RESTRICT|NO ACTION",
        ),
        (
            "SELECT constraint_name, constraint_type FROM information_schema.table_constraints WHERE table_name = \
             'lines' ORDER BY 1",
            "lines_In_fkey|FOREIGN KEY\nlines_s_fkey|FOREIGN KEY",
        ),
        (
            "SELECT constraint_name, column_name, ordinal_position, position_in_unique_constraint FROM \
             information_schema.key_column_usage WHERE table_name = 'lines' ORDER BY 1",
            "lines_In_fkey|In|1|1\nlines_s_fkey|s|1|1",
        ),
        (
            "SELECT constraint_name, table_name, column_name FROM information_schema.constraint_column_usage WHERE \
             constraint_name LIKE 'lines%' ORDER BY 1",
            "lines_In_fkey|sensors|id\nlines_s_fkey|sensors|name",
        ),
        (
            "INSERT INTO lines VALUES (1, 99, NULL)",
            "ERROR:  23503: insert or update on table \"lines\" violates foreign key constraint \"lines_In_fkey\"\n\
             DETAIL:  Key (In)=(99) is not present in table \"sensors\".\n\
             SCHEMA NAME:  public\nTABLE NAME:  lines\nCONSTRAINT NAME:  lines_In_fkey",
        ),
        ("INSERT INTO lines VALUES (1, NULL, 's1')", ""),
        (
            "DELETE FROM sensors WHERE name = 's1'",
            "ERROR:  23503: update or delete on table \"sensors\" violates foreign key constraint \"lines_s_fkey\" on \
             table \"lines\"\nDETAIL:  Key (name)=(s1) is still referenced from table \"lines\".\n\
             SCHEMA NAME:  public\nTABLE NAME:  lines\nCONSTRAINT NAME:  lines_s_fkey",
        ),
    ] {
        let Some(found) = asked(&served, query) else { return };
        let found: String =
            found.lines().take_while(|line| !line.starts_with("LOCATION")).collect::<Vec<_>>().join("\n");
        assert_eq!(found, expected, "{query}");
    }
    for (statement, code) in [
        ("TRUNCATE sensors", "0A000"),
        ("DROP TABLE sensors", "2BP01"),
        ("CREATE TABLE other (a int REFERENCES sensors (height))", "42830"),
        ("CREATE TABLE other (a text REFERENCES sensors (id))", "42804"),
        ("CREATE TABLE other (a int REFERENCES nothing)", "42P01"),
        ("CREATE TABLE other (a int REFERENCES sensors (nothing))", "42703"),
        ("CREATE TABLE other (a int REFERENCES sensors MATCH PARTIAL)", "0A000"),
        ("CREATE TABLE other (a int REFERENCES sensors NOT DEFERRABLE INITIALLY DEFERRED)", "42601"),
    ] {
        let Some(found) = served.psql(&["-c", statement], "") else { return };
        assert!(found.contains(&format!("ERROR:  {code}")), "{statement}: {found}");
    }
    let Some(found) = served.psql(&["-c", "\\d lines"], "") else { return };
    let declared = "\"lines_In_fkey\" FOREIGN KEY (\"In\") REFERENCES sensors(id) ON DELETE CASCADE";
    assert!(found.contains("Foreign-key constraints:") && found.contains(declared), "{found}");
    let Some(found) = served.psql(&["-c", "\\d sensors"], "") else { return };
    assert!(
        found.contains("Referenced by:") && found.contains("TABLE \"lines\" CONSTRAINT \"lines_s_fkey\""),
        "{found}"
    );
}

#[test]
fn columns_that_a_deletion_sets_are_described_as_by_postgresql() {
    let served = Served::with_tables();
    let declared = "CREATE TABLE notes (n int, a int CONSTRAINT six REFERENCES sensors (id) ON DELETE SET NULL (a))";
    if asked(&served, declared).is_none() {
        return;
    }
    let query =
        "SELECT confdeltype, confdelsetcols, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'six'";
    let Some(found) = asked(&served, query) else { return };
    assert_eq!(found.trim_end(), "n|{2}|FOREIGN KEY (a) REFERENCES sensors(id) ON DELETE SET NULL (a)");
}

#[test]
fn clauses_of_foreign_keys_are_described_as_by_postgresql() {
    let served = Served::with_tables();
    for statement in [
        "CREATE TABLE lines (n int, a int CONSTRAINT one REFERENCES sensors (id) MATCH FULL ON UPDATE CASCADE ON DELETE SET \
         DEFAULT DEFERRABLE INITIALLY DEFERRED, b int CONSTRAINT two REFERENCES sensors (id) ON UPDATE SET NULL DEFERRABLE)",
        "ALTER TABLE lines ADD CONSTRAINT three CHECK (n > 0) NOT VALID, ADD CONSTRAINT four FOREIGN KEY (n) REFERENCES \
         sensors (id) NOT VALID",
    ] {
        if asked(&served, statement).is_none() {
            return;
        }
    }
    for (query, expected) in [
        (
            "SELECT conname, condeferrable, condeferred, convalidated, confupdtype, confdeltype, confmatchtype, \
             pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'lines'::regclass ORDER BY 1",
            "four|f|f|f|a|a|s|FOREIGN KEY (n) REFERENCES sensors(id) NOT VALID\n\
             one|t|t|t|c|d|f|FOREIGN KEY (a) REFERENCES sensors(id) MATCH FULL ON UPDATE CASCADE ON DELETE SET DEFAULT \
             DEFERRABLE INITIALLY DEFERRED\n\
             three|f|f|f| | | |CHECK ((n > 0)) NOT VALID\n\
             two|t|f|t|n|a|s|FOREIGN KEY (b) REFERENCES sensors(id) ON UPDATE SET NULL DEFERRABLE",
        ),
        (
            "SELECT pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conname = 'three'",
            "CHECK (n > 0) NOT VALID",
        ),
        (
            "SELECT constraint_name, is_deferrable, initially_deferred FROM information_schema.table_constraints WHERE \
             table_name = 'lines' ORDER BY 1",
            "four|NO|NO\none|YES|YES\nthree|NO|NO\ntwo|YES|NO",
        ),
        (
            "SELECT constraint_name, match_option, update_rule, delete_rule FROM \
             information_schema.referential_constraints ORDER BY 1",
            "four|NONE|NO ACTION|NO ACTION\none|FULL|CASCADE|SET DEFAULT\ntwo|NONE|SET NULL|NO ACTION",
        ),
        ("BEGIN; SET CONSTRAINTS four DEFERRED", "ERROR:  42809: constraint \"four\" is not deferrable"),
        ("BEGIN; SET CONSTRAINTS nothing DEFERRED", "ERROR:  42704: constraint \"nothing\" does not exist"),
        (
            "BEGIN; SET CONSTRAINTS one IMMEDIATE; INSERT INTO lines (a) VALUES (99)",
            "ERROR:  23503: insert or update on table \"lines\" violates foreign key constraint \"one\"\n\
             DETAIL:  Key (a)=(99) is not present in table \"sensors\".\n\
             SCHEMA NAME:  public\nTABLE NAME:  lines\nCONSTRAINT NAME:  one",
        ),
        (
            "BEGIN; INSERT INTO lines (a) VALUES (99); COMMIT",
            "ERROR:  23503: insert or update on table \"lines\" violates foreign key constraint \"one\"\n\
             DETAIL:  Key (a)=(99) is not present in table \"sensors\".\n\
             SCHEMA NAME:  public\nTABLE NAME:  lines\nCONSTRAINT NAME:  one",
        ),
    ] {
        let Some(found) = asked(&served, query) else { return };
        let from_error = found.find("ERROR").map_or(found.as_str(), |start| &found[start..]);
        let lines = from_error.lines().take_while(|line| !line.starts_with("LOCATION"));
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected, "{query}");
    }
}
